"""Child processes in groups of their own: whatever they start ends with them."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

TERMINATION_GRACE_S = 2.0
"""Time between asking the process group to end and killing it."""

_POLL_S = 0.05


def run_child(
    command: Sequence[str], folder: Path, stop: threading.Event, *, timeout_s: float = math.inf
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, or until ``stop`` is set: Ctrl-C reaches the main thread alone.

    Args:
        command: Program and arguments.
        folder: Where it runs.
        stop: Set by another thread that wants no more of it.
        timeout_s: Seconds after which it is killed, with all it started.

    Raises:
        CancelledError: When it was stopped.
        TimeoutExpired: When it was killed.
        OSError: When it cannot be started.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    deadline = time.monotonic() + timeout_s
    with process:
        try:
            while not stop.is_set():
                try:
                    stdout, stderr = process.communicate(timeout=_POLL_S)
                except subprocess.TimeoutExpired:
                    if time.monotonic() > deadline:
                        raise
                    continue
                return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)
            raise CancelledError
        finally:
            kill_group(process)


def kill_group(process: subprocess.Popen[Any]) -> None:
    """End a child started in its own session, with everything it started; harmless when all have gone."""
    for number, grace_s in ((signal.SIGTERM, TERMINATION_GRACE_S), (signal.SIGKILL, TERMINATION_GRACE_S)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        deadline = time.monotonic() + grace_s
        while time.monotonic() < deadline and _group_lives(process):
            time.sleep(0.01)
    process.poll()


def _group_lives(process: subprocess.Popen[Any]) -> bool:
    process.poll()  # reaps the leader, which would otherwise count as alive
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    # Others that have ended count for killpg too until their parent reaps them, which a container's may never do.
    return any(_runs_in_group(stat, process.pid) for stat in Path("/proc").glob("[0-9]*/stat"))


def _runs_in_group(stat: Path, group: int) -> bool:
    try:
        # "pid (name) state parent group …", and a name may hold anything.
        state, _, own_group, *_ = stat.read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return False  # it has gone meanwhile
    return int(own_group) == group and state not in "ZX"
