"""Sectors of a global access against its ideal: wider accesses take more sectors a request, and are better for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ncu_lab.analyze.metric_changes import ROUNDING, directed
from ncu_lab.model.comparison import MetricChange

OVER_IDEAL_OF: Mapping[str, tuple[str, str]] = {
    "global_load_sectors_over_ideal": ("global_load_sectors_per_request", "global_load_sectors_ideal"),
    "global_store_sectors_over_ideal": ("global_store_sectors_per_request", "global_store_sectors_ideal"),
}
"""Key of a quotient -> what it divides by what; both are exact counters of the catalogue."""


def against_ideal(metrics: Sequence[MetricChange]) -> tuple[MetricChange, ...]:
    """Put the quotient in place of sectors a request and their ideal, where both sides know both.

    It has changed where either counter has, by the rules of :mod:`ncu_lab.analyze.metric_changes`; less is better.
    """
    by_key = {one.key: one for one in metrics}
    made: dict[str, MetricChange] = {}
    gone: set[str] = set()
    for key, (counted, ideal) in OVER_IDEAL_OF.items():
        quotient = _quotient(key, by_key.get(counted), by_key.get(ideal))
        if quotient is not None:
            made[counted] = quotient
            gone.add(ideal)
    return tuple(made.get(one.key, one) for one in metrics if one.key not in gone)


def _quotient(key: str, counted: MetricChange | None, ideal: MetricChange | None) -> MetricChange | None:
    if counted is None or ideal is None or counted.a is None or counted.b is None or not ideal.a or not ideal.b:
        return None
    a, b = counted.a / ideal.a, counted.b / ideal.b
    change = replace(counted, key=key, a=a, b=b, unit="", better="lower", verdict="same", reason="")
    against = next((one for one in (counted, ideal) if one.verdict == "not_comparable"), None)
    if against is not None:
        return replace(change, verdict="not_comparable", reason=against.reason)
    moved = {counted.verdict, ideal.verdict} != {"same"} and abs(b - a) > ROUNDING * max(a, b)
    return replace(change, verdict=directed("lower", b - a)) if moved else change
