"""The exported page in a real browser, opened as a file with the network off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golden_runs import golden_run
from looking import WAIT_S, is_wider_than_its_window, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from ncu_lab.model import Inspection
from ncu_lab.model.exhibit import Exhibit, ExhibitedRun
from ncu_lab.render.page.document import page
from ncu_lab.render.palette import DARK, LIGHT
from ncu_lab.resources import data_dir
from ncu_lab.workflows.exporting import Chosen, gather
from ncu_lab.workflows.inspecting import inspect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

EVIL = '</script><img src=x onerror="window.evil=1"><script>window.evil=1</script>'


@pytest.fixture(scope="module")
def exhibit() -> Exhibit:
    """Two stages of the bundled ladder."""
    return gather([], data_dir("examples"), chosen=Chosen(stages=("1d", "2d")), size=4096)


@pytest.fixture(scope="module")
def place(exhibit: Exhibit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("exported") / "page.html"
    file.write_text(page(exhibit), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def browser(open_browser: Callable[[int, int], Chrome]) -> Chrome:
    return offline(open_browser(1280, 1500))


@pytest.fixture(scope="module")
def phone(open_browser: Callable[[int, int], Chrome]) -> Chrome:
    return offline(open_browser(390, 900))


def offline(chrome: Chrome) -> Chrome:
    chrome.execute_cdp_cmd("Network.enable", {})
    conditions = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    chrome.execute_cdp_cmd("Network.emulateNetworkConditions", conditions)
    return chrome


def open_page(chrome: Chrome, place: Path) -> None:
    """Open the file, scroll to the end and back, so that every figure that has a place comes into view."""
    chrome.get(place.as_uri())
    drawn = "[...document.querySelectorAll('.figure')].filter(f => f.clientWidth).every(f => f.dataset.drawn)"
    # What is drawn above moves a figure on: it may have been out of sight before the page looked.
    scroll = "arguments[0].scrollIntoView(); return Boolean(arguments[0].dataset.drawn)"
    for figure in chrome.find_elements(By.CSS_SELECTOR, ".figure"):
        if figure.is_displayed():
            WebDriverWait(chrome, WAIT_S).until(lambda one, figure=figure: one.execute_script(scroll, figure))
    wait(chrome, drawn)


def traces(chrome: Chrome, root: str) -> list[list[dict[str, Any]]]:
    """Return the traces of every figure drawn below an element."""
    found: list[list[dict[str, Any]]] = chrome.execute_script(
        "return [...document.querySelectorAll(arguments[0] + ' .js-plotly-plot')].map(p => p.data.map(t => "
        "({name: t.name, x: Array.from(t.x || []), stages: Array.from(t.customdata || [])})))",
        root,
    )
    return found


def launch_of(exhibit: Exhibit, stage: str) -> Inspection:
    return next(one for one in exhibit.runs[0].launches if one.view.summaries[0].stage == stage)


def test_figures_hold_what_was_measured(browser: Chrome, place: Path, exhibit: Exhibit) -> None:
    open_page(browser, place)
    units, chart, waits, curves = traces(browser, "#run-1-2d")
    found = launch_of(exhibit, "2d")
    largest = [use.pct for use in found.units if use.side == "memory"][:6]
    assert units[0]["x"] == pytest.approx(largest)
    assert len(chart[0]["x"]) == len(found.traffic.links)
    cycles = found.view.summaries[0].stall_cycles
    bars = {one["stages"][0]: one["x"][0] for one in waits if one["stages"]}
    assert bars["not_selected"] == pytest.approx(cycles["not_selected"])
    assert len(found.occupancy.curves) == 3
    assert len(curves) >= 3


def test_nothing_was_loaded(browser: Chrome, place: Path) -> None:
    open_page(browser, place)
    loaded = browser.execute_script("return performance.getEntriesByType('resource').map(one => one.name)")
    assert [name for name in loaded if not name.startswith(("blob:", "data:"))] == []


def test_the_button_changes_the_theme_of_page_and_figures(browser: Chrome, place: Path) -> None:
    open_page(browser, place)
    browser.execute_script("window.scrollTo(0, 0)")
    plot = "document.querySelector('.js-plotly-plot').layout.font.color"
    assert browser.execute_script(f"return {plot}") == LIGHT.text
    browser.find_element(By.ID, "theme").click()
    wait(browser, f"{plot} === '{DARK.text}'")
    assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    browser.find_element(By.ID, "theme").click()
    wait(browser, f"{plot} === '{LIGHT.text}'")


def test_paper_is_light(browser: Chrome, place: Path) -> None:
    open_page(browser, place)
    browser.find_element(By.ID, "theme").click()
    plot = "document.querySelector('.js-plotly-plot').layout.font.color"
    wait(browser, f"{plot} === '{DARK.text}'")
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(f"return {plot}") == LIGHT.text
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(f"return {plot}") == DARK.text


def test_a_choice_shows_another_figure(browser: Chrome, place: Path) -> None:
    open_page(browser, place)
    browser.execute_script("window.scrollTo(0, 0)")
    browser.find_element(By.CSS_SELECTOR, "input[name='run-1-stalls'][value='1']").click()
    shown = "[...document.querySelectorAll('.matrix-wide .figure')].filter(f => f.clientWidth)[0]"
    wait(browser, f"{shown}.dataset.drawn && {shown}.querySelector('.js-plotly-plot')")
    assert browser.execute_script(f"return {shown}.closest('.option').dataset.option") == "1"


def test_a_phone_shows_one_panel_and_does_not_scroll_sideways(phone: Chrome, place: Path) -> None:
    open_page(phone, place)
    assert not is_wider_than_its_window(phone)
    shown = phone.execute_script("return [...document.querySelectorAll('.figure')].filter(f => f.clientWidth).length")
    drawn = phone.execute_script("return document.querySelectorAll('.figure[data-drawn]').length")
    assert shown == drawn
    assert phone.find_element(By.CSS_SELECTOR, ".matrix-narrow .segmented").is_displayed()
    widths = phone.execute_script(
        "return [...document.querySelectorAll('.js-plotly-plot')]"
        ".map(p => [p.clientWidth, p.parentElement.clientWidth])"
    )
    assert all(plot <= box for plot, box in widths)


def test_a_link_opens_its_kernel(browser: Chrome, tmp_path: Path) -> None:
    whole = golden_run(["1d", "2d", "smem", "naive"])
    taken = tuple(inspect(whole, launch) for launch in range(4))
    file = tmp_path / "page.html"
    file.write_text(page(Exhibit((ExhibitedRun(whole, None, taken),))), encoding="utf-8")
    browser.get(f"{file.as_uri()}#run-1-2d")
    wait(browser, "document.getElementById('run-1-2d').open")
    assert not browser.execute_script("return document.getElementById('run-1-1d').open")


def test_hostile_names_are_text(browser: Chrome, tmp_path: Path) -> None:
    counters = {"gpu__time_duration.sum": 5.0}
    run = golden_run([], extra=[{"stage": None, "kernel": EVIL, "metrics": counters}], problem=None)
    file = tmp_path / "page.html"
    file.write_text(page(Exhibit((ExhibitedRun(run, None, (inspect(run, 0),)),))), encoding="utf-8")
    browser.get(file.as_uri())
    wait(browser, "document.querySelector('.kernel code')")
    assert browser.find_element(By.CSS_SELECTOR, ".kernel code").text == EVIL
    assert browser.execute_script("return window.evil === undefined && !document.querySelector('img')")
