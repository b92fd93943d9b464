"""How a stage is launched for a problem: which cubin, which grid. Pure; the target process does the launching."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_lab.errors import UsageError
from ncu_lab.model import DTYPE_BYTES, Problem, Stage, Variant

GRID_LIMITS = (2**31 - 1, 65535, 65535)
"""Largest grid (x, y, z) on every GPU since compute capability 3.0: CUDA C++ Programming Guide, technical
specifications per compute capability."""

C_BYTES = 4
"""C and the accumulator are FP32 throughout."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where three row-major matrices lie: leading dimensions in elements, base addresses in bytes."""

    lda: int
    ldb: int
    ldc: int
    a: int = 0
    b: int = 0
    c: int = 0


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """The cubin and the geometry of one launch; ``reason`` says why the fast path did not fit, empty when it did."""

    variant: Variant
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    reason: str = ""


def plan(stage: Stage, problem: Problem, layout: Layout) -> LaunchPlan:
    """Choose the fast path where shape and alignment allow it, else the guarded one, and the grid for it.

    Args:
        stage: A kernel stage.
        problem: What it really computes (``stage.shape`` of what was asked).
        layout: Of its operands.

    Raises:
        UsageError: When no path of the stage fits, or the grid exceeds the GPU's limits.
    """
    reason = _misfit(stage, problem, layout)
    if reason and not stage.has_guarded:
        raise UsageError(f"stage {stage.id} cannot compute {problem.label}: {reason}, and it has no guarded path")
    grid = grid_of(stage, problem)
    for axis, blocks, limit in zip("xyz", grid, GRID_LIMITS, strict=True):
        if blocks > limit:
            raise UsageError(
                f"stage {stage.id} at {problem.label} needs a grid of {blocks} blocks in {axis}, the limit is {limit}",
                "Choose a smaller size.",
            )
    return LaunchPlan("guarded" if reason else "fast", grid, stage.block, reason)


def grid_of(stage: Stage, problem: Problem) -> tuple[int, int, int]:
    """Return the blocks that cover C: along each of x and y ceil(size / tile), as the stage's ``grid`` maps them."""
    blocks = {"m": -(-problem.m // stage.tile["BM"]), "n": -(-problem.n // stage.tile["BN"])}
    return blocks[stage.grid[0]], blocks[stage.grid[1]], 1


def _misfit(stage: Stage, problem: Problem, layout: Layout) -> str:
    """Why the fast path does not fit; empty when it does."""
    for name, size, multiple in zip("mnk", (problem.m, problem.n, problem.k), stage.multiples, strict=True):
        if size % multiple:
            return f"{name} = {size} is no multiple of {multiple}"
    if not stage.has_guarded:
        return ""
    element = DTYPE_BYTES[stage.dtype]
    addresses = (("A", layout.a), ("B", layout.b), ("C", layout.c))
    rows = (("A", layout.lda * element), ("B", layout.ldb * element), ("C", layout.ldc * C_BYTES))
    for what, items in (("base", addresses), ("row", rows)):
        for name, number in items:
            if number % stage.align_bytes:
                return f"the {what} of {name} is not aligned to {stage.align_bytes} bytes"
    return ""
