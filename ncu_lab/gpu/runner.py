"""Launches stages on the GPU of this process: loads cubins with cupy, calls cuBLAS for references."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from ncu_lab.errors import CheckFailedError, ProgramError
from ncu_lab.gpu.cublas import WORKSPACE_BYTES, Cublas, captured_kernels
from ncu_lab.gpu.launch_plan import LaunchPlan, Layout, plan
from ncu_lab.gpu.request import Subject
from ncu_lab.model import Problem, Stage


class Runner:
    """One stream, one cuBLAS handle and the loaded cubins of a process.

    All work of the process goes into its own stream, since the default one cannot be captured.
    """

    def __init__(self) -> None:
        import cupy

        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()
        self._kernels: dict[tuple[str, str], Any] = {}

    @functools.cached_property
    def cublas(self) -> Cublas:
        """The cuBLAS handle, made when first needed."""
        import cupy

        self._workspace = cupy.empty(WORKSPACE_BYTES, dtype=cupy.uint8)
        return Cublas(self.stream.ptr, self._workspace.data.ptr)

    def plan(self, subject: Subject, problem: Problem, layout: Layout) -> LaunchPlan:
        """Return how a subject would be launched; a library call has no geometry of ours."""
        if subject.stage.is_reference:
            return LaunchPlan("library", (1, 1, 1), (1, 1, 1))
        return plan(subject.stage, problem, layout)

    def launch(self, subject: Subject, problem: Problem, layout: Layout) -> LaunchPlan:
        """Enqueue one call of a subject.

        Args:
            subject: Stage and cubins.
            problem: What it really computes (``stage.shape`` of what was asked).
            layout: Addresses and leading dimensions of its operands.

        Raises:
            UsageError: When the stage cannot compute this.
            ProgramError: When its cubin is missing or does not load.
        """
        stage = subject.stage
        how = self.plan(subject, problem, layout)
        if stage.is_reference:
            self.cublas.gemm(stage.library_math, stage.operation, problem, layout)
            return how
        path = subject.guarded_cubin if how.variant == "guarded" else subject.cubin
        if path is None:
            raise ProgramError(f"stage {stage.id} has no {how.variant} cubin in the request")
        self._kernel(path, stage.entry)(how.grid, how.block, _arguments(problem, layout))
        return how

    def _kernel(self, path: str, entry: str) -> Any:
        import cupy
        from cupy_backends.cuda.api.driver import CUDADriverError

        if (path, entry) not in self._kernels:
            try:
                self._kernels[path, entry] = cupy.RawModule(path=path).get_function(entry)
            except (CUDADriverError, OSError) as error:
                raise ProgramError(f"the cubin of {entry} cannot be loaded ({path}): {error}") from error
        return self._kernels[path, entry]

    def reference_kernels(self, subject: Subject, problem: Problem, layout: Layout) -> tuple[str, ...]:
        """Return the kernels that a library reference launches, after proving by their names that they are its own.

        Raises:
            CheckFailedError: When no kernel has the name that the stage's precision demands.
            ProgramError: When the driver cannot tell the names.
        """
        self.launch(subject, problem, layout)  # loads the kernels, which a capture must not
        self.stream.synchronize()
        names = captured_kernels(self.stream.ptr, lambda: self.launch(subject, problem, layout))
        verify_precision(subject.stage, names)
        return names


def verify_precision(stage: Stage, names: tuple[str, ...]) -> None:
    """Check that a reference ran in its precision: at least one kernel's name matches the stage's pattern.

    Raises:
        CheckFailedError: When none does.
    """
    if not any(re.search(stage.kernel_pattern, name) for name in names):
        raise CheckFailedError(
            f"{stage.id} did not run in the precision it stands for: its kernels are {', '.join(names) or 'none'}",
            f'Expected a name that matches "{stage.kernel_pattern}".',
        )


def _arguments(problem: Problem, layout: Layout) -> tuple[Any, ...]:
    """Arguments of ENTRY(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc), each in the width the kernel expects."""
    return (
        np.int32(problem.m),
        np.int32(problem.n),
        np.int32(problem.k),
        np.float32(problem.alpha),
        np.uint64(layout.a),
        np.int32(layout.lda),
        np.uint64(layout.b),
        np.int32(layout.ldb),
        np.float32(problem.beta),
        np.uint64(layout.c),
        np.int32(layout.ldc),
    )
