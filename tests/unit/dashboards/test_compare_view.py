"""The address of the Compare page: written, read back, and what is not known left out."""

from __future__ import annotations

import pytest

from ncu_lab_dash.compare_view import MOST_B, CompareView, compare_address, read_search, read_view


def test_two_stages_of_one_run_have_an_address() -> None:
    address = compare_address("run-1", "run-1", stage_a="1d", stage_b="2d")
    assert address == "/compare?a=run-1&sa=1d&b=run-1&sb=2d"
    assert read_search(address.partition("/compare")[2]) == CompareView(a="run-1", sa="1d", b=("run-1",), sb="2d")


def test_several_b_and_launches_survive_the_address() -> None:
    view = CompareView(a="x", la=0, b=("y", "z & w"), lb=9, at=1, pair="2d", waits="share", level="l2", rows="all")
    assert read_search(view.search()) == view
    assert view.shown_b == "z & w"


def test_defaults_are_left_out() -> None:
    assert CompareView().search() == ""
    assert read_search("") == CompareView()
    assert CompareView().shown_b is None


@pytest.mark.parametrize(
    "search", ["?waits=__class__&level=9&rows=&at=7&la=-1&theme=pink", "?b=&b=&a=", None, 7, {"a": 1}]
)
def test_nonsense_falls_back_to_the_default(search: object) -> None:
    assert read_search(search) == CompareView()


def test_values_of_any_kind_are_read() -> None:
    assert read_view({"a": ["x"], "b": "y", "at": True, "la": 3.5}) == CompareView(b=("y",))
    assert len(read_view({"b": [str(one) for one in range(40)]}).b) == MOST_B
