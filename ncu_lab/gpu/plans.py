"""The launches of fast paths that take more than one kernel with one block a tile. Pure.

Each function takes a stage, the problem, its layout and the GPU's number of multiprocessors, and returns the kernels in
their order with the bytes of workspace that they share. What a kernel's arguments mean is said in its source.
"""

from __future__ import annotations

from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer, TensorMap, Workspace
from ncu_lab.gpu.layout import C_BYTES, Layout
from ncu_lab.model import DTYPE_BYTES, Problem, Stage

Kernels = tuple[tuple[KernelLaunch, ...], int]

TRANSPOSE_PIECE = (128, 32)
"""Rows and columns of A that a block of ``transpose_a`` takes at a time."""

TRANSPOSE_BLOCK = (256, 1, 1)
TRANSPOSE_BLOCKS_PER_SM = 8

SINGLE_ENTRY = "sgemm_hopper_single"
"""The kernel of the summit whose blocks do not work in pairs."""

SPLIT_BLOCKS_PER_SM = 2
"""Blocks of ``sgemm_splitk`` that run on one multiprocessor at a time: what its launch bounds ask for."""

LEAST_SLICE = 4
"""Steps of BK that a slice of K takes at least: fewer, and its sums cost more to write and add up than it saves."""

REDUCE_THREADS = 256
REDUCE_DEPTH, REDUCE_MOST_ROWS = 8, 16
"""Slices that a thread of ``reduce_slices`` has under way at once, and threads that share one place of C at most."""


