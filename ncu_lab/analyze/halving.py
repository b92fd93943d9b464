"""Successive halving: how a search among many candidates spends its samples. Pure.

All candidates are timed a few times in turns; the faster half goes on and is timed twice as often, and so on, until few
are left (Jamieson, Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization", AISTATS 2016).
Every rung costs about the same, and the last ones, whose difference is smallest, get the most samples. A candidate is
judged by the samples of one rung alone: those of another were taken at another temperature.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from ncu_lab.model import Rung

FIRST_SAMPLES = 4
MOST_SAMPLES = 32
"""Of a candidate in one rung; even, so that turns there and back again balance."""

FINALISTS = 4
"""Candidates in the last rung, beside the control where that is not one of them."""


def next_rung(entrants: Sequence[str], control: str | None, number: int) -> Rung:
    """Return a rung for those who are left.

    Args:
        entrants: Labels, in the order of the space.
        control: The registered tile, which takes part whatever its time; None where it cannot.
        number: 0 for the first rung.
    """
    everyone = tuple(entrants) if control is None or control in entrants else (control, *entrants)
    samples = min(FIRST_SAMPLES * 2**number, MOST_SAMPLES)
    if len(entrants) <= FINALISTS:
        return Rung(everyone, MOST_SAMPLES, 1)
    return Rung(everyone, samples, max(FINALISTS, -(-len(entrants) // 2)))


def planned_rungs(count: int) -> list[tuple[int, int, int]]:
    """Return candidates, samples of each and survivors of every rung that ``count`` candidates go through."""
    plan: list[tuple[int, int, int]] = []
    left = count
    while left:
        rung = next_rung([str(one) for one in range(left)], None, len(plan))
        plan.append((left, rung.samples, rung.survivors))
        if rung.survivors == 1:
            break
        left = rung.survivors
    return plan


def survivors(rung: Rung, times_ns: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """Return who goes on: the fastest by the median, in the order of the rung; of equals those who stand first.

    Args:
        rung: The rung.
        times_ns: Label -> samples of this rung; who has none was not right or crashed, and stays behind.
    """
    timed = [label for label in rung.entrants if times_ns.get(label)]
    fastest = sorted(timed, key=lambda label: statistics.median(times_ns[label]))[: rung.survivors]
    return tuple(label for label in rung.entrants if label in fastest)
