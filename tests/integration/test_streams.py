"""The program at its edges: closed and full streams, readers that go, and an interrupt before anything was imported."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab_command import environment

PROGRAM = [sys.executable, "-m", "ncu_lab"]


def closed(*descriptors: int) -> list[str]:
    """A command line that runs the program with these descriptors closed."""
    code = (
        "import os, sys; [os.close(int(number)) for number in sys.argv[1].split()]; os.execv(sys.argv[2], sys.argv[2:])"
    )
    return [sys.executable, "-c", code, " ".join(map(str, descriptors)), *PROGRAM]


@pytest.mark.parametrize("arguments", [("stages",), ("stages", "--format", "json"), ("--help",)])
def test_a_full_disk_is_told_in_two_lines(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
        )
    assert done.returncode == 4
    assert done.stderr.startswith(f"error: the output cannot be written: {os.strerror(errno.ENOSPC)}\n")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("arguments", [("stages",), ("stages", "--format", "json"), ("--help",)])
def test_a_reader_that_has_gone_is_no_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*PROGRAM, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, env=environment(tmp_path)
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_closed_streams_are_done_without(tmp_path: Path) -> None:
    done = subprocess.run([*closed(1), "stages"], stderr=subprocess.PIPE, text=True, env=environment(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    done = subprocess.run([*closed(0, 1, 2), "show", "nothing"], env=environment(tmp_path))
    assert done.returncode == 3


def test_a_file_that_may_not_be_read_is_told_in_two_lines(tmp_path: Path) -> None:
    code = (
        "import sys; from unittest import mock; from ncu_lab.cli import app\n"
        "error = PermissionError(13, 'Permission denied', '/secret')\n"
        "with mock.patch('ncu_lab.gpu.registry.load_stages', side_effect=error):\n"
        "    sys.argv[1:] = ['stages']; app.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(tmp_path))
    assert done.returncode == 3
    assert done.stderr.splitlines()[0] == "error: /secret: Permission denied"


@pytest.mark.parametrize("delay_s", [0.08, 0.15])
def test_an_interrupt_during_imports_is_quiet(tmp_path: Path, delay_s: float) -> None:
    # -X importtime tells when the program's own code has begun: before, Python itself would complain.
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "ncu_lab", "ladder", "--example"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(tmp_path),
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.rstrip().endswith("| ncu_lab"):
            break
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    told = process.communicate()[1]
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in told
