"""What a gate is asked about, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.metrics import Kind
from ncu_lab.model.cause import Cause
from ncu_lab.model.policy import Direction, Limit
from ncu_lab.model.runs import Notice

Outcome = Literal["violation", "improvement", "inconclusive", "missing", "passed"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a kernel is defined: a file relative to the repository, and the line (from 1)."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity of one kernel before and after; the values are in the base unit of its key.

    Attributes:
        kernel: The kernel in words: its stage, else its name.
        stage: Stage id; None for foreign programs.
        function: Short name; a policy's kernel pattern goes by it.
        key: A key that a policy can name.
        unit: Unit of the values.
        kind: Its class.
        a: Value before; None where it is missing.
        b: Value after; likewise.
        estimate: The relative change B/A - 1 as a share, by samples; None where it is that of the two values.
        interval: Its 99% interval; None where it has none: it is exact, or there are too few samples.
        p: Two-sided p of samples; None where there are none to compare.
        n_a: Samples before.
        n_b: Samples after.
        comparable: Whether the two values can be compared.
        same: Whether B and A differ by no more than the quantity does between profiles of one build.
        why: Why a value is missing, or not comparable, or cannot be told; in words.
        hint: What would help to tell; empty where nothing would.
        detail: What else there is to tell of the change, in a few words.
        sentence: What happened to a time and why, in one sentence; empty where it did not change.
        cause: Why a time changed; None where it did not, or that is not known.
        place: Where the kernel is defined.
    """

    kernel: str
    stage: str | None
    function: str
    key: str
    unit: str
    kind: Kind
    a: float | None
    b: float | None
    estimate: float | None = None
    interval: tuple[float, float] | None = None
    p: float | None = None
    n_a: int = 1
    n_b: int = 1
    comparable: bool = True
    same: bool = False
    why: str = ""
    hint: str = ""
    detail: str = ""
    sentence: str = ""
    cause: Cause | None = None
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One quantity with what the gate says of it.

    Attributes:
        change: The quantity.
        outcome: What came of it.
        limit: How much worse was allowed; None where it could not be judged at all.
        why: The reason, in a few words.
        fails: Whether the gate fails because of it.
        better: Which way is better.
    """

    change: Change
    outcome: Outcome
    limit: Limit | None
    why: str
    fails: bool
    better: Direction = "lower"


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate says.

    Attributes:
        a: What was compared with, in words.
        b: What was gated, in words.
        judged: Every quantity that a policy speaks of, kernel by kernel.
        added: Kernels that only B has.
        removed: Kernels that only A has.
        policy: The file of the policy; empty where there is none.
        forced: What was compared although it is not comparable, in words.
        notices: What else to know.
    """

    a: str
    b: str
    judged: tuple[Judged, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    policy: str = ""
    forced: tuple[str, ...] = ()
    notices: tuple[Notice, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing fails it."""
        return not self.failing

    @property
    def failing(self) -> tuple[Judged, ...]:
        """What fails it: violations, and what else the policy makes fail."""
        return tuple(one for one in self.judged if one.fails)

    def of(self, outcome: Outcome) -> tuple[Judged, ...]:
        """Return what had one outcome, in order."""
        return tuple(one for one in self.judged if one.outcome == outcome)

    def reported(self, outcome: Outcome) -> tuple[Judged, ...]:
        """Return what had one outcome and does not fail."""
        return tuple(one for one in self.of(outcome) if not one.fails)
