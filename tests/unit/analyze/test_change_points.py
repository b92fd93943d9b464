"""Where a level may begin: candidates, found among made series of known levels."""

import math
import random

import pytest

from ncu_lab.analyze.change_points import candidates
from ncu_lab.metrics import METRICS
from ncu_lab.model.noise import Repeatability, default_repeatability

TIME = Repeatability(0.005, 0.0005)
CONFLICTS = METRICS["shared_store_bank_conflicts"]


def noisy(levels, deviation=0.001, seed=1):
    source = random.Random(seed)
    return [level * math.exp(source.gauss(0.0, deviation)) for level in levels]


def found(values, repeats=TIME, metric=None, n=10):
    return candidates(values, [n] * len(values), repeats, metric)


def test_levels_begin_where_they_were_made_to():
    assert found(noisy([2.91e6, *[1.91e6] * 2, *[2.17e6] * 3, *[2.57e6] * 2])) == [1, 3, 6]
    assert found(noisy([1e6] * 40 + [1.02e6] * 30 + [1e6] * 50)) == [40, 70]


def test_a_single_late_run_stands_between_two_changes():
    assert found(noisy([1e6] * 10 + [1.3e6] + [1e6] * 10)) == [10, 11]


def test_noise_alone_has_few_candidates():
    # 200 series of 50 runs, as noisy as is taken for granted: 0.05 % between processes, 0.5 % over ten samples.
    deviation = math.hypot(0.0005, 0.005 / math.sqrt(10))
    assert sum(len(found(noisy([1e6] * 50, deviation, seed=seed))) for seed in range(200)) <= 10


@pytest.mark.parametrize(("values", "places"), [([], []), ([1.0], []), ([1.0, 1.0], []), ([1.0, 2.0], [1])])
def test_a_few_values_are_taken_as_they_are(values, places):
    assert found(values) == places


def test_a_change_at_either_end_is_seen():
    assert found([1.0, 1.5, 1.5]) == [1]
    assert found([1.0, 1.0, 1.5]) == [2]


def test_zeros_have_no_logarithm_and_still_levels():
    assert found([0.0] * 5 + [40.0] * 5, Repeatability(0.005, absolute=0.05), METRICS["dram_throughput_pct"]) == [5]
    assert found([0.0] * 6, Repeatability(0.005), METRICS["dram_throughput_pct"]) == []


def test_exact_counters_change_from_run_to_run_beyond_what_they_repeat_by():
    repeats = default_repeatability(CONFLICTS.key)
    values = [263.8e6, 2.955e6, 2.952e6, 18.43e6, 18.43e6, 18.44e6, 122.06e6]
    assert found(values, repeats, CONFLICTS, n=1) == [1, 3, 6]
    registers = METRICS["registers_per_thread"]
    assert found([32.0, 32.0, 33.0, 32.0], default_repeatability(registers.key), registers, n=1) == [2, 3]


def test_what_repeats_exactly_is_no_division_by_zero():
    assert found([1.0] * 4 + [2.0] * 4, Repeatability(0.0)) == [4]


def test_the_scale_does_not_matter():
    values = noisy([1e6] * 20 + [1.01e6] * 20)
    assert found(values) == found([value * 1e-9 for value in values]) == [20]
