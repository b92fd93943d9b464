"""Is it really faster? Times and counters of one kernel in two runs, judged by one rule.

A verdict needs the probability p of such a difference by chance, and an interval that holds the ratio B / A with 99 %:
``slower`` when p < ALPHA and the interval lies above 1 + MARGIN, ``faster`` its mirror (below 1 / (1 + MARGIN)),
``same`` when it lies within both, else ``inconclusive``.

Both come from the ranks of at least five samples a side (see :mod:`ncu_lab.analyze.rank_statistics`); those taken
beside the reference and those taken alone are compared among themselves, as the GPU is warmer in one. Samples of one
process are not independent of each other: a process has its own addresses, clocks and temperature, and two commits are
measured by two processes. With five processes a side or more, each counts as one sample. With fewer the interval is
widened by how much processes are known to differ, and, on another GPU of the same model, by how much those do: the
half-widths add as squares. Then p speaks of these very processes; the interval is what keeps a false alarm out.

With fewer samples durations under the profiler are compared: by ranks too where there are five launches a side. With
fewer launches there is nothing to test, and no p: only where A/A runs measured how well durations of this very kernel
repeat on this model of GPU, the band of 99 % that follows stands for the interval; else it is inconclusive.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import Literal

from ncu_lab.analyze.power import power
from ncu_lab.analyze.rank_statistics import Strata, shift
from ncu_lab.model import TIME_KEY, LaunchSummary, TimingSample
from ncu_lab.model.comparison import ALPHA, LEAST_SAMPLES, MARGIN, Comparability, TimeChange, TimeVerdict
from ncu_lab.model.noise import NoiseTable, Repeatability
from ncu_lab.model.power import Power

Processes = Mapping[int, Mapping[str, Sequence[float]]]
"""Process -> how samples were taken -> nanoseconds."""

Method = Literal["ranks", "band"]

Z = NormalDist().inv_cdf(1.0 - ALPHA / 2.0)
"""Standard deviations to either side that hold 99 %."""

PROFILED = "duration_ns"
"""Key of durations under the profiler."""


@dataclass(frozen=True, slots=True)
class TimeEvidence:
    """What is known of the time of one kernel on one side.

    Attributes:
        samples: The unprofiled samples that count (see :func:`ncu_lab.analyze.timings.counted_samples`).
        profiled_ns: Durations of its calls under the profiler.
        kernel: Its stage, else its function: what A/A runs know it by.
        is_stage: Whether it is a stage, which ``ncu-lab profile`` can time.
    """

    samples: tuple[TimingSample, ...] = ()
    profiled_ns: tuple[float, ...] = ()
    kernel: str = field(default="", compare=False)
    is_stage: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class LogChange:
    """What is known of ln(B / A).

    Attributes:
        p: Two-sided probability of such a difference by chance; None where nothing was tested.
        estimate: Of the logarithm.
        low: Lower end of its 99 % interval; None where there is none.
        high: Upper end.
    """

    p: float | None
    estimate: float
    low: float | None
    high: float | None

    @property
    def verdict(self) -> TimeVerdict:
        """The one rule."""
        margin = math.log1p(MARGIN)
        if self.low is None or self.high is None:
            return "inconclusive"
        certain = self.p is None or self.p < ALPHA
        if certain and self.low > margin:
            return "slower"
        if certain and self.high < -margin:
            return "faster"
        return "same" if -margin <= self.low and self.high <= margin else "inconclusive"

    def widened(self, deviation: float) -> LogChange:
        """Return the same with an interval that holds a further, independent deviation too."""
        if self.low is None or self.high is None or deviation == 0.0:
            return self
        below = math.hypot(self.estimate - self.low, Z * deviation)
        above = math.hypot(self.high - self.estimate, Z * deviation)
        return LogChange(self.p, self.estimate, self.estimate - below, self.estimate + above)


DRIFT = 0.2
"""The share of the samples' standard deviation by which processes differ at least. Samples that scatter drift: those of
cuBLAS at 2048 scatter by 4 % on an H200, one after the other not independently, and with no allowance for it 108 of
1,000 pairs of processes of one build seemed to differ, with this none (``tests/benchmarks/false_alarms.py``)."""

NO_CHANGE = LogChange(None, 0.0, 0.0, 0.0)
"""Of a measurement against itself."""


def compare_times(
    a: TimeEvidence,
    b: TimeEvidence,
    comparability: Comparability = Comparability(),
    noise: NoiseTable = NoiseTable(),
    device: str | None = None,
) -> TimeChange:
    """Judge how the time of one kernel changed.

    Args:
        a: What A knows of its time.
        b: What B knows.
        comparability: What of the two can be compared.
        noise: How well times repeat.
        device: Model of the GPU, for the noise.
    """
    modes = _common_modes(a.samples, b.samples)
    times_a, times_b = _by_process(a.samples, modes), _by_process(b.samples, modes)
    launches_a, launches_b = _known(a.profiled_ns), _known(b.profiled_ns)
    enough = min(_count(times_a), _count(times_b)) >= LEAST_SAMPLES
    if enough or (times_a and times_b and not (launches_a and launches_b)):
        facts = TimeChange(
            statistics.median(_flat(times_a)), statistics.median(_flat(times_b)), _count(times_a), _count(times_b),
            "timings", "inconclusive", len(times_a), len(times_b),
        )  # fmt: skip
        if against := comparability.against("time"):
            return replace(facts, verdict="not_comparable", reason=against)
        if not enough and a != b:
            return replace(facts, reason=f"fewer than {LEAST_SAMPLES} samples a side")
        if a == b:
            return _judged(facts, NO_CHANGE, None, 0.0)
        repeats = noise.of(TIME_KEY, device, a.kernel, b.kernel)
        between, units = repeats.processes, _between_units(repeats, comparability)
        judged = _judged(facts, compare_processes(times_a, times_b, between), "ranks", units)
        if judged.verdict != "inconclusive" or units or min(len(times_a), len(times_b)) >= LEAST_SAMPLES:
            return judged
        return replace(judged, power=_power_of(times_a, times_b, between))
    if not (launches_a and launches_b):
        return _without_common_source(a, b)
    return _compare_profiled(a, b, comparability, noise, device)


def _power_of(a: Processes, b: Processes, between: float) -> Power:
    """Return what samples of a process or a few a side can tell; those of several are taken for those of one."""
    scatter = _within(a, b)
    return power(_count(a), _count(b), scatter, between, max(between, DRIFT * scatter), Z)


def _compare_profiled(
    a: TimeEvidence, b: TimeEvidence, comparability: Comparability, noise: NoiseTable, device: str | None
) -> TimeChange:
    """Judge durations under the profiler, of which both sides have some."""
    launches_a, launches_b = _known(a.profiled_ns), _known(b.profiled_ns)
    median_a, median_b = statistics.median(launches_a), statistics.median(launches_b)
    facts = TimeChange(median_a, median_b, len(launches_a), len(launches_b), "profiler", "inconclusive", 1, 1)
    if against := comparability.against("profiled_time"):
        return replace(facts, verdict="not_comparable", reason=against)
    if a == b:
        return _judged(facts, NO_CHANGE, None, 0.0)
    is_calibrated = all(noise.is_measured(PROFILED, device, side.kernel) for side in (a, b))
    if min(facts.n_a, facts.n_b) < LEAST_SAMPLES and not is_calibrated:
        return replace(facts, ratio=median_b / median_a, reason=_too_few_launches(facts, is_stage=b.is_stage))
    repeats = noise.of(PROFILED, device, a.kernel, b.kernel)
    change, method = compare_values(launches_a, launches_b, repeats)
    return _judged(facts, change, method, _between_units(repeats, comparability))


def _too_few_launches(facts: TimeChange, *, is_stage: bool) -> str:
    """``1 profiled launch a side; a verdict needs 5 timings: profile with --samples 10``."""
    a, b = facts.n_a, facts.n_b
    there = f"{a} + {b} profiled launches" if a != b else f"{a} profiled launch{'es' if a > 1 else ''} a side"
    if is_stage:
        return f"{there}; a verdict needs {LEAST_SAMPLES} timings: profile with --samples 10"
    return f"{there}; a verdict needs {LEAST_SAMPLES}"


def _judged(facts: TimeChange, change: LogChange, method: Method | None, between_units: float) -> TimeChange:
    wide = change.widened(between_units)
    verdict = wide.verdict
    return replace(
        facts,
        verdict=verdict,
        method=method,
        p=wide.p,
        ratio=math.exp(wide.estimate),
        low=None if wide.low is None else math.exp(wide.low),
        high=None if wide.high is None else math.exp(wide.high),
        reason=_why_inconclusive(wide, method, between_units) if verdict == "inconclusive" else "",
    )


def _why_inconclusive(change: LogChange, method: Method | None, between_units: float) -> str:
    if change.low is None:
        return f"fewer than {LEAST_SAMPLES} samples a side"
    if between_units:
        return "two GPUs of one model differ by as much"
    if method == "band":
        return "too few launches to tell by their durations"
    return "too few samples, or too noisy ones"


def _without_common_source(a: TimeEvidence, b: TimeEvidence) -> TimeChange:
    """Tell the times of both sides, which were not taken in one way, or that there is none."""
    taken_a, taken_b = (_known([one.ns for one in side.samples]) or _known(side.profiled_ns) for side in (a, b))
    if taken_a and taken_b:
        reason = "A and B were not timed in the same way"
    else:
        reason = "no time on either side" if not taken_a and not taken_b else f"{'B' if taken_a else 'A'} has no time"
    return TimeChange(
        statistics.median(taken_a) if taken_a else None,
        statistics.median(taken_b) if taken_b else None,
        len(taken_a),
        len(taken_b),
        None,
        "inconclusive",
        reason=reason,
    )


def compare_processes(a: Processes, b: Processes, between: float) -> LogChange:
    """Compare samples of several processes a side.

    Args:
        a: Process -> how samples were taken -> nanoseconds; every process of both sides has the same ways.
        b: Likewise of B.
        between: Standard deviation of the means of processes that do the same, as a share; what these processes
            themselves show, and :data:`DRIFT` of how their samples scatter, count where they are more.
    """
    means_a, means_b = _process_means(a), _process_means(b)
    if min(len(means_a), len(means_b)) >= LEAST_SAMPLES:
        return _shifted({"process": means_a}, {"process": means_b})
    between = max(between, _observed_between(means_a, means_b), DRIFT * _within(a, b))
    return _shifted(_pooled(a), _pooled(b)).widened(between * math.sqrt(1.0 / len(a) + 1.0 / len(b)))


def compare_values(a: Sequence[float], b: Sequence[float], repeats: Repeatability) -> tuple[LogChange, Method]:
    """Compare positive values of launches of one process a side: by their ranks, or the band in which they repeat."""
    between = repeats.processes * math.sqrt(2.0)
    if min(len(a), len(b)) >= LEAST_SAMPLES:
        logs_a, logs_b = ({"launch": [math.log(value) for value in side]} for side in (a, b))
        return _shifted(logs_a, logs_b).widened(between), "ranks"
    middle_a, middle_b = statistics.median(a), statistics.median(b)
    estimate = math.log(middle_b) - math.log(middle_a)
    variance = repeats.spread(middle_a) ** 2 / len(a) + repeats.spread(middle_b) ** 2 / len(b) + between**2
    deviation = math.sqrt(variance)
    return LogChange(None, estimate, estimate - Z * deviation, estimate + Z * deviation), "band"


def _shifted(a: Strata, b: Strata) -> LogChange:
    found = shift(a, b, ALPHA)
    if found is None:
        raise ValueError("no samples to compare")
    return LogChange(found.p, found.estimate, found.low, found.high)


def _common_modes(a: Sequence[TimingSample], b: Sequence[TimingSample]) -> list[str]:
    """Return the ways of taking samples that every process of both sides has."""
    processes = [{(side, one.process) for one in found} for side, found in enumerate((a, b))]
    modes = dict.fromkeys(one.mode for one in (*a, *b))
    taken = {(side, one.process, one.mode) for side, found in enumerate((a, b)) for one in found if _is_time(one.ns)}
    return [mode for mode in modes if all((*process, mode) in taken for side in processes for process in side)]


def _by_process(samples: Sequence[TimingSample], modes: Sequence[str]) -> Processes:
    found: dict[int, dict[str, list[float]]] = {}
    for one in samples:
        if one.mode in modes and _is_time(one.ns):
            found.setdefault(one.process, {}).setdefault(one.mode, []).append(one.ns)
    return found


def _process_means(processes: Processes) -> list[float]:
    """Return one logarithm a process: the mean, over the ways samples were taken, of their medians."""
    return [
        math.fsum(math.log(statistics.median(ways[mode])) for mode in sorted(ways)) / len(ways)
        for ways in processes.values()
    ]


def _observed_between(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the standard deviation of processes about the mean of their side; 0 with one a side."""
    freedom = len(a) + len(b) - 2
    if not freedom:
        return 0.0
    squares = [(value - statistics.fmean(side)) ** 2 for side in (a, b) for value in side]
    return math.sqrt(math.fsum(squares) / freedom)


