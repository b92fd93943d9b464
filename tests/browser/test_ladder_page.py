"""The ladder page in a real browser, served by the real command from runs of golden counters."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import builders
import pytest
from golden_runs import golden_run
from looking import PLOT, choose, query, settles, text, traces, wait
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from ncu_lab.metrics import stall_cycles
from ncu_lab.model import Problem
from ncu_lab.render.palette import DARK, LIGHT
from ncu_lab.resources import data_dir
from ncu_lab.store import Store

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Serving = Callable[[Path], AbstractContextManager[str]]

STAGES = list(builders.STAGES)
SHOWN = {"problem": ["1024"], "device": ["NVIDIA H200"]}
"""What the page shows when the address names nothing, and writes into the address once something is chosen."""


def write_runs(folder: Path) -> None:
    run = golden_run(STAGES)
    Store(folder).write(replace(run, instances=builders.access_instances(STAGES)))
    small = golden_run(
        ["naive", "2d"],
        problem=Problem(512, 512, 512),
        run_id="20261129T011207-ladder-4f2c9ab-91c2",
        created="2026-11-29T01:12:07+00:00",
    )
    Store(folder).write(small)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    write_runs(folder)
    return folder


@pytest.fixture(scope="module")
def address(store: Path, serving: Serving) -> Iterator[str]:
    with serving(store) as found:
        yield found


def open_page(browser: Chrome, url: str) -> None:
    browser.get(url)
    for figure in ("matrix", "speed", "roofline"):
        wait(browser, f"({PLOT % figure})?.data?.length")


def trace(browser: Chrome, figure: str, name: str, axis: str | None = None) -> dict[str, Any]:
    (found,) = [one for one in traces(browser, figure) if one["name"] == name and axis in (None, one["xaxis"])]
    return found


def at(found: dict[str, Any], stage: str) -> float:
    return float(found["x"][found["stages"].index(stage)])


def selected_row(browser: Chrome) -> str:
    labels = browser.execute_script(f"return ({PLOT % 'matrix'}).layout.yaxis.ticktext")
    bold = [label for label in labels if label.startswith("<b>")]
    return bold[0][3:-4] if bold else ""


def test_figures_hold_the_measured_values(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    matrix = traces(wide, "matrix")
    assert {one["xaxis"] for one in matrix} == {"x", "x2", "x3", "x4", "x5", "x6"}
    bars = [one for one in matrix if one["type"] == "bar" and one["xaxis"] == "x2"]
    reasons = {reason for stage in STAGES for reason in builders.summary(stage).stalls}
    assert len(bars) == len(reasons)
    for stage in ("naive", "2d", "wmma", "cublas-fp32"):
        assert sum(at(bar, stage) for bar in bars) == pytest.approx(100.0)
    cycles = stall_cycles(builders.golden_counters()["1d"]["metrics"].items())
    share = 100 * cycles["short_scoreboard"] / sum(cycles.values())
    assert at(trace(wide, "matrix", "short scoreboard"), "1d") == pytest.approx(share)
    assert at(trace(wide, "matrix", "duration"), "2d") == 197984.0
    assert at(trace(wide, "matrix", "loads", "x3"), "naive") == pytest.approx(16.5076, abs=1e-4)
    assert at(trace(wide, "matrix", "stores", "x4"), "smem-conflict") == pytest.approx(16.6755, abs=1e-4)
    assert at(trace(wide, "matrix", "achieved occupancy"), "2d") == pytest.approx(12.4786, abs=1e-4)
    assert at(trace(wide, "speed", "speed"), "1d") == pytest.approx(2 * 1024**3 / 127200 / 1e3)
    assert at(trace(wide, "roofline", "stages"), "naive") == pytest.approx(0.015144, rel=1e-3)
    assert text(wide, "heading") == "Eight stages make FP32 matmul 35× faster: 4.42 ms to 127 µs, 48 % of cuBLAS"


def test_the_page_fills_its_width_and_never_scrolls_sideways(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    widths = wide.execute_script(
        f"const plot = ({PLOT % 'matrix'}).getBoundingClientRect(), root = document.documentElement;"
        "return [plot.width, root.scrollWidth, root.clientWidth]"
    )
    assert widths[0] == pytest.approx(1358, abs=2)
    assert widths[1] == widths[2]


def test_a_link_restores_the_view(wide: Chrome, address: str) -> None:
    open_page(wide, f"{address}?problem=512&level=dram&stage=2d&theme=dark&sort=duration&scale=cycles")
    wait(wide, f"({PLOT % 'matrix'}).layout.yaxis.ticktext.includes('<b>2d</b>')")
    assert trace(wide, "matrix", "duration")["stages"] == ["naive", "2d"]
    assert text(wide, "context").splitlines()[0].startswith("NVIDIA H200")
    assert "512 × 512 × 512" in text(wide, "context")
    title = wide.execute_script(f"return ({PLOT % 'roofline'}).layout.xaxis.title.text")
    assert "DRAM" in title
    for control, value in (("problem", "512"), ("level", "dram"), ("stage", "2d"), ("sort", "duration")):
        assert wide.find_element(By.CSS_SELECTOR, f"#{control} input[value='{value}']").is_selected()
    page = wide.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert page == "rgb(13, 17, 23)"  # DARK.page
    assert trace(wide, "matrix", "duration")["colours"] == [DARK.text]


def test_the_theme_button_recolours_page_and_figures(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    assert trace(wide, "matrix", "duration")["colours"] == [LIGHT.text]
    wide.find_element(By.ID, "theme-button").click()
    wait(wide, f"({PLOT % 'matrix'}).data.find(t => t.name === 'duration').marker.color === '{DARK.text}'")
    wait(wide, f"({PLOT % 'roofline'}).data.find(t => t.name === 'roof').line.color === '{DARK.text}'")
    wait(wide, f"({PLOT % 'speed'}).layout.font.color === '{DARK.text}'")
    assert wide.execute_script("return getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    assert query(wide) == {**SHOWN, "theme": ["dark"]}


def test_a_copied_link_names_what_the_page_chose(wide: Chrome, address: str) -> None:
    open_page(wide, f"{address}?level=l2")
    wide.execute_script("navigator.clipboard.writeText = async text => { window.copied = text; }")
    wide.find_element(By.ID, "copy-link").click()
    wait(wide, "window.copied")
    assert parse_qs(urlsplit(wide.execute_script("return window.copied")).query) == {**SHOWN, "level": ["l2"]}


def test_levels_switch_the_roofline_and_back_returns(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    near = at(trace(wide, "roofline", "stages"), "2d")
    choose(wide, "level", "dram")
    wait(wide, f"({PLOT % 'roofline'}).layout.xaxis.title.text.includes('DRAM')")
    metrics = builders.golden_counters()["2d"]["metrics"]
    flop = 2 * metrics["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed"]
    flop *= metrics["smsp__cycles_elapsed.avg.per_second"] * metrics["gpu__time_duration.sum"] * 1e-9
    dram = flop / (metrics["dram__bytes_read.sum"] + metrics["dram__bytes_write.sum"])
    assert at(trace(wide, "roofline", "stages"), "2d") == pytest.approx(dram, rel=0.02)
    assert dram > 10 * near
    assert query(wide) == {**SHOWN, "level": ["dram"]}
    wide.back()
    wait(wide, f"!({PLOT % 'roofline'}).layout.xaxis.title.text.includes('DRAM')")
    assert query(wide) == {}


def test_families_and_other_ladders_switch_the_roofline(wide: Chrome, serving: Serving) -> None:
    with serving(data_dir("examples")) as address:
        open_page(wide, f"{address}?problem=4096")
        plot = PLOT % "roofline"
        choose(wide, "family", "tensor")
        wait(wide, f"({plot}).layout.annotations.some(a => a.text.includes('FP16, BF16 tensor'))")
        stages = trace(wide, "roofline", "stages")
        assert set(stages["stages"]) >= {"wmma", "cublas-tf32", "cublas-fp16", "cublas-bf16"}
        assert at(stages, "wmma") == pytest.approx(0.939, rel=1e-2)
        assert "FP32" in text(wide, "roofline-foot")
        choose(wide, "beside", "1024@NVIDIA H200")
        wait(wide, f"({plot}).data.some(t => t.name === '1024³ on NVIDIA H200')")
        choose(wide, "level", "shared")
        wait(wide, f"({plot}).layout.xaxis.title.text.includes('Shared only')")
        # Neither wmma nor the link of this view loses anything: wmma has no shared memory.
        shared = set(trace(wide, "roofline", "stages")["stages"])
        assert shared >= {"cublas-tf32", "cublas-fp16", "cublas-bf16"}
        assert "wmma" not in shared
        shown = {"family": ["tensor"], "level": ["shared"], "beside": ["1024@NVIDIA H200"]}
        assert query(wide).items() >= shown.items()
        open_page(wide, wide.current_url)
        wait(wide, f"({plot}).data.some(t => t.name === '1024³ on NVIDIA H200')")
        choose(wide, "family", "fp32")
        wait(wide, f"({plot}).layout.annotations.some(a => a.text.startsWith('FP32'))")
        assert "smem" in trace(wide, "roofline", "stages")["stages"]
        wide.get("about:blank")  # before the server goes


def test_a_click_selects_the_stage_in_every_figure_and_escape_clears(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    x, y = wide.execute_script(
        f"const gd = {PLOT % 'matrix'}, box = gd.getBoundingClientRect(), l = gd._fullLayout;"
        "return [box.x + l.xaxis2._offset + l.xaxis2.d2p(90), box.y + l.yaxis._offset + l.yaxis.d2p(6)]"
    )
    pointer = ActionChains(wide)
    pointer.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    pointer.w3c_actions.pointer_action.click()
    pointer.perform()
    wait(wide, f"({PLOT % 'matrix'}).layout.yaxis.ticktext.includes('<b>2d</b>')")
    wait(wide, f"({PLOT % 'speed'}).layout.yaxis.ticktext.includes('<b>2d</b>')")
    wait(wide, f"({PLOT % 'roofline'}).layout.annotations.some(a => a.text === '<b>2d</b>')")
    points = trace(wide, "roofline", "stages")
    assert points["colours"][points["stages"].index("2d")] == LIGHT.accent
    assert query(wide) == {**SHOWN, "stage": ["2d"]}
    assert wide.find_element(By.CSS_SELECTOR, "#stage input[value='2d']").is_selected()
    wide.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    wait(wide, f"!({PLOT % 'matrix'}).layout.yaxis.ticktext.includes('<b>2d</b>')")
    assert query(wide) == SHOWN


def test_arrow_keys_move_the_selection_and_rows_lie_over_their_names(wide: Chrome, address: str) -> None:
    open_page(wide, f"{address}?stage=1d")
    wait(wide, f"({PLOT % 'matrix'}).layout.yaxis.ticktext.includes('<b>1d</b>')")
    row = wide.find_element(By.CSS_SELECTOR, "#stage input[value='1d']")
    row.send_keys(Keys.ARROW_DOWN)
    wait(wide, f"({PLOT % 'matrix'}).layout.yaxis.ticktext.includes('<b>2d</b>')")
    assert selected_row(wide) == "2d"
    middle, drawn = wide.execute_script(
        "const box = document.querySelector(\"#stage input[value='2d']\").closest('label').getBoundingClientRect();"
        f"const gd = {PLOT % 'matrix'}, l = gd._fullLayout;"
        "return [box.y + box.height / 2, gd.getBoundingClientRect().y + l.yaxis._offset + l.yaxis.d2p(6)]"
    )
    assert middle == pytest.approx(drawn, abs=2)


def test_a_stage_is_chosen_by_keys_alone_in_every_figure_and_the_ring_shows_where(wide: Chrome, address: str) -> None:
    open_page(wide, address)

    def press(key: str) -> None:
        ActionChains(wide).send_keys(key).perform()

    def focused() -> tuple[str, str, str]:
        row = wide.switch_to.active_element
        ring = "return getComputedStyle(arguments[0].closest('label')).outline"
        return row.accessible_name, row.aria_role, wide.execute_script(ring, row)

    for _ in range(60):
        press(Keys.TAB)
        if wide.execute_script("return Boolean(document.activeElement.closest('#matrix-rows'))"):
            break
    name, role, ring = focused()
    assert (name, role) == ("naive", "radio")
    assert "solid 2px" in ring
    assert selected_row(wide) == ""
    ends = wide.execute_script("return [...document.querySelectorAll('#stage input:enabled')].map(r => r.value)")
    for key, stage in (
        (Keys.ENTER, "naive"), (Keys.ARROW_DOWN, ends[1]), (Keys.ARROW_UP, "naive"), (Keys.END, ends[-1]),
        (Keys.HOME, "naive"), (Keys.ARROW_DOWN, ends[1]),
    ):  # fmt: skip
        press(key)
        settles(wide, lambda: query(wide).get("stage"), [stage])
        settles(wide, lambda: selected_row(wide) == focused()[0] != "", True)
    for figure in ("matrix", "speed"):
        wait(wide, f"({PLOT % figure}).layout.yaxis.ticktext.includes('<b>{ends[1]}</b>')")
    wait(wide, f"({PLOT % 'roofline'}).layout.annotations.some(a => a.text === '<b>{ends[1]}</b>')")
    press(Keys.ESCAPE)
    settles(wide, lambda: (selected_row(wide), query(wide).get("stage")), ("", None))
    assert "solid 2px" in focused()[2]  # where it was, to go on from there
    press(Keys.ENTER)
    settles(wide, lambda: query(wide).get("stage"), [ends[1]])


def test_a_stage_that_is_not_there_is_said_and_cleared(wide: Chrome, address: str) -> None:
    open_page(wide, f"{address}?stage=navie&sort=duration")
    said = 'No stage "navie" on this ladder. Nearest: naive.'
    settles(wide, lambda: text(wide, "unmatched").startswith(said), True)
    wide.find_element(By.CSS_SELECTOR, "#unmatched button").click()
    settles(wide, lambda: text(wide, "unmatched"), "")
    assert query(wide) == {**SHOWN, "sort": ["duration"]}


def test_every_value_is_also_in_a_table(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    wide.find_element(By.CSS_SELECTOR, "#matrix-details summary").click()
    cells = wide.find_elements(By.CSS_SELECTOR, "#matrix-table tbody tr")[6].find_elements(By.TAG_NAME, "td")
    shown = [cell.text.replace("\u2009", " ") for cell in cells]
    assert shown[:4] == ["2d", "198 µs", "10.8", "31.0 %"]


def test_a_problem_that_is_not_there_is_told_with_what_is(wide: Chrome, address: str) -> None:
    wide.get(f"{address}?problem=4096")
    wait(wide, "document.querySelector('#empty .card')")
    assert "no runs of problem 4096" in text(wide, "empty")
    assert not wide.find_element(By.ID, "cards").is_displayed()
    choose(wide, "problem", "1024")
    wait(wide, "document.getElementById('cards').offsetHeight > 0")
    wait(wide, f"({PLOT % 'matrix'})?.data?.length > 20")


def test_an_empty_store_says_what_to_type_and_shows_the_first_run_by_itself(
    wide: Chrome, serving: Serving, tmp_path: Path
) -> None:
    with serving(tmp_path) as address:
        wide.get(address)
        wait(wide, "document.querySelector('#empty .card')")
        assert "ncu-lab profile --all" in text(wide, "empty")
        assert "ncu-lab dashboard --example" in text(wide, "empty")
        write_runs(tmp_path)
        wait(wide, f"({PLOT % 'matrix'})?.data?.length > 20")
        assert text(wide, "empty") == ""
        # Leave before the server goes, so that the page does not ask a server that is no more.
        wide.get("about:blank")


def numbers_shown(browser: Chrome) -> list[str]:
    """Return the numbers that stand in the marks of the roofline, as the page draws them."""
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('#roofline .textpoint text')].map(t => t.textContent)"
    )
    return found


def test_a_run_of_another_problem_changes_no_page_being_read(wide: Chrome, serving: Serving, tmp_path: Path) -> None:
    write_runs(tmp_path)
    with serving(tmp_path) as address:
        open_page(wide, address)
        assert wide.find_element(By.CSS_SELECTOR, "#problem input[value='1024']").is_selected()
        assert text(wide, "problem").splitlines() == ["512³", "1024³, newest"]
        Store(tmp_path).write(
            golden_run(
                STAGES,
                problem=Problem(2048, 1024, 512),
                run_id="20261131T011207-ladder-4f2c9ab-91c4",
                created="2026-11-31T01:12:07+00:00",
            )
        )
        wait(wide, "document.querySelector(\"#problem input[value='2048x1024x512']\")")
        assert text(wide, "problem").splitlines() == ["512³", "1024³", "2048×1024×512, newest"]
        assert "1024 × 1024 × 1024" in text(wide, "context")
        assert wide.find_element(By.CSS_SELECTOR, "#problem input[value='1024']").is_selected()
        choose(wide, "problem", "2048x1024x512")
        wait(wide, "document.getElementById('context').textContent.includes('2048')")
        assert query(wide)["problem"] == ["2048x1024x512"]
        assert "1" in numbers_shown(wide)
        wide.get("about:blank")


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """Return what the command line tells of the same runs: stage -> its object."""
    command = [sys.executable, "-m", "ncu_lab.cli.app", "ladder", "--example", "--format", "json"]
    document = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {row["stage"]: row for row in document["stages"]}


def open_whole(browser: Chrome, url: str) -> None:
    open_page(browser, url)
    for figure in ("steps", "fall"):
        wait(browser, f"({PLOT % figure})?.data?.length")


def test_steps_and_tray_hold_what_the_command_line_tells(wide: Chrome, bundled: str, told: dict[str, Any]) -> None:
    open_whole(wide, f"{bundled}?problem=4096&stage=2d")
    steps = trace(wide, "steps", "step")
    assert "1d" in steps["stages"]
    for stage, log2 in zip(steps["stages"], steps["x"], strict=True):
        assert log2 == pytest.approx(sum(told[stage]["attribution"]["log2"].values()))
    assert text(wide, "theory-title").startswith("2d against theory: ")
    rows = wide.find_elements(By.CSS_SELECTOR, "#theory-body tbody tr")
    shown = [row.find_element(By.CSS_SELECTOR, ".chip").text.split(" ", 1)[1].replace(" ", "_") for row in rows]
    measured = [row.find_element(By.CSS_SELECTOR, "td.number").get_attribute("data-value") for row in rows]
    expected = told["2d"]["expectations"]
    assert shown == [one["status"] for one in expected]
    assert [float(one or "nan") for one in measured] == [one["measured"] for one in expected]
    fall = trace(wide, "fall", "duration")
    assert [1e6 * one for one in fall["x"]] == [
        pytest.approx(told["2d"]["attribution"][side]) for side in ("a_ns", "b_ns")
    ]
    links = [str(one.get_attribute("href")) for one in wide.find_elements(By.CSS_SELECTOR, "#theory-actions a")]
    assert [urlsplit(link).path for link in links] == ["/kernel", "/compare"]
    assert parse_qs(urlsplit(links[1]).query)["sa"] == ["1d"]
    wide.get("about:blank")  # before the server goes


def test_a_step_chosen_is_chosen_everywhere_and_the_waterfall_between_any_two_stages_is_in_the_address(
    wide: Chrome, bundled: str
) -> None:
    open_whole(wide, f"{bundled}?problem=4096")
    assert text(wide, "theory-title").startswith("Against theory: ")
    x, y = wide.execute_script(
        f"const gd = {PLOT % 'steps'}, l = gd._fullLayout; gd.scrollIntoView({{block: 'center'}});"
        "const box = gd.getBoundingClientRect(), t = gd.data.find(t => t.name === 'step');"
        "const at = t.customdata.indexOf('warptiled');"
        "return [box.x + l.xaxis._offset + l.xaxis.d2p(t.x[at]), box.y + l.yaxis._offset + l.yaxis.d2p(t.y[at])]"
    )
    pointer = ActionChains(wide)
    pointer.w3c_actions.pointer_action.move_to_location(int(x), int(y))
    pointer.w3c_actions.pointer_action.click()
    pointer.perform()
    wait(wide, "document.getElementById('theory-title').textContent.startsWith('warptiled against')")
    wait(wide, f"({PLOT % 'fall'}).layout.yaxis.ticktext[0] === '<b>double-buffered</b>'")
    wait(wide, f"({PLOT % 'matrix'}).layout.yaxis.ticktext.includes('<b>warptiled</b>')")
    assert query(wide)["stage"] == ["warptiled"]
    Select(wide.find_element(By.ID, "fall-a-list")).select_by_value("naive")
    wait(wide, f"({PLOT % 'fall'}).layout.yaxis.ticktext[0] === '<b>naive</b>'")
    assert query(wide)["a"] == ["naive"]
    open_whole(wide, wide.current_url)
    wait(wide, f"({PLOT % 'fall'}).layout.yaxis.ticktext[0] === '<b>naive</b>'")
    assert text(wide, "fall-title").startswith("naive → warptiled: ")
    assert Select(wide.find_element(By.ID, "fall-a-list")).first_selected_option.text == "naive"
    wide.find_element(By.CSS_SELECTOR, "#stage input[value='warptiled']").send_keys(Keys.ARROW_DOWN)
    wait(wide, "document.getElementById('theory-title').textContent.startsWith('sgemm-hopper against')")
    wait(wide, "document.getElementById('fall-title').textContent.startsWith('naive → sgemm-hopper')")
    wide.get("about:blank")


def test_a_family_of_the_legend_dims_the_others_and_escape_brings_them_back(wide: Chrome, bundled: str) -> None:
    open_whole(wide, f"{bundled}?problem=4096")
    dimmed = f"({PLOT % 'matrix'}).data.filter(t => t.opacity < 1).length"
    count = wide.execute_script(f"return ({PLOT % 'matrix'}).data.length")
    button = wide.find_element(By.CSS_SELECTOR, "#matrix-legend [data-key='sync']")
    button.click()
    for figure in ("matrix", "steps", "fall"):
        wait(wide, f"({PLOT % figure}).data.some(t => t.opacity < 1)")
    assert wide.execute_script(f"return ({PLOT % 'matrix'}).data.length") == count
    wait(
        wide,
        "document.querySelector(\"#matrix-legend [data-key='sync'][aria-pressed='true']\") === document.activeElement",
    )
    assert query(wide)["focus"] == ["sync"]
    wide.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    wait(wide, f"{dimmed} === 0")
    assert "focus" not in query(wide)
    choose(wide, "scale", "cycles")
    wait(wide, f"({PLOT % 'matrix'}).layout.xaxis2.range[1] > 300")  # naive waits 386 cycles an instruction
    wide.get("about:blank")


def test_a_store_of_ones_own_kernels_says_where_they_are(wide: Chrome, serving: Serving, tmp_path: Path) -> None:
    (own,) = data_dir("examples").glob("*cupy*")
    shutil.copytree(own, tmp_path / own.name)
    with serving(tmp_path) as address:
        wide.get(address)
        wait(wide, "document.querySelector('#empty .card')")
        assert "The one run here is of other programs" in text(wide, "empty")
        wide.find_element(By.LINK_TEXT, "List runs").click()
        wait(wide, "document.querySelector('#runs-body tbody tr')")
        wide.get("about:blank")


@pytest.fixture(scope="module")
def phone(open_browser: Callable[[int, int], Chrome]) -> Chrome:
    return open_browser(390, 1600)


def test_a_phone_shows_one_panel_at_a_time_and_never_scrolls_sideways(phone: Chrome, address: str) -> None:
    open_page(phone, address)
    assert {one["xaxis"] for one in traces(phone, "matrix")} == {"x"}
    assert at(trace(phone, "matrix", "duration"), "2d") == 197984.0
    choose(phone, "panel", "conflicts")
    wait(phone, f"({PLOT % 'matrix'}).data.some(t => t.name === 'loads')")
    assert text(phone, "matrix-title") == "Bank conflicts"
    assert phone.execute_script("return document.documentElement.scrollWidth") == 390
    assert phone.find_element(By.CSS_SELECTOR, "#roofline-table table").is_displayed()


def test_a_card_that_waits_has_its_shape_and_after_two_seconds_words(
    open_browser: Callable[[int, int], Chrome], address: str
) -> None:
    browser = open_browser(1440, 1600)
    # The server's answer with the steps never comes.
    script = """
        const before = window.fetch;
        window.fetch = function (resource, options) {
          const body = String(options && options.body);
          return body.includes("steps.figure") ? new Promise(() => {}) : before.apply(this, arguments);
        };
    """
    browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
    open_page(browser, address)
    seen = "getComputedStyle(document.querySelector('%s'), '::%s').opacity === '1'"
    wait(browser, seen % ("#steps", "before"))
    wait(browser, seen % ("#steps", "after"))
    wait(browser, seen % ("#steps-title", "before"))
    style = "return getComputedStyle(document.querySelector('%s'), '::%s')"
    assert browser.execute_script(style % ("#steps", "after") + ".content") == '"Drawing…"'
    assert browser.execute_script("return document.getElementById('steps').clientHeight") > 300
    # What is drawn has neither, and its title stands alone.
    for place in (("#matrix", "before"), ("#matrix", "after"), ("#matrix-title", "before")):
        assert browser.execute_script(style % place + ".content") == "none"
    moved = {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", moved)
    assert browser.execute_script(style % ("#steps", "before") + ".animationDuration") == "0s"
    assert browser.get_log("browser") == []


def test_figures_keep_their_heights_and_follow_their_cards_when_the_window_changes(
    open_browser: Callable[[int, int], Chrome], address: str
) -> None:
    browser = open_browser(1280, 900)
    open_page(browser, address)

    def resize(width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    figure = PLOT % "matrix"
    height = browser.execute_script(f"return ({figure})._fullLayout.height")
    for tall in (700, 2000, 900):
        resize(1280, tall)
    resize(1291, 900)  # within the 20 px in which the server draws nothing anew
    wait(browser, f"({figure})._fullLayout.width === ({figure}).clientWidth")
    # A share of a box that has no height of its own is none: figures lay over one another.
    heights = browser.execute_script(
        "return [...document.querySelectorAll('.svg-container')].map(one => one.style.height)"
    )
    assert heights
    assert all(one.endswith("px") for one in heights)
    assert heights[0] == f"{height}px"
    assert browser.get_log("browser") == []
