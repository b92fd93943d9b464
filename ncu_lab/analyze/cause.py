"""The counter behind a change of time, if one that was collected explains it. Pure.

The attribution says which factor changed the time most. Each factor has counters that it can come from: wavefronts for
waits on shared memory, sectors and bytes for waits on global memory, occupancy for fewer warps. Of those that moved in
the direction of the time, by more than they repeat by, the one that moved farthest is named: exact ones and whole
amounts first, then what varies. A counter that moved by less than a quarter of what the time did (of logarithms) would
not explain it, and is not named. Waits at barriers are for other warps, and have no counter of their own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ncu_lab.analyze.attribution import largest_contributions
from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.model.attribution import Attribution, Contribution, Unattributed
from ncu_lab.model.cause import Cause
from ncu_lab.model.comparison import MetricChange, TimeChange

LEAST_PART = 0.25
"""The share of the time's logarithmic change by which a counter must have moved to explain it."""

_CHANGED = frozenset({"better", "worse", "changed"})
_WAITS_FOR_OTHERS = frozenset(STALL_FAMILIES["sync"])
_FALLING = frozenset({"theoretical_occupancy_pct", "achieved_occupancy_pct", "sm_clock_hz"})
"""Counters of which less takes longer."""

_WARPS = "warps"
_COUNTERS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "instructions": (("instructions_issued",),),
    "imbalance": (("elapsed_to_active",),),
    "clock": (("sm_clock_hz",),),
    _WARPS: (("theoretical_occupancy_pct",), ("achieved_occupancy_pct",)),
    "shared / MIO": (("shared_bytes",), ("shared_load_bank_conflicts", "shared_store_bank_conflicts")),
    "global / L1TEX": (
        ("global_load_sectors_per_request", "global_store_sectors_per_request"),
        ("dram_bytes", "l2_bytes"),
        ("local_spill_requests",),
    ),
}
"""Factor, or family of stall reasons -> the counters it can come from, in groups of which the first that moved counts.

Wavefronts of shared memory are told by ``shared_bytes``, 128 bytes each: conflicts are a part of them."""


def find_cause(
    attribution: Attribution | Unattributed | None, metrics: Sequence[MetricChange], time: TimeChange
) -> Cause | None:
    """Return why a time changed; None where it did not, or the attribution does not say.

    Args:
        attribution: How the difference of the durations under the profiler splits.
        metrics: What is known of the counters.
        time: How the time changed.
    """
    if time.verdict not in ("faster", "slower") or not time.ratio or not isinstance(attribution, Attribution):
        return None
    sign = 1.0 if time.verdict == "slower" else -1.0
    largest = next((one for one in largest_contributions(attribution, most=4) if one.ns * sign > 0.0), None)
    if largest is None:
        return None
    found = _counter(_source(largest, attribution, sign), metrics, math.log(time.ratio))
    if found is None:
        return Cause(largest.factor, largest.share, largest.reasons)
    return Cause(largest.factor, largest.share, largest.reasons, found.key, found.a, found.b)


def _source(largest: Contribution, attribution: Attribution, sign: float) -> str | None:
    """Return the factor, or of waits the family, that moved the time most; None where it is waits for other warps."""
    if largest.factor in _COUNTERS:
        return largest.factor
    parts = {_WARPS: attribution.part(_WARPS).ns * sign}
    for part in attribution.stalls:
        family = next((name for name, reasons in STALL_FAMILIES.items() if part.reason in reasons), "other")
        if part.reason not in _WAITS_FOR_OTHERS:
            parts[family] = parts.get(family, 0.0) + part.ns * sign
    name = max(parts, key=lambda one: parts[one])
    return name if parts[name] > 0.0 else None


def _counter(source: str | None, metrics: Sequence[MetricChange], time: float) -> MetricChange | None:
    """Return the counter that moved with a time, whose logarithm changed by so much; None where none did."""
    known = {one.key: one for one in metrics if one.verdict in _CHANGED}
    for group in _COUNTERS.get(source or "", ()):
        moved = {one.key: _moved(one, time) for key in group if (one := known.get(key)) is not None}
        key = max(moved, key=lambda one: moved[one], default=None)
        if key is not None and moved[key] >= LEAST_PART * abs(time):
            return known[key]
    return None


def _moved(one: MetricChange, time: float) -> float:
    """Return how far a counter moved in the direction of a time, as a logarithm: from or to zero without end."""
    before, after = one.a or 0.0, one.b or 0.0
    costs = -1.0 if one.key in _FALLING else 1.0
    direction = costs * math.copysign(1.0, time)
    if min(before, after) <= 0.0:
        return direction * math.copysign(math.inf, after - before)
    return direction * math.log(after / before)
