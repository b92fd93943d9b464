"""From unprofiled samples to a stage's time and its share of the reference: the one place that decides both.

Where samples come from several processes, each is judged by itself, and the one least favourable to the stage counts.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ncu_lab.analyze.rank_statistics import shift
from ncu_lab.model import TIMING_COLUMNS, Problem, Stage, TimingSample, table

if TYPE_CHECKING:
    import pandas as pd

Mode = Literal["interleaved", "alone"]


@dataclass(frozen=True, slots=True)
class Timing:
    """What the samples of one subject say.

    Attributes:
        samples_ns: The samples that count, in the order they were taken.
        median_ns: Their median.
        spread_ns: Half their interquartile range, the ± beside the median: robust against single outliers. None below
            four samples.
        time_ratio: The reference's median time over the subject's, beside each other and alone, the smaller of the
            two; None without a reference. Of several processes the lowest, whose samples are the others too.
    """

    samples_ns: tuple[float, ...]
    median_ns: float
    spread_ns: float | None
    time_ratio: float | None


@dataclass(frozen=True, slots=True)
class Claim:
    """The comparison with its reference that is least favourable to a subject.

    Attributes:
        time_ratio: The reference's median time over the subject's.
        low: Lower end of its interval, that of Hodges and Lehmann for the logarithms of the times (see
            :func:`ncu_lab.analyze.rank_statistics.shift`); None where so few samples have none.
        high: Upper end; likewise.
        mode: How both were timed.
        process: In which process.
        each: The smaller ratio of each process, in their order.
    """

    time_ratio: float
    low: float | None
    high: float | None
    mode: Mode
    process: int
    each: tuple[float, ...]


def timing(samples: Sequence[TimingSample], subject: str, reference: str | None = None) -> Timing | None:
    """Summarise the samples of a subject; None when it has none.

    A subject with a reference counts all its samples, those beside the reference and those alone; of several processes
    those of the lowest ratio. A reference itself counts those alone, where it has any: beside other kernels it meets
    their heat and their power draw (on an H200 a tensor-core GEMM between two launches of a latency-bound kernel ran
    15 % slower than by itself).

    The ratio takes the reference's samples beside this subject only, since it takes turns with every stage, and of the
    two ways to compare the one less favourable to the subject.

    Args:
        samples: Samples of all subjects.
        subject: Whose time.
        reference: Whom it is compared with.
    """
    claimed = _lowest(samples, subject, reference)
    if claimed is not None:
        samples = [sample for sample in samples if sample.process == claimed.process]
    counted = counted_samples(samples, subject, reference)
    if not counted:
        return None
    ordered = tuple(sample.ns for sample in sorted(counted, key=lambda sample: (sample.process, sample.order)))
    ratio = None if claimed is None else claimed.ratio
    return Timing(ordered, statistics.median(ordered), half_spread(ordered), ratio)


def claim(samples: Sequence[TimingSample], subject: str, reference: str | None, alpha: float = 0.01) -> Claim | None:
    """Return what :func:`timing` claims as the ratio to the reference, with its interval; None without a reference.

    Args:
        samples: Samples of all subjects.
        subject: Whose time.
        reference: Whom it is compared with.
        alpha: The interval holds the ratio with a probability of 1 - ``alpha``.
    """
    found = _compared(samples, subject, reference)
    if not found:
        return None
    lowest = min(found, key=lambda one: one.ratio)
    own, other = ({"": [math.log(ns) for ns in times]} for times in (lowest.own, lowest.other))
    apart = shift(own, other, alpha)
    low, high = (None, None) if apart is None else (apart.low, apart.high)
    processes = dict.fromkeys(one.process for one in found)
    return Claim(
        lowest.ratio,
        None if low is None else math.exp(low),
        None if high is None else math.exp(high),
        lowest.mode,
        lowest.process,
        tuple(min(one.ratio for one in found if one.process == process) for process in processes),
    )


def counted_samples(samples: Sequence[TimingSample], subject: str, reference: str | None = None) -> list[TimingSample]:
    """Return the samples that count for a subject, by the rule of :func:`timing`; none when it has none."""
    own = _by_mode(samples, subject)
    return own["alone"] if reference is None and own["alone"] else [*own["interleaved"], *own["alone"]]


def share_of_reference(
    stage: Stage, problem: Problem, time_ratio: float | None, stages: Mapping[str, Stage]
) -> float | None:
    """Return a stage's FLOP/s over its reference's (0 to 1); None without a reference that was timed.

    The two differ from the ratio of times where C = A·Aᵀ of a problem that is no square does other work.
    """
    reference = stages.get(stage.reference or "")
    if time_ratio is None or reference is None:
        return None
    work = reference.flop(problem)
    return time_ratio * stage.flop(problem) / work if work else None


def timings_table(samples: Sequence[TimingSample]) -> pd.DataFrame:
    """Return samples as a timings table (``TIMING_COLUMNS``), one row each."""
    rows = [dataclasses.asdict(sample) for sample in samples]
    return table(TIMING_COLUMNS, {name: [row[name] for row in rows] for name in TIMING_COLUMNS})


def timing_samples(frame: pd.DataFrame) -> list[TimingSample]:
    """Return the rows of a timings table (``TIMING_COLUMNS``) as samples."""
    known = frame.astype(object).where(frame.notna(), None)
    columns = [known[name].tolist() for name in TIMING_COLUMNS]
    return [TimingSample(*row) for row in zip(*columns, strict=True)]


def half_spread(values: Sequence[float]) -> float | None:
    """Return half the interquartile range; None below four values, which have no quartiles to speak of."""
    if len(values) < 4:
        return None
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / 2.0


def _by_mode(samples: Sequence[TimingSample], subject: str | None) -> dict[Mode, list[TimingSample]]:
    found: dict[Mode, list[TimingSample]] = {"interleaved": [], "alone": []}
    for sample in samples:
        if sample.subject == subject:
            found[sample.mode].append(sample)
    return found


@dataclass(frozen=True, slots=True)
class _Compared:
    """The times of a subject and of its reference that were taken in one way in one process, and their ratio."""

    process: int
    mode: Mode
    own: tuple[float, ...]
    other: tuple[float, ...]

    @property
    def ratio(self) -> float:
        return statistics.median(self.other) / statistics.median(self.own)


def _lowest(samples: Sequence[TimingSample], subject: str, reference: str | None) -> _Compared | None:
    return min(_compared(samples, subject, reference), key=lambda one: one.ratio, default=None)


def _compared(samples: Sequence[TimingSample], subject: str, reference: str | None) -> list[_Compared]:
    """Every way in which both were timed, process by process."""
    if reference is None:
        return []
    found: list[_Compared] = []
    for process in sorted({sample.process for sample in samples}):
        within = [sample for sample in samples if sample.process == process]
        own, other = _by_mode(within, subject), _by_mode(within, reference)
        orders = [sample.order for sample in own["interleaved"]]
        beside = range(min(orders, default=0) - 1, max(orders, default=-1) + 2)
        other["interleaved"] = [sample for sample in other["interleaved"] if sample.order in beside]
        for mode, taken in own.items():
            if taken and other[mode]:
                times = (tuple(sample.ns for sample in side) for side in (taken, other[mode]))
                found.append(_Compared(process, mode, *times))
    return found
