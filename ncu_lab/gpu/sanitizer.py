"""compute-sanitizer over the target process: one tool, one stage, and what its log says."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from ncu_lab.advice import pip_install
from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.gpu.child import run_child
from ncu_lab.gpu.request import TargetRequest, write
from ncu_lab.gpu.supervisor import told_error
from ncu_lab.gpu.target import argv
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import Problem, Stage
from ncu_lab.model.proof import SanitizerFinding, SanitizerTool

_FOUND = 9
"""Exit code that the tool is told to end with when it finds something."""

_PREFIX = re.compile(r"^=========\s?", re.MULTILINE)
_SUMMARY = re.compile(r"(?:ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard)")
_NO_FINDING = ("COMPUTE-SANITIZER", "ERROR SUMMARY", "RACECHECK SUMMARY", "Internal Sanitizer")


def find_sanitizer() -> Path:
    """Return the path of compute-sanitizer.

    Raises:
        EnvironmentLacksError: When it is nowhere; says where to get it.
    """
    found = find_tool("compute-sanitizer")
    if found is None:
        raise EnvironmentLacksError(
            "compute-sanitizer was not found",
            f"It is part of the CUDA toolkit (/usr/local/cuda/bin, or set CUDA_HOME); or {pip_install('sanitizer')}",
        )
    return found


def small_problems(stage: Stage) -> tuple[Problem, ...]:
    """Return what a stage's kernels are watched at: whole tiles, cut ones and odd shapes, with C read and untouched.

    Small, since a tool slows a kernel a hundred times, but of several tiles each way, and of eight steps in K: more
    than any stage's pipeline is deep, so that every buffer is used again. Rows of cut tiles stay a multiple of eight
    elements, which fast paths that copy 16 bytes at a time take; odd shapes go to the guarded ones. Two more: rows of A
    alone that are odd, which a transpose takes, and one tile of a long K, whose slices are many.
    """
    tile = stage.tile
    m, n, k = 3 * tile["BM"], 2 * tile["BN"], 8 * tile.get("BK", 32)
    rows = m - tile["BM"] + 7
    shapes = (
        *((m, n, k), (rows, n + 8, k + 8), (rows, n + 5, k + 11)),
        *((rows, n + 8, k + 1), (tile["BM"], tile["BN"], 8 * k)),
    )
    return tuple(Problem(*shape, alpha=1.5, beta=beta) for shape in shapes for beta in (-0.5, 0.0))


def sanitize(
    sanitizer: Path, tool: SanitizerTool, request: TargetRequest, *, stop: threading.Event, timeout_s: float
) -> SanitizerFinding:
    """Run the bare launches of one stage under one tool.

    Args:
        sanitizer: From :func:`find_sanitizer`.
        tool: Which tool.
        request: Mode ``launch``, one subject.
        stop: Set by another thread that wants no more of it.
        timeout_s: Seconds after which it is killed: a kernel that hangs is a finding too.

    Raises:
        CancelledError: When it was stopped.
        EnvironmentLacksError: When the tool cannot be started.
    """
    begin = time.monotonic()
    stage = request.subjects[0].stage.id
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as work:
        folder = Path(work)
        log = folder / "sanitizer.log"
        log.touch()
        path = folder / "request.json"
        write(dataclasses.replace(request, result=str(folder / "result.json")), path)
        options = ("--tool", tool, "--error-exitcode", str(_FOUND), "--log-file", str(log))
        try:
            done = run_child([str(sanitizer), *options, *argv(path)], folder, stop, timeout_s=timeout_s)
        except subprocess.TimeoutExpired:
            words = f"did not end within {timeout_s:g} s and was killed: a kernel hangs, or the machine is too slow"
            return SanitizerFinding(stage, tool, False, None, words, time.monotonic() - begin)
        except OSError as error:
            raise EnvironmentLacksError(f"{sanitizer} cannot be started: {error.strerror or error}") from error
        errors, first = read_log(log.read_text(encoding="utf-8", errors="replace"))
    detail = first or _why(done)
    passed = done.returncode == 0 and errors == 0
    return SanitizerFinding(stage, tool, passed, errors, "" if passed else detail, time.monotonic() - begin)


def read_log(text: str) -> tuple[int | None, str]:
    """Return how many errors and hazards a log counts, None without a count, and the words of its first finding.

    A finding is a line at the left (``Invalid __global__ read of size 4 bytes``); where it happened is indented below.
    """
    counts = [int(first or second) for first, second in _SUMMARY.findall(text)]
    lines = [line for line in _PREFIX.sub("", text).splitlines() if line.strip()]
    found = next((number for number, line in enumerate(lines) if not line.startswith((" ", *_NO_FINDING))), None)
    if found is None:
        return sum(counts) if counts else None, ""
    where = [line.strip() for line in lines[found + 1 : found + 2] if line.startswith(" ")]
    return sum(counts) if counts else None, " ".join([lines[found].strip(), *where])


def _why(done: subprocess.CompletedProcess[str]) -> str:
    """Say why a tool has no finding and no clean end: the program's own error, else its last words."""
    told = next((error for line in done.stdout.splitlines() if (error := told_error(line)) is not None), None)
    if told is not None:
        return told.message
    last = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()][-2:]
    return " | ".join([f"ended with exit code {done.returncode} and no summary", *last])
