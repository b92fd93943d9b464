"""From unprofiled samples to a stage's time and its share of the reference: the one place that decides both."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ncu_lab.model import TIMING_COLUMNS, Problem, Stage, TimingSample, table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Timing:
    """What the samples of one subject say.

    Attributes:
        samples_ns: The samples that count, in the order they were taken.
        median_ns: Their median.
        spread_ns: Half their interquartile range, the ± beside the median: robust against single outliers. None below
            four samples.
        time_ratio: The reference's median time over the subject's, beside each other and alone, the smaller of the
            two; None without a reference.
    """

    samples_ns: tuple[float, ...]
    median_ns: float
    spread_ns: float | None
    time_ratio: float | None


def timing(samples: Sequence[TimingSample], subject: str, reference: str | None = None) -> Timing | None:
    """Summarise the samples of a subject; None when it has none.

    A subject with a reference counts all its samples, those beside the reference and those alone. A reference itself
    counts those alone, where it has any: beside other kernels it meets their heat and their power draw (on an H200 a
    tensor-core GEMM between two launches of a latency-bound kernel ran 15 % slower than by itself).

    The ratio takes the reference's samples beside this subject only, since it takes turns with every stage, and of the
    two ways to compare the one less favourable to the subject.

    Args:
        samples: Samples of one process, all subjects.
        subject: Whose time.
        reference: Whom it is compared with.
    """
    counted = counted_samples(samples, subject, reference)
    if not counted:
        return None
    ordered = tuple(sample.ns for sample in sorted(counted, key=lambda sample: sample.order))
    ratio = _ratio(samples, _by_mode(samples, subject), reference)
    return Timing(ordered, statistics.median(ordered), half_spread(ordered), ratio)


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


def _by_mode(samples: Sequence[TimingSample], subject: str | None) -> dict[str, list[TimingSample]]:
    found: dict[str, list[TimingSample]] = {"interleaved": [], "alone": []}
    for sample in samples:
        if sample.subject == subject:
            found[sample.mode].append(sample)
    return found


def _ratio(samples: Sequence[TimingSample], own: dict[str, list[TimingSample]], reference: str | None) -> float | None:
    other = _by_mode(samples, reference)
    orders = [sample.order for sample in own["interleaved"]]
    beside = range(min(orders, default=0) - 1, max(orders, default=-1) + 2)
    other["interleaved"] = [sample for sample in other["interleaved"] if sample.order in beside]
    ratios = [_median(other[mode]) / _median(own[mode]) for mode in own if own[mode] and other[mode]]
    return min(ratios, default=None)


def _median(samples: Sequence[TimingSample]) -> float:
    return statistics.median(sample.ns for sample in samples)
