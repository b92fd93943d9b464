from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from ncu_lab.gpu.child import kill_group, run_child


def test_output_and_exit_code_come_back(tmp_path: Path) -> None:
    done = run_child(["sh", "-c", "pwd; echo no >&2; exit 3"], tmp_path, threading.Event())
    assert (done.returncode, done.stdout, done.stderr) == (3, f"{tmp_path}\n", "no\n")


def test_what_cannot_be_started_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_child([str(tmp_path / "absent")], tmp_path, threading.Event())


def test_stopping_ends_the_command_and_what_it_started(tmp_path: Path) -> None:
    stop, began = threading.Event(), time.monotonic()
    threading.Timer(0.3, stop.set).start()
    with pytest.raises(CancelledError):
        run_child(["sh", "-c", "sleep 60 & sleep 60"], tmp_path, stop)
    assert time.monotonic() - began < 30


def test_a_command_that_hangs_is_killed_with_what_it_started(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        run_child(["sh", "-c", "sleep 60 & sleep 60"], tmp_path, threading.Event(), timeout_s=0.2)
    assert time.monotonic() - began < 30


def test_an_unreaped_child_does_not_count_as_alive() -> None:
    # The parent leaves its ended child as it is, then ends at once when asked to.
    code = "import subprocess, sys, time; subprocess.Popen(['true']); print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        kill_group(process)
        assert process.returncode is not None
