"""Why one launch takes longer than another, to the nanosecond.

Of each scheduler, ``issue rate = W / S``: W warps are active in a cycle, and each issues once in S cycles (Little's
law), where S is the sum of the warp-cycles per issued instruction over all stall reasons, the issue itself included.
With I instructions issued, ``I x S / W`` are its active cycles; with B = elapsed / active cycles and the clock f

    duration = I x S / W x B / f

A change of such a product splits exactly by the logarithmic mean L(a, b) = (a - b) / ln(a / b) (the index
decomposition LMDI-I of Ang, Energy Policy 33, 2005): factor X takes ``L(d1, d0) * ln(X1 / X0)``, of the other sign for
the divisors W and f. S is a sum, and its part divides over the reasons r by ``(S1r - S0r) / L(S1, S0)``. As measured
durations stand in L, what the parts do not sum to is the identity's own error: the residual.

Two choices of counters make it small (figures of one H200). Elapsed cycles and clock are means over the SMs in the form
``full``, so that elapsed / clock is the duration itself. S is what is left: the reasons are counted in several replays
of the kernel, and their sum differs by up to 3 % from the latency measured in one. It is not scaled to that, as the
residual would then hide how well the reasons are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ncu_lab.metrics import (
    IDENTITY_DURATION,
    IDENTITY_FORMS,
    IDENTITY_SELECTED,
    METRICS,
    STALL_ORDER,
    IdentityForm,
    stall_cycles,
    stall_metric,
)
from ncu_lab.model.attribution import STALL, Attribution, Chain, Contribution, Factors, Part, Side, Unattributed

MOST_ERROR = 0.25
"""Counters that miss the duration by more do not describe it: stall reasons are missing, or replays differ too much."""

LEAST_SHARE = 0.005
"""A contribution below half a percent of A's duration is not worth a word."""


def log_ratio(a: float, b: float) -> float:
    """Return ln(b / a) of two positive numbers, exact also where they are nearly equal; swapped it flips its sign."""
    low, high = min(a, b), max(a, b)
    size = math.log1p((high - low) / low) if high < 2.0 * low else math.log(high) - math.log(low)
    return size if b >= a else -size


def logarithmic_mean(a: float, b: float) -> float:
    """Return L(a, b) = (a - b) / ln(a / b) of two positive numbers, and a where they are equal."""
    return a if a == b else (b - a) / log_ratio(a, b)


def attribute(
    launch_a: int, counters_a: Mapping[str, float], launch_b: int, counters_b: Mapping[str, float]
) -> Attribution | Unattributed:
    """Split the difference of two launches' durations by factors; see the module for the formulas.

    Both launches are read in the same form of the identity, the first whose counters both have.

    Args:
        launch_a: Row of A's launches table.
        counters_a: Nsight Compute name -> value in base units, of launch A.
        launch_b: Row of B's launches table.
        counters_b: Likewise of launch B.

    Returns:
        The split, or what it lacks.
    """
    form = _common_form({"a": counters_a, "b": counters_b})
    if isinstance(form, Unattributed):
        return form
    a = _factors(launch_a, counters_a, form, "a")
    b = _factors(launch_b, counters_b, form, "b")
    if isinstance(a, Unattributed):
        return a
    return b if isinstance(b, Unattributed) else split(a, b)


def read_factors(launch: int, counters: Mapping[str, float]) -> Factors | Unattributed:
    """Read the factors of one launch, in the first form of the identity whose counters it has.

    Args:
        launch: Row of the launches table.
        counters: Nsight Compute name -> value in base units.
    """
    form = _common_form({"a": counters})
    return form if isinstance(form, Unattributed) else _factors(launch, counters, form, "a")


def _common_form(sides: Mapping[Side, Mapping[str, float]]) -> IdentityForm | Unattributed:
    """Return the first form whose counters all sides have, else what the last one lacks: sections collect all of it."""
    for form in IDENTITY_FORMS:
        needed = (IDENTITY_DURATION, IDENTITY_SELECTED, *form.counters)
        lacking = {side: [one for one in needed if _absent(found.get(one.name))] for side, found in sides.items()}
        if not any(lacking.values()):
            return form
    missing = [one for one in needed if any(one in some for some in lacking.values())]
    return Unattributed(
        "not_collected",
        tuple(side for side, some in lacking.items() if some),
        tuple(one.name for one in missing),
        tuple(dict.fromkeys(one.section for one in missing if one.section)),
    )


def _absent(value: float | None) -> bool:
    return value is None or math.isnan(value)


