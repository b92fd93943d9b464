"""Runs the target process as a child: relays its progress, kills its whole group when it must, explains its end.

CUDA errors are sticky and kernels can hang or crash, so nothing of ours that must survive runs in the target process.
"""

from __future__ import annotations

import dataclasses
import json
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from pathlib import Path
from typing import IO, Any

from ncu_lab.errors import (
    CheckFailedError,
    EnvironmentLacksError,
    InputError,
    NcuLabError,
    ProgramError,
    UsageError,
)
from ncu_lab.gpu.child import TERMINATION_GRACE_S, kill_group
from ncu_lab.gpu.request import TargetRequest, write
from ncu_lab.gpu.target import argv
from ncu_lab.model import ProgressEvent, Reporter, silent

_ERRORS: Mapping[str, type[NcuLabError]] = {
    error.__name__: error for error in (UsageError, InputError, EnvironmentLacksError, CheckFailedError, ProgramError)
}
Describe = Callable[[str, dict[str, Any]], str]
"""Puts a finished subject into words: takes its stage id and the data that the target tells."""

_EVENT_FIELDS = {item.name for item in dataclasses.fields(ProgressEvent)}


def run_target(
    request: TargetRequest,
    *,
    timeout_s: float,
    report: Reporter = silent,
    describe: Describe | None = None,
    stop: threading.Event | None = None,
) -> dict[str, Any]:
    """Run a request on the GPU in a child process and return its result.

    Args:
        request: The job; ``result`` may be empty, then a temporary file is used.
        timeout_s: Seconds after which the whole process group is killed.
        report: Gets the target's progress.
        describe: Gives the detail of the event that tells of a finished subject.
        stop: Set by another thread that wants no more of it.

    Raises:
        CancelledError: When it was stopped.
        UsageError: When the problem does not fit the GPU.
        EnvironmentLacksError: When there is no GPU, no cupy or no cuBLAS.
        CheckFailedError: When a library reference did not run in its precision.
        ProgramError: When the target crashed, hung or left no result; says its last words.
    """
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        result = Path(request.result or Path(folder, "result.json"))
        path = Path(folder, "request.json")
        write(dataclasses.replace(request, result=str(result)), path)
        run_process(argv(path), timeout_s=timeout_s, report=report, describe=describe, stop=stop)
        try:
            document = json.loads(result.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ProgramError(f"the target process ended well but left no result: {error}") from error
    if not isinstance(document, dict):
        raise ProgramError("the target process left a result that is no JSON object")
    return document


def run_process(
    command: Sequence[str],
    *,
    timeout_s: float,
    report: Reporter = silent,
    describe: Describe | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Run a target process to its end; see :func:`run_target`."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        conversation = _Conversation(report, describe)
        try:
            conversation.follow(process, time.monotonic() + timeout_s, stop or threading.Event())
        except subprocess.TimeoutExpired:
            raise ProgramError(
                f"the target process did not end within {timeout_s:g} s and was killed{conversation.while_doing}",
                "A kernel may hang; a smaller size tells it from a slow one.",
            ) from None
        finally:
            # Also after a good end: whatever the target started ends with it.
            kill_group(process)
        if process.returncode:
            errors.seek(0)
            raise conversation.failure(process.returncode, errors.read())


class _Conversation:
    """What the target says on stdout: progress to relay, at most one error, and perhaps noise."""

    def __init__(self, report: Reporter, describe: Describe | None) -> None:
        self._report = report
        self._describe = describe
        self._last: ProgressEvent | None = None
        self._error: NcuLabError | None = None
        self._noise: list[str] = []

    @property
    def while_doing(self) -> str:
        return f" during {self._last.step} of {self._last.subject}" if self._last else ""

    def follow(self, process: subprocess.Popen[str], deadline: float, stop: threading.Event) -> None:
        """Relay lines until the process ends.

        Raises:
            CancelledError: When it is still running as ``stop`` is set.
            subprocess.TimeoutExpired: When it is still running at the deadline.
        """
        lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        assert process.stdout is not None
        reader = threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True)
        reader.start()
        while process.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(process.args, 0)
            if stop.is_set():
                raise CancelledError
            self._take(lines, wait_s=0.05)
        # A grandchild may hold the pipe open: end it, then the reader meets the end of the stream.
        kill_group(process)
        reader.join(TERMINATION_GRACE_S)
        while not lines.empty():
            self._take(lines, wait_s=0)

    def _take(self, lines: queue.SimpleQueue[str], wait_s: float) -> None:
        try:
            line = lines.get(timeout=wait_s) if wait_s else lines.get_nowait()
        except queue.Empty:
            return
        if (error := told_error(line)) is not None:
            self._error = error
        elif (event := self._event(line)) is not None:
            self._last = event
            self._report(event)
        else:
            self._noise.append(line.rstrip())

    def _event(self, line: str) -> ProgressEvent | None:
        document = _document(line)
        if not isinstance(document, dict) or not {"step", "subject", "state"} <= set(document):
            return None
        data = document.pop("data", None)
        if data is not None and self._describe is not None:
            document["detail"] = self._describe(document["subject"], data)
        return ProgressEvent(**document) if set(document) <= _EVENT_FIELDS else None

    def failure(self, code: int, stderr: str) -> NcuLabError:
        """Return the error that explains a bad end: the target's own, else how it died and its last words."""
        if self._error is not None:
            return self._error
        words = [line.strip() for line in (stderr or "\n".join(self._noise)).splitlines() if line.strip()]
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"failed with exit code {code}"
        return ProgramError(f"the target process {how}{self.while_doing}", " | ".join(words[-3:]))


def told_error(line: str) -> NcuLabError | None:
    """Return the error that a line of the target's output tells, None when it tells none."""
    document = _document(line)
    if not isinstance(document, dict) or "error" not in document:
        return None
    return _ERRORS.get(document["error"], ProgramError)(document.get("message", ""), document.get("hint", ""))


def _document(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _pump(stream: IO[str], lines: queue.SimpleQueue[str]) -> None:
    for line in stream:
        lines.put(line)
