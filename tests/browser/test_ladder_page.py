"""The ladder page in a real browser, served by the real command from runs of golden counters."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import builders
import pytest
from ladder_pages import SHOWN, STAGES, at, open_page, trace
from looking import PLOT, choose, query, text, traces, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from ncu_lab.metrics import stall_cycles
from ncu_lab.render.palette import DARK, LIGHT

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(golden_ladder: str) -> str:
    return golden_ladder


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


def test_families_and_other_ladders_switch_the_roofline(wide: Chrome, bundled: str) -> None:
    open_page(wide, f"{bundled}?problem=4096")
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


def test_every_value_is_also_in_a_table(wide: Chrome, address: str) -> None:
    open_page(wide, address)
    wide.find_element(By.CSS_SELECTOR, "#matrix-details summary").click()
    cells = wide.find_elements(By.CSS_SELECTOR, "#matrix-table tbody tr")[6].find_elements(By.TAG_NAME, "td")
    shown = [cell.text.replace("\u2009", " ") for cell in cells]
    assert shown[:4] == ["2d", "198 µs", "10.8", "31.0 %"]


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
