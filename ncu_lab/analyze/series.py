"""What one run tells of each of its kernels, for histories: medians of repeated launches and of unprofiled samples."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from fractions import Fraction

from ncu_lab.analyze.summary import summarize
from ncu_lab.analyze.timings import share_of_reference, timing, timing_samples
from ncu_lab.metrics import METRICS
from ncu_lab.model import (
    SHARE_KEY,
    TIME_KEY,
    Estimate,
    KernelIdentity,
    KernelReadings,
    LaunchSummary,
    Run,
    Stage,
    TimingSample,
)

CONFIDENCE = Fraction(99, 100)


def kernel_readings(run: Run, stages: Mapping[str, Stage]) -> KernelReadings:
    """Return what a run tells of each kernel: launches of one name, shape, stage and NVTX path are samples of it.

    The unprofiled time of a stage belongs to its main kernel, or stands alone where the stage was not profiled.

    Args:
        run: The run; its launches, metrics, instances and timings are read.
        stages: The registry: it knows data types and references.
    """
    launches: dict[KernelIdentity, list[LaunchSummary]] = {}
    for one in summarize(run):
        launches.setdefault(_identity(one, stages), []).append(one)
    found = {kernel: _counted(group) for kernel, group in launches.items()}
    samples = timing_samples(run.timings[run.timings["ns"].notna()])
    main = {kernel.stage: kernel for kernel in reversed(found) if kernel.role == "main"}
    for subject in dict.fromkeys(one.subject for one in samples):
        kernel = main.get(subject) or KernelIdentity(subject, _dtype(subject, stages))
        found[kernel] = {**found.get(kernel, {}), **_timed(subject, run, samples, stages)}
    return found


def _identity(one: LaunchSummary, stages: Mapping[str, Stage]) -> KernelIdentity:
    dtype = _dtype(one.stage, stages)
    return KernelIdentity(one.stage, dtype, one.kernel, one.function, one.role, one.nvtx, one.grid, one.block)


def _dtype(stage: str | None, stages: Mapping[str, Stage]) -> str | None:
    registered = stages.get(stage or "")
    return registered.dtype if registered else None


def _counted(group: Sequence[LaunchSummary]) -> dict[str, Estimate]:
    read = {key: [value for one in group if (value := one.value(key)) is not None] for key in METRICS}
    return {key: found for key, values in read.items() if (found := estimate(values)) is not None}


def _timed(subject: str, run: Run, samples: Sequence[TimingSample], stages: Mapping[str, Stage]) -> dict[str, Estimate]:
    stage = stages.get(subject)
    found = timing(samples, subject, stage.reference if stage else None)
    time = estimate(found.samples_ns) if found else None
    if found is None or time is None:
        return {}
    share = None
    if stage and run.meta.problem:
        share = share_of_reference(stage, run.meta.problem, found.time_ratio, stages)
    return {TIME_KEY: time} if share is None else {TIME_KEY: time, SHARE_KEY: Estimate(100.0 * share, time.n)}


def estimate(values: Sequence[float]) -> Estimate | None:
    """Return the median of those values that are numbers, with its interval; None without any."""
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return None
    return Estimate(statistics.median(known), len(known), *median_interval(known))


def median_interval(
    values: Sequence[float], confidence: Fraction = CONFIDENCE
) -> tuple[float, float] | tuple[None, None]:
    """Return an interval that holds the median of what the values are drawn from, whatever its distribution.

    Between the k-th smallest and the k-th largest of n values lies the median with a probability of
    1 - 2 P(X < k), X binomial with n draws of 1/2 (order statistics; Conover, Practical Nonparametric Statistics,
    section 3.2). k is the largest that keeps the confidence.

    Returns:
        Both ends; None for both where even the smallest and the largest do not: below 8 values at 99%.
    """
    ordered, count = sorted(values), len(values)
    k, ways, below = 0, 1, 1  # ways to draw k of count, and k or fewer
    while 2 * below <= (1 - confidence) * 2**count and k < count:
        k += 1
        ways = ways * (count - k + 1) // k
        below += ways
    return (ordered[k - 1], ordered[count - k]) if k else (None, None)
