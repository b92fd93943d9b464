"""When and how the kernels of ``kernels/small_output.cuh`` run in the place of a stage's own kernels. Pure.

A C of few tiles leaves multiprocessors idle or makes many blocks wait for each other's sums. The kernels' source says
what their arguments mean; the times here are cycles of an H200 (``kernels/experiments/sgemm_small/README.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer, TensorMap, Workspace
from ncu_lab.gpu.layout import C_BYTES, Layout
from ncu_lab.gpu.plans import Kernels, adding_up
from ncu_lab.model import Problem, Stage

CAPABILITY = 90
"""The compute capability whose cubins hold the kernels: they need more shared memory than others with TMA have."""

TILE, BOX_K = 64, 32
"""Rows and columns of C that a block computes; k of a box of A."""

MOST_TILES = 65_535
"""Along m and along n: what a grid may have in y and z."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One of the two kernels that multiply.

    Attributes:
        name: Its entry.
        threads: Of a block.
        step: k that a stage of its shared memory holds.
        shared_bytes: Of a block.
        blocks_per_sm: That run on a multiprocessor at a time.
    """

    name: str
    threads: int
    step: int
    shared_bytes: int
    blocks_per_sm: int


WHOLE = Entry("sgemm_small", 128, 32, 83_968, 2)
"""A block takes all of a tile's K. Its shared memory is four stages, room for a tile's sums, and so much more that a
third block does not fit on an SM: three on one and one on another would take as long as three everywhere."""

SPLIT = Entry("sgemm_small_split", 256, 64, 147_968, 1)
"""The blocks of a cluster take a slice of a tile's K each, and several clusters a tile."""

ADD_UP = "add_slices"

RESIDENT_OF_32: Mapping[int, int] = {1: 32, 2: 32, 4: 30, 8: 24}
"""Clusters by their blocks that run at once, in 32nds of what all blocks' places would make: those of four and eight
lie within a GPC, whose number of SMs they may not divide. An H200 places 132 of two and 62 of four, of 66 (30 / 32); of
eight fewer are assumed."""

LANES = 128  # of an SM: FP32 multiply-adds a cycle
SMALL_FMA_SHARE, SUMMIT_FMA_SHARE = 0.71, 0.86
"""Of the FMA pipe's cycles, in the main loops of these kernels and of ``sgemm_hopper``."""

SMALL_START, CLUSTER_SUMS, SECOND_KERNEL = 13_000, 2_000, 8_000
"""Cycles of a round of blocks without its products: launch, first boxes, sums of groups. Then of the way that sums take
within a cluster, and of the kernel that adds up slices. Fitted to 8.8 us at 256 cubed, 13.8 at 512, 53.5 at 1024 and
54.8 at 64 x 4096 x 4096 (24cf028, 1.98 GHz); the last is predicted: 12,000 were seen while it waited slice by slice."""

SUMMIT_START, SUMMIT_SUM = 41_000, 2_500
"""Cycles of the summit without its products: the transpose and two launches; and for each worker that shares a tile,
whose sums another waits for and reads. Fitted to 512 and 1024 cubed (46.7 and 63 us at 1.98 GHz); gives 106 us at
64 x 4096 x 4096, where 102 were measured."""


@dataclass(frozen=True, slots=True)
class Division:
    """How the products of every tile are shared out.

    Attributes:
        entry: The kernel.
        steps: Stages of k that a block takes; the last of a tile may take fewer, or none.
        blocks: Of a cluster: their sums meet in shared memory.
        slices: Clusters that share a tile: a second kernel adds up their sums.
    """

    entry: Entry
    steps: int
    blocks: int = 1
    slices: int = 1


def instead_of(stage: Stage, problem: Problem, layout: Layout, sm_count: int, capability: int) -> Kernels | None:
    """Return the launch of these kernels, where a stage's fast path has them and is slower by its own.

    Args:
        stage: The stage, whose fast path fits the problem.
        problem: What is computed.
        layout: Of its operands.
        sm_count: Multiprocessors of the GPU.
        capability: Compute capability of the GPU, as 10 * major + minor.
    """
    is_better = _RULES.get(stage.plan)
    if is_better is None or capability != CAPABILITY or layout.a % 16 or layout.lda % 4:
        return None
    if _across(max(problem.m, problem.n)) > MOST_TILES or not is_better(stage, problem, sm_count):
        return None
    return launch(problem, layout, sm_count)


