"""Steps, theory, waterfall and the legend's families of the ladder page, in a real browser on the bundled runs."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from ladder_pages import open_whole, trace
from looking import PLOT, choose, query, text, wait
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """Return what the command line tells of the same runs: stage -> its object."""
    command = [sys.executable, "-m", "ncu_lab.cli.app", "ladder", "--example", "--format", "json"]
    document = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    return {row["stage"]: row for row in document["stages"]}


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
