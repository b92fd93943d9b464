"""Variance components, on made-up processes of known deviation."""

from __future__ import annotations

import random
import statistics

import pytest

from ncu_lab.analyze.repeatability import components_of, repeatabilities
from ncu_lab.model import TIME_KEY


def processes(mean: float, within: float, between: float, count: int = 200, each: int = 5) -> list[list[float]]:
    source = random.Random(1)
    found = []
    for _ in range(count):
        own = mean * (1.0 + source.gauss(0.0, between))
        found.append([own * (1.0 + source.gauss(0.0, within)) for _ in range(each)])
    return found


def test_both_parts_are_found_again_and_none_is_below_what_it_is() -> None:
    found = components_of(processes(1000.0, 0.01, 0.004))
    assert found is not None
    assert found.mean == pytest.approx(1000.0, rel=0.01)
    # The upper ends of 90 % intervals with 800 and 199 degrees of freedom are 3 and 7 % above.
    assert found.launches == pytest.approx(10.0, rel=0.12)
    assert found.processes == pytest.approx(4.0, rel=0.35)


def test_the_upper_end_by_hand() -> None:
    # Three processes of two: within, sums of squares 0.5 + 2 + 0 of 3 degrees of freedom, whose 10 % quantile of
    # chi-squared is 0.584 (tables); means 1.5, 2, 4 about 2.5 give 3.5 of 2 degrees, whose quantile is 0.211.
    found = components_of([[1.0, 2.0], [1.0, 3.0], [4.0, 4.0]])
    assert found is not None
    assert found.launches**2 == pytest.approx(2.5 / 0.584, rel=0.02)
    assert found.processes**2 == pytest.approx(3.5 / 0.211 - 2.5 / 3 / 2, rel=0.1)


def test_without_differences_nothing_varies() -> None:
    found = components_of([[7.0, 7.0]] * 3)
    assert found is not None
    assert (found.mean, found.launches, found.processes) == (7.0, 0.0, 0.0)


def test_too_few_processes_say_nothing() -> None:
    assert components_of([[1.0, 2.0], [1.0]]) is None
    assert components_of([[1.0], [], [2.0], []]) is None
    assert repeatabilities([{"duration_ns": [[1.0], [2.0]]}]) == {}


def test_one_launch_a_process_counts_for_both_parts() -> None:
    found = components_of([[1.0], [2.0], [3.0]])
    assert found is not None
    assert found.launches == found.processes > statistics.stdev([1.0, 2.0, 3.0])


def test_a_kernel_with_hardly_any_conflicts_does_not_loosen_what_is_held_of_one_with_millions() -> None:
    key = "shared_load_bank_conflicts"
    few, many = processes(1000.0, 0.5, 0.0, 10), processes(1e7, 0.001, 0.0, 10)
    found = repeatabilities([{key: few}, {key: many}])[key]
    assert found.launches < 0.003
    assert found.spread(1e7) * 1e7 == pytest.approx(1e4, rel=0.6)
    assert found.absolute > 400.0
    assert found.processes == 0.0  # what is exact is held to one deviation, whatever process it is of


def test_a_time_has_both_parts_and_the_default_between_gpus() -> None:
    found = repeatabilities([{TIME_KEY: processes(1e6, 0.0017, 0.0002, 10, 10)}])[TIME_KEY]
    assert 0.0015 < found.launches < 0.0025
    assert found.processes < 0.001
    assert found.units == 0.015


def test_what_is_always_zero_stays_zero() -> None:
    found = repeatabilities([{"local_spill_requests": [[0.0]] * 3}])["local_spill_requests"]
    assert (found.launches, found.absolute) == (0.0, 0.0)
