"""ncu itself: finding it, asking what it knows, and running it so that nothing of it outlives us."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_lab.collect.log import KernelProgress, LogReader
from ncu_lab.errors import EnvironmentLacksError

NCU_VARIABLE = "NCU_LAB_NCU"
"""Environment variable that names the ncu to use."""

GRACE_S = 5.0
"""How long a process group may take to end after it was asked to, before it is killed."""

POLL_S = 0.1
_ASK_TIMEOUT_S = 60.0
_INSTALL_PATTERNS = ("usr/local/cuda*/bin/ncu", "opt/nvidia/nsight-compute/*/ncu")
_VERSION = re.compile(r"Version (\d+)\.(\d+)\.(\d+)")
_FIRST_WITH_CONFIG_OPTION = (2023, 3)
"""The oldest version whose manual has ``--config-file`` (2023.3, chapter 3.7)."""


@dataclass(frozen=True, slots=True)
class Ncu:
    """An installed ncu: ``version`` is ``2025.3.1``."""

    path: Path
    version: str

    @property
    def can_ignore_config(self) -> bool:
        """Whether it knows ``--config-file``."""
        return tuple(int(part) for part in self.version.split(".")) >= _FIRST_WITH_CONFIG_OPTION


@dataclass(frozen=True, slots=True)
class NcuOutcome:
    """How a run of ncu ended.

    Attributes:
        exit_code: ncu's exit code; says little.
        timed_out: Whether it was ended because it took too long.
        seconds: How long it ran.
        log: What ncu wrote to its log.
        output: What the program, and ncu before its log was open, wrote to the console.
    """

    exit_code: int
    timed_out: bool
    seconds: float
    log: str
    output: str


def find_ncu(root: Path = Path("/")) -> Ncu:
    """Find ncu: the one that ``NCU_LAB_NCU`` names, else the first on PATH, else the newest installed.

    Args:
        root: Where the usual places of installation begin.

    Raises:
        EnvironmentLacksError: When there is none, or it does not run.
    """
    named = os.environ.get(NCU_VARIABLE)
    if named:
        if not shutil.which(named):
            raise EnvironmentLacksError(f"{NCU_VARIABLE} names {named}, which is no program", "Correct or unset it.")
        return _describe(Path(named))
    on_path = shutil.which("ncu")
    if on_path:
        return _describe(Path(on_path))
    installed = [
        _describe(path) for pattern in _INSTALL_PATTERNS for path in root.glob(pattern) if os.access(path, os.X_OK)
    ]
    if not installed:
        raise EnvironmentLacksError(
            "there is no ncu (NVIDIA Nsight Compute) on PATH or in the usual places",
            f"Install the package nsight-compute or the CUDA toolkit, or name it: {NCU_VARIABLE}=/path/to/ncu",
        )
    return max(installed, key=lambda ncu: tuple(int(part) for part in ncu.version.split(".")))


def known_sections(ncu: Ncu) -> tuple[str, ...]:
    """Return the section identifiers that this ncu lists."""
    return _first_words(_ask(ncu.path, "--list-sections"))


def known_sets(ncu: Ncu) -> tuple[str, ...]:
    """Return the section sets that this ncu lists."""
    return _first_words(_ask(ncu.path, "--list-sets"))


def run_ncu(
    argv: Sequence[str],
    *,
    log_path: Path,
    output_path: Path,
    timeout_s: float,
    on_progress: Callable[[KernelProgress], None] = lambda _: None,
) -> NcuOutcome:
    """Run ncu in a process group of its own, and leave none of it behind.

    However this ends (the program is done, time is up, Ctrl-C, an error of ours), every process of the group is ended
    before it returns or raises: first asked to, and killed when it does not go.

    Args:
        argv: ncu's command line; its ``--log-file`` is ``log_path``.
        log_path: ncu's log, followed for progress.
        output_path: Where the program's output is kept.
        timeout_s: Seconds after which the group is ended.
        on_progress: Called when progress changed.

    Raises:
        EnvironmentLacksError: When ncu cannot be started.
    """
    begin = time.monotonic()
    with output_path.open("wb") as output, contextlib.ExitStack() as cleanup:
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise EnvironmentLacksError(f"ncu cannot be started: {error}", "ncu-lab doctor shows which one.") from error
        cleanup.callback(_end_group, process)
        timed_out = False
        for state in _follow(process, log_path, begin + timeout_s):
            if state is None:
                timed_out = True
            else:
                on_progress(state)
    return NcuOutcome(
        exit_code=process.wait(),
        timed_out=timed_out,
        seconds=time.monotonic() - begin,
        log=_read(log_path),
        output=_read(output_path),
    )


def _follow(process: subprocess.Popen[bytes], log_path: Path, deadline: float) -> Iterator[KernelProgress | None]:
    """Yield each change of progress until the process ends, and None when the deadline came first."""
    reader = LogReader()
    told: KernelProgress | None = None
    position = 0
    running = True
    while running:
        try:
            process.wait(POLL_S)
            running = False
        except subprocess.TimeoutExpired:
            if time.monotonic() > deadline:
                yield None
                return
        if log_path.exists():
            with log_path.open("rb") as log:
                log.seek(position)
                appended = log.read()
            position += len(appended)
            # A character cut in two by the reading is shown as a mark, in progress only.
            state = reader.feed(appended.decode("utf-8", errors="replace"))
            if state is not None and state != told:
                told = state
                yield state


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End every process of the group: the program ncu started, and what that started, are in it too."""
    try:
        for how in (signal.SIGTERM, signal.SIGKILL):
            _signal_group(process, how)
            deadline = time.monotonic() + GRACE_S
            while _group_lives(process) and time.monotonic() < deadline:
                time.sleep(0.02)
    except BaseException:
        # A second Ctrl-C: no more patience, but still no orphans.
        _signal_group(process, signal.SIGKILL)
        raise


def _signal_group(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    if _group_lives(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)


def _group_lives(process: subprocess.Popen[bytes]) -> bool:
    process.poll()  # reaps the leader, whose zombie would count as alive
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _describe(path: Path) -> Ncu:
    match = _VERSION.search(_ask(path, "--version"))
    if match is None:
        raise EnvironmentLacksError(f"{path} does not say which version of Nsight Compute it is", "Is it ncu at all?")
    return Ncu(path, ".".join(match.groups()))


def _ask(path: Path, option: str) -> str:
    try:
        done = subprocess.run(
            [str(path), option],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentLacksError(f"{path} {option} does not run: {error}", "Reinstall Nsight Compute.") from error
    return done.stdout


def _first_words(table: str) -> tuple[str, ...]:
    """Return the first column of one of ncu's tables: rules of dashes around a head, then a row each.

    A cell too long for its column goes on in lines that begin with a blank.
    """
    rows = [line for line in table.splitlines() if line.strip() and not line.startswith("=")]
    rules = [index for index, line in enumerate(rows) if set(line.strip()) <= {"-", " "}]
    body = rows[rules[1] + 1 :] if len(rules) > 1 else []
    return tuple(line.split()[0] for line in body if not line[0].isspace() and not line.startswith("-"))


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