def launch(problem: Problem, layout: Layout, sm_count: int) -> Kernels:
    """Return the kernels, and the bytes of the workspace in which slices of a tile meet."""
    m, n, k = problem.m, problem.n, problem.k
    shared_out = division(problem, sm_count)
    entry, slices = shared_out.entry, shared_out.slices
    tiles_m, tiles_n = _across(m), _across(n)
    workspace = Workspace()
    partial = Pointer(workspace.take(slices * tiles_m * tiles_n * TILE * TILE * C_BYTES if slices > 1 else 0))
    arguments = (
        TensorMap("fp32", layout.a, k, m, layout.lda * 4, (BOX_K, TILE), 128),
        TensorMap("fp32", layout.b, n, k, layout.ldb * 4, (TILE, entry.step)),
        *(Pointer(layout.c), Int(m), Int(n), Int(k), Int(layout.ldc)),
        *(Float(problem.alpha), Float(problem.beta)),
    )
    multiply = KernelLaunch(
        entry.name,
        (tiles_n, tiles_m, 1) if entry is WHOLE else (shared_out.blocks * slices, tiles_m, tiles_n),
        (entry.threads, 1, 1),
        arguments if entry is WHOLE else (*arguments, Int(shared_out.blocks), Int(shared_out.steps), partial),
        cluster=shared_out.blocks,
        shared_bytes=entry.shared_bytes,
        second=True,
    )
    if slices == 1:
        return (multiply,), 0
    quads = tiles_m * tiles_n * TILE * TILE // 4
    grid, block = adding_up(quads, slices)
    add_up = KernelLaunch(
        ADD_UP,
        grid,
        block,
        (
            *(Pointer(layout.c), Int(m), Int(n), Int(layout.ldc), Float(problem.beta)),
            *(Int(slices), Int(quads), partial),
        ),
        role="auxiliary",
        early=True,
        second=True,
    )
    return (multiply, add_up), workspace.bytes


def division(problem: Problem, sm_count: int) -> Division:
    """Choose the division that takes the fewest cycles."""
    return min(_divisions(problem, sm_count), key=lambda one: _cycles(problem, one, sm_count))


def _divisions(problem: Problem, sm_count: int) -> Iterator[Division]:
    """All of a tile's K in a block; or by clusters of each size, one, or as many as run at once with other tiles'."""
    yield Division(WHOLE, _across(problem.k, WHOLE.step))
    steps = _across(problem.k, SPLIT.step)
    for blocks in RESIDENT_OF_32:
        resident = _resident(SPLIT, blocks, sm_count)
        for slices in {1, min(resident // _tiles(problem), steps // blocks)} if resident else ():
            if 1 <= slices * blocks <= steps:
                each = -(-steps // (blocks * slices))
                yield Division(SPLIT, each, blocks, -(-steps // (blocks * each)))


def _resident(entry: Entry, blocks: int, sm_count: int) -> int:
    """Clusters of so many blocks that run at once."""
    return entry.blocks_per_sm * sm_count // blocks * RESIDENT_OF_32[blocks] // 32


def _cycles(problem: Problem, shared_out: Division, sm_count: int) -> float:
    """Estimate cycles: rounds of as many blocks as run at once, each as long as its start and its products."""
    entry = shared_out.entry
    clusters = _tiles(problem) * shared_out.slices
    rounds = -(-clusters // max(1, _resident(entry, shared_out.blocks, sm_count)))
    step = entry.blocks_per_sm * TILE * TILE * entry.step / (LANES * SMALL_FMA_SHARE)
    sums = CLUSTER_SUMS * (shared_out.blocks > 1) + SECOND_KERNEL * (shared_out.slices > 1)
    return rounds * (SMALL_START + shared_out.steps * step) + sums


def small_cycles(problem: Problem, sm_count: int) -> float:
    """Estimate the cycles of these kernels."""
    return _cycles(problem, division(problem, sm_count), sm_count)


def summit_cycles(stage: Stage, problem: Problem, sm_count: int) -> float:
    """Estimate the cycles of ``transpose_a`` and ``sgemm_hopper``: all workers share all tiles' products evenly."""
    tiles = _across(problem.m, stage.tile["BM"]) * _across(problem.n, stage.tile["BN"])
    products = tiles * stage.tile["BM"] * stage.tile["BN"] * problem.k
    sums = SUMMIT_SUM * 2 * sm_count / tiles
    return SUMMIT_START + sums + products / (LANES * sm_count * SUMMIT_FMA_SHARE)


def _across(size: int, piece: int = TILE) -> int:
    """Return the pieces that cover a size."""
    return -(-size // piece)


def _tiles(problem: Problem) -> int:
    return _across(problem.m) * _across(problem.n)


def _beats_summit(stage: Stage, problem: Problem, sm_count: int) -> bool:
    return small_cycles(problem, sm_count) < summit_cycles(stage, problem, sm_count)


def _is_one_round(_stage: Stage, problem: Problem, sm_count: int) -> bool:
    return _tiles(problem) <= WHOLE.blocks_per_sm * sm_count


_RULES: Mapping[str, Callable[[Stage, Problem, int], bool]] = {
    "transposed": _beats_summit,
    "split": _is_one_round,
}
"""By ``plan``: whether these kernels are faster than those of the plan; of the slices' plan, as far as both were
measured: tiles of one round."""
