"""Launches stages on the GPU of this process: their own kernels by the driver, references by cuBLAS."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ncu_lab.errors import CheckFailedError, ProgramError
from ncu_lab.gpu.cublas import WORKSPACE_BYTES, Cublas, captured_kernels
from ncu_lab.gpu.cublaslt import CublasLt
from ncu_lab.gpu.cutlass import Cutlass
from ncu_lab.gpu.driver import Driver, DriverError, prepare
from ncu_lab.gpu.kernel_launch import KernelLaunch
from ncu_lab.gpu.launch_plan import LaunchPlan, library_plan, plan
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.request import Subject, second_cubin
from ncu_lab.gpu.timing import MIN_FLUSH_BYTES
from ncu_lab.model import Problem, Stage

NAN_BYTE = 0xFF
"""Four of them are an FP32 NaN, two an FP16 or BF16 NaN; as a counter they are far from zero."""

_MOST_READY = 1024
"""Calls whose arguments and tensor maps are kept: a bench repeats a few, a contest hundreds, a check many."""


class Runner:
    """One stream, one cuBLAS handle, one workspace and the loaded cubins of a process.

    All work of the process goes into its own stream, since the default one cannot be captured; the order in it also
    lets all stages share the workspace.

    Args:
        poisons: Whether each launch finds its workspace full of NaN. A kernel that reads there before another has
            written is then seen: else it may find what an identical launch left, which is right. The workspace has at
            least :data:`~ncu_lab.gpu.timing.MIN_FLUSH_BYTES` then, so that filling it outlasts the submission of all
            kernels of the launch from Python: they follow each other as closely as they do when timed, and one that
            starts early does so. For checks; not for compute-sanitizer, to which the workspace must be unwritten.
    """

    def __init__(self, *, poisons: bool = False) -> None:
        import cupy

        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.stream.use()
        gpu = cupy.cuda.Device()
        self.sm_count = int(gpu.attributes["MultiProcessorCount"])
        self.capability = int(gpu.compute_capability)  # 10 * major + minor, as a word
        self._modules: dict[str, Any] = {}
        self._libraries: dict[str, Cutlass] = {}
        self._poisons = poisons
        self._workspace: Any = None
        self._ready: dict[object, tuple[LaunchPlan, list[Callable[[], None]]]] = {}

    @functools.cached_property
    def cublas(self) -> Cublas:
        """The cuBLAS handle, made when first needed."""
        return Cublas(self.stream.ptr, self._library_workspace.data.ptr)

    @functools.cached_property
    def cublaslt(self) -> CublasLt:
        """The cublasLt handle, likewise; both use one workspace, as all work is in one stream."""
        return CublasLt(self.stream.ptr, self._library_workspace.data.ptr)

    @functools.cached_property
    def _library_workspace(self) -> Any:
        import cupy

        return cupy.empty(WORKSPACE_BYTES, dtype=cupy.uint8)

    @functools.cached_property
    def _driver(self) -> Driver:
        return Driver()

    def plan(self, subject: Subject, problem: Problem, layout: Layout) -> LaunchPlan:
        """Return how a subject would be launched; a library call has no geometry of ours."""
        if subject.stage.is_reference:
            return library_plan(subject.stage, problem, layout)
        gpu = {"sm_count": self.sm_count, "capability": self.capability}
        return plan(subject.stage, problem, layout, **gpu, fallback=subject.fallback)

    def workspace_bytes(self, subject: Subject, problem: Problem) -> int:
        """Return the device memory that a subject's kernels share for a problem laid out densely."""
        return self.plan(subject, problem, Layout(max(1, problem.k), problem.n, problem.n)).workspace_bytes

    def launch(self, subject: Subject, problem: Problem, layout: Layout) -> LaunchPlan:
        """Enqueue one call of a subject.

        Args:
            subject: Stage and cubins.
            problem: What it really computes (``stage.shape`` of what was asked).
            layout: Addresses and leading dimensions of its operands.

        Raises:
            UsageError: When the stage cannot compute this.
            ProgramError: When its cubin is missing or does not load, or a launch is refused.
        """
        stage = subject.stage
        if stage.is_reference:
            how = self.plan(subject, problem, layout)
            if stage.is_compiled:
                self._cutlass(subject).gemm(problem, layout)
            else:
                self.cublas.gemm(stage.library_math, stage.operation, problem, layout)
            return how
        # All that decides arguments and tensor maps: every dimension and every pointer.
        key = (stage.id, subject.cubin, subject.guarded_cubin, problem, layout)
        if key not in self._ready:
            self._prepare(key, subject, self.plan(subject, problem, layout))
        how, calls = self._ready[key]
        if self._poisons and how.workspace_bytes:
            self._workspace.data.memset_async(NAN_BYTE, self._workspace.nbytes, self.stream)
        for call in calls:
            call()
        return how

    def _cutlass(self, subject: Subject) -> Cutlass:
        if subject.cubin is None:
            raise ProgramError(f"{subject.stage.id} has no library in the request")
        if subject.cubin not in self._libraries:
            workspace = self._library_workspace.data.ptr
            self._libraries[subject.cubin] = Cutlass(
                Path(subject.cubin), self.stream.ptr, workspace, WORKSPACE_BYTES, self.sm_count
            )
        return self._libraries[subject.cubin]

    def _prepare(self, key: object, subject: Subject, how: LaunchPlan) -> None:
        path = subject.guarded_cubin if how.variant == "guarded" else subject.cubin
        if path is None:
            raise ProgramError(f"stage {subject.stage.id} has no {how.variant} cubin in the request")
        workspace = self._workspace_of(how.workspace_bytes)
        if len(self._ready) >= _MOST_READY:
            self._ready.clear()
        calls = [
            prepare(self._driver, self._function(path, kernel), kernel, self.stream.ptr, workspace)
            for kernel in how.kernels
        ]
        self._ready[key] = how, calls

    def _workspace_of(self, size: int) -> int:
        """Return the address of at least ``size`` bytes; calls prepared for a smaller workspace are forgotten."""
        import cupy

        if size and self._poisons:
            size = max(size, MIN_FLUSH_BYTES)
        if size and (self._workspace is None or self._workspace.nbytes < size):
            self._ready.clear()
            self._workspace = None  # given back first: both together might not fit
            self._workspace = cupy.empty(size, dtype=cupy.uint8)
        return 0 if self._workspace is None else int(self._workspace.data.ptr)

    def _function(self, cubin: str, kernel: KernelLaunch) -> Any:
        path = second_cubin(cubin) if kernel.second else cubin
        try:
            if path not in self._modules:
                self._modules[path] = self._driver.load(Path(path))
            return self._driver.function(self._modules[path], kernel.entry)
        except DriverError as error:
            raise ProgramError(f"the cubin of {kernel.entry} cannot be loaded ({path}): {error}") from error

    def reference_kernels(self, subject: Subject, problem: Problem, layout: Layout) -> tuple[str, ...]:
        """Return the kernels that a library reference launches, after proving by their names that they are its own.

        Raises:
            CheckFailedError: When no kernel has the name that the stage's precision demands.
            ProgramError: When the driver cannot tell the names.
        """
        return self.kernels_of(subject.stage, lambda: self.launch(subject, problem, layout))

    def kernels_of(self, stage: Stage, call: Callable[[], object]) -> tuple[str, ...]:
        """Return the kernels that a call launches in place of a reference; see :meth:`reference_kernels`."""
        call()  # loads the kernels, which a capture must not
        self.stream.synchronize()
        names = captured_kernels(self.stream.ptr, call)
        verify_precision(stage, names)
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
