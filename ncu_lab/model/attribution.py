"""Why one launch takes longer than another: the difference of their durations, split by factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ncu_lab.metrics import STALL_FAMILIES

STALL = "stall:"
"""What the factor of a stall reason begins with: ``stall:long_scoreboard``."""

Side = Literal["a", "b"]


@dataclass(frozen=True, slots=True)
class Factors:
    """What the duration of one launch is made of: ``instructions x sum(stalls) / warps x imbalance / clock``.

    Attributes:
        launch: Row of the launches table.
        form: Which counters were read: ``full`` or ``targeted`` (see ``metrics.IDENTITY_FORMS``).
        duration_ns: As measured, under the profiler.
        instructions: Issued per scheduler, the mean over all.
        stalls: Reason -> warp-cycles per issued instruction, in stacking order; ``selected`` is the issue itself.
        warps: Active warps of a scheduler, per active cycle.
        imbalance: Elapsed over active cycles: imbalance between SMs, tail, launch.
        clock_hz: Clock of the SMs.
    """

    launch: int
    form: str
    duration_ns: float
    instructions: float
    stalls: Mapping[str, float]
    warps: float
    imbalance: float
    clock_hz: float

    @property
    def cycles_per_instruction(self) -> float:
        """Warp-cycles per issued instruction: all stall reasons together."""
        return sum(self.stalls.values())

    @property
    def predicted_ns(self) -> float:
        """The duration that the factors make; the measured one differs by what changed between replays."""
        cycles = self.instructions * self.cycles_per_instruction / self.warps * self.imbalance
        return cycles / self.clock_hz * 1e9

    @property
    def error(self) -> float:
        """How far the factors miss the measured duration: predicted / measured - 1."""
        return self.predicted_ns / self.duration_ns - 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """What one factor did to the duration.

    Attributes:
        factor: ``instructions``, ``stall:<reason>``, ``warps``, ``imbalance`` or ``clock``.
        ns: Its part of ``b_ns - a_ns``; negative where it made B shorter.
        log2: Its part of ``log2(b_ns / a_ns)``; -1 where it alone halves the duration.
        value_a: The factor in A, in its own unit (see :class:`Factors`; the clock in hertz).
        value_b: Likewise in B.
    """

    factor: str
    ns: float
    log2: float
    value_a: float
    value_b: float

    @property
    def reason(self) -> str | None:
        """The stall reason, None for any other factor."""
        return self.factor.removeprefix(STALL) if self.factor.startswith(STALL) else None


@dataclass(frozen=True, slots=True)
class Attribution:
    """The difference of two launches' durations under the profiler, split by factors.

    ``sum(part.ns) + residual_ns`` is ``b_ns - a_ns``, and ``sum(part.log2) + residual_log2`` is ``log2(b_ns / a_ns)``.

    Attributes:
        a_ns: Duration of launch A.
        b_ns: Duration of launch B.
        launch_a: Row of A's launches table.
        launch_b: Row of B's launches table.
        form: Which counters were read, the same of both launches.
        parts: In the order they are shown: instructions, stall reasons as they stack, warps, imbalance, clock.
        residual_ns: What the factors do not explain: the counters are from different replays of the kernel.
        residual_log2: Likewise, as a log2 factor.
    """

    a_ns: float
    b_ns: float
    launch_a: int
    launch_b: int
    form: str
    parts: tuple[Part, ...]
    residual_ns: float
    residual_log2: float

    @property
    def stalls(self) -> tuple[Part, ...]:
        """The parts of the stall reasons."""
        return tuple(part for part in self.parts if part.reason is not None)

    @property
    def stalls_ns(self) -> float:
        """All stall reasons together."""
        return sum(part.ns for part in self.stalls)

    @property
    def net_ns(self) -> float:
        """Stalls and warps in flight as one: they trade, as fewer warps wait less each and hide less."""
        return self.stalls_ns + self.part("warps").ns

    def part(self, factor: str) -> Part:
        """Return the part of one factor.

        Raises:
            KeyError: When the launches have no such factor.
        """
        for part in self.parts:
            if part.factor == factor:
                return part
        raise KeyError(factor)

    @property
    def log2(self) -> dict[str, float]:
        """The log2 factors that add along a chain of comparisons: of stalls their sum, and the residual."""
        return {
            "instructions": self.part("instructions").log2,
            "stalls": sum(part.log2 for part in self.stalls),
            "warps": self.part("warps").log2,
            "imbalance": self.part("imbalance").log2,
            "clock": self.part("clock").log2,
            "residual": self.residual_log2,
        }

    @property
    def stall_families_log2(self) -> dict[str, float]:
        """Family of stall reasons -> its part of ``log2["stalls"]``, in stacking order; unknown reasons are "other"."""
        families = dict.fromkeys(STALL_FAMILIES, 0.0)
        for part in self.stalls:
            family = next((name for name, reasons in STALL_FAMILIES.items() if part.reason in reasons), "other")
            families[family] += part.log2
        return families


@dataclass(frozen=True, slots=True)
class Unattributed:
    """Why the difference of two launches cannot be split, and what would help.

    Attributes:
        why: ``not_collected``; ``undefined`` where a counter is zero, negative or no number; ``inconsistent`` where
            the counters do not make the duration.
        sides: The launches it is about.
        metrics: The counters that are missing or undefined, by their Nsight Compute names.
        sections: The sections that collect what is missing.
        error: How far the counters miss the duration (predicted / measured - 1), where they are inconsistent.
    """

    why: Literal["not_collected", "undefined", "inconsistent"]
    sides: tuple[Side, ...]
    metrics: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    error: float | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """One of the largest reasons for a change, in plain figures.

    Attributes:
        factor: ``instructions``, ``stalls/warps`` (their net), ``imbalance`` or ``clock``.
        ns: Its part of ``b_ns - a_ns``.
        share: That part of A's duration (-0.37: it took 37 % of A's time away).
        change: What the factor itself changed by: B's value over A's, less 1.
        reasons: For ``stalls/warps``: the stall reasons that changed most in its direction, the largest first.
    """

    factor: str
    ns: float
    share: float
    change: float
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """Steps of the ladder one after another, from one stage to the last that follows from it.

    Attributes:
        stages: Ids of the stages, in order; one more than there are steps.
        log2: Factor -> the sum of the steps' log2 factors, as :attr:`Attribution.log2` has them.
        stall_families_log2: Likewise of the families of stall reasons. These add up to ``log2["stalls"]`` too,
            but are not what a direct comparison of its ends gives: that weighs the reasons by the ends alone.
    """

    stages: tuple[str, ...]
    log2: Mapping[str, float]
    stall_families_log2: Mapping[str, float]

    @property
    def total_log2(self) -> float:
        """log2 of the last stage's duration over the first's, under the profiler."""
        return sum(self.log2.values())
