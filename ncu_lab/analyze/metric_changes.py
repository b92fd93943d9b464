"""How counters, and the figures of the compiler, changed between two runs of one kernel.

Exact ones are held to what they are known to repeat by: nothing for what the compiler decides, else the tolerance of
the noise table, or what their own repeated launches show where that is more. Noisy ones follow the rule of times
(:mod:`ncu_lab.analyze.compare`): ranks with five launches a side or more, else the band in which they repeat.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import replace

from ncu_lab.analyze.compare import Z, compare_values
from ncu_lab.analyze.rank_statistics import two_sided_p
from ncu_lab.metrics import METRICS, Better, Metric
from ncu_lab.model import LaunchSummary, StageBuild
from ncu_lab.model.comparison import (
    ALPHA,
    LEAST_SAMPLES,
    Comparability,
    MetricChange,
    MetricVerdict,
    QuantityClass,
)
from ncu_lab.model.expectations import BUILD, BUILD_UNITS
from ncu_lab.model.noise import NoiseTable, Repeatability

TIMES = frozenset({"duration_ns"})
"""Keys that are judged as times are."""

STATIC = frozenset({"registers_per_thread", "shared_memory_per_block"})
"""Keys of the catalogue that the compiler decides: they compare across drivers, and GPUs of one architecture."""

INSTRUCTIONS = f"{BUILD}instructions"
"""Key of the number of instructions in the machine code."""

ROUNDING = 1e-6
"""Values that differ by no more are the same ones, written with the six decimals of an export."""

WITHIN = "within what it repeats by"
FEW = "too few launches to tell"
TOO_NOISY = "too few launches, or too noisy"

_LOWER = ("registers", "spill_store_bytes", "spill_load_bytes", "stack_bytes")


def quantity_class(metric: Metric) -> QuantityClass:
    """Return the class of a key of the catalogue."""
    if metric.key in TIMES:
        return "profiled_time"
    if metric.key in STATIC:
        return "static"
    return metric.kind


def compare_counters(
    a: Sequence[LaunchSummary],
    b: Sequence[LaunchSummary],
    comparability: Comparability = Comparability(),
    noise: NoiseTable = NoiseTable(),
    device: str | None = None,
) -> tuple[MetricChange, ...]:
    """Judge every counter that either side has, in the order of the catalogue; times are not among them.

    Args:
        a: Launches of one kernel of A: samples of it.
        b: Likewise of B.
        comparability: What of the two can be compared.
        noise: How well counters repeat.
        device: Model of the GPU, for the noise.
    """
    found = []
    kernels = {one.stage or one.function for one in (*a, *b)}
    for metric in METRICS.values():
        values_a, values_b = _values(a, metric.key), _values(b, metric.key)
        if metric.key in TIMES or not (values_a or values_b):
            continue
        against = comparability.against(quantity_class(metric))
        repeats = noise.of(metric.key, device, *kernels)
        if comparability.other_unit and metric.kind == "noisy":
            repeats = Repeatability(
                repeats.launches, math.hypot(repeats.processes, repeats.units), repeats.units, repeats.absolute
            )
        change = compare_metric(metric, values_a, values_b, repeats, against)
        if change.verdict == "missing":
            letter, lacking = ("A", a) if change.a is None else ("B", b)
            if any(one.value(metric.key) is not None for one in lacking):
                change = replace(change, reason=f"{letter}'s is no number")
        found.append(change if comparability.forced else _in_one_way(change, a, b))
    return tuple(found)


def _in_one_way(change: MetricChange, a: Sequence[LaunchSummary], b: Sequence[LaunchSummary]) -> MetricChange:
    """Take a difference back where the sides read the quantity from other counters: it need not be the kernel's.

    Sections decide what there is to read it from. The hardware's wavefronts, for one, hold arbitration, those of the
    instructions do not: one launch shows 1.09 times its ideal by the first and 1.00 by the second.
    """
    ways_a, ways_b = _ways(a, change.key), _ways(b, change.key)
    if change.verdict in ("same", "missing", "not_comparable") or ways_a & ways_b:
        return change
    words = f"A has it from {' and '.join(sorted(ways_a))}, B from {' and '.join(sorted(ways_b))}"
    return replace(change, verdict="not_comparable", reason=words, p=None, low=None, high=None)


def _ways(launches: Sequence[LaunchSummary], key: str) -> set[str]:
    """Return the expressions that a quantity was read by."""
    readings = (one.readings[key] for one in launches)
    return {one.metric for one in readings if one.value is not None and math.isfinite(one.value)}


def _values(launches: Sequence[LaunchSummary], key: str) -> list[float]:
    read = (one.value(key) for one in launches)
    return [value for value in read if value is not None and math.isfinite(value)]


def compare_metric(
    metric: Metric, a: Sequence[float], b: Sequence[float], repeats: Repeatability, against: str | None = None
) -> MetricChange:
    """Judge one quantity.

    Args:
        metric: What it is.
        a: Its values in the launches of A; empty where it was not collected, or is no number.
        b: Likewise of B.
        repeats: How well it repeats.
        against: Why it is not comparable; None where it is.
    """
    change = MetricChange(
        metric.key,
        statistics.median(a) if a else None,
        statistics.median(b) if b else None,
        metric.unit,
        metric.kind,
        metric.better,
        "same",
        n_a=len(a),
        n_b=len(b),
    )
    if change.a is None or change.b is None:
        lacking = "A" if change.a is None else "B"
        return replace(change, verdict="missing", reason=f"{lacking} does not have it")
    if against is not None:
        return replace(change, verdict="not_comparable", reason=against)
    if list(a) == list(b):
        return change
    return _exact(change, a, b, repeats) if metric.kind == "exact" else _noisy(change, a, b, repeats)


def _exact(change: MetricChange, a: Sequence[float], b: Sequence[float], repeats: Repeatability) -> MetricChange:
    before, after = statistics.median(a), statistics.median(b)
    largest = max(abs(before), abs(after))
    known = math.hypot(repeats.launches * largest, repeats.processes * largest, repeats.absolute)
    deviation = max(known, _deviation(a, b))
    tolerance = max(Z * math.sqrt(2.0) * deviation, ROUNDING * largest)
    if abs(after - before) <= tolerance:
        return replace(change, reason="" if after == before else WITHIN)
    return replace(change, verdict=directed(change.better, after - before))


def _deviation(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the standard deviation of launches about the mean of their side; 0 without repeated ones."""
    freedom = len(a) + len(b) - 2
    if freedom < 1:
        return 0.0
    squares = [(value - statistics.fmean(side)) ** 2 for side in (a, b) for value in side]
    return math.sqrt(math.fsum(squares) / freedom)


