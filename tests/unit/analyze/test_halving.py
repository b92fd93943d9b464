from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.analyze.halving import FINALISTS, MOST_SAMPLES, next_rung, planned_rungs, survivors
from ncu_lab.model import Rung


def test_each_rung_halves_the_field_and_doubles_the_samples() -> None:
    assert planned_rungs(128) == [(128, 4, 64), (64, 8, 32), (32, 16, 16), (16, 32, 8), (8, 32, 4), (4, 32, 1)]
    assert planned_rungs(5) == [(5, 4, 4), (4, 32, 1)]
    assert planned_rungs(1) == [(1, 32, 1)]
    assert planned_rungs(0) == []


@given(st.integers(1, 2000))
def test_a_plan_ends_with_one(count: int) -> None:
    plan = planned_rungs(count)
    assert plan[-1][2] == 1
    assert plan[-1][0] <= FINALISTS
    assert all(samples % 2 == 0 and samples <= MOST_SAMPLES for _, samples, _ in plan)
    assert [left for _, _, left in plan[:-1]] == [entrants for entrants, _, _ in plan[1:]]


def test_the_control_takes_part_beside_those_who_earned_it() -> None:
    rung = next_rung(["b", "c"], "a", 3)
    assert rung == Rung(("a", "b", "c"), 32, 1)
    assert next_rung(["a", "b"], "a", 0).entrants == ("a", "b")
    assert next_rung(["b"], None, 0).entrants == ("b",)


def test_the_faster_part_goes_on_by_its_median() -> None:
    rung = Rung(("a", "b", "c", "d"), 3, 2)
    times = {"a": [9.0, 9.0, 9.0], "b": [5.0, 5.0, 100.0], "c": [6.0, 6.0, 6.0], "d": [5.5, 7.0, 7.0]}
    assert survivors(rung, times) == ("b", "c")
    assert survivors(rung, {**times, "b": []}) == ("c", "d")
    assert survivors(rung, {label: [1.0] for label in rung.entrants}) == ("a", "b")  # of equals, the first
