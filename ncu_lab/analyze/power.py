"""How often a slowdown would be seen, given how samples scatter: what to make of "inconclusive". Pure.

The rule sees a slowdown where the lower end of the interval lies above the margin. The estimate of Hodges and Lehmann
of n and m normal samples has a standard deviation of ``s sqrt(pi/3 (1/n + 1/m))``, and the interval reaches ``z`` of
those below it; how processes may differ widens it (``analyze.compare``). That processes do differ by so much adds to
the estimate's own deviation, of which what scatter makes them differ by at worst (``DRIFT``) is an allowance and not
seen here. The share is then one of the normal distribution; ``tests/unit/analyze/test_power.py`` holds it against the
rule itself on made-up samples.
"""

from __future__ import annotations

import math
from statistics import NormalDist

from ncu_lab.model.comparison import MARGIN
from ncu_lab.model.power import Power

SLOWDOWN = 0.01
"""The slowdown that is told of: twice the margin."""

ENOUGH = 0.99
"""In so many comparisons it should be seen."""

MOST_SAMPLES = 1000
"""More samples a side are not proposed."""

_RANKS = math.pi / 3.0
"""By how much the variance of the estimate by ranks exceeds that of the mean, of normal samples."""


def power(n_a: int, n_b: int, scatter: float, between: float, allowed: float, z: float) -> Power:
    """Return what samples of one process a side can tell.

    Args:
        n_a: Samples of A.
        n_b: Likewise of B.
        scatter: Standard deviation of samples of one process, as a share.
        between: That of the means of processes.
        allowed: The deviation of processes that intervals are widened by; at least ``between``.
        z: Standard deviations that an interval reaches to either side.
    """
    candidates = range(max(n_a, n_b), MOST_SAMPLES + 1)
    needed = next((n for n in candidates if _seen(n, n, scatter, between, allowed, z) >= ENOUGH), None)
    return Power(scatter, SLOWDOWN, _seen(n_a, n_b, scatter, between, allowed, z), needed)


def _seen(n_a: int, n_b: int, scatter: float, between: float, allowed: float, z: float) -> float:
    samples = scatter * math.sqrt(_RANKS * (1.0 / n_a + 1.0 / n_b))
    reach = z * math.hypot(samples, allowed * math.sqrt(2.0))
    deviation = math.hypot(samples, between * math.sqrt(2.0))
    above = math.log1p(SLOWDOWN) - math.log1p(MARGIN) - reach
    return NormalDist().cdf(above / deviation) if deviation else float(above > 0.0)
