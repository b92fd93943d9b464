"""What two compared sides differ in, quantity by quantity, for a gate. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ncu_lab.model.comparison import Comparison, MetricChange, Pair, TimeChange
from ncu_lab.model.gating import Change

DURATION = "duration_ns"
"""The key by which a policy names a kernel's time, whether it is from samples or from the profiler."""

_ENOUGH = 20


def _unsaid(_: object) -> str:
    return ""


def comparison_changes(
    comparison: Comparison,
    sentence: Callable[[Pair], str] = _unsaid,
    power: Callable[[TimeChange], str] = _unsaid,
) -> list[Change]:
    """Return every quantity of every pair that both sides have; what the rule of the verdicts found of it included.

    Args:
        comparison: The two sides.
        sentence: Says of a pair what happened to its time, and why.
        power: Says of a time what so many samples can tell.
    """
    return [
        replace(change, sentence=sentence(pair), detail=power(pair.duration))
        if change.key == DURATION and pair.duration is not None
        else change
        for pair in comparison.pairs
        if pair.is_on_both_sides
        for change in _changes(pair)
    ]


def one_sided(comparison: Comparison) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the kernels that only B has, and of those that only A has."""
    found: dict[str, list[str]] = {"added": [], "removed": []}
    for pair in comparison.pairs:
        if not pair.is_on_both_sides:
            found[pair.status].append(kernel_name(pair))
    added, removed = (tuple(dict.fromkeys(names)) for names in found.values())
    return added, removed


def kernel_name(pair: Pair) -> str:
    """Return the stage of a pair, else its function; two names where it changed."""
    names = [one.stage or one.function for one in (pair.chosen_a, pair.chosen_b) if one is not None]
    return " → ".join(dict.fromkeys(names))


def _changes(pair: Pair) -> Iterator[Change]:
    if pair.duration is not None:
        yield _of_time(pair, pair.duration)
    for metric in pair.metrics:
        if metric.key != DURATION:
            yield _of_metric(pair, metric)


def _of_time(pair: Pair, time: TimeChange) -> Change:
    return Change(
        kernel=kernel_name(pair),
        stage=_stage(pair),
        function=_function(pair),
        key=DURATION,
        unit="ns",
        kind="noisy",
        a=time.a_ns,
        b=time.b_ns,
        estimate=None if time.ratio is None else time.ratio - 1.0,
        interval=_interval(time.low, time.high),
        p=time.p,
        n_a=time.n_a,
        n_b=time.n_b,
        comparable=time.verdict != "not_comparable",
        why=time.reason,
        cause=pair.cause,
        hint="" if pair.comparability.other_unit else _more_samples(time),
    )


def _of_metric(pair: Pair, metric: MetricChange) -> Change:
    return Change(
        kernel=kernel_name(pair),
        stage=_stage(pair),
        function=_function(pair),
        key=metric.key,
        unit=metric.unit,
        kind=metric.kind,
        a=metric.a,
        b=metric.b,
        interval=_interval(metric.low, metric.high),
        p=metric.p,
        n_a=metric.n_a,
        n_b=metric.n_b,
        comparable=metric.verdict != "not_comparable",
        same=metric.kind == "exact" and metric.verdict == "same",
        why=metric.reason,
    )


def _more_samples(time: TimeChange) -> str:
    """Say how many samples to take: as many as show a slowdown, else twice as many as there are.

    Of durations under the profiler nothing: a foreign program has no samples, and a stage's reason tells what to do.
    """
    if time.source != "timings":
        return ""
    needed = time.power.needed if time.power else None
    return f"take more: --samples {needed or max(2 * min(time.n_a, time.n_b), _ENOUGH)}"


def _interval(low: float | None, high: float | None) -> tuple[float, float] | None:
    """Turn the ends of a ratio's interval into those of a relative change."""
    return None if low is None or high is None else (low - 1.0, high - 1.0)


def _stage(pair: Pair) -> str | None:
    chosen = pair.chosen_b or pair.chosen_a
    return chosen.stage if chosen else None


def _function(pair: Pair) -> str:
    chosen = pair.chosen_b or pair.chosen_a
    return chosen.function if chosen else ""