def _noisy(change: MetricChange, a: Sequence[float], b: Sequence[float], repeats: Repeatability) -> MetricChange:
    if min(*a, *b) <= 0.0:
        return _noisy_about_zero(change, a, b, repeats)
    found, method = compare_values(a, b, repeats)
    judged = replace(
        change,
        p=found.p,
        low=None if found.low is None else math.exp(found.low),
        high=None if found.high is None else math.exp(found.high),
    )
    if found.verdict == "same" or (method == "band" and abs(found.estimate) <= ROUNDING):
        return judged
    if found.verdict == "inconclusive":
        few = method == "band"
        return replace(judged, verdict="inconclusive", reason=FEW if few else TOO_NOISY)
    return replace(judged, verdict=directed(change.better, found.estimate))


def _noisy_about_zero(
    change: MetricChange, a: Sequence[float], b: Sequence[float], repeats: Repeatability
) -> MetricChange:
    """Judge a quantity that is zero somewhere, and so has no ratio."""
    difference = statistics.median(b) - statistics.median(a)
    largest = max(abs(statistics.median(a)), abs(statistics.median(b)))
    if abs(difference) <= Z * math.sqrt(2.0) * math.hypot(repeats.launches * largest, repeats.absolute):
        return replace(change, reason="" if difference == 0.0 else WITHIN)
    if min(len(a), len(b)) >= LEAST_SAMPLES:
        p = two_sided_p([(a, b)])
        if p >= ALPHA:
            return replace(change, verdict="inconclusive", reason=TOO_NOISY, p=p)
        return replace(change, verdict=directed(change.better, difference), p=p)
    return replace(change, verdict=directed(change.better, difference))


def directed(better: Better, difference: float) -> MetricVerdict:
    """Say what a change is worth: ``changed`` where no direction is better."""
    if better == "neutral":
        return "changed"
    return "better" if (difference < 0) == (better == "lower") else "worse"


def compare_builds(
    a: StageBuild, b: StageBuild, comparability: Comparability = Comparability()
) -> tuple[MetricChange, ...]:
    """Judge what the compiler says of a stage: resources of a thread and a block, and the number of instructions."""
    against = comparability.against("static")
    if against is None and a.arch != b.arch and not comparability.forced:
        against = f"another target of the compiler ({a.arch} and {b.arch})"
    figures = [(BUILD + name, getattr(a, name), getattr(b, name), unit) for name, unit in BUILD_UNITS.items()]
    figures.append((INSTRUCTIONS, instruction_count(a), instruction_count(b), "inst"))
    found = []
    for key, before, after, unit in figures:
        if before is None and after is None:
            continue
        better: Better = "lower" if key.removeprefix(BUILD) in _LOWER else "neutral"
        metric = Metric(key, unit, better, "exact", "", "", ())
        values_a, values_b = ([] if value is None else [float(value)] for value in (before, after))
        found.append(compare_metric(metric, values_a, values_b, Repeatability(0.0), against))
    return tuple(found)


def instruction_count(build: StageBuild) -> int | None:
    """Return how many instructions the code of a stage has; None without a disassembler."""
    return None if build.sass_mix is None else sum(build.sass_mix.values())