def _within(*sides: Processes) -> float:
    """Return the standard deviation of logarithms about the mean of their process and way; 0 with one sample each."""
    groups = [
        [math.log(value) for value in values] for side in sides for ways in side.values() for values in ways.values()
    ]
    freedom = sum(len(group) - 1 for group in groups)
    if not freedom:
        return 0.0
    return math.sqrt(math.fsum((value - statistics.fmean(group)) ** 2 for group in groups for value in group) / freedom)


def _pooled(processes: Processes) -> Strata:
    pooled: dict[str, list[float]] = {}
    for ways in processes.values():
        for mode, values in ways.items():
            pooled.setdefault(mode, []).extend(math.log(value) for value in values)
    return pooled


def _flat(processes: Processes) -> list[float]:
    return [value for ways in processes.values() for values in ways.values() for value in values]


def _count(processes: Processes) -> int:
    return len(_flat(processes))


def _is_time(value: float | None) -> bool:
    return value is not None and 0.0 < value < math.inf


def _known(values: Sequence[float]) -> list[float]:
    return [value for value in values if _is_time(value)]


def _between_units(repeats: Repeatability, comparability: Comparability) -> float:
    return repeats.units * math.sqrt(2.0) if comparability.other_unit else 0.0


def call_durations(launches: Sequence[LaunchSummary]) -> tuple[float, ...]:
    """Return the profiled duration of each call of a kernel, or of a stage that launches several a call.

    Where kernels were launched a different number of times, the rarest tells how many calls there were, and the others
    take turns; where that does not come out even, all are one call. Empty where a launch has no duration.
    """
    by_kernel: dict[str, list[float]] = {}
    for launch in launches:
        duration = launch.value("duration_ns")
        if not _is_time(duration) or duration is None:
            return ()
        by_kernel.setdefault(launch.kernel, []).append(duration)
    if not by_kernel:
        return ()
    calls = min(len(found) for found in by_kernel.values())
    if any(len(found) % calls for found in by_kernel.values()):
        calls = 1
    parts = []
    for found in by_kernel.values():
        each = len(found) // calls
        parts.append([math.fsum(found[call * each : (call + 1) * each]) for call in range(calls)])
    return tuple(math.fsum(part[call] for part in parts) for call in range(calls))