def _factors(launch: int, counters: Mapping[str, float], form: IdentityForm, side: Side) -> Factors | Unattributed:
    """Read the factors of one launch that has the counters of the form."""
    stalls = stall_cycles(counters.items())
    if not stalls:  # some reasons were collected, but not all
        return Unattributed("not_collected", (side,), (), (METRICS["warp_cycles_per_instruction"].section,))
    undefined = [one.name for one in (IDENTITY_DURATION, *form.counters) if not 0 < counters[one.name] < math.inf]
    undefined += [stall_metric(reason) for reason, cycles in stalls.items() if not 0 <= cycles < math.inf]
    if not undefined and not sum(stalls.values()) > 0:
        undefined = [IDENTITY_SELECTED.name]
    if undefined:
        return Unattributed("undefined", (side,), tuple(undefined))
    factors = Factors(
        launch=launch,
        form=form.name,
        duration_ns=counters[IDENTITY_DURATION.name],
        instructions=counters[form.instructions.name],
        stalls=stalls,
        warps=counters[form.warps.name],
        imbalance=counters[form.elapsed.name] / counters[form.active.name],
        clock_hz=counters[form.clock.name],
    )
    if not abs(factors.error) <= MOST_ERROR:
        return Unattributed("inconsistent", (side,), error=factors.error)
    return factors


def split(a: Factors, b: Factors) -> Attribution:
    """Split the difference of two durations by their factors; both are read in one form."""
    mean = logarithmic_mean(a.duration_ns, b.duration_ns)

    def part(factor: str, ratio: float, value_a: float, value_b: float) -> Part:
        return Part(factor, mean * ratio, ratio / math.log(2.0), value_a, value_b)

    total = logarithmic_mean(a.cycles_per_instruction, b.cycles_per_instruction)
    parts = [part("instructions", log_ratio(a.instructions, b.instructions), a.instructions, b.instructions)]
    for reason in _reasons(a, b):
        before, after = a.stalls.get(reason, 0.0), b.stalls.get(reason, 0.0)
        parts.append(part(STALL + reason, (after - before) / total, before, after))
    parts += [
        part("warps", -log_ratio(a.warps, b.warps), a.warps, b.warps),
        part("imbalance", log_ratio(a.imbalance, b.imbalance), a.imbalance, b.imbalance),
        part("clock", -log_ratio(a.clock_hz, b.clock_hz), a.clock_hz, b.clock_hz),
    ]
    log2 = log_ratio(a.duration_ns, b.duration_ns) / math.log(2.0)
    return Attribution(
        a_ns=a.duration_ns,
        b_ns=b.duration_ns,
        launch_a=a.launch,
        launch_b=b.launch,
        form=a.form,
        parts=tuple(parts),
        residual_ns=(b.duration_ns - a.duration_ns) - sum(one.ns for one in parts),
        residual_log2=log2 - sum(one.log2 for one in parts),
    )


def _reasons(a: Factors, b: Factors) -> list[str]:
    """Return the reasons of either launch in stacking order, those nobody knows last; the same when swapped."""
    rank = {reason: place for place, reason in enumerate(STALL_ORDER)}
    return sorted({*a.stalls, *b.stalls}, key=lambda reason: (rank.get(reason, len(rank)), reason))


def largest_contributions(attribution: Attribution, most: int = 3) -> tuple[Contribution, ...]:
    """Return what changed the duration most, the largest first, for a sentence in plain figures.

    Stalls and warps in flight count as one, since either alone misleads: fewer warps wait less each and hide less. What
    moved the duration by less than half a percent of A's is left out.

    Args:
        attribution: The split.
        most: How many at most.
    """
    net = attribution.net_ns
    found = [_contribution(attribution, attribution.part(name)) for name in ("instructions", "imbalance", "clock")]
    change = math.exp(net / logarithmic_mean(attribution.a_ns, attribution.b_ns)) - 1.0
    same_way = [
        part for part in attribution.stalls if part.ns * net > 0 and abs(part.ns) >= LEAST_SHARE * attribution.a_ns
    ]
    reasons = [part.reason for part in sorted(same_way, key=lambda part: -abs(part.ns)) if part.reason]
    found.append(Contribution("stalls/warps", net, net / attribution.a_ns, change, tuple(reasons)))
    large = [one for one in found if abs(one.share) >= LEAST_SHARE]
    return tuple(sorted(large, key=lambda one: -abs(one.ns))[:most])


def _contribution(attribution: Attribution, part: Part) -> Contribution:
    return Contribution(part.factor, part.ns, part.ns / attribution.a_ns, part.value_b / part.value_a - 1.0)


def longest_chain(steps: Mapping[str, tuple[str, Attribution]]) -> Chain | None:
    """Return the longest row of steps that follow from one another; of equally long ones, that with the fastest end.

    Args:
        steps: Stage -> its predecessor and the split between them, in ladder order; only stages that have one.
    """
    rows = []
    for last in steps:
        stages = [last]
        while stages[0] in steps and steps[stages[0]][0] not in stages:
            stages.insert(0, steps[stages[0]][0])
        rows.append(stages)
    if not rows:
        return None
    longest = max(rows, key=lambda stages: (len(stages), -steps[stages[-1]][1].b_ns))
    splits = [steps[stage][1] for stage in longest[1:]]
    return Chain(tuple(longest), _sums(one.log2 for one in splits), _sums(one.stall_families_log2 for one in splits))


def _sums(terms: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for one in terms:
        for name, value in one.items():
            total[name] = total.get(name, 0.0) + value
    return total
