"""Runs the correctness cases of a subject on the GPU."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from ncu_lab.errors import ProgramError, UsageError
from ncu_lab.gpu.criteria import Case, Errors, errors, explain, limit
from ncu_lab.gpu.driver import DriverError
from ncu_lab.gpu.launch_plan import LaunchPlan
from ncu_lab.gpu.layout import C_BYTES, Layout
from ncu_lab.gpu.operands import Operands, is_untouched_around, place_input, place_result, reset_result
from ncu_lab.gpu.oracle import Oracle, Truth
from ncu_lab.gpu.request import Subject
from ncu_lab.gpu.runner import Runner
from ncu_lab.model import DTYPE_BYTES, CheckCase, Problem, Stage


def check_bytes(stage: Stage, problem: Problem) -> int:
    """Return the device memory that checking a problem takes: operands, float64 references and their temporaries."""
    inputs = problem.m * problem.k + problem.k * problem.n
    outputs = problem.m * problem.n
    # float64 of both inputs and of their magnitudes; product, magnitude, difference, relative, scaled reference and a
    # temporary in float64; C, its bits and masks.
    return inputs * (DTYPE_BYTES[stage.dtype] + 16) + outputs * (6 * 8 + 4 * 3)


def check_subject(
    runner: Runner, oracle: Oracle, subject: Subject, cases: Iterable[Case], progress: Callable[[int, Case], None]
) -> list[CheckCase]:
    """Run all cases of a subject, failed ones included.

    Raises:
        ProgramError: When a launch crashes; the process's CUDA context is lost then.
        UsageError: When the problem asked for cannot be computed by the stage.
    """
    results: list[CheckCase] = []
    for number, case in enumerate(cases):
        progress(number, case)
        results.append(_check_case(runner, oracle, subject, case))
    return results


def _check_case(runner: Runner, oracle: Oracle, subject: Subject, case: Case) -> CheckCase:
    from cupy.cuda.runtime import CUDARuntimeError

    stage, problem = subject.stage, case.problem
    try:
        truth = oracle.truth(problem, stage.dtype, stage.operation)
        initial = oracle.initial(problem)
        operands = _place(stage, case, truth, initial)
        how = runner.launch(subject, problem, operands.layout)
        runner.stream.synchronize()
    except (DriverError, CUDARuntimeError) as error:
        raise ProgramError(
            f"stage {stage.id} crashed on {problem.label} (alpha {problem.alpha:g}, beta {problem.beta:g}, "
            f"{case.name}): {error}",
            "compute-sanitizer finds the line.",
        ) from error
    allowed = limit(stage.dtype, problem.k, stage.operation)
    reference, scale = _expected(problem, truth, initial)
    c = operands.c.view.copy()
    found = errors(c, reference, scale, allowed)
    trouble = [explain(found, c, reference)]
    if not is_untouched_around(operands.c):
        trouble.append("wrote outside C")
    trouble.append(_unequal(runner, subject, case, operands, initial, c))
    return _verdict(stage, how, case, found, allowed, "; ".join(words for words in trouble if words))


def _place(stage: Stage, case: Case, truth: Truth, initial: Any) -> Operands:
    a = place_input(truth.a, case.pad, case.offset)
    b = a if stage.operation == "aat" else place_input(truth.b, case.pad, case.offset)
    return Operands(a, b, place_result(case.problem.m, case.problem.n, initial, case.pad, case.offset))


def _expected(problem: Problem, truth: Truth, initial: Any) -> tuple[Any, Any]:
    """alpha·A·B + beta·C0 in float64, and what its error is measured against."""
    import cupy

    # The kernels take alpha and beta as FP32; those of the cases are exact in it.
    reference = problem.alpha * truth.product
    scale = abs(problem.alpha) * truth.magnitude
    if initial is not None:
        before = cupy.asarray(initial).astype(cupy.float64)
        reference = reference + problem.beta * before
        scale = scale + abs(problem.beta) * abs(before)
    return reference, scale


def _unequal(runner: Runner, subject: Subject, case: Case, operands: Operands, initial: Any, first: Any) -> str:
    """Repeat the launch; say what differs, nothing when all results are bit-equal."""
    import cupy

    for repetition in range(1, case.repetitions):
        reset_result(operands.c, initial)
        runner.launch(subject, case.problem, operands.layout)
        again = operands.c.view.copy()
        unequal = again.view(cupy.uint32) != first.view(cupy.uint32)
        if different := int(unequal.sum()):
            row, column = divmod(int(unequal.argmax()), first.shape[1])
            return (
                f"repetition {repetition + 1} of {case.repetitions} differs in {different} elements, first in "
                f"C[{row}, {column}]: a race"
            )
    return ""


def _verdict(stage: Stage, how: LaunchPlan, case: Case, found: Errors, allowed: float, trouble: str) -> CheckCase:
    return CheckCase(
        stage=stage.id,
        variant=how.variant,
        problem=case.problem,
        case=case.name,
        max_rel_error=found.max_rel_error,
        norm_error=found.norm_error,
        limit=allowed,
        passed=not trouble and found.passed,
        repetitions=case.repetitions,
        detail=trouble or how.reason,
    )


def runnable(runner: Runner, subject: Subject, cases: Iterable[Case]) -> list[Case]:
    """Leave out built-in cases that the stage refuses (a grid beyond the limits); the first, asked for, must fit.

    Raises:
        UsageError: When the problem asked for does not fit.
    """
    kept: list[Case] = []
    for number, case in enumerate(cases):
        try:
            runner.plan(subject, case.problem, _layout(subject.stage, case))
        except UsageError:
            if number == 0:
                raise
            continue
        kept.append(case)
    return kept


def on_fast_path(runner: Runner, subject: Subject, cases: Iterable[Case]) -> list[Case]:
    """Leave out the cases that the guarded path would serve."""
    plans = ((case, runner.plan(subject, case.problem, _layout(subject.stage, case))) for case in cases)
    return [case for case, plan in plans if plan.variant == "fast"]


def _layout(stage: Stage, case: Case) -> Layout:
    """Return how the matrices of a case lie: rows and bases by it, the rest aligned as the allocator does."""
    problem, element = case.problem, DTYPE_BYTES[stage.dtype]
    return Layout(
        lda=max(1, problem.k) + case.pad,
        ldb=(max(1, problem.k) if stage.operation == "aat" else problem.n) + case.pad,
        ldc=problem.n + case.pad,
        a=case.offset * element,
        b=case.offset * element,
        c=case.offset * C_BYTES,
    )


def as_document(case: CheckCase) -> dict[str, Any]:
    """Return a case as JSON: a number that is none becomes null."""
    document = dataclasses.asdict(case)
    return {name: None if value != value else value for name, value in document.items()}
