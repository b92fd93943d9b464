"""A headless Chromium and the real ``ncu-lab dashboard`` command to point it at."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from shutil import which

import pytest
from ladder_pages import write_runs
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

from ncu_lab.resources import data_dir

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip


Serving = Callable[..., AbstractContextManager[str]]
"""Takes a folder of runs and further arguments of the command."""


@contextmanager
def _held_port() -> Iterator[str]:
    """A port that no other test process is given meanwhile, though this one's servers may listen on it in turn."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        held.bind(("127.0.0.1", 0))
        yield str(held.getsockname()[1])


@pytest.fixture
def port() -> Iterator[str]:
    """A port for a test that needs the same one twice."""
    with _held_port() as held:
        yield held


@pytest.fixture(scope="session")
def serving() -> Serving:
    """Return a context manager that runs the command on a folder and gives its address."""
    return _serving


@contextmanager
def _serving(store: Path, *arguments: str) -> Iterator[str]:
    """Run the command on a port of its own, unless the arguments name one; yields the address it prints."""
    with _held_port() as port:
        yield from _served("--store", str(store), "--port", port, *arguments)


def _served(*arguments: str) -> Iterator[str]:
    command = [sys.executable, "-m", "ncu_lab.cli.app", "dashboard", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert process.stdout is not None
    try:
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found, "the command printed no address"
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def open_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int, int], webdriver.Chrome]]:
    """Return a function that opens a browser of a size with a new, empty profile; it ends with the file's tests.

    It writes nothing to the home.
    """
    opened: list[webdriver.Chrome] = []

    def start(width: int, height: int) -> webdriver.Chrome:
        options = webdriver.ChromeOptions()
        options.binary_location = which("chromium") or ""
        home = str(tmp_path_factory.mktemp("chromium"))
        for flag in (*FLAGS, f"--user-data-dir={home}/profile"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        homes = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"), home)
        service = Service(which("chromedriver"), env={**os.environ, **homes})
        browser = webdriver.Chrome(options=options, service=service)
        opened.append(browser)
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        return browser

    yield start
    for browser in opened:
        browser.quit()


@pytest.fixture(scope="session")
def bundled(serving: Serving) -> Iterator[str]:
    """The address of the dashboard of the bundled runs."""
    with serving(data_dir("examples")) as found:
        yield found


@pytest.fixture(scope="session")
def golden_ladder(serving: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the dashboard of runs of golden counters."""
    folder = tmp_path_factory.mktemp("golden-ladder")
    write_runs(folder)
    with serving(folder) as found:
        yield found


@pytest.fixture(scope="session")
def address(bundled: str) -> str:
    """The address of what a file tests: the bundled runs, unless it has a fixture of this name for runs of its own."""
    return bundled


@pytest.fixture(scope="module")
def wide(open_browser: Callable[[int, int], webdriver.Chrome]) -> webdriver.Chrome:
    """A browser of a desk, one for all tests of a file."""
    return open_browser(1440, 2200)


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test whose page wrote an error or a warning to the console."""
    yield
    for name in ("wide", "phone", "browser"):
        if name in request.fixturenames:
            assert request.getfixturevalue(name).get_log("browser") == []
