"""Which launches of two runs are compared with each other."""

from dataclasses import replace

import pytest
from builders import summary

from ncu_lab.analyze.pairing import pair, pair_launches
from ncu_lab.metrics import Reading


def launch(number, stage=None, kernel="saxpy", grid=(4, 1, 1), ns=1.0, role="main"):
    made = summary("2d")
    readings = {**made.readings, "duration_ns": Reading("duration_ns", ns, "ns", "gpu__time_duration.sum")}
    return replace(made, launch=number, stage=stage, kernel=kernel, grid=grid, role=role, readings=readings)


def numbers(pairs):
    return [
        (one.status, [found.launch for found in one.launches_a], [found.launch for found in one.launches_b])
        for one in pairs
    ]


def test_launches_of_a_stage_are_one_and_its_median_speaks_for_them():
    a = [launch(0, "2d", ns=5.0), launch(1, "2d", ns=1.0), launch(2, "2d", ns=3.0), launch(3, "2d", role="auxiliary")]
    b = [launch(0, "1d"), launch(1, "2d", kernel="renamed", ns=4.0)]
    pairs = pair_launches(a, b)
    assert numbers(pairs) == [("added", [], [0]), ("matched", [0, 1, 2, 3], [1])]
    assert pairs[1].matched_by == "stage"
    assert (pairs[1].chosen_a.launch, pairs[1].a_ns, pairs[1].b_ns, pairs[1].delta_ns) == (2, 3.0, 4.0, 1.0)
    assert pairs[1].delta_pct == pytest.approx(100 / 3)


def test_others_are_paired_by_kernel_grid_and_block_in_their_order():
    a = [launch(0), launch(1, grid=(8, 1, 1)), launch(2), launch(3)]
    b = [launch(0), launch(1), launch(2, kernel="axpby")]
    assert numbers(pair_launches(a, b)) == [
        ("matched", [0], [0]),
        ("matched", [2], [1]),
        ("added", [], [2]),
        ("removed", [1], []),
        ("removed", [3], []),
    ]


def test_without_launches_there_are_no_pairs():
    assert pair_launches([], []) == []
    assert numbers(pair_launches([launch(0)], [])) == [("removed", [0], [])]


def test_a_pair_without_a_main_kernel_has_no_duration():
    found = pair([launch(0, "2d", role="auxiliary")], [launch(0, "2d", ns=0.0)], "stage")
    assert (found.chosen_a, found.a_ns, found.delta_ns, found.delta_pct) == (None, None, None, None)
