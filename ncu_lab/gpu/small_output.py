"""When and how ``sgemm_small`` of ``kernels/small_output.cuh`` runs in the place of a stage's own kernels. Pure.

A C of few tiles leaves multiprocessors idle or makes many blocks wait for each other's sums. The kernel's source says
what its arguments mean; the times here are those measured on an H200 (``kernels/experiments/README.md``), in cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer, TensorMap, Workspace
from ncu_lab.gpu.layout import C_BYTES, Layout
from ncu_lab.gpu.plans import Kernels
from ncu_lab.model import Problem, Stage

ENTRY = "sgemm_small"
CAPABILITY = 90
"""The compute capability whose cubins hold the kernel: two blocks need more shared memory than others with TMA have."""

TILE, STEP = 64, 32
THREADS = 128
SHARED_BYTES = 83968
"""Of a block: its four stages, and so much more that a third block does not fit on an SM. Three on one and one on
another would take as long as three everywhere."""

BLOCKS_PER_SM = 2
LEAST_STEPS = 2
"""Steps of STEP that a slice of K takes at least: the first boxes' way is as long as some three steps."""

MOST_CLUSTERS = 16
"""That share a tile: the last to come adds up their sums alone."""

RESIDENT_OF_32: Mapping[int, int] = {1: 32, 2: 32, 4: 30, 8: 24}
"""Clusters by their blocks that run at once, in 32nds of what all blocks' places would make: those of four and eight
lie within a GPC, whose number of SMs they may not divide. An H200 places 132 of two and 62 of four, of 66 (30 / 32); of
eight fewer are assumed."""

SECOND_KERNEL_FROM = 9
"""Clusters of a tile from which `splitk` adds slices up in a second kernel: its threads add eight at once."""

LANES = 128  # of an SM: FP32 multiply-adds a cycle
SMALL_FMA_SHARE, SUMMIT_FMA_SHARE = 0.70, 0.86
"""Of the FMA pipe's cycles, in the main loops of ``sgemm_small`` and ``sgemm_hopper``."""

SMALL_START = 15_000
"""Cycles of a round of blocks without its products: launch, first boxes, sums."""

SUMMIT_START, SUMMIT_SUM = 41_000, 2_500
"""Cycles of the summit without its products: the transpose and two launches; and for each worker that shares a tile,
whose sums another waits for and reads. Fitted to 512 and 1024 cubed (46.7 and 63 us at 1.98 GHz); gives 106 us at
64 x 4096 x 4096, where 102 were measured."""


@dataclass(frozen=True, slots=True)
class Slices:
    """How the K of every tile is shared out.

    Attributes:
        blocks: Of a cluster: their sums meet in shared memory.
        clusters: That share a tile: their sums meet in the workspace.
        steps: Steps of :data:`STEP` that a block takes; the last of a tile may take fewer, or none.
    """

    blocks: int
    clusters: int
    steps: int


def instead_of(stage: Stage, problem: Problem, layout: Layout, sm_count: int, capability: int) -> Kernels | None:
    """Return the launch of ``sgemm_small``, where a stage's fast path has it and is slower by its own kernels.

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
    return launch(problem, layout, sm_count) if is_better(stage, problem, sm_count) else None


def launch(problem: Problem, layout: Layout, sm_count: int) -> Kernels:
    """Return the one kernel, and the bytes of the workspace in which clusters of a tile meet."""
    m, n, k = problem.m, problem.n, problem.k
    shared_out = slices(problem, sm_count)
    tiles = _tiles(problem, TILE)
    several = shared_out.clusters > 1
    workspace = Workspace()
    partial = workspace.take(tiles * shared_out.clusters * TILE * TILE * C_BYTES if several else 0)
    multiply = KernelLaunch(
        ENTRY,
        (tiles * shared_out.clusters * shared_out.blocks, 1, 1),
        (THREADS, 1, 1),
        (
            TensorMap("fp32", layout.a, k, m, layout.lda * 4, (STEP, TILE), 128),
            TensorMap("fp32", layout.b, n, k, layout.ldb * 4, (TILE, STEP)),
            *(Pointer(layout.c), Int(m), Int(n), Int(k), Int(layout.ldc)),
            *(Float(problem.alpha), Float(problem.beta)),
            *(Int(shared_out.steps), Int(shared_out.clusters), Pointer(partial)),
        ),
        cluster=shared_out.blocks,
        shared_bytes=SHARED_BYTES,
        second=True,
    )
    return (multiply,), workspace.bytes


def slices(problem: Problem, sm_count: int) -> Slices:
    """Share K out: as many slices as run at once with those of all other tiles, since a second round doubles the time.

    Larger clusters are taken where they cost at most a tenth of the slices.
    """
    tiles, steps = _tiles(problem, TILE), -(-problem.k // STEP)
    places = BLOCKS_PER_SM * sm_count
    at_once = {
        blocks: min(places // blocks * of_32 // 32 // tiles, steps // LEAST_STEPS // blocks, MOST_CLUSTERS)
        for blocks, of_32 in RESIDENT_OF_32.items()
    }
    most = max(1, *(blocks * clusters for blocks, clusters in at_once.items()))
    blocks = max((size for size, clusters in at_once.items() if 10 * size * clusters >= 9 * most), default=1)
    slice_steps = -(-steps // (blocks * max(1, at_once[blocks])))
    return Slices(blocks, -(-steps // (blocks * slice_steps)), slice_steps)


def small_cycles(problem: Problem, sm_count: int) -> float:
    """Estimate the cycles of ``sgemm_small``: rounds of two blocks an SM, each as long as its start and its slice."""
    rounds = -(-_tiles(problem, TILE) // (BLOCKS_PER_SM * sm_count))
    step = BLOCKS_PER_SM * TILE * TILE * STEP / (LANES * SMALL_FMA_SHARE)
    return rounds * (SMALL_START + slices(problem, sm_count).steps * step)


def summit_cycles(stage: Stage, problem: Problem, sm_count: int) -> float:
    """Estimate the cycles of ``transpose_a`` and ``sgemm_hopper``: all workers share all tiles' products evenly."""
    tiles = _tiles(problem, stage.tile["BM"], stage.tile["BN"])
    products = tiles * stage.tile["BM"] * stage.tile["BN"] * problem.k
    sums = SUMMIT_SUM * BLOCKS_PER_SM * sm_count / tiles
    return SUMMIT_START + sums + products / (LANES * sm_count * SUMMIT_FMA_SHARE)


def _tiles(problem: Problem, rows: int, columns: int | None = None) -> int:
    return -(-problem.m // rows) * -(-problem.n // (columns or rows))


def _beats_summit(stage: Stage, problem: Problem, sm_count: int) -> bool:
    return small_cycles(problem, sm_count) < summit_cycles(stage, problem, sm_count)


def _beats_second_kernel(_stage: Stage, problem: Problem, sm_count: int) -> bool:
    fits = _tiles(problem, TILE) <= BLOCKS_PER_SM * sm_count
    return fits and slices(problem, sm_count).clusters < SECOND_KERNEL_FROM


_RULES: Mapping[str, Callable[[Stage, Problem, int], bool]] = {
    "transposed": _beats_summit,
    "split": _beats_second_kernel,
}
"""By ``plan``: whether the kernel is faster than those of the plan; of the slices' plan, as far as both were measured:
tiles of one round."""
