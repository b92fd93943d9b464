"""Exact rank tests against published tables, brute force and each other."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.analyze import rank_statistics
from ncu_lab.analyze.rank_statistics import doubled_ranks, least_rank, shift, two_sided_p

SAMPLES = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=5)


def apart(n, m):
    return two_sided_p([([float(i) for i in range(n)], [100.0 + i for i in range(m)])])


@pytest.mark.parametrize(
    ("n", "m", "p"),
    [(3, 3, 2 / 20), (4, 4, 2 / 70), (5, 5, 2 / 252), (5, 10, 2 / 3003), (10, 10, 2 / 184756)],
)
def test_disjoint_samples_have_two_ways_of_all(n, m, p):
    assert apart(n, m) == pytest.approx(p, rel=1e-12)
    assert apart(m, n) == pytest.approx(p, rel=1e-12)


def test_a_table_of_critical_values():
    # Two-tailed, 1 %: the largest U that is significant, for n = m = 5 ... 10, 15, 20 (Mann and Whitney; Siegel).
    table = {5: 0, 6: 2, 7: 4, 8: 7, 9: 11, 10: 16, 15: 51, 20: 105}
    assert {n: least_rank(((n, n),), 0.01) - 1 for n in table} == table
    assert least_rank(((4, 4),), 0.01) == 0
    assert least_rank(((10, 5),), 0.01) == least_rank(((5, 10),), 0.01) == 5  # the table: U = 4


def test_a_textbook_example():
    # U = 4 of 25 with 5 and 5: 12 of the 252 ways lie as low or lower, 0.0952 two-sided.
    assert two_sided_p([([1, 2, 3, 4, 9], [5, 6, 7, 8, 10])]) == pytest.approx(24 / 252)


def test_ties_take_the_mean_of_their_ranks():
    assert doubled_ranks([3.0, 1.0, 3.0, 7.0]) == [5, 2, 5, 8]
    assert two_sided_p([([1.0] * 5, [1.0] * 5)]) == 1.0


@given(SAMPLES, SAMPLES)
def test_the_exact_p_counts_every_way_to_deal_the_ranks(a, b):
    ranks = doubled_ranks([*a, *b])
    mean = len(a) * (len(ranks) + 1)
    seen = abs(sum(ranks[: len(a)]) - mean)
    ways = [abs(sum(some) - mean) >= seen for some in itertools.combinations(ranks, len(a))]
    assert two_sided_p([(a, b)]) == pytest.approx(sum(ways) / len(ways))


def test_two_strata_add_their_rank_sums():
    # Both of 3 and 3, apart: one way in 20 each at either end, so 2 of 400.
    strata = [([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])] * 2
    assert two_sided_p(strata) == pytest.approx(2 / 400)
    # The second turned round: the sums cancel, and nothing is farther from the middle than nothing.
    assert two_sided_p([strata[0], (strata[0][1], strata[0][0])]) == 1.0


def test_many_samples_by_the_normal_distribution(monkeypatch):
    # 50 and 50, apart: U = 0, mean 1250, variance 2500 * 101 / 12; z = 1249.5 / 145.06.
    z = 1249.5 / math.sqrt(2500 * 101 / 12)
    assert apart(50, 50) == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-6)
    a, b = [float(i // 2) for i in range(40)], [i // 2 + 4.0 for i in range(40)]
    exact, interval = two_sided_p([(a, b)]), least_rank(((40, 40),), 0.01)
    monkeypatch.setattr(rank_statistics, "MOST_EXACT", 0)
    least_rank.cache_clear()
    assert two_sided_p([(a, b)]) == pytest.approx(exact, rel=0.1)
    assert least_rank(((40, 40),), 0.01) == pytest.approx(interval, abs=2)
    least_rank.cache_clear()
    assert two_sided_p([([1.0] * 60, [1.0] * 60)]) == 1.0


def test_the_estimate_is_the_median_of_differences_and_the_interval_its_order_statistics():
    found = shift({"": [0.0, 1.0, 2.0, 3.0, 4.0]}, {"": [10.0, 11.0, 12.0, 13.0, 14.0]})
    assert (found.estimate, found.low, found.high) == (10.0, 6.0, 14.0)  # 5 and 5: from the least to the largest
    few = shift({"": [0.0, 1.0]}, {"": [10.0, 11.0]})
    assert (few.estimate, few.low, few.high) == (10.0, None, None)
    # 10 and 10: the 17th of 100 differences from either end.
    a, b = [float(i) for i in range(10)], [20.0 + i for i in range(10)]
    differences = sorted(y - x for x in a for y in b)
    found = shift({"": a}, {"": b})
    assert (found.low, found.high) == (differences[16], differences[-17])


def test_only_strata_of_both_sides_count():
    assert shift({"alone": [1.0]}, {"interleaved": [1.0]}) is None
    one = shift({"alone": [1.0, 2.0], "interleaved": [9.0]}, {"alone": [3.0, 4.0]})
    assert one.estimate == 2.0


@given(SAMPLES, SAMPLES)
def test_swapping_the_sides_mirrors_everything(a, b):
    there, back = shift({"": a}, {"": b}), shift({"": b}, {"": a})
    assert there.p == pytest.approx(back.p)
    assert there.estimate == -back.estimate
    if there.low is not None:
        assert (there.low, there.high) == (-back.high, -back.low)
