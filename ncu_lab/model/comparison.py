"""Two runs, or two sets of runs, beside each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.metrics import Better, Kind
from ncu_lab.model.attribution import Attribution, Unattributed
from ncu_lab.model.cause import Cause
from ncu_lab.model.power import Power
from ncu_lab.model.runs import Notice, RunMeta, Status
from ncu_lab.model.views import LaunchSummary

QuantityClass = Literal["time", "profiled_time", "noisy", "exact", "static"]
"""Unprofiled times, durations under the profiler, counters that vary, counters that repeat, the compiler's figures."""

QUANTITY_CLASSES: tuple[QuantityClass, ...] = ("time", "profiled_time", "noisy", "exact", "static")

PairStatus = Literal["matched", "renamed", "split", "merged", "added", "removed"]
MatchedBy = Literal["choice", "stage", "kernel", "shape", "path", "template", "similarity"]
TimeVerdict = Literal["faster", "slower", "same", "inconclusive", "not_comparable"]
MetricVerdict = Literal["better", "worse", "changed", "same", "inconclusive", "missing", "not_comparable"]

ALPHA = 0.01
"""Probability of a difference by chance below which it counts; intervals have 1 - ALPHA."""

MARGIN = 0.005
"""A ratio of times within 1 / (1 + MARGIN) to 1 + MARGIN is no difference worth a word."""

