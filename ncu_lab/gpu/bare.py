"""Bare launches for compute-sanitizer: every subject at every problem, once; nothing is timed and nothing compared."""

from __future__ import annotations

from typing import Any

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.inputs import encode, normal
from ncu_lab.gpu.operands import Operands, place_input, place_result, unwritten_result
from ncu_lab.gpu.request import Subject, TargetRequest
from ncu_lab.gpu.runner import Runner
from ncu_lab.model import Device, Problem


def launch_all(request: TargetRequest, _: Device) -> dict[str, Any]:
    """Launch each subject at the problem and at all shapes of a request.

    Where beta is 0, C is memory that nothing ever wrote: initcheck then sees a kernel that reads it.

    Raises:
        ProgramError: When a launch fails; says at which problem.
    """
    import cupy

    # What comes back from cupy's pool was written before: to initcheck it would count as initialised.
    cupy.cuda.set_allocator(None)
    runner = Runner()
    launches = [
        {
            "subject": subject.stage.id,
            "problem": problem.label,
            "variant": _launch(runner, subject, problem, request.seed),
        }
        for subject in request.subjects
        for problem in map(subject.stage.shape, (request.problem, *request.shapes))
    ]
    return {"launches": launches}


def _launch(runner: Runner, subject: Subject, problem: Problem, seed: int) -> str:
    from cupy.cuda.runtime import CUDARuntimeError

    stage = subject.stage
    a = place_input(encode(normal(problem.m, problem.k, seed), stage.dtype))
    b = a if stage.operation == "aat" else place_input(encode(normal(problem.k, problem.n, seed + 1), stage.dtype))
    c = (
        place_result(problem.m, problem.n, normal(problem.m, problem.n, seed + 2))
        if problem.beta
        else unwritten_result(problem.m, problem.n)
    )
    try:
        how = runner.launch(subject, problem, Operands(a, b, c).layout)
        runner.stream.synchronize()
    except CUDARuntimeError as error:
        raise ProgramError(f"stage {stage.id} crashed on {problem.label} (beta {problem.beta:g}): {error}") from error
    return how.variant
