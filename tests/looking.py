"""What tests of pages share: waiting for a page, and reading what its figures hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from selenium.common.exceptions import TimeoutException, WebDriverException
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

WAIT_S = 40
"""Seconds after which what a test waits for counts as never coming; a busy machine is slow."""

PLOT = "document.querySelector('#%s .js-plotly-plot')"


def wait(browser: Chrome, condition: str) -> None:
    """Wait until a JavaScript expression is true."""
    WebDriverWait(browser, WAIT_S).until(
        lambda one: one.execute_script(f"return Boolean({condition})"), f"never true: {condition}"
    )


def settles(browser: Chrome, read: Callable[[], Any], expected: Any) -> None:
    """Wait until reading a page gives what is expected: its parts are drawn one after another, a figure perhaps twice.

    Args:
        browser: Where the page is.
        read: Reads it; what is not there yet, or just being replaced, counts as something else.
        expected: What it should give.
    """
    seen: list[Any] = [None]

    def is_there(_: Chrome) -> bool:
        seen[0] = read()
        return bool(seen[0] == expected)

    gone = (WebDriverException, StopIteration)
    try:
        WebDriverWait(browser, WAIT_S, ignored_exceptions=gone).until(is_there)
    except TimeoutException:
        assert seen[0] == expected


def traces(browser: Chrome, figure: str) -> list[dict[str, Any]]:
    """Return the traces of a figure as the page draws them."""
    # Plotly keeps numbers as typed arrays, which the driver would hand over as objects.
    found: list[dict[str, Any]] = browser.execute_script(
        f"return ({PLOT % figure}).data.map(t => ({{name: t.name, xaxis: t.xaxis, type: t.type, "
        "x: Array.from(t.x || []), y: Array.from(t.y || []), stages: Array.from(t.customdata || []), "
        "colours: [].concat(t.marker && t.marker.color || [])}))"
    )
    return found


def text(browser: Chrome, component: str) -> str:
    """Return the text of a component, its thin spaces plain."""
    return browser.find_element(By.ID, component).text.replace("\u202f", " ").replace("\u2009", " ")


def choose(browser: Chrome, control: str, value: str) -> None:
    """Choose in a segmented control."""
    browser.find_element(By.CSS_SELECTOR, f"#{control} input[value='{value}']").click()


def query(browser: Chrome) -> dict[str, list[str]]:
    """Return the query of the address."""
    return parse_qs(urlsplit(browser.current_url).query)


def is_wider_than_its_window(browser: Chrome) -> bool:
    """Whether the page scrolls sideways."""
    return bool(
        browser.execute_script("const root = document.documentElement; return root.scrollWidth > root.clientWidth")
    )
