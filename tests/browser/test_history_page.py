"""The History page in a real browser: a recorded history as the workflow tells it, ranges, and where clicks lead."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import history_repo
import pytest
from looking import PLOT, is_wider_than_its_window, query, settles, text, traces, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By

from ncu_lab.model import RunFilter
from ncu_lab.model.history import KernelHistory
from ncu_lab.resources import data_dir
from ncu_lab.workflows.history import HistoryRequest, history

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.git]

Serving = Callable[..., AbstractContextManager[str]]
RECORDED = Path(__file__).parents[1] / "data" / "history" / "commits"
DRAWN = f"({PLOT % 'history'})?.data?.length"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gram")
    history_repo.make(folder)
    shutil.copytree(RECORDED, folder / "reports")
    return folder / "reports"


@pytest.fixture(scope="module")
def address(store: Path, serving: Serving) -> Iterator[str]:
    with serving(store) as found:
        yield f"{found}history"


def told(store: Path, key: str = "time_ns", stage: str = "gram") -> KernelHistory:
    (only,) = history(HistoryRequest(key, RunFilter(stages=(stage,))), store, store).kernels
    return only


def open_page(browser: Chrome, address: str, search: str = "") -> None:
    browser.get(address + search)
    wait(browser, f"{DRAWN} && document.querySelector('#history-banner h1')")


def trace(browser: Chrome, name: str) -> dict[str, Any]:
    return next(one for one in traces(browser, "history") if one["name"] == name)


def lines(browser: Chrome) -> list[dict[str, Any]]:
    """Return the vertical lines of the figure: where they stand and how they are drawn."""
    found: list[dict[str, Any]] = browser.execute_script(
        f"return ({PLOT % 'history'}).layout.shapes.filter(s => s.type === 'line')"
        ".map(s => ({x: s.x0, dash: s.line.dash}))"
    )
    return found


def drag(browser: Chrome, start: float, end: float) -> None:
    """Drag from one place on the x axis to another, in the middle of the first panel."""
    plot = browser.find_element(By.CSS_SELECTOR, "#history .nsewdrag")
    axis = f"const axis = ({PLOT % 'history'})._fullLayout.xaxis;"
    pixels = [browser.execute_script(f"{axis} return axis.d2p(arguments[0])", one) for one in (start, end)]
    first, way = int(pixels[0] - plot.size["width"] / 2), int(pixels[1] - pixels[0])
    actions = ActionChains(browser).move_to_element_with_offset(plot, first, 0).click_and_hold()
    actions.move_by_offset(way // 2, 0).move_by_offset(way - way // 2, 0).release().perform()


def test_points_gaps_and_changes_are_those_of_the_workflow(wide: Chrome, address: str, store: Path) -> None:
    open_page(wide, address)
    found = told(store)
    places = {row.meta.id: at for at, row in enumerate(found.rows)}
    dots = trace(wide, "median")
    assert dots["y"] == [point.estimate.value for point in found.points]
    assert dots["x"] == [places[point.meta.id] for point in found.points]
    assert trace(wide, "failed")["x"] == [places[gap.meta.id] for gap in found.gaps] == [4]
    assert lines(wide) == [{"x": places[change.first.meta.id] - 0.5, "dash": "solid"} for change in found.changes]
    assert "slower, now 2.57 ms" in text(wide, "history-banner")
    assert "down once, up twice in eight commits" in text(wide, "history-title")
    rows = [row.text for row in wide.find_elements(By.CSS_SELECTOR, "#changes-body tbody tr")]
    assert [row.split()[0] for row in rows] == [
        one.commit.short for one in reversed(found.rows)
        if one.commit and (one.meta.id in {c.first.meta.id for c in found.changes} or one in found.gaps)
    ]  # fmt: skip
    assert "✗ build failed" in rows[1]
    assert query(wide) == {}


def test_counters_below_share_the_axis(wide: Chrome, address: str, store: Path) -> None:
    open_page(wide, address, "?stage=gram&below=shared_memory_per_block,flop")
    names = [one["name"] for one in traces(wide, "history")]
    assert names[-2:] == ["shared_memory_per_block", "flop"]
    below = trace(wide, "shared_memory_per_block")
    assert below["y"] == [point.estimate.value for point in told(store, "shared_memory_per_block").points]
    assert below["x"] == trace(wide, "median")["x"]


def test_a_click_on_a_point_compares_it_with_the_one_before(wide: Chrome, address: str, store: Path) -> None:
    open_page(wide, address, "?stage=gram")
    points = told(store).points
    dots = wide.find_elements(By.CSS_SELECTOR, "#history .scatterlayer .trace .point")
    by_place = sorted(dots, key=lambda one: one.location["x"])
    # Of nine marks the fifth is the failed build.
    ActionChains(wide).move_to_element(by_place[3]).click().perform()
    wait(wide, "location.pathname === '/compare' || document.title.includes('no such page')")
    assert query(wide) == {"a": [points[2].meta.id], "b": [points[3].meta.id], "sa": ["gram"], "sb": ["gram"]}
    wide.back()
    wait(wide, f"location.pathname === '/history' && {DRAWN}")
    assert query(wide)["stage"] == ["gram"]


def test_a_range_is_dragged_out_kept_in_the_address_and_taken_back(wide: Chrome, address: str, store: Path) -> None:
    open_page(wide, address, "?stage=gram")
    rows = [row.commit.short for row in told(store).rows if row.commit]
    drag(wide, 2.6, 7.3)
    wait(wide, "location.search.includes('range=')")
    assert query(wide)["range"] == [f"{rows[3]}..{rows[7]}"]
    wait(wide, f"({PLOT % 'history'}).data.find(t => t.name === 'median').x.length === 4")
    assert len(lines(wide)) == 2
    assert f"{rows[3]} to {rows[7]}" in text(wide, "history-ranges")
    wide.refresh()
    wait(wide, f"{DRAWN} && document.querySelectorAll('#history-ranges button').length === 2")
    assert len(trace(wide, "median")["x"]) == 4
    wide.find_element(By.CSS_SELECTOR, "#history-ranges button").click()
    wait(wide, f"({PLOT % 'history'}).data.find(t => t.name === 'median').x.length === 8")
    wait(wide, "!location.search.includes('range=')")


def test_an_address_restores_stage_metric_and_theme(wide: Chrome, address: str, store: Path) -> None:
    open_page(wide, address, "?metric=shared_store_bank_conflicts&stage=gram&theme=dark")
    conflicts = [point.estimate.value for point in told(store, "shared_store_bank_conflicts").points]
    settles(wide, lambda: trace(wide, "median")["y"], conflicts)
    settles(wide, lambda: "×6.62" in text(wide, "history-banner"), True)
    settles(wide, lambda: wide.execute_script("return document.documentElement.dataset.theme"), "dark")
    open_page(wide, address, "?stage=product&theme=light")
    settles(wide, lambda: "No change in nine commits" in text(wide, "history-banner"), True)
    settles(wide, lambda: trace(wide, "median")["y"], [p.estimate.value for p in told(store, stage="product").points])
    settles(wide, lambda: lines(wide), [])


def test_what_cannot_be_followed_is_said(wide: Chrome, address: str) -> None:
    wide.get(f"{address}?stage=gran")
    wait(wide, "document.querySelector('#history-empty .card')")
    assert "no run here is of gran" in text(wide, "history-empty")
    assert "gram, product" in text(wide, "history-empty")
    wide.get(f"{address}?stage=gram&metric=fp64_flop")
    wait(wide, "document.querySelector('#history-empty .card')")
    assert "tells fp64_flop" in text(wide, "history-empty")
    wide.get(f"{address}?stage=gram&metric=duration")
    wait(wide, "document.querySelector('#history-empty .card')")
    assert 'there is no metric "duration"' in text(wide, "history-empty")
    assert "Nearest: duration_ns" in text(wide, "history-empty")
    assert "gram" in text(wide, "history-stage")


def test_the_bundled_runs_have_something_to_say(wide: Chrome, serving: Serving) -> None:
    with serving(data_dir("examples")) as bundled:
        open_page(wide, f"{bundled}history")
        assert "so far" in text(wide, "history-banner")
        assert "ncu-lab profile --rev" in text(wide, "changes-body")
        wide.get("about:blank")


@pytest.mark.parametrize("width", [390, 2560])
def test_no_width_scrolls_sideways(open_browser: Callable[[int, int], Chrome], address: str, width: int) -> None:
    browser = open_browser(width, 1200)
    open_page(browser, address, "?stage=gram&range=last12")
    assert not is_wider_than_its_window(browser)
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]  # selenium leaves it without types
