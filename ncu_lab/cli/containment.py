"""Commands that read files made elsewhere go on in a child process: NVIDIA's reader is native code, and may crash.

The child does everything and this process only waits, which costs some milliseconds and limits nothing: reports may be
large and take long. (:mod:`ncu_lab.workflows.reading_apart` is for files that nobody vouches for, with limits.)
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ncu_lab.cli.messages import complain
from ncu_lab.errors import Exit

_READING = ("import", "show", "diff", "gate", "export")
"""Commands that take files."""

_COMPLAINTS = "complaints"

_MOMENT_S = 1.0
"""After which this process, when it is interrupted, interrupts the child."""


def foreign_file(arguments: Sequence[str]) -> str | None:
    """Return the first file that a command line names, None when it names none or its command reads none."""
    words = [word for word in arguments if not word.startswith("-")]
    if not words or words[0] not in _READING:
        return None
    named = (word.removeprefix("file:") for word in words[1:])
    return next((word for word in named if os.path.isfile(word)), None)


def continue_in_child(file: str) -> None:
    """Return in a child process only; this one waits for it, and ends as it ends.

    When the child crashes, a line says so and the exit code is that of unusable input. Its temporary files go however
    it ends.

    Args:
        file: What it is about to read.
    """
    try:
        folder = tempfile.mkdtemp(prefix="ncu-lab-")
    except OSError:
        return  # Uncontained: whatever needs room will say that there is none.
    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    handlers = {number: signal.signal(number, signal.SIG_IGN) for number in ending}
    begun, held = os.pipe()  # nobody writes into it: it ends when this process does
    child = os.fork()
    if child == 0:
        os.close(held)
        threading.Thread(target=_end_with_parent, args=(begun,), daemon=True).start()
        for number, handler in handlers.items():
            signal.signal(number, handler)
        _prepare(Path(folder))
        return
    try:
        code = _wait(child)
        words = Path(folder, _COMPLAINTS).read_text(encoding="utf-8", errors="replace") if code < 0 else ""
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if code == -signal.SIGINT:
        sys.exit(128 + signal.SIGINT)
    if code < 0:
        _tell_crash(file, signal.Signals(-code), words)
    sys.exit(code)


def _prepare(folder: Path) -> None:
    """Make the folder the place of temporary files; what native code says when it crashes goes there as well."""
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    ours = os.dup(2)
    complaints = os.open(folder / _COMPLAINTS, os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(complaints, 2)
    os.close(complaints)
    shown = sys.stderr
    sys.stderr = open(ours, "w", buffering=1, encoding=shown.encoding, errors=shown.errors)  # noqa: SIM115  # to the end


def _end_with_parent(begun: int) -> None:
    """Ask this process to end when the one that waits for it is killed, which cannot ask any more."""
    os.read(begun, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def _wait(child: int) -> int:
    """Return how the child ended, negative for a signal; whoever asks this process to end asks the child."""

    def ask(number: int, _frame: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGINT if number == signal.SIGALRM else number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, ask)
    # A terminal interrupts the child too, and once is enough to have it clean up; kill -INT only this process.
    signal.signal(signal.SIGINT, lambda *_: signal.setitimer(signal.ITIMER_REAL, _MOMENT_S))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _tell_crash(file: str, number: signal.Signals, words: str) -> NoReturn:
    if number == signal.SIGKILL:
        complain(f"error: reading {file} was ended by SIGKILL\n  Was there too little memory for it?")
    elif "bad_alloc" in words:
        complain(f"error: {file} needs more memory than there is\n  It is damaged, or needs a larger machine.")
    else:
        complain(f"error: {file} crashed NVIDIA's reader ({number.name})\n  It is damaged: copy it again.")
    sys.exit(int(Exit.BAD_INPUT))
