"""Where in its code a launch spends its time: samples and counters by line of source and by instruction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

SourceOrigin = Literal["report", "run", "commit", "kernels"]


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of one source file.

    Attributes:
        lines: Its lines.
        origin: Where it is from: embedded in the report or kept with the run, of the run's edited tree, of the run's
            commit, or the kernels folder as it is now.
        certain: Whether it is the text that was compiled; if not, readers must be told.
    """

    lines: tuple[str, ...]
    origin: SourceOrigin
    certain: bool = True

    def line(self, number: int | None) -> str | None:
        """Return a line, from 1; None when the file has no such line."""
        return self.lines[number - 1] if number is not None and 0 < number <= len(self.lines) else None


@dataclass(frozen=True, slots=True)
class Spot:
    """What one line of source, or one instruction, shows. Figures that were not collected for it are None.

    Attributes:
        file: Source file; None for code without line information.
        line: From 1; None likewise.
        offset: Of an instruction: bytes from the beginning of the code of its launch.
        sass: Of an instruction: its text.
        instructions: How many instructions this is; 1 for an instruction.
        samples: Samples of warps that were here.
        stalls: Reason -> those of these samples, in stacking order; ``selected`` issued.
        stalls_not_issued: Likewise, only samples of cycles in which the scheduler issued nothing.
        executed: Times that a warp executed it.
        global_sectors: Sectors asked for in global memory.
        global_sectors_ideal: Sectors that hold what the lanes asked for.
        shared_wavefronts: Wavefronts in shared memory.
        shared_wavefronts_ideal: The same without bank conflicts.
        local_sectors: Sectors asked for in local memory: spills and stack.
        live_registers: Registers alive; the largest of a line's instructions.
    """

    file: str | None
    line: int | None
    offset: int | None = None
    sass: str | None = None
    instructions: int = 1
    samples: float | None = None
    stalls: Mapping[str, float] = field(default_factory=dict)
    stalls_not_issued: Mapping[str, float] = field(default_factory=dict)
    executed: float | None = None
    global_sectors: float | None = None
    global_sectors_ideal: float | None = None
    shared_wavefronts: float | None = None
    shared_wavefronts_ideal: float | None = None
    local_sectors: float | None = None
    live_registers: float | None = None

    @property
    def sectors_over_ideal(self) -> float | None:
        """Sectors over those that hold what the lanes asked for; None without global accesses."""
        return _over(self.global_sectors, self.global_sectors_ideal)

    @property
    def wavefronts_over_ideal(self) -> float | None:
        """Wavefronts over conflict-free ones (n-way); None without shared accesses."""
        return _over(self.shared_wavefronts, self.shared_wavefronts_ideal)

    @property
    def excess_sectors(self) -> float:
        """Sectors beyond the ideal, 0 where there are none or none were counted."""
        return max(0.0, (self.global_sectors or 0.0) - (self.global_sectors_ideal or 0.0))

    @property
    def excess_wavefronts(self) -> float:
        """Wavefronts beyond the ideal: bank conflicts; 0 where there are none or none were counted."""
        return max(0.0, (self.shared_wavefronts or 0.0) - (self.shared_wavefronts_ideal or 0.0))


@dataclass(frozen=True, slots=True)
class HotSpots:
    """The code of one launch, with what was counted in it.

    Attributes:
        launch: Row of the launches table.
        lines: One per line of source that has code, by file and line; code without line information is one.
        instructions: One per instruction, in the order of the code.
        samples: Samples of the whole launch; None when none were taken.
        excess_sectors: Sectors beyond the ideal, of the whole launch.
        excess_wavefronts: Likewise wavefronts.
        sources: File -> its text, of the files that are known.
        missing: Sections that would tell what is not there.
    """

    launch: int
    lines: tuple[Spot, ...]
    instructions: tuple[Spot, ...]
    samples: float | None
    excess_sectors: float = 0.0
    excess_wavefronts: float = 0.0
    sources: Mapping[str, SourceText] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @property
    def has_lines(self) -> bool:
        """Whether any code knows its line."""
        return any(spot.file for spot in self.lines)

    def text(self, spot: Spot) -> str | None:
        """Return the line of source that a spot is of; None when its text is not known."""
        source = self.sources.get(spot.file or "")
        return None if source is None else source.line(spot.line)

    def share(self, spot: Spot) -> float | None:
        """Return a spot's share of all samples (0 to 1); None when none were taken."""
        return None if spot.samples is None or not self.samples else spot.samples / self.samples

    def weight(self, spot: Spot) -> float:
        """Return how much a spot matters (0 to 1): its share of the samples, or of an excess where that is more.

        Samples land where warps wait; what they wait for is where the excess is. Both kinds of line are of interest.
        """
        return max(self.share(spot) or 0.0, self.excess_share(spot))

    def excess_share(self, spot: Spot) -> float:
        """Return a spot's share of all excess sectors, or of all excess wavefronts, whichever is more (0 to 1)."""
        of_sectors = spot.excess_sectors / self.excess_sectors if self.excess_sectors else 0.0
        return max(of_sectors, spot.excess_wavefronts / self.excess_wavefronts if self.excess_wavefronts else 0.0)


def _over(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below
