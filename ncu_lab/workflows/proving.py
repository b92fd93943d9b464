"""The proof of stages: every correctness case, repetitions, and compute-sanitizer's four tools, several at a time.

Each stage's cases, and each tool on each stage, are a program of their own with a time limit of its own: one that
hangs or crashes is a named failure of that stage, and the others go on.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Literal

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.devices import current_device
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import Subject, TargetRequest, subjects_of
from ncu_lab.gpu.sanitizer import find_sanitizer, sanitize, small_problems
from ncu_lab.gpu.verify import check_bytes
from ncu_lab.model import CheckCase, Problem, ProgressEvent, Reporter, Stage, silent
from ncu_lab.model.proof import SANITIZER_TOOLS, SanitizerFinding, SanitizerTool, StageProof
from ncu_lab.workflows.best_tiles import with_best_tiles
from ncu_lab.workflows.building import build_stages, stopping
from ncu_lab.workflows.checking import check_stages, describe_cases

CHECK_TIMEOUT_S = 240.0
SANITIZE_TIMEOUT_S = 150.0
"""Seconds for one program. The slowest, racecheck over a warp-specialised kernel, takes some tens; a hang takes all."""

MOST_PROGRAMS = 8
"""Programs at a time: each holds a CUDA context and keeps a core busy, and their kernels share one GPU."""

_MEMORY_BYTES = 16 * 2**30
"""What the checks of all programs together may hold on the GPU."""

Found = StageProof | SanitizerFinding


@with_best_tiles
def prove_stages(
    ids: Sequence[str],
    problem: Problem,
    *,
    quick: bool = False,
    repeat: int | None = None,
    report: Reporter = silent,
    check_timeout_s: float = CHECK_TIMEOUT_S,
    sanitize_timeout_s: float = SANITIZE_TIMEOUT_S,
) -> list[StageProof]:
    """Check stages and run each tool of compute-sanitizer over them.

    Args:
        ids: Stage ids; library references are checked, but not watched: their kernels are not ours.
        problem: The problem that must be right first of all; the tools watch small ones.
        quick: The problem and fourteen small cases, instead of all cases.
        repeat: Launches of the problem, and of the cases meant for it, that must be bit-equal.
        report: Told of each stage, and of each tool that found something.
        check_timeout_s: Seconds for the cases of one stage.
        sanitize_timeout_s: Seconds for one tool on one stage.

    Returns:
        A proof a stage, in the order of ``ids``, whatever failed.

    Raises:
        UsageError: When a stage is unknown, or the problem does not fit the GPU.
        EnvironmentLacksError: When there is no GPU, cupy, compiler or compute-sanitizer.
        InputError: When a stage does not compile.
    """
    registry = load_stages()
    stages = [find_stage(registry, id) for id in dict.fromkeys(ids)]
    current_device()
    sanitizer = find_sanitizer()  # before anything is built
    builds = build_stages([stage.id for stage in stages], report=report)
    subjects = [one for one in subjects_of(stages, builds, registry) if not one.stage.is_reference]
    stop = threading.Event()

    def check(stage: Stage) -> Found:
        begin = time.monotonic()
        cases: list[CheckCase] = []
        failure = ""
        try:
            cases = check_stages([stage.id], problem, quick=quick, repeat=repeat, timeout_s=check_timeout_s, stop=stop)
        except ProgramError as error:  # it hangs or crashes: what this is to find out
            failure = error.message
        return StageProof(stage.id, tuple(cases), failure=failure, seconds=time.monotonic() - begin)

    def watch(subject: Subject, tool: SanitizerTool) -> Found:
        first, *others = small_problems(subject.stage)
        request = TargetRequest("launch", first, (subject,), shapes=tuple(others))
        return sanitize(sanitizer, tool, request, stop=stop, timeout_s=sanitize_timeout_s)

    # Checks first: they take the longest. The tools on one stage lie apart, so that a slow one does not end last.
    with ThreadPoolExecutor(_programs(stages, problem)) as pool, stopping(pool, stop):
        running = [pool.submit(check, stage) for stage in stages]
        running += [pool.submit(watch, subject, tool) for tool in SANITIZER_TOOLS for subject in subjects]
        found = list(_told(running, report))
    findings = sorted(
        (one for one in found if isinstance(one, SanitizerFinding)), key=lambda one: SANITIZER_TOOLS.index(one.tool)
    )
    proofs = {one.stage: one for one in found if isinstance(one, StageProof)}
    return [
        replace(proofs[stage.id], findings=tuple(one for one in findings if one.stage == stage.id)) for stage in stages
    ]


def _programs(stages: Sequence[Stage], problem: Problem) -> int:
    """How many programs run at a time, by the cores there are and by the memory that a check takes."""
    held = max((check_bytes(stage, stage.shape(problem)) for stage in stages), default=1)
    return max(1, min(MOST_PROGRAMS, (os.cpu_count() or 1) // 2, _MEMORY_BYTES // max(1, held)))


def _told(running: Sequence[Future[Found]], report: Reporter) -> Iterator[Found]:
    """Tell of each program as it ends and yield what it found; an error that is no finding ends the wait.

    Raises:
        NcuLabError: What a program was refused with.
    """
    for done, future in enumerate(as_completed(running), start=1):
        result = future.result()
        yield result
        _tell(result, report)
        report(
            ProgressEvent("check", result.stage, "update", f"{done} of {len(running)} programs", done / len(running))
        )


def _tell(result: Found, report: Reporter) -> None:
    """Give a stage's cases a line; of the tools only what they found is worth one."""
    state: Literal["done", "failed"] = "done" if result.passed else "failed"
    if isinstance(result, StageProof):
        words = result.failure or describe_cases(result.cases)
        report(ProgressEvent("check", result.stage, state, words, seconds=result.seconds))
    elif not result.passed:
        words = f"{result.tool}: {result.detail}"
        report(ProgressEvent("sanitize", result.stage, state, words, seconds=result.seconds))
