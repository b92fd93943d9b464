"""Two runs beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.model.attribution import Attribution, Unattributed
from ncu_lab.model.runs import Notice, RunMeta
from ncu_lab.model.views import LaunchSummary

MatchedBy = Literal["stage", "kernel", "choice"]


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of a comparison: a run, and the only stage of it that is meant, if one is."""

    meta: RunMeta
    stage: str | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """What of two runs is compared with each other.

    Attributes:
        status: ``matched``; or only in A (``removed``), only in B (``added``).
        matched_by: ``stage``, or ``kernel`` (name, grid, block and which of them it is), or ``choice`` of the user;
            None where only one side has it.
        launches_a: A's launches, in order; empty where it is only in B.
        launches_b: B's launches, likewise.
        chosen_a: The launch of A that speaks for all: the main kernel's of median duration.
        chosen_b: Likewise of B.
        attribution: Why their durations differ, or why that cannot be told; None where only one side has it.
    """

    status: Literal["matched", "added", "removed"]
    matched_by: MatchedBy | None
    launches_a: tuple[LaunchSummary, ...]
    launches_b: tuple[LaunchSummary, ...]
    chosen_a: LaunchSummary | None
    chosen_b: LaunchSummary | None
    attribution: Attribution | Unattributed | None = None

    @property
    def a_ns(self) -> float | None:
        """Duration of the chosen launch of A under the profiler."""
        return self.chosen_a.value("duration_ns") if self.chosen_a else None

    @property
    def b_ns(self) -> float | None:
        """Likewise of B."""
        return self.chosen_b.value("duration_ns") if self.chosen_b else None

    @property
    def delta_ns(self) -> float | None:
        """B - A; None where either has no duration."""
        return None if self.a_ns is None or self.b_ns is None else self.b_ns - self.a_ns

    @property
    def delta_pct(self) -> float | None:
        """(B - A) / A in percent; None where either has no duration, or A's is 0."""
        return None if self.delta_ns is None or not self.a_ns else self.delta_ns / self.a_ns * 100.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs beside each other: what is matched, what only one has, and what they differ in beside the kernels.

    Attributes:
        a: Where from.
        b: Where to.
        pairs: In the order of B's launches; then what only A has.
        differences: What makes the durations speak of more than the kernels: another GPU, driver, problem.
        warnings: Of runs that were passed over.
    """

    a: ComparedSide
    b: ComparedSide
    pairs: tuple[Pair, ...]
    differences: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()
