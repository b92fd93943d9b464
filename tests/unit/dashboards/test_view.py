"""The page's address: a link restores the view, whatever else stands in it is ignored."""

from dataclasses import replace
from importlib.resources import files

import builders
import pytest

from ncu_lab.model import Device
from ncu_lab.render.figures.matrix import WHOLE_FROM_PX
from ncu_lab.render.page.drawings import PAGE_WIDTHS
from ncu_lab_dash import ids
from ncu_lab_dash.reconcile import clicked_stage, opens, reconcile
from ncu_lab_dash.screen import Screen, is_by_panel, read_screen
from ncu_lab_dash.view import View, read_search, read_view

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
        View(level="shared", family="tensor", beside="1024@NVIDIA H200"),
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


def nothing(problem, device):
    """No ladder is found."""


def found(problem, device):
    """Ladders of 1024³ on two GPUs, the A100's the newest; of 512³ on the A100 alone."""
    name = device or "NVIDIA A100"
    known = {"NVIDIA A100": ("1024", "512"), "NVIDIA H200": ("1024",)}
    if (problem or "1024") not in known.get(name, ()):
        return None
    return replace(builders.ladder(), device=Device(name))


def test_the_address_wins_when_the_page_opens_or_back_is_pressed():
    for trigger in (None, ids.URL):
        view = reconcile(trigger, "?stage=1d", {**DEFAULT, "stage": "2d"}, {}, nothing)
        assert view == View(stage="1d")


def test_what_the_address_leaves_open_is_settled_once():
    opened = reconcile(None, "", DEFAULT, {}, found)
    assert opened == View(problem="1024", device="NVIDIA A100")
    assert reconcile(None, "?device=NVIDIA+H200", DEFAULT, {}, found).problem == "1024"
    assert reconcile(None, "?problem=4096", DEFAULT, {}, found) == View(problem="4096")


def test_a_run_that_lands_changes_no_view_but_fills_an_empty_page():
    shown = {**DEFAULT, "problem": "512", "device": "NVIDIA A100"}
    assert not opens(ids.VERSION, shown)
    assert reconcile(ids.VERSION, "", shown, {}, found) == View(problem="512", device="NVIDIA A100")
    assert opens(ids.VERSION, DEFAULT)
    view = reconcile(ids.VERSION, "?level=l2", DEFAULT, {}, found)
    assert view == View(problem="1024", device="NVIDIA A100", level="l2")


def test_a_problem_that_the_device_has_no_runs_of_changes_the_device_and_the_other_way_round():
    on_h200 = {**DEFAULT, "problem": "512", "device": "NVIDIA H200"}
    assert reconcile(ids.PROBLEM, "", on_h200, {}, found).device == "NVIDIA A100"
    assert reconcile(ids.DEVICE, "", on_h200, {}, found).problem == "1024"
    both = {**on_h200, "problem": "1024"}
    assert reconcile(ids.PROBLEM, "", both, {}, found).device == "NVIDIA H200"


def test_a_control_wins_over_the_address():
    view = reconcile(ids.LEVEL, "?level=l2&stage=1d", {**DEFAULT, "level": "dram", "stage": "1d"}, {}, found)
    assert view == View(level="dram", stage="1d")


def test_a_click_selects_the_stage_and_keeps_the_rest():
    click = {"points": [{"customdata": "2d"}]}
    view = reconcile(ids.MATRIX, "", {**DEFAULT, "level": "l2"}, {ids.MATRIX: click, ids.SPEED: None}, found)
    assert view == View(level="l2", stage="2d")


def test_a_click_beside_any_stage_changes_nothing():
    controls = {**DEFAULT, "stage": "1d"}
    for click in (None, 3, [], {}, {"points": 1}, {"points": []}, {"points": [{}]}, {"points": [{"customdata": 3}]}):
        assert clicked_stage(click) is None
        assert reconcile(ids.MATRIX, "", controls, {ids.MATRIX: click}, found).stage == "1d"
    assert clicked_stage({"points": [{"customdata": ["2d"]}]}) == "2d"


def test_values_of_a_wrong_kind_are_as_if_not_given():
    assert read_view({"problem": [1], "device": {}, "stage": "", "level": ["l2"], "sort": 3}) == View()
    for told in (None, 3, {}, {"width": "wide"}, {"width": -1}, {"width": float("nan")}):
        assert read_screen(told) is None
    assert read_screen({"width": 1440.5, "dark": True}) == Screen(1440, dark=True)
    assert read_screen({"width": float("inf")}) == Screen(2200)


def test_pages_and_exported_pages_show_the_whole_matrix_from_one_width_on() -> None:
    assert [is_by_panel(Screen(width)) for width in (390, 700, 1260, 1280, 2200)] == [True, True, True, False, False]
    for package, name in (("ncu_lab_dash", "assets/page.css"), ("ncu_lab.render.page", "page.css")):
        assert "@media (max-width: 1279px)" in files(package).joinpath(name).read_text(encoding="utf-8")
    assert PAGE_WIDTHS[0] == WHOLE_FROM_PX
