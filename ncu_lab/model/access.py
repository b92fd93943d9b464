"""Memory accesses of a launch, judged: what each kind took against what it needs, and the time that is at stake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ncu_lab.metrics import Space

CountedBy = Literal["hardware", "instructions"]


@dataclass(frozen=True, slots=True)
class Culprit:
    """One opcode in one line of code whose accesses take more than they need.

    Attributes:
        file: Source file; None for code without line information.
        line: Its line, from 1; None likewise.
        opcode: With its modifiers: ``LDG.E.128``.
        excess: Sectors or wavefronts beyond the ideal.
        over_ideal: What it took over what it needs; None when it needs none.
    """

    file: str | None
    line: int | None
    opcode: str
    excess: float
    over_ideal: float | None

    @property
    def place(self) -> str:
        """Name the line (``kernels/gemm/07_2d.cu:61``), or the opcode where there is no line."""
        return f"{self.file}:{self.line}" if self.file else self.opcode


@dataclass(frozen=True, slots=True)
class Access:
    """One kind of access to one memory.

    Attributes:
        space: The memory.
        kind: ``ld``, ``st``, ``cp.async``, ``tma``, ``atom``, ``red``; in shared memory also ``ldmatrix``,
            ``stmatrix``, ``wgmma`` and ``other``.
        covers: The instructions that the figures are of.
        counted_by: Whether ``requests`` and ``amount`` are the hardware's or the sums over the instructions.
        requests: Instructions of a warp.
        amount: Sectors of 32 bytes (global, local) or wavefronts (shared) that they took.
        ideal: The same at best: of sectors at full coalescing of the access width, of wavefronts without bank
            conflicts. None where neither the widths nor the conflicts are known.
        excess: Sectors beyond those that hold what the lanes asked for (lanes that ask for one address need one), or
            wavefronts beyond the ideal; None where it is not known.
        excess_share: ``excess`` as a share of all sectors or wavefronts in this memory.
        culprits: The lines responsible, the largest excess first; none without counters per instruction.
        missing: Sections that would tell what is None.
    """

    space: Space
    kind: str
    covers: str
    counted_by: CountedBy
    requests: float | None
    amount: float | None
    ideal: float | None
    excess: float | None = None
    excess_share: float | None = None
    culprits: tuple[Culprit, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What ``amount`` counts."""
        return "wavefront" if self.space == "shared" else "sector"

    @property
    def per_request(self) -> float | None:
        """Sectors or wavefronts a request; None without requests."""
        return _over(self.amount, self.requests)

    @property
    def ideal_per_request(self) -> float | None:
        """The same at best."""
        return _over(self.ideal, self.requests)

    @property
    def over_ideal(self) -> float | None:
        """How many times its ideal it took; of bank conflicts this is n-way. Below 1 where lanes share addresses."""
        return _over(self.amount, self.ideal)


@dataclass(frozen=True, slots=True)
class Stake:
    """How much of a launch's time can hang on accesses that take more than they need, in one memory.

    Attributes:
        space: ``global`` (sectors) or ``shared`` (bank conflicts).
        duration_ns: Of the launch, under the profiler.
        excess: Sectors or wavefronts beyond the ideal, over all kinds.
        served_ns: Time it takes to serve the excess; see :func:`ncu_lab.analyze.stake.served_shared`.
        waited_ns: Time in which warps waited for any memory, or for each other.
        stall_share: Share of warp-cycles (0 to 1) spent waiting directly for this memory.
        reasons: The stall reasons of that share.
        missing: Sections that would tell what is None.
    """

    space: Space
    duration_ns: float | None
    excess: float | None
    served_ns: float | None
    waited_ns: float | None
    stall_share: float | None
    reasons: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @property
    def upper_bound_ns(self) -> float | None:
        """Time that perfect accesses could save at most; None when too little is known to say."""
        if self.excess is None or self.duration_ns is None:
            return None
        if not self.excess:
            return 0.0
        known = [bound for bound in (self.served_ns, self.waited_ns) if bound is not None]
        return min(*known, self.duration_ns) if known else None

    @property
    def upper_bound_share(self) -> float | None:
        """The same as a share of the duration (0 to 1)."""
        return _over(self.upper_bound_ns, self.duration_ns)


@dataclass(frozen=True, slots=True)
class LaunchAccess:
    """All accesses of a launch, and what is at stake by memory.

    Attributes:
        accesses: Those that the launch makes, global memory first; empty when nothing of them was collected.
        stakes: Memory -> the time at stake; only of memories that the launch uses.
    """

    accesses: tuple[Access, ...] = ()
    stakes: Mapping[Space, Stake] = field(default_factory=dict)

    def of(self, space: Space) -> tuple[Access, ...]:
        """Return the accesses of one memory."""
        return tuple(access for access in self.accesses if access.space == space)

    def worst(self, space: Space) -> Culprit | None:
        """Return the line with the largest excess in one memory, None where no line is known to have any."""
        culprits = [culprit for access in self.of(space) for culprit in access.culprits]
        return max(culprits, key=lambda culprit: culprit.excess, default=None)


def _over(above: float | None, below: float | None) -> float | None:
    return None if above is None or not below else above / below
