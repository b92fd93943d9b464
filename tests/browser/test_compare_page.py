"""The Compare page in a real browser: its figures hold what ``ncu-lab diff --format json`` says, whatever is chosen."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from golden_runs import golden_run
from looking import PLOT, choose, is_wider_than_its_window, query, text, traces, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.indexing import list_runs

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Serving = Callable[[Path], AbstractContextManager[str]]
EVIL = '<img src=x onerror="window.evil=1"><b>kernel</b>'


@pytest.fixture(scope="module")
def run() -> str:
    """The id of the bundled run of the whole ladder that is compared within itself."""
    metas, _ = list_runs(data_dir("examples"))
    return next(meta.id for meta in metas if meta.problem is not None and meta.problem.m == 4096)


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """The pair of 1d and 2d as the command documents it."""
    answer = CliRunner().invoke(app, ["diff", "1d", "2d", "--example", "--format", "json"])
    assert answer.exit_code == 0
    found: dict[str, Any] = json.loads(answer.stdout)["pairs"][0]
    return found


def open_steps(browser: Chrome, address: str, run: str, more: str = "") -> None:
    browser.get(f"{address}compare?a={run}&sa=1d&b={run}&sb=2d{more}")
    for figure in ("compare-waterfall", "compare-waits", "compare-roofline"):
        wait(browser, f"({PLOT % figure})?.data?.length")
    for table in ("moved", "compared"):
        wait(browser, f"document.querySelector('#{table}-body tbody td')")


def cells(browser: Chrome, quantity: str) -> list[str]:
    """Return a row of the table of quantities: full values where cells carry them, else what they show."""
    found: list[str] = browser.execute_script(
        "const row = [...document.querySelectorAll('#compared-body tbody tr')]"
        ".find(r => r.cells[0].textContent === arguments[0]);"
        "return [...row.cells].map(c => c.dataset.value ?? c.textContent)",
        quantity,
    )
    return found


def test_figures_and_tables_hold_what_diff_says(wide: Chrome, address: str, run: str, said: dict[str, Any]) -> None:
    open_steps(wide, address, run)
    parts = {part["factor"]: part["ns"] for part in said["attribution"]["parts"]}
    bars = {one["name"]: one["x"][0] for one in traces(wide, "compare-waterfall")}
    assert bars["instructions"] == pytest.approx(parts["instructions"] / 1e6)
    assert bars["long scoreboard"] == pytest.approx(parts["stall:long_scoreboard"] / 1e6)
    waits = {one["name"]: one["x"][0] for one in traces(wide, "compare-waits")}
    stalls = {part["factor"]: (part["a"], part["b"]) for part in said["attribution"]["parts"]}
    assert (waits["A barrier"], waits["B barrier"]) == pytest.approx(stalls["stall:barrier"])
    marks = {one["name"]: one for one in traces(wide, "compare-roofline")}
    metrics = {one["key"]: one for one in said["metrics"]}
    assert marks["A"]["x"][0] == pytest.approx(metrics["intensity_l1"]["a"])
    assert marks["B"]["y"][0] == pytest.approx(metrics["flop_per_s"]["b"])
    row = cells(wide, "Instructions")
    assert float(row[1]) == metrics["instructions_issued"]["a"]
    assert float(row[2]) == metrics["instructions_issued"]["b"]
    assert row[5] == "✓ better"
    time = cells(wide, "Time")
    assert [float(time[1]), float(time[2])] == [said["duration"]["a_ns"], said["duration"]["b_ns"]]
    a_ms, b_ms = float(time[1]) / 1e6, float(time[2]) / 1e6
    assert f"1d → 2d: ▼ {a_ms / b_ms:.2f}× faster, {a_ms:.2f} → {b_ms:.2f} ms" in text(wide, "compare-banner")
    assert "p = 6e-11, n = 20 + 20" in text(wide, "compare-banner")
    assert "2d is 1.85× faster than 1d, because of 29.9 % fewer instructions" in text(wide, "compare-banner")
    lines = wide.find_elements(By.CSS_SELECTOR, "#moved-body tbody tr")
    assert len(lines) == len(said["lines"])
    assert lines[0].find_element(By.TAG_NAME, "a").text == f"06_1d.cu:{said['lines'][0]['line_a']}"
    assert "✓ same GPU" in text(wide, "compare-chips")


def test_sectors_are_judged_against_their_ideal(wide: Chrome, address: str, run: str) -> None:
    wide.get(f"{address}compare?a={run}&sa=2d&b={run}&sb=vectorized")
    wait(wide, "document.querySelector('#compared-body tbody td')")
    row = cells(wide, "Global store sectors ÷ ideal")
    assert [float(row[1]), float(row[2]), row[5]] == [8.0, 2.0, "✓ better"]
    assert row[6].startswith("32.0 of 4.00 → 32.0 of 16.0")


def test_swapped_sides_mirror_each_other(wide: Chrome, address: str, run: str, said: dict[str, Any]) -> None:
    open_steps(wide, address, run)
    before = {one["name"]: one["x"][0] for one in traces(wide, "compare-waterfall")}
    wide.find_element(By.ID, "compare-swap").click()
    wait(wide, "document.getElementById('compare-banner')?.textContent.startsWith('2d → 1d: ▲')")
    wait(wide, f"({PLOT % 'compare-waterfall'}).data.find(t => t.name === 'instructions').x[0] > 0")
    after = {one["name"]: one["x"][0] for one in traces(wide, "compare-waterfall")}
    assert after["instructions"] == pytest.approx(-before["instructions"])
    assert query(wide) == {"a": [run], "sa": ["2d"], "b": [run], "sb": ["1d"]}
    wide.back()
    wait(wide, "document.getElementById('compare-banner')?.textContent.startsWith('1d → 2d: ▼')")


def test_a_chosen_pair_is_shown_in_every_figure(wide: Chrome, address: str, run: str) -> None:
    metas, _ = list_runs(data_dir("examples"))
    other = next(meta.id for meta in metas if meta.problem is not None and meta.problem.m == 1024)
    wide.get(f"{address}compare?a={other}&b={run}")
    wait(wide, "document.querySelectorAll('#pairs-body tbody tr').length > 10")
    assert "⊘ another problem (1024³ and 4096³)" in text(wide, "compare-chips")
    assert "Times: not comparable, because of another problem" in text(wide, "compare-chips")
    assert "Not comparable" in text(wide, "compare-waits-state")
    assert not wide.find_element(By.ID, "compare-waterfall-figure").is_displayed()
    wide.get(f"{address}compare?a={run}&b={run}")
    wait(wide, "document.querySelectorAll('#pairs-body tbody tr').length > 10")
    assert "A and B are the same launches" in text(wide, "compare-banner")
    button = wide.find_element(By.CSS_SELECTOR, "#pairs-body [data-key='2d']")
    button.send_keys(Keys.ENTER)
    wait(wide, "document.querySelector('#pairs-body tr.chosen [data-key]').dataset.key === '2d'")
    wait(wide, "document.getElementById('compare-banner')?.textContent.startsWith('2d: = same')")
    assert query(wide)["pair"] == ["2d"]
    wide.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    wait(wide, "!location.search.includes('pair')")


def test_a_link_restores_the_view(wide: Chrome, address: str, run: str) -> None:
    open_steps(wide, address, run, "&waits=share&level=dram&rows=all&theme=dark")
    assert wide.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    assert wide.execute_script(f"return ({PLOT % 'compare-waits'}).layout.xaxis.title.text") == "% of warp-cycles"
    assert "DRAM" in wide.execute_script(f"return ({PLOT % 'compare-roofline'}).layout.xaxis.title.text")
    assert cells(wide, "FLOP")[5] == "= same"
    choose(wide, "compare-waits-scale", "cycles")
    wait(wide, f"({PLOT % 'compare-waits'}).layout.xaxis.title.text.startsWith('warp-cycles')")
    assert "waits" not in query(wide)


def test_several_b_are_tabs(wide: Chrome, address: str, run: str) -> None:
    metas, _ = list_runs(data_dir("examples"))
    others = [meta.id for meta in metas if meta.id != run]
    wide.get(f"{address}compare?a={run}&b={others[0]}&b={run}&at=1")
    wait(wide, "document.getElementById('compare-banner')?.textContent.includes('same launches')")
    assert len(wide.find_elements(By.CSS_SELECTOR, "#compare-at input")) == 2
    choose(wide, "compare-at", "0")
    wait(wide, "!document.getElementById('compare-banner')?.textContent.includes('same launches')")
    assert "at" not in query(wide)


def test_an_address_names_no_path_and_markup_stays_text(wide: Chrome, serving: Serving, tmp_path: Path) -> None:
    first = golden_run(["naive"])
    launches = first.launches.assign(kernel=EVIL, function=EVIL, stage=None)
    runs = [
        replace(
            first,
            meta=replace(first.meta, id=f"2026113{at}T011207-evil-4f2c9ab-91c3", stages=(), name=EVIL, problem=None),
            launches=launches,
        )
        for at in range(2)
    ]
    for one in runs:
        Store(tmp_path).write(one)
    with serving(tmp_path) as address:
        wide.get(f"{address}compare")
        wait(wide, f"({PLOT % 'compare-waits'})?.data?.length")
        wait(wide, "document.querySelector('#moved-state .missing')")
        assert EVIL in text(wide, "compare-banner")
        assert "No line is known to have moved" in text(wide, "moved-state")
        for tricky in (f"../{tmp_path.name}/{runs[0].meta.id}", f"file:{tmp_path / runs[0].meta.id}", "/etc/passwd"):
            wide.get(f"{address}compare?a={tricky}&b={runs[1].meta.id}")
            wait(wide, "document.querySelector('#compare-empty .card')")
            assert f'there is no run, commit or stage "{tricky}"' in text(wide, "compare-empty")
        assert wide.execute_script("return window.evil") is None
        wide.get("about:blank")


def test_two_ticked_runs_lead_here(wide: Chrome, address: str, run: str) -> None:
    metas, _ = list_runs(data_dir("examples"))
    other = next(meta for meta in metas if meta.problem is not None and meta.problem.m == 1024)
    wide.get(f"{address}runs?picked={run},{other.id}")
    wait(wide, "document.getElementById('runs-compare')")
    assert "⊘ not comparable" in text(wide, "runs-comparable")
    wide.find_element(By.ID, "runs-compare").click()
    wait(wide, "location.pathname === '/compare' && document.querySelector('#pairs-body tbody tr')")
    assert query(wide) == {"a": [other.id], "b": [run]}


@pytest.mark.parametrize("width", [390, 1280, 2560])
def test_no_width_scrolls_sideways(
    open_browser: Callable[[int, int], Chrome], address: str, run: str, width: int
) -> None:
    phone = open_browser(width, 1600)
    open_steps(phone, address, run)
    assert not is_wider_than_its_window(phone)
    assert phone.get_log("browser") == []