LEAST_SAMPLES = 5
"""Samples a side: with fewer no two sets differ significantly (4 and 4 reach p = 0.029 at best)."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What must agree before two runs can be compared. What a run does not tell is None, and not known to differ.

    Attributes:
        run: Id of the run.
        device: Model of the GPU.
        compute_capability: Major and minor.
        sm_count: SMs.
        unit: Hashed uuid of the very GPU.
        driver: Version of the driver.
        cuda: Version of CUDA.
        ncu: Version of Nsight Compute.
        nvcc: Version of the compiler.
        arch: What code was made for, of the flags.
        flags: All other flags of the compiler except definitions: these are of the kernel, such as its tile.
        clock_control: Of Nsight Compute.
        cache_control: Likewise.
        sections: Likewise; empty where unknown.
        problem: Label of the problem, with alpha and beta.
        dtypes: Of the stages that are registered: stage -> type.
        samples: Subject -> unprofiled samples.
        ncu_lab: Version of this program.
        schema: Version of the run directory.
        status: Status of the run.
        dirty: Whether the tree was edited.
    """

    run: str
    device: str | None = None
    compute_capability: tuple[int, int] | None = None
    sm_count: int | None = None
    unit: str | None = None
    driver: str | None = None
    cuda: str | None = None
    ncu: str | None = None
    nvcc: str | None = None
    arch: tuple[str, ...] | None = None
    flags: tuple[str, ...] | None = None
    clock_control: str | None = None
    cache_control: str | None = None
    sections: tuple[str, ...] | None = None
    problem: str | None = None
    dtypes: tuple[tuple[str, str], ...] = ()
    samples: tuple[tuple[str, int], ...] = ()
    ncu_lab: str | None = None
    schema: int | None = None
    status: str | None = None
    dirty: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two runs differ beside their kernels.

    Attributes:
        code: Stable name: ``other_device``.
        what: What it is: ``GPU``.
        a: What A tells.
        b: What B tells.
        forbids: The quantities that cannot be compared because of it; empty where it is only to be known.
        because: Why it forbids them, where that is not plain.
    """

    code: str
    what: str
    a: str
    b: str
    forbids: tuple[QuantityClass, ...] = ()
    because: str = ""

    @property
    def words(self) -> str:
        """``another driver (580.1 and 590.2)``."""
        return f"another {self.what} ({self.a} and {self.b}{f'; {self.because}' if self.because else ''})"


@dataclass(frozen=True, slots=True)
class Comparability:
    """What of two runs can be compared.

    Attributes:
        differences: In what they differ.
        unknown: What only one of them, or neither, tells.
        other_unit: Whether the GPUs are known to be two of one model: times then vary by more.
        forced: Whether all is compared anyhow, as the user demanded.
    """

    differences: tuple[Difference, ...] = ()
    unknown: tuple[str, ...] = ()
    other_unit: bool = False
    forced: bool = False

    @property
    def reasons(self) -> tuple[Difference, ...]:
        """The differences that forbid something."""
        return tuple(one for one in self.differences if one.forbids)

    @property
    def is_comparable(self) -> bool:
        """Whether nothing is forbidden."""
        return not self.reasons

    def against(self, quantity: QuantityClass) -> str | None:
        """Return why a quantity is not comparable; None where it is, or was forced to be."""
        words = [one.words for one in self.differences if quantity in one.forbids]
        return "; ".join(words) if words and not self.forced else None


@dataclass(frozen=True, slots=True)
class TimeChange:
    """How a kernel's time changed.

    Attributes:
        a_ns: Median of A; None without any.
        b_ns: Likewise of B.
        n_a: Samples, or profiled launches, of A that count.
        n_b: Likewise of B.
        processes_a: Processes that they are from.
        processes_b: Likewise of B.
        source: Unprofiled samples, or the profiler's durations.
        method: ``ranks``: by the ranks of samples; ``band``: by how well durations were measured to repeat; None where
            nothing had to be judged, or could be.
        p: Two-sided probability of such a difference by chance; None where nothing was tested.
        ratio: Estimate of B over A.
        low: Lower end of its 99 % interval.
        high: Upper end.
        verdict: What follows.
        reason: Why it is inconclusive or not comparable; empty else.
        power: Where samples are inconclusive: what so many can tell; None where that is not known.
    """

    a_ns: float | None
    b_ns: float | None
    n_a: int
    n_b: int
    source: Literal["timings", "profiler"] | None
    verdict: TimeVerdict
    processes_a: int = 0
    processes_b: int = 0
    method: Literal["ranks", "band"] | None = None
    p: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    power: Power | None = None

    @property
    def delta_ns(self) -> float | None:
        """B - A of the medians; None where either is missing or they are not comparable."""
        if self.a_ns is None or self.b_ns is None or self.verdict == "not_comparable":
            return None
        return self.b_ns - self.a_ns

    @property
    def delta_pct(self) -> float | None:
        """(B - A) / A in percent."""
        return _percent(self.a_ns, self.delta_ns)


@dataclass(frozen=True, slots=True)
class MetricChange:
    """How one counter, or one figure of the compiler, changed.

    Attributes:
        key: Of the catalogue, or ``build:`` and the compiler's figure.
        a: Median of A; None where it was not collected, or is no number.
        b: Likewise of B.
        unit: Of both.
        kind: ``exact`` or ``noisy``.
        better: The direction that is an improvement.
        verdict: What follows; ``changed`` where no direction is better.
        reason: Why, where the verdict alone does not tell.
        n_a: Launches of A that tell it.
        n_b: Likewise of B.
        p: Of noisy ones with samples: probability of such a difference by chance.
        low: Lower end of the 99 % interval of B over A; None where there is none.
        high: Upper end.
    """

    key: str
    a: float | None
    b: float | None
    unit: str
    kind: Kind
    better: Better
    verdict: MetricVerdict
    reason: str = ""
    n_a: int = 0
    n_b: int = 0
    p: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def is_no_number(self) -> bool:
        """Whether one side collected it, and got no number."""
        return self.verdict == "missing" and self.reason.endswith("is no number")

    @property
    def delta(self) -> float | None:
        """B - A; None where either is missing or they are not comparable."""
        return None if self.a is None or self.b is None or self.verdict == "not_comparable" else self.b - self.a

    @property
    def delta_pct(self) -> float | None:
        """(B - A) / A in percent; None likewise, and where A is 0."""
        return _percent(self.a, self.delta)


@dataclass(frozen=True, slots=True)
class MovedLine:
    """A line of source whose share of the samples changed.

    Attributes:
        file: Source file, as B names it (A where B does not have it).
        line_a: Its number in A's text; None where only B has it.
        line_b: Likewise in B's.
        text: The line; None where it is not known.
        share_a: Share of A's samples (0 to 1).
        share_b: Likewise of B's.
    """

    file: str
    line_a: int | None
    line_b: int | None
    text: str | None
    share_a: float
    share_b: float

    @property
    def delta(self) -> float:
        """B - A."""
        return self.share_b - self.share_a


@dataclass(frozen=True, slots=True)
class Pair:
    """Launches of one kernel, or of what became of it, in two runs. Launches of a stage are one.

    Attributes:
        status: ``matched``; under another name (``renamed``); one kernel that became several (``split``), or the other
            way (``merged``); or only in A (``removed``), only in B (``added``).
        matched_by: What paired them; None where only one side has it.
        confidence: How sure it is (0 to 1); None likewise.
        launches_a: A's launches, in order; empty where it is only in B.
        launches_b: B's launches, likewise.
        chosen_a: The launch of A that speaks for all: the main kernel's of median duration.
        chosen_b: Likewise of B.
        run_a: The run that A's launches are of; None where only B has it.
        run_b: Likewise of B.
        comparability: What of them can be compared.
        duration: How the time changed; None where only one side has it.
        metrics: What is known of each counter of both sides; empty likewise.
        attribution: Why their profiled durations differ, or why that cannot be told; None where only one side has it,
            or they are not comparable.
        cause: What of that explains a time that changed; None where it did not, or that is not known.
        lines: The lines of source whose share of samples moved, the farthest first.
        same_code: Whether the instructions are the same; None where that is not known.
    """

    status: PairStatus
    matched_by: MatchedBy | None
    launches_a: tuple[LaunchSummary, ...]
    launches_b: tuple[LaunchSummary, ...]
    chosen_a: LaunchSummary | None
    chosen_b: LaunchSummary | None
    confidence: float | None = None
    run_a: RunMeta | None = None
    run_b: RunMeta | None = None
    comparability: Comparability = Comparability()
    duration: TimeChange | None = None
    metrics: tuple[MetricChange, ...] = ()
    attribution: Attribution | Unattributed | None = None
    cause: Cause | None = None
    lines: tuple[MovedLine, ...] = ()
    same_code: bool | None = None

    @property
    def is_on_both_sides(self) -> bool:
        """Whether there is something to compare."""
        return self.status not in ("added", "removed")

    def metric(self, key: str) -> MetricChange | None:
        """Return what is known of one counter; None where neither side has it."""
        return next((one for one in self.metrics if one.key == key), None)


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side of a comparison.

    Attributes:
        runs: The runs that it is made of, the newest first: a revision may have one for each stage.
        stage: The only stage of it that is meant, if one is.
        reference: What the user called it.
    """

    runs: tuple[RunMeta, ...]
    stage: str | None = None
    reference: str = ""

    @property
    def meta(self) -> RunMeta:
        """The newest run."""
        return self.runs[0]


