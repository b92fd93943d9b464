"""How a stage is launched for a problem: which cubin, which kernels, which grids. Pure; the target process launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ncu_lab.errors import UsageError
from ncu_lab.gpu import plans, small_output, small_output_half
from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer
from ncu_lab.gpu.layout import C_BYTES, Layout
from ncu_lab.model import DTYPE_BYTES, Problem, Stage, Variant

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Largest grid (x, y, z) on every GPU since compute capability 3.0: CUDA C++ Programming Guide, technical
specifications per compute capability."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What one call of a stage launches.

    Attributes:
        variant: Of the cubin; ``library`` for a reference, which has no kernels of ours.
        kernels: In the order they are launched.
        workspace_bytes: Device memory that they share.
        reason: Why the fast path did not fit; empty when it did.
    """

    variant: Variant
    kernels: tuple[KernelLaunch, ...] = ()
    workspace_bytes: int = 0
    reason: str = ""

    @property
    def main(self) -> KernelLaunch | None:
        """The kernel that multiplies; None for a library reference."""
        return next((kernel for kernel in self.kernels if kernel.role == "main"), None)


PLANS: Mapping[str, Callable[[Stage, Problem, Layout, int], plans.Kernels]] = {
    "transposed": plans.transposed,
    "clustered": plans.clustered,
    "split": plans.split,
}
"""Ways to launch a stage, by the name in ``plan``; one that names none launches one kernel, a block a tile."""


def plan(
    stage: Stage, problem: Problem, layout: Layout, *, sm_count: int, capability: int, fallback: Stage | None = None
) -> LaunchPlan:
    """Choose the fast path where shape and alignment allow it, else the guarded one, and its kernels.

    Args:
        stage: A kernel stage.
        problem: What it really computes (``stage.shape`` of what was asked).
        layout: Of its operands.
        sm_count: Multiprocessors of the GPU, for kernels whose grid depends on them.
        capability: Compute capability of the GPU, as 10 * major + minor: not every kernel is built for all.
        fallback: The stage that ``stage.fallback`` names.

    Raises:
        UsageError: When no path of the stage fits, or the grid exceeds the GPU's limits.
    """
    kernels: tuple[KernelLaunch, ...]
    reason = _misfit(stage, problem, layout)
    if reason and not stage.is_complete:
        raise UsageError(f"stage {stage.id} cannot compute {problem.label}: {reason}, and it has no guarded path")
    server = fallback if reason and fallback is not None else stage
    if not reason and (better := _for_few_tiles(stage, problem, layout, sm_count, capability)):
        kernels, workspace_bytes = better
    elif server.plan:
        kernels, workspace_bytes = PLANS[server.plan](server, problem, layout, sm_count)
    else:
        kernels, workspace_bytes = (_one_block_a_tile(server, problem, layout),), 0
    for kernel in kernels:
        _refuse_large_grid(stage, problem, kernel)
    return LaunchPlan("guarded" if reason else "fast", kernels, workspace_bytes, reason)


def _for_few_tiles(
    stage: Stage, problem: Problem, layout: Layout, sm_count: int, capability: int
) -> plans.Kernels | None:
    """Return the launch of the stage's second kernel, where it has one that is faster for a C of few tiles."""
    small = small_output.instead_of(stage, problem, layout, sm_count, capability)
    return small or small_output_half.instead_of(stage, problem, layout, sm_count)


def grid_of(stage: Stage, problem: Problem) -> tuple[int, int, int]:
    """Return the blocks that cover C: along each of x and y ceil(size / tile), as the stage's ``grid`` maps them."""
    blocks = {"m": -(-problem.m // stage.tile["BM"]), "n": -(-problem.n // stage.tile["BN"])}
    return blocks[stage.grid[0]], blocks[stage.grid[1]], 1


def _one_block_a_tile(stage: Stage, problem: Problem, layout: Layout) -> KernelLaunch:
    """``ENTRY(m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)``."""
    arguments = (
        *(Int(problem.m), Int(problem.n), Int(problem.k), Float(problem.alpha)),
        *(Pointer(layout.a), Int(layout.lda), Pointer(layout.b), Int(layout.ldb)),
        *(Float(problem.beta), Pointer(layout.c), Int(layout.ldc)),
    )
    return KernelLaunch(stage.entry, grid_of(stage, problem), stage.block, arguments, shared_bytes=stage.shared_bytes)


def _refuse_large_grid(stage: Stage, problem: Problem, kernel: KernelLaunch) -> None:
    for axis, blocks, limit in zip("xyz", kernel.grid, GRID_LIMITS, strict=True):
        if blocks > limit:
            raise UsageError(
                f"stage {stage.id} at {problem.label} needs a grid of {blocks} blocks in {axis}, the limit is {limit}",
                "Choose a smaller size.",
            )


def _misfit(stage: Stage, problem: Problem, layout: Layout) -> str:
    """Why the fast path does not fit; empty when it does."""
    for name, size, multiple in zip("mnk", (problem.m, problem.n, problem.k), stage.multiples, strict=True):
        if size % multiple:
            return f"{name} = {size} is no multiple of {multiple}"
    if stage.plan and problem.k == 0:
        return "k = 0 leaves nothing to multiply"
    return _misaligned(stage, layout) if stage.is_complete else ""


def library_plan(stage: Stage, problem: Problem, layout: Layout) -> LaunchPlan:
    """Return the plan of a library reference, which has no kernels of ours.

    Raises:
        UsageError: When it serves multiples or alignments alone that these are not, as CUTLASS's kernel with TMA does.
    """
    if stage.is_compiled:
        nothing = "" if problem.k else "k = 0 leaves nothing to multiply"
        if reason := _misfit(stage, problem, layout) or _misaligned(stage, layout) or nothing:
            raise UsageError(f"{stage.id} cannot compute {problem.label}: {reason}")
    return LaunchPlan("library")


def _misaligned(stage: Stage, layout: Layout) -> str:
    """Why the alignment of bases and rows does not fit; empty when it does."""
    element = DTYPE_BYTES[stage.dtype]
    addresses = (("A", layout.a), ("B", layout.b), ("C", layout.c))
    rows = (("A", layout.lda * element), ("B", layout.ldb * element), ("C", layout.ldc * C_BYTES))
    for what, items in (("base", addresses), ("row", rows)):
        for name, number in items:
            if name in stage.aligned and number % stage.align_bytes:
                return f"the {what} of {name} is not aligned to {stage.align_bytes} bytes"
    return ""
