"""A server that ends and comes back: figures stay, their age is told, and the page goes on by itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from golden_runs import golden_run
from looking import PLOT, text, traces, wait
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from ncu_lab.store import Store

pytestmark = [pytest.mark.browser, pytest.mark.slow]

GONE = "document.querySelector('.server-gone:not([hidden])')"
LATER = "20261130T020000-ladder-4f2c9ab-91c4"


def test_what_is_shown_stays_and_goes_on(
    open_browser: Callable[[int, int], Chrome],
    serving: Callable[..., AbstractContextManager[str]],
    port: str,
    tmp_path: Path,
) -> None:
    Store(tmp_path).write(golden_run(["naive", "2d"]))
    browser = open_browser(1280, 1000)
    with ExitStack() as first:
        address = first.enter_context(serving(tmp_path, "--port", port))
        browser.get(f"{address}runs")
        wait(browser, "document.querySelectorAll('#runs-body .tick').length === 1")
        browser.execute_script("window.notLoadedAgain = true")
        assert not browser.execute_script(f"return {GONE}")
    wait(browser, GONE)
    words = browser.find_element(By.CLASS_NAME, "server-gone").text
    assert "The server does not answer." in words
    assert "seconds ago" in words
    assert "naive" not in words
    assert len(browser.find_elements(By.CSS_SELECTOR, "#runs-body .tick")) == 1
    run = golden_run(["naive"], run_id=LATER, created="2026-11-30T02:00:00+00:00")
    Store(tmp_path).write(run)
    with serving(tmp_path, "--port", port):
        wait(browser, f"!{GONE}")
        wait(browser, "document.querySelectorAll('#runs-body .tick').length === 2")
        assert browser.execute_script("return window.notLoadedAgain")
        browser.get("about:blank")
    # Calls without an answer are in the console, and nothing else.
    logged = [entry["message"] for entry in browser.get_log("browser")]
    known = ("_dash-update-component", "Failed to fetch", "the server did not respond")
    assert [one for one in logged if not any(words in one for words in known)] == []


def test_what_was_asked_meanwhile_is_asked_again(
    open_browser: Callable[[int, int], Chrome],
    serving: Callable[..., AbstractContextManager[str]],
    port: str,
    tmp_path: Path,
) -> None:
    Store(tmp_path).write(golden_run(["naive", "2d"]))
    browser = open_browser(1280, 1000)
    with ExitStack() as first:
        address = first.enter_context(serving(tmp_path, "--port", port))
        browser.get(address)
        wait(browser, f"({PLOT % 'matrix'})?.data?.length")
        there = len(traces(browser, "matrix"))
    browser.find_element(By.ID, "nav-runs").click()
    wait(browser, GONE)
    assert len(traces(browser, "matrix")) == there
    with serving(tmp_path, "--port", port):
        wait(browser, "document.querySelector('#runs-body .tick')")
        assert urlsplit(browser.current_url).path == "/runs"
        assert not browser.execute_script(f"return {GONE}")
        assert "One run" in text(browser, "runs-title")
        browser.get("about:blank")
