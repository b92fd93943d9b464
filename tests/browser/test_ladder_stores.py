"""What the ladder page shows of stores: none of the problem, no run at all, new runs, other programs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from golden_runs import golden_run
from ladder_pages import STAGES, open_page, write_runs
from looking import PLOT, choose, query, text, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from ncu_lab.model import Problem
from ncu_lab.resources import data_dir
from ncu_lab.store import Store

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Serving = Callable[[Path], AbstractContextManager[str]]


def test_a_problem_that_is_not_there_is_told_with_what_is(wide: Chrome, golden_ladder: str) -> None:
    wide.get(f"{golden_ladder}?problem=4096")
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
