"""Which call of the library a stage is measured against: the fastest of those that keep the reference's precision.

cuBLAS picks one algorithm by a rule of thumb, and pedantic math narrows its choice. Who claims to be faster than the
library must be faster than the best it can do, so in FP32 every way is tried: ``cublasGemmEx`` in pedantic and in
default math, and up to eight algorithms of cublasLt, those that it ranks first. What rounds its inputs to TF32 does
other work: a way counts only when the names of its kernels prove the precision.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ncu_lab.errors import CheckFailedError, ProgramError
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.request import Subject
from ncu_lab.gpu.timing import SLOW_NS, Call, Stopwatch
from ncu_lab.model import Problem
from ncu_lab.model.bench_record import ReferenceTrial

if TYPE_CHECKING:
    from ncu_lab.gpu.runner import Runner

SEARCHED = "pedantic"
"""The library math whose references are searched for: only FP32 has slower and faster ways of one precision."""

_SAMPLES, _SAMPLES_IF_SLOW = 5, 3
"""Samples of each way. The search only chooses: the chosen one is then timed anew, as every subject is."""


@dataclass(frozen=True, slots=True)
class Way:
    """One call of the library that computes what a reference stands for."""

    name: str
    call: Call


def ways(runner: Runner, problem: Problem, layout: Layout) -> list[Way]:
    """Return every way to compute C = alpha·A·B + beta·C in FP32; pinned pedantic math first.

    Where cublasLt offers no algorithm, its only way is one that fails with the reason.

    Raises:
        EnvironmentLacksError: When a library is not found.
    """

    def gemm(math: str) -> Callable[[], None]:
        return lambda: runner.cublas.gemm(math, "ab", problem, layout)

    found = [Way("cublasGemmEx, pedantic math", gemm("pedantic")), Way("cublasGemmEx, default math", gemm("default"))]
    try:
        algorithms = runner.cublaslt.algorithms("default", problem, layout)
    except ProgramError as error:
        return [*found, Way("cublasLt", _failing(error))]
    return found + [Way(f"cublasLt, algorithm {number}", call) for number, call in enumerate(algorithms, start=1)]


def _failing(error: ProgramError) -> Call:
    def call() -> None:
        raise error

    return call


def fastest(
    runner: Runner, watch: Stopwatch, subject: Subject, problem: Problem, layout: Layout
) -> tuple[Call, list[ReferenceTrial]]:
    """Time every way of a reference and return the fastest whose precision is proven, with what all of them gave.

    Args:
        runner: Launches.
        watch: Times.
        subject: The reference; its library math is :data:`SEARCHED`.
        problem: What it computes.
        layout: Addresses and leading dimensions of its operands.

    Raises:
        ProgramError: When no way runs in a precision that is proven; says what became of the pinned one.
    """
    tried = [(way, _try(runner, watch, subject, way)) for way in ways(runner, problem, layout)]
    proven = [(trial.median_ns, number) for number, (_, trial) in enumerate(tried) if trial.median_ns is not None]
    if not proven:
        raise ProgramError(f"no way to compute {subject.stage.id} ran in its precision: {tried[0][1].refused}")
    chosen = min(proven)[1]
    trials = [dataclasses.replace(trial, chosen=number == chosen) for number, (_, trial) in enumerate(tried)]
    return tried[chosen][0].call, trials


def _try(runner: Runner, watch: Stopwatch, subject: Subject, way: Way) -> ReferenceTrial:
    """Time one way; one that fails or is of another precision is told, with the reason, and not timed."""
    id = subject.stage.id
    try:
        kernels = runner.kernels_of(subject.stage, way.call)
        first = watch.once(way.call)
        samples = [watch.once(way.call) for _ in range(_SAMPLES_IF_SLOW if first > SLOW_NS else _SAMPLES)]
    except (CheckFailedError, ProgramError) as error:
        return ReferenceTrial(id, way.name, refused=error.message)
    return ReferenceTrial(id, way.name, kernels, median(samples))
