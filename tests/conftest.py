"""Markers for what a machine may lack: such tests are skipped with the reason, or fail where they were required.

And a check that a test leaves its process as it found it: tests run in several processes, in other company each time.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from process_state import ProcessState

# Nothing is timed in a test: on a busy machine, any example may take long.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@functools.cache
def _no_gpu() -> str | None:
    smi = shutil.which("nvidia-smi")
    if smi is None:
        return "no NVIDIA driver on this machine (nvidia-smi is not on PATH)"
    listed = subprocess.run([smi, "-L"], capture_output=True, text=True)
    return None if listed.stdout.startswith("GPU ") else "nvidia-smi lists no GPU"


def _no_browser() -> str | None:
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(missing)} not on PATH (apt-get install chromium chromium-driver)" if missing else None


def _no_git() -> str | None:
    return None if shutil.which("git") else "git is not on PATH (apt-get install git)"


LACKS = {"gpu": _no_gpu, "browser": _no_browser, "git": _no_git}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require",
        action="append",
        default=[],
        choices=sorted(LACKS),
        help="fail tests with this marker, rather than skip them, where the machine lacks what they need; repeatable",
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker, lacks in LACKS.items():
        reason = lacks() if item.get_closest_marker(marker) else None
        if reason is None:
            continue
        if marker in item.config.getoption("--require"):
            pytest.fail(f"required on this machine: {reason}", pytrace=False)
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def leaves_no_trace() -> Iterator[None]:
    """Fail a test that leaves its process changed, rather than those that happen to come after it."""
    state = ProcessState.now()
    yield
    changed = state.set_back()
    assert not changed, f"the test left changed: {', '.join(changed)} (monkeypatch sets things back)"
