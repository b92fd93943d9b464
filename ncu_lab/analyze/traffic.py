"""What moved through the memory system of one launch, and how busy its units were."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_lab.metrics import METRICS, Lookup
from ncu_lab.metrics.accesses import total
from ncu_lab.metrics.links import ACCESS_HIT_RATES, DATA_PIPE_PEAKS, HIT_RATES, LINK_SECTION, LINKS
from ncu_lab.metrics.units import BREAKDOWNS, UnitSide, listed_units, unit_label
from ncu_lab.model import AccessUse, MemoryLink, MemoryTraffic, UnitUse

TOTALS: Mapping[UnitSide, str] = {"memory": "memory_throughput_pct", "compute": "sm_throughput_pct"}


def unit_uses(lookup: Lookup, texts: Mapping[str, str]) -> tuple[UnitUse, ...]:
    """Return how busy each unit was that a throughput is made of, the busiest of a side first.

    Args:
        lookup: Values of the launch.
        texts: Words of its metrics that have some.
    """
    uses = [
        UnitUse(side, unit_label(metric), value, metric)
        for side, breakdown in BREAKDOWNS.items()
        for metric, value in listed_units(texts.get(breakdown), lookup)
    ]
    return tuple(sorted(uses, key=lambda use: (use.side == "compute", -use.pct)))


def unit_totals(lookup: Lookup) -> dict[UnitSide, float]:
    """Return each side's throughput in percent, those that were collected."""
    found = {side: METRICS[key].read(lookup).value for side, key in TOTALS.items()}
    return {side: value for side, value in found.items() if value is not None}


def memory_traffic(lookup: Lookup) -> MemoryTraffic:
    """Return what went where in the memory system; what was not counted is None."""
    links = []
    for (source, target, what), counters in LINKS.items():
        amount, pct = total(counters.amount, lookup), total(counters.peaks, lookup)
        links.append(
            MemoryLink(
                source,
                target,
                what,
                None if amount is None else amount * counters.scale,
                counters.unit,
                pct,
                " + ".join(one.read(lookup)[1] for one in counters.amount),
            )
        )
    rates = {place: rate.read(lookup)[0] for place, rate in HIT_RATES.items()}
    uses = [
        AccessUse(space, kind, _hit_rate(space, kind, lookup), peak.read(lookup)[0])
        for (space, kind), peak in DATA_PIPE_PEAKS.items()
    ]
    lacking = all(link.amount is None for link in links)
    return MemoryTraffic(
        tuple(links),
        {place: rate for place, rate in rates.items() if rate is not None},
        tuple(uses),
        (LINK_SECTION,) if lacking else (),
    )


def _hit_rate(space: str, kind: str, lookup: Lookup) -> float | None:
    rate = ACCESS_HIT_RATES.get((space, kind))
    return None if rate is None else rate.read(lookup)[0]
