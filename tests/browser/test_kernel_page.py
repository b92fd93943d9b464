"""The Kernel page in a real browser, served by the real command from the bundled runs and from golden counters."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import golden_run
from looking import PLOT, choose, is_wider_than_its_window, query, text, traces, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from ncu_lab.model import USABLE, Inspection
from ncu_lab.render.palette import DARK
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.indexing import list_runs
from ncu_lab.workflows.inspecting import inspect, list_launches

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Serving = Callable[[Path], AbstractContextManager[str]]
FIGURES = ("units", "memory-chart", "waits", "curves")
EVIL = '<img src=x onerror="window.evil=1"><b>kernel</b>'


@pytest.fixture(scope="module")
def example() -> tuple[str, Inspection]:
    """The id of the run the page opens for ``smem-conflict``, and that launch taken apart."""
    folder = data_dir("examples")
    metas, _ = list_runs(folder)
    meta = next(one for one in metas if "smem-conflict" in one.stages and one.status in USABLE)
    run = Store(folder).read(meta.id)
    return meta.id, inspect(run, next(one.launch for one in list_launches(run) if one.stage == "smem-conflict"))


def open_launch(browser: Chrome, address: str, search: str = "stage=smem-conflict") -> None:
    browser.get(f"{address}kernel?{search}")
    for figure in FIGURES:
        wait(browser, f"({PLOT % figure})?.data?.length")
    wait(browser, "document.querySelector('#spots-body tbody tr')")
    wait(browser, "document.querySelector('#accesses-body table') && document.querySelector('#rules-body .rule')")


def test_figures_hold_what_the_report_measured(wide: Chrome, address: str, example: tuple[str, Inspection]) -> None:
    _, found = example
    open_launch(wide, address)
    memory, compute = traces(wide, "units")
    expected = [use.pct for use in found.units if use.side == "memory"][:6]
    assert memory["x"] == pytest.approx(expected)
    assert len(compute["x"]) == 6
    (links,) = traces(wide, "memory-chart")
    assert len(links["x"]) == len(found.traffic.links)
    summary = found.view.summaries[0]
    waits = {one["stages"][0]: one["x"][0] for one in traces(wide, "waits")}
    assert waits["mio_throttle"] == pytest.approx(summary.stall_cycles["mio_throttle"])
    curves = traces(wide, "curves")
    assert [one["name"] for one in curves[::2]] == ["registers", "shared memory", "block size"]
    assert curves[1]["x"] == [summary.value("registers_per_thread")]
    assert "Bound by shared memory" in text(wide, "kernel-banner")
    assert "take 16.5× the wavefronts they need" in text(wide, "accesses-title")
    assert "takes 32.0× its ideal" in text(wide, "spots-title")


def test_a_chosen_line_is_marked_in_the_code_and_in_the_stalls(wide: Chrome, address: str) -> None:
    open_launch(wide, address)
    before = len(traces(wide, "waits"))
    wide.find_element(By.CSS_SELECTOR, "#spots-body tbody tr:nth-child(2) .code").click()
    wait(wide, "document.querySelector('#spots-body tr.chosen')")
    wait(wide, f"({PLOT % 'waits'}).data.some(t => t.name.startsWith('line '))")
    assert len(traces(wide, "waits")) == before + 1
    line = query(wide)["line"][0]
    choose(wide, "spots-code", "both")
    wait(wide, "document.querySelectorAll('#spots-body .spots').length === 2")
    wait(wide, "document.querySelectorAll('#spots-body .spots-side:last-child tr.chosen').length > 0")
    assert query(wide)["line"] == [line]
    wide.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    wait(wide, "!document.querySelector('#spots-body tr.chosen')")
    assert "line" not in query(wide)


def test_code_is_sorted_and_shown_whole_on_request(wide: Chrome, address: str, example: tuple[str, Inspection]) -> None:
    _, found = example
    open_launch(wide, address, "stage=smem-conflict&code=sass&sort=source&rows=all")
    rows = "document.querySelectorAll('#spots-body tbody tr').length"
    wait(wide, f"{rows} === {len(found.spots.instructions)}")
    offsets = wide.execute_script(
        "return [...document.querySelectorAll('#spots-body [data-key]')].map(b => parseInt(b.dataset.key.slice(1), 16))"
    )
    assert offsets == sorted(offsets)
    choose(wide, "spots-sort", "samples")
    wait(wide, "document.querySelector('#spots-sort input[value=samples]').checked")
    wait(wide, "Number(document.querySelector('#spots-body td[data-value]').dataset.value) > 0.05")


def test_a_link_restores_the_launch_and_back_returns(
    wide: Chrome, address: str, example: tuple[str, Inspection]
) -> None:
    run, found = example
    launch = found.view.summaries[0].launch
    open_launch(wide, address, f"run={run}&launch={launch}&units=all&amounts=rate&metric=hit+rate&theme=dark")
    assert wide.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    assert len(traces(wide, "units")[0]["x"]) == sum(1 for one in found.units if one.side == "memory" and one.pct > 0)
    assert traces(wide, "units")[0]["colours"][0] == DARK.worse
    assert wide.execute_script(f"return ({PLOT % 'memory-chart'}).layout.annotations.some(a => a.text.includes('B/s'))")
    wait(wide, "document.querySelectorAll('#metrics-body tbody tr').length > 3")
    assert "l1tex__t_sector_hit_rate.pct" in text(wide, "metrics-body")
    choose(wide, "units-which", "largest")
    wait(wide, f"({PLOT % 'units'}).data[0].x.length === 6")
    wait(wide, "!location.search.includes('units')")
    wide.back()
    wait(wide, f"({PLOT % 'units'}).data[0].x.length > 6")


def test_pages_change_without_a_reload_and_keep_the_theme(wide: Chrome, address: str) -> None:
    open_launch(wide, address)
    wide.execute_script("window.stayed = true")
    wide.find_element(By.ID, "theme-button").click()
    wait(wide, "document.documentElement.dataset.theme === 'dark'")
    wide.find_element(By.ID, "nav-ladder").click()
    wait(wide, f"({PLOT % 'matrix'})?.data?.length > 10")
    assert wide.execute_script("return [window.stayed, location.pathname]") == [True, "/"]
    assert query(wide)["theme"] == ["dark"]
    wide.find_element(By.ID, "nav-kernel").click()
    wait(wide, f"({PLOT % 'units'})?.data?.length")
    wide.back()
    wait(wide, f"({PLOT % 'matrix'})?.data?.length > 10")
    assert wide.find_element(By.ID, "nav-ladder").get_attribute("aria-current") == "page"


def test_a_copied_link_names_the_launch(wide: Chrome, address: str, example: tuple[str, Inspection]) -> None:
    run, found = example
    open_launch(wide, address)
    wide.execute_script("navigator.clipboard.writeText = async text => { window.copied = text; }")
    wide.find_element(By.ID, "copy-link").click()
    wait(wide, "window.copied")
    copied = wide.execute_script("return window.copied")
    assert f"run={run}" in copied
    assert f"launch={found.view.summaries[0].launch}" in copied


def test_figures_and_tables_can_be_saved(wide: Chrome, address: str) -> None:
    open_launch(wide, address)
    wide.execute_script(
        "window.saved = []; HTMLAnchorElement.prototype.click = function () {"
        "  window.saved.push([this.download, this.href.slice(0, 18)]); };"
    )
    card = "document.getElementById('units-title').closest('.card').querySelector"
    for kind in ("png", "svg", "csv"):
        wide.execute_script(f"{card}('[data-export={kind}]').click()")
    wait(wide, "window.saved.length === 3")
    saved = {name.rpartition(".")[2]: start for name, start in wide.execute_script("return window.saved")}
    assert saved["png"].startswith("data:image/png")
    assert saved["svg"].startswith("data:image/svg")
    assert saved["csv"].startswith("blob:")


def test_markup_in_names_stays_text_and_what_is_missing_says_so(wide: Chrome, serving: Serving, tmp_path: Path) -> None:
    run = golden_run(["naive"])
    launches = run.launches.assign(kernel=EVIL, function=EVIL, stage=None)
    meta = replace(run.meta, stages=(), name=EVIL, problem=None)
    Store(tmp_path).write(replace(run, meta=meta, launches=launches))
    with serving(tmp_path) as address:
        wide.get(f"{address}kernel")
        wait(wide, f"({PLOT % 'waits'})?.data?.length")
        wait(wide, "document.querySelector('#spots-state .missing')")
        assert EVIL in text(wide, "kernel-signature")
        assert "Profile with --section SourceCounters" in text(wide, "spots-state")
        assert "-- PROGRAM" in text(wide, "spots-state")
        assert "Not collected: how busy each unit was" in text(wide, "units-state")
        assert not wide.find_element(By.ID, "units-figure").is_displayed()
        wide.get(f"{address}kernel?run=%2E%2E%2Fsecret&launch=0")
        wait(wide, "document.querySelector('#kernel-empty .card')")
        assert 'no run "../secret"' in text(wide, "kernel-empty")
        assert wide.execute_script("return window.evil") is None
        wide.get("about:blank")


@pytest.mark.parametrize("width", [390, 1280, 2560])
def test_no_width_scrolls_sideways(open_browser: Callable[[int, int], Chrome], address: str, width: int) -> None:
    phone = open_browser(width, 1600)
    phone.get(f"{address}kernel?stage=2d")
    wait(phone, f"({PLOT % 'units'})?.data?.length && document.querySelector('#spots-body tbody tr')")
    wait(phone, "document.querySelector('#rules-body .rule')")
    assert not is_wider_than_its_window(phone)
    if width < 700:
        assert phone.find_element(By.CSS_SELECTOR, "#memory-chart-table table").is_displayed()
    assert phone.get_log("browser") == []


def test_launches_are_searched_by_their_words(wide: Chrome, address: str) -> None:
    open_launch(wide, address)
    wide.find_element(By.ID, "kernel-launch").click()
    wait(wide, "document.querySelector('.dash-dropdown-search')")
    offered = "[...document.querySelectorAll('.dash-dropdown-option')]"
    wide.find_element(By.CSS_SELECTOR, ".dash-dropdown-search").send_keys("wmma tiled")
    wait(wide, f"{offered}.length === 1 && {offered}[0].textContent.includes('wmma-tiled')")
    wide.find_element(By.CSS_SELECTOR, ".dash-dropdown-option").click()
    wait(wide, "document.querySelector('#kernel-signature').textContent.includes('wmma_tiled')")
    assert query(wide)["launch"] != []
