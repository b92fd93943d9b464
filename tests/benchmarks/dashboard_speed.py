"""How fast the dashboard's pages come, in a headless Chromium, beside an empty Dash page on the same machine.

Goals: the first figure of a page within 1.5 s on the bundled runs, a page change within 300 ms, the Kernel page of a
run of 10,000 launches within 2 s. The History page has the same goals, on the recorded commits in their repository. A
busy machine slows the empty page alike, so the ratio to it is printed too.

Run: ``PYTHONPATH=dashboards:tests .venv/bin/python tests/benchmarks/dashboard_speed.py``; it needs chromium and
chromedriver.
"""

from __future__ import annotations

import logging
import shutil
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import which

import history_repo
import pandas as pd
from dash import Dash, Input, Output, html
from golden_runs import golden_run
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from werkzeug.serving import make_server

from ncu_lab.model import Run
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab_dash.app import create_app

ROUNDS = 5
LAUNCHES = 10_000
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--window-size=1440,1400")  # fmt: skip

_FIGURE = "document.querySelector('#%s .js-plotly-plot')?.data?.length"
READY = {
    "/": _FIGURE % "matrix",
    "/kernel": _FIGURE % "units",
    "/compare": _FIGURE % "compare-waterfall",
    "/runs": "document.querySelector('#runs-body tbody tr')",
}
"""Page -> what is there once its first figure, or its table, is."""

COMMITS = Path(__file__).parents[1] / "data" / "history" / "commits"
HISTORY = _FIGURE % "history"

SWAPPED = {
    "/": "document.getElementById('matrix-title')",
    "/kernel": "document.getElementById('units-title')",
    "/compare": "document.getElementById('compare-waterfall-title')",
    "/runs": "document.getElementById('runs-filter')",
}
"""Page -> what is there as soon as the page has changed."""

_UNTIL = """
const done = arguments[arguments.length - 1], start = arguments[0] ? performance.now() : 0;
if (arguments[0]) { document.getElementById(arguments[0]).click(); }
(function look() { if (%s) { done(performance.now() - start); } else { setTimeout(look, 4); } })();
"""


def empty_page() -> Dash:
    """Return a page with one callback: what any Dash page costs."""
    app = Dash("empty", serve_locally=True)
    app.layout = html.Div([html.Div(id="start"), html.Div(id="end")])

    @app.callback(Output("end", "children"), Input("start", "children"))
    def answer(_: object) -> str:
        return "ready"

    return app


@contextmanager
def served(app: Dash) -> Iterator[str]:
    """Serve an application on a free port of this machine while the block runs."""
    server = make_server("127.0.0.1", 0, app.server, threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def many_launches(count: int = LAUNCHES) -> Run:
    """Return a run of so many launches, made of the golden counters of one."""
    run = golden_run(["naive"])

    def repeated(table: pd.DataFrame) -> pd.DataFrame:
        whole = pd.concat([table] * count, ignore_index=True)
        whole["launch"] = [number for number in range(count) for _ in range(len(table))]
        return whole

    launches, metrics = repeated(run.launches), repeated(run.metrics)
    launches["stage"] = None
    meta = replace(run.meta, stages=(), problem=None, name="many")
    return replace(run, meta=meta, launches=launches, metrics=metrics.astype({"launch": "int64"}))


def median_ms(measure: Callable[[], float], rounds: int = ROUNDS) -> float:
    """Return the median of some measurements after one that does not count."""
    measure()
    return statistics.median(measure() for _ in range(rounds))


class Browser:
    """A headless Chromium that tells how long after navigation something is there, in ms."""

    def __init__(self, home: str) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = which("chromium") or ""
        for flag in (*FLAGS, f"--user-data-dir={home}"):
            options.add_argument(flag)
        self._driver = webdriver.Chrome(options=options, service=Service(which("chromedriver")))
        self._driver.set_script_timeout(60)

    def open(self, address: str, ready: str) -> float:
        """Open a page; return ms from the start of navigation until something is there."""
        self._driver.get("about:blank")
        self._driver.get(address)
        return float(self._driver.execute_async_script(_UNTIL % ready, ""))

    def press(self, element: str, ready: str) -> float:
        """Click an element; return ms until something is there."""
        return float(self._driver.execute_async_script(_UNTIL % ready, element))

    def close(self) -> None:
        """End it."""
        self._driver.quit()


def change(browser: Browser, address: str, path: str, ready: str) -> float:
    """Open another page, then go to one by the bar; return ms from the click."""
    other = "/runs" if path != "/runs" else "/"
    browser.open(address + other, READY[other])
    return browser.press(f"nav-{path.strip('/') or 'ladder'}", ready)


@contextmanager
def recorded_commits(folder: Path) -> Iterator[str]:
    """Serve the recorded runs from a copy in the repository of their commits, which is made in a folder."""
    history_repo.make(folder)
    store = folder / "reports"
    shutil.copytree(COMMITS, store)
    with served(create_app(store)) as address:
        yield address


def main() -> None:
    """Print the medians."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # no line for every request
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
        browser = Browser(home)
        with served(empty_page()) as address:
            floor = median_ms(lambda: browser.open(address, "document.body.textContent.includes('ready')"))
        print(f"empty Dash page                {floor:6.0f} ms")

        def tell(what: str, ms: float, goal: int) -> None:
            print(f"{what:<30} {ms:6.0f} ms   {ms / floor:4.1f} x empty   (goal: under {goal} ms)")

        with served(create_app(data_dir("examples"))) as address:
            for path, ready in READY.items():
                tell(f"{path} first figure", median_ms(lambda p=path, r=ready: browser.open(address + p, r)), 1500)
            for path, swapped in SWAPPED.items():
                tell(f"{path} page change", median_ms(lambda p=path, s=swapped: change(browser, address, p, s)), 300)
                ms = median_ms(lambda p=path: change(browser, address, p, READY[p]))
                tell(f"{path} change, first figure", ms, 1500)
        with recorded_commits(Path(folder) / "gram") as address:
            first = browser.open(f"{address}/history", HISTORY)
            tell("/history first figure, no index", first, 1500)
            tell("/history first figure", median_ms(lambda: browser.open(f"{address}/history", HISTORY)), 1500)
            swapped = "document.getElementById('history-title')"
            tell("/history page change", median_ms(lambda: change(browser, address, "/history", swapped)), 300)
            ms = median_ms(lambda: change(browser, address, "/history", HISTORY))
            tell("/history change, first figure", ms, 1500)
        store = Path(folder) / "many"
        Store(store).write(many_launches())
        with served(create_app(store)) as address:
            first = browser.open(f"{address}/kernel", _FIGURE % "waits")
            tell(f"/kernel of {LAUNCHES} launches", first, 2000)
            again = median_ms(lambda: browser.open(f"{address}/kernel", _FIGURE % "waits"))
            tell("the same, read before", again, 2000)
        browser.close()


if __name__ == "__main__":
    main()
