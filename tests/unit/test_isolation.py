"""The check in conftest.py that a test leaves its process as it found it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
WRITTEN = """
import os, signal, sys

def test_clean(monkeypatch, tmp_path):
    monkeypatch.setenv("NCU_LAB_PROGRAM", "lab")
    monkeypatch.chdir(tmp_path)

def test_environment():
    os.environ["NCU_LAB_PROGRAM"] = "lab"

def test_rest(tmp_path):
    os.chdir(tmp_path)
    sys.argv = ["lab"]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

def test_what_they_left():
    assert "NCU_LAB_PROGRAM" not in os.environ
    assert sys.argv != ["lab"]
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
"""


def test_what_a_test_leaves_changed_is_named_and_set_back(tmp_path: Path) -> None:
    for name in ("conftest.py", "process_state.py"):
        shutil.copy(TESTS / name, tmp_path)
    (tmp_path / "test_three.py").write_text(WRITTEN)
    command = [sys.executable, "-m", "pytest", "-rE", "-p", "no:cacheprovider", "-p", "no:dash", "--rootdir", tmp_path]
    environment = {**os.environ, "COLUMNS": "200", "PYTHONPATH": str(tmp_path)}  # pytest cuts its summary to COLUMNS
    done = subprocess.run([*command, tmp_path], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    told = [line for line in done.stdout.splitlines() if line.startswith("ERROR ")]
    assert len(told) == 2
    assert "test_environment - AssertionError: the test left changed: $NCU_LAB_PROGRAM (" in told[0]
    assert "test_rest - AssertionError: the test left changed: SIGTERM, current folder, sys.argv (" in told[1]
    assert "4 passed, 2 errors" in done.stdout
