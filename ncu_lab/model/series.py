"""Readings of many runs beside each other: which runs are meant, and one quantity of them over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from ncu_lab.model.runs import RunMeta, Status
from ncu_lab.model.stages import Problem

TIME_KEY = "time_ns"
"""Key of the unprofiled time; ``duration_ns`` of the catalogue is the profiler's."""

SHARE_KEY = "pct_of_reference"
"""Key of the FLOP/s of a stage over those of its reference, in percent."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant; what is empty does not matter.

    Attributes:
        stages: Runs that have one of these.
        device: Part of the GPU's name, in any case.
        commits: Full hashes; None for any commit and for none.
        statuses: How they ended.
        since: The earliest time they were made; aware of its zone.
        problem: What they computed.
    """

    stages: tuple[str, ...] = ()
    device: str | None = None
    commits: frozenset[str] | None = None
    statuses: tuple[Status, ...] = ()
    since: datetime | None = None
    problem: Problem | None = None

    def fits(self, meta: RunMeta) -> bool:
        """Return whether a run is meant. One that does not tell when it was made is not since any time."""
        return (
            (not self.stages or any(stage in meta.stages for stage in self.stages))
            and (self.device is None or self.device.casefold() in (meta.device.name if meta.device else "").casefold())
            and (self.commits is None or meta.git.commit in self.commits)
            and (not self.statuses or meta.status in self.statuses)
            and (self.problem is None or meta.problem == self.problem)
            and (self.since is None or ((made := meta.created_at) is not None and made >= self.since))
        )


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantity of one kernel in one run.

    Attributes:
        value: Median, in the base unit of its key.
        n: Samples or launches it is the median of.
        low: Lower end of the 99% interval of the median; None where so few samples have none.
        high: Upper end.
    """

    value: float
    n: int = 1
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class KernelIdentity:
    """What makes launches samples of one kernel.

    Attributes:
        stage: Stage id; None for foreign programs.
        dtype: Of the registered stage; None where that is not known.
        kernel: Demangled name; None where the stage was timed and not profiled.
        function: Short name; likewise.
        role: ``main`` or ``auxiliary``.
        nvtx: NVTX range paths.
        grid: Blocks (x, y, z); None where it was not profiled.
        block: Threads of a block; likewise.
    """

    stage: str | None
    dtype: str | None
    kernel: str | None = None
    function: str | None = None
    role: str = "main"
    nvtx: tuple[str, ...] = ()
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None


KernelReadings = Mapping[KernelIdentity, Mapping[str, Estimate]]
"""Kernel -> key of the catalogue, :data:`TIME_KEY` or :data:`SHARE_KEY` -> estimate; what was not collected, or is
undefined, is absent."""


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One quantity of one kernel in one run: where it is from, and what it is.

    ``meta`` is as listings have it, without what only the run itself needs.
    """

    meta: RunMeta
    kernel: KernelIdentity
    key: str
    estimate: Estimate