@dataclass(frozen=True, slots=True)
class FailedStage:
    """A stage that a side lacks because it failed at the side's commit.

    Attributes:
        stage: The stage.
        status: What failed at the commit: ``build_failed`` or ``check_failed``.
        commit: Its hash.
        why: First line of the error, without the name of the stage.
    """

    stage: str
    status: Status
    commit: str
    why: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides beside each other: what is paired, what only one has, and what they differ in beside the kernels.

    Attributes:
        a: Where from.
        b: Where to.
        pairs: In the order of B's launches; then what only A has.
        forced: Whether the user demanded to compare what is not comparable.
        warnings: Of runs that were passed over or left out.
        is_next: Whether B's commit is the one after A's, as far as git is there to tell.
        failed_a: Stages of B that failed at A's commit; ``failed_b`` likewise, which were not removed.
    """

    a: ComparedSide
    b: ComparedSide
    pairs: tuple[Pair, ...]
    forced: bool = False
    warnings: tuple[Notice, ...] = ()
    is_next: bool = False
    failed_a: tuple[FailedStage, ...] = ()
    failed_b: tuple[FailedStage, ...] = ()

    @property
    def differences(self) -> tuple[Difference, ...]:
        """In what the runs differ, over all pairs, each once."""
        return tuple(dict.fromkeys(one for pair in self.pairs for one in pair.comparability.differences))

    @property
    def reasons(self) -> tuple[Difference, ...]:
        """The differences that forbid something."""
        return tuple(one for one in self.differences if one.forbids)

    def count(self, *verdicts: TimeVerdict) -> int:
        """Count pairs whose time has one of these verdicts."""
        return sum(pair.duration is not None and pair.duration.verdict in verdicts for pair in self.pairs)


def _percent(before: float | None, delta: float | None) -> float | None:
    return None if delta is None or not before else delta / before * 100.0
