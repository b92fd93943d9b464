"""The page's address: a link restores the view, whatever else stands in it is ignored."""

import pytest

from ncu_lab_dash import ids
from ncu_lab_dash.reconcile import clicked_stage, reconcile
from ncu_lab_dash.view import View, read_search

DEFAULT = {
    "problem": None, "device": None, "stage": None, "level": "l1", "sort": "ladder", "scale": "share",
    "panel": "duration", "theme": None,
}  # fmt: skip


@pytest.mark.parametrize(
    "view",
    [
        View(),
        View(problem="4096", device="NVIDIA H200", stage="2d", level="l2", theme="dark"),
        View(sort="duration", scale="cycles", panel="conflicts", theme="light"),
        View(problem="35x79x19a2b1", stage="double-buffered"),
    ],
)
def test_an_address_restores_the_view_it_was_made_of(view):
    assert read_search(view.search()) == view


def test_the_default_view_has_no_query():
    assert View().search() == ""
    assert read_search(None) == View()


def test_unknown_values_fall_back_and_unknown_keys_are_ignored():
    view = read_search("?level=l9&theme=%3Cscript%3E&sort=&page=2&stage=2d")
    assert view == View(stage="2d")


def test_the_address_wins_when_the_page_opens_or_back_is_pressed():
    for trigger in (None, ids.URL):
        view = reconcile(trigger, "?stage=1d", {**DEFAULT, "stage": "2d"}, {})
        assert view.stage == "1d"


def test_a_control_wins_over_the_address():
    view = reconcile(ids.LEVEL, "?level=l2&stage=1d", {**DEFAULT, "level": "dram", "stage": "1d"}, {})
    assert view == View(level="dram", stage="1d")


def test_a_click_selects_the_stage_and_keeps_the_rest():
    click = {"points": [{"customdata": "2d"}]}
    view = reconcile(ids.MATRIX, "", {**DEFAULT, "level": "l2"}, {ids.MATRIX: click, ids.SPEED: None})
    assert view == View(level="l2", stage="2d")


def test_a_click_beside_any_stage_changes_nothing():
    controls = {**DEFAULT, "stage": "1d"}
    for click in (None, {}, {"points": []}, {"points": [{}]}, {"points": [{"customdata": 3}]}):
        assert clicked_stage(click) is None
        assert reconcile(ids.MATRIX, "", controls, {ids.MATRIX: click}).stage == "1d"
    assert clicked_stage({"points": [{"customdata": ["2d"]}]}) == "2d"
