"""Whether two sets of samples differ, and by how much, from their ranks alone: nothing is assumed of how they spread.

The test is that of Mann and Whitney (Annals of Mathematical Statistics 18, 1947), two-sided: of all ways to deal the
samples to the two sides, as many as there are, the share whose rank sum lies as far from its mean as the one seen.
The estimate is that of Hodges and Lehmann (ibid. 34, 1963): the median of all differences between a sample of one side
and one of the other; its interval are the differences that the test would not reject.

Samples may be taken in several ways, called strata here: only those taken in one way are compared with each other, and
the rank sums add up (van Elteren, Bulletin of the International Statistical Institute 37, 1960, with equal weights).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_EXACT = 80
"""Samples of a stratum, both sides together, up to which all ways to deal them are counted; else the normal
approximation, which is as good then."""

Strata = Mapping[str, Sequence[float]]
"""How samples were taken -> the samples."""


@dataclass(frozen=True, slots=True)
class Shift:
    """By how much the samples of B lie above those of A.

    Attributes:
        p: Two-sided probability of ranks that differ so much by chance.
        estimate: B - A.
        low: Lower end of the interval; None where so few samples have none.
        high: Upper end; likewise.
    """

    p: float
    estimate: float
    low: float | None
    high: float | None


def shift(a: Strata, b: Strata, alpha: float = 0.01) -> Shift | None:
    """Compare samples, stratum by stratum.

    Args:
        a: The samples of A.
        b: The samples of B; strata that only one side has do not count.
        alpha: The interval holds the shift with a probability of 1 - ``alpha``.

    Returns:
        None without a stratum that both sides have. Swapping A and B gives the same p and the opposite shift.
    """
    common = [name for name in a if a[name] and b.get(name)]
    if not common:
        return None
    differences = sorted(y - x for name in common for x in a[name] for y in b[name])
    sizes = tuple(sorted((len(a[name]), len(b[name])) for name in common))
    least = least_rank(sizes, alpha)
    low, high = (differences[least - 1], differences[-least]) if least else (None, None)
    return Shift(two_sided_p([(a[name], b[name]) for name in common]), median(differences), low, high)


def two_sided_p(strata: Sequence[tuple[Sequence[float], Sequence[float]]]) -> float:
    """Return the two-sided probability that chance alone separates the sides of all strata so far.

    Ties take the mean of their ranks; what is counted are the ways to deal these very ranks.
    """
    seen, means, ranked = 0, 0.0, []
    for a, b in strata:
        ranks = doubled_ranks([*a, *b])
        seen += sum(ranks[: len(a)])
        means += len(a) * (len(ranks) + 1.0)
        ranked.append((tuple(sorted(ranks)), min(len(a), len(b)), len(a) <= len(b)))
    distance = abs(seen - means)
    if all(len(ranks) <= MOST_EXACT for ranks, _, _ in ranked):
        return _exact_p([(ranks, drawn) for ranks, drawn, _ in ranked], distance)
    return _normal_p([ranks for ranks, _, _ in ranked], [drawn for _, drawn, _ in ranked], distance)


def doubled_ranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank (from 1) of each value, ties at the mean of theirs: whole numbers."""
    counts = Counter(values)
    ranks: dict[float, int] = {}
    below = 0
    for value in sorted(counts):
        ranks[value] = 2 * below + counts[value] + 1
        below += counts[value]
    return [ranks[value] for value in values]


def _exact_p(strata: Sequence[tuple[tuple[int, ...], int]], distance: float) -> float:
    """Count the ways whose rank sums lie at least so far from the mean.

    The sum of one side is as far from its mean as that of the other, so that the smaller side may be drawn.
    """
    import numpy as np

    ways, mean = np.ones(1), 0.0
    for ranks, drawn in strata:
        ways = np.convolve(ways, _ways(ranks, drawn))
        mean += drawn * (len(ranks) + 1.0)
    far = np.abs(np.arange(len(ways)) - mean) >= distance - 1e-9
    return min(1.0, float(ways[far].sum() / ways.sum()))


@lru_cache(maxsize=256)
def _ways(ranks: tuple[int, ...], drawn: int) -> NDArray[np.float64]:
    """Return, by rank sum, in what share of all draws of so many ranks it comes up."""
    import numpy as np

    counts = np.zeros((drawn + 1, sum(ranks[-drawn:]) + 1))
    counts[0, 0] = 1.0
    for rank in ranks:  # those of two ranks or more go first, so that no rank is drawn twice
        for taken in range(drawn, 0, -1):
            counts[taken, rank:] += counts[taken - 1, : counts.shape[1] - rank]
    return counts[drawn] / counts[drawn].sum()  # type: ignore[no-any-return]  # numpy's stubs: a row of an array


def _normal_p(ranks: Sequence[Sequence[int]], drawn: Sequence[int], distance: float) -> float:
    """Approximate by the normal distribution: ties narrow the variance, and half a rank is taken for continuity."""
    variance = 0.0
    for values, n in zip(ranks, drawn, strict=True):
        size = len(values)
        ties = sum(count**3 - count for count in Counter(values).values())
        variance += n * (size - n) / 12.0 * (size + 1.0 - ties / (size * (size - 1.0)))
    if variance <= 0.0:
        return 1.0
    z = max(0.0, distance / 2.0 - 0.5) / math.sqrt(variance)
    return min(1.0, 2.0 * NormalDist().cdf(-z))


@lru_cache(maxsize=256)
def least_rank(sizes: tuple[tuple[int, int], ...], alpha: float) -> int:
    """Return which of the sorted differences, from either end, bounds the interval; 0 where there are too few.

    U, the number of differences below zero, is k - 1 or less by chance with a probability of at most ``alpha`` / 2.

    Args:
        sizes: Samples of A and of B in each stratum.
        alpha: Probability that the interval misses the shift.
    """
    import numpy as np

    if all(n + m <= MOST_EXACT for n, m in sizes):
        ways = np.ones(1)
        for n, m in sizes:
            drawn = min(n, m)
            ranks = _ways(tuple(range(2, 2 * (n + m) + 1, 2)), drawn)
            ways = np.convolve(ways, ranks[drawn * (drawn + 1) :: 2])
        below = np.cumsum(ways)
        return int(np.searchsorted(below, alpha / 2.0, side="right"))
    mean = sum(n * m for n, m in sizes) / 2.0
    deviation = math.sqrt(sum(n * m * (n + m + 1) for n, m in sizes) / 12.0)
    return max(0, math.floor(mean + NormalDist().inv_cdf(alpha / 2.0) * deviation))