def transposed(stage: Stage, problem: Problem, layout: Layout, sm_count: int) -> Kernels:
    """A is transposed into the workspace, then a persistent kernel multiplies; the last, partial wave is split over K.

    A worker waits for the sums of later workers only, and each hands its first stretch over before it waits: as blocks
    are placed in their order, two that run at once are enough, and all do where each SM takes two. Where each would
    have more tiles than its list holds, there are more blocks, nothing is split, and no block waits for another. Blocks
    work in pairs, one row tile each, that share the tile of B; singly where row tiles are odd in number.
    """
    m, n, k = problem.m, problem.n, problem.k
    bm, bn, bk = (stage.tile[name] for name in ("BM", "BN", "BK"))
    row_tiles = -(-m // bm)
    blocks, entry = (2, stage.entry) if row_tiles % 2 == 0 else (1, SINGLE_ENTRY)
    tiles = row_tiles // blocks * -(-n // bn)
    workers = 2 * sm_count // blocks
    listed = stage.tile["SEGMENTS"] - 3  # a share of the split tiles is at most three stretches
    whole = tiles // workers
    workers, split = (workers, tiles % workers) if whole <= listed else (-(-tiles // listed), 0)

    workspace = Workspace()
    pitch = -(-m // 32) * 32
    at = workspace.take(pitch * k * 4)
    partial = workspace.take(workers * blocks * bm * bn * 4 if split else 0)
    flag_count = workers * blocks * stage.block[0] // 32
    flags = workspace.take(flag_count * 4)

    pieces = -(-m // TRANSPOSE_PIECE[0]) * -(-k // TRANSPOSE_PIECE[1])
    transpose = KernelLaunch(
        "transpose_a",
        (min(TRANSPOSE_BLOCKS_PER_SM * sm_count, pieces), 1, 1),
        TRANSPOSE_BLOCK,
        (
            *(Pointer(layout.a), Pointer(at), Int(m), Int(k), Int(layout.lda), Int(pitch)),
            *(Pointer(flags), Int(flag_count)),
        ),
        role="auxiliary",
    )
    multiply = KernelLaunch(
        entry,
        (workers * blocks, 1, 1),
        stage.block,
        (
            TensorMap("fp32", at, m, k, pitch * 4, (bm, bk)),
            TensorMap("fp32", layout.b, n, k, layout.ldb * 4, (bn, bk // 2)),
            *(Pointer(layout.c), Int(m), Int(n), Int(k), Int(layout.ldc)),
            *(Float(problem.alpha), Float(problem.beta), Int(split), Pointer(partial), Pointer(flags)),
        ),
        cluster=blocks,
        shared_bytes=stage.shared_bytes,
        early=True,
    )
    return (transpose, multiply), workspace.bytes


def clustered(stage: Stage, problem: Problem, layout: Layout, sm_count: int) -> Kernels:
    """A persistent kernel of clusters along M, one block an SM; the copy engine brings A and B and takes C away.

    As few clusters as need no more waves than all that fit: multiprocessors that would only idle save power.
    """
    m, n, k = problem.m, problem.n, problem.k
    bm, bn, bk, cluster = (stage.tile[name] for name in ("BM", "BN", "BK", "CLUSTER"))
    work = -(-m // (bm * cluster)) * -(-n // bn)
    waves = -(-work // (sm_count // cluster))
    operand_bytes = DTYPE_BYTES[stage.dtype]
    multiply = KernelLaunch(
        stage.entry,
        (-(-work // waves) * cluster, 1, 1),
        stage.block,
        (
            TensorMap(stage.dtype, layout.a, k, m, layout.lda * operand_bytes, (bk, bm), 128),
            TensorMap(stage.dtype, layout.b, n, k, layout.ldb * operand_bytes, (128 // operand_bytes, bk), 128),
            TensorMap("fp32", layout.c, n, m, layout.ldc * C_BYTES, (128 // C_BYTES, 64), 128),
            *(Pointer(layout.c), Int(m), Int(n), Int(k), Int(layout.ldc)),
            *(Float(problem.alpha), Float(problem.beta)),
        ),
        cluster=cluster,
        shared_bytes=stage.shared_bytes,
    )
    return (multiply,), 0


def split(stage: Stage, problem: Problem, layout: Layout, sm_count: int) -> Kernels:
    """K in slices, as many as blocks that run at once allow, each a block for every tile; a second kernel adds them up.

    With one slice the first kernel stores C itself.
    """
    m, n, k = problem.m, problem.n, problem.k
    bm, bn, bk = (stage.tile[name] for name in ("BM", "BN", "BK"))
    tiles_m, tiles_n, steps = -(-m // bm), -(-n // bn), -(-k // bk)
    tiles = tiles_m * tiles_n
    most = max(1, min(SPLIT_BLOCKS_PER_SM * sm_count // tiles, steps // LEAST_SLICE))
    slice_steps = max(1, -(-steps // most))
    slices = max(1, -(-steps // slice_steps))

    workspace = Workspace()
    partial = Pointer(workspace.take(slices * tiles * bm * bn * C_BYTES if slices > 1 else 0))
    multiply = KernelLaunch(
        stage.entry,
        (tiles_n, tiles_m, slices),
        stage.block,
        (
            *(Int(m), Int(n), Int(k), Float(problem.alpha)),
            *(Pointer(layout.a), Int(layout.lda), Pointer(layout.b), Int(layout.ldb)),
            *(Float(problem.beta), Pointer(layout.c), Int(layout.ldc), Int(slice_steps * bk), partial),
        ),
        shared_bytes=stage.shared_bytes,
    )
    if slices == 1:
        return (multiply,), 0
    quads = tiles * bm * bn // 4
    grid, block = adding_up(quads, slices)
    add_up = KernelLaunch(
        "reduce_slices",
        grid,
        block,
        (
            *(Int(m), Int(n), Float(problem.beta), Pointer(layout.c), Int(layout.ldc)),
            *(Int(slices), Int(tiles_n), Int(quads), partial),
        ),
        role="auxiliary",
        early=True,
    )
    return (multiply, add_up), workspace.bytes


def adding_up(quads: int, slices: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Return grid and block of a kernel that adds up slices: of a block's threads those of equal x share a quad of C.

    Args:
        quads: Places of four elements.
        slices: That every place has.
    """
    rows = 1
    while slices > rows * REDUCE_DEPTH and rows < REDUCE_MOST_ROWS:
        rows *= 2
    columns = REDUCE_THREADS // rows
    return (-(-quads // columns), 1, 1), (columns, rows, 1)
