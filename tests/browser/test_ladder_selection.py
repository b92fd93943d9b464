"""A stage of the ladder page chosen by pointer and by keys, in a real browser."""

from __future__ import annotations

import pytest
from ladder_pages import SHOWN, open_page, selected_row, trace
from looking import PLOT, query, settles, text, wait
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from ncu_lab.render.palette import LIGHT

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def address(golden_ladder: str) -> str:
    return golden_ladder


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
