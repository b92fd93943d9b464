"""When and how ``wgmma_small`` of ``kernels/gemm/small_output_half.cu`` runs in the place of ``gemm_wgmma``. Pure.

A C of few tiles of 128 x 256 leaves most multiprocessors idle. The kernel's source says what its arguments mean. Cycles
are those of an H200 (``kernels/experiments/README.md``): measured of ``gemm_wgmma``, predicted of ``wgmma_small``.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer, TensorMap, Workspace
from ncu_lab.gpu.layout import C_BYTES, Layout
from ncu_lab.gpu.plans import Kernels
from ncu_lab.gpu.small_output import RESIDENT_OF_32
from ncu_lab.model import DTYPE_BYTES, Problem, Stage

ENTRY = "wgmma_small"
PLAN = "clustered"
"""Of the stages whose kernel it replaces."""

TILE_M, TILE_N, STEP = 64, 128, 64
THREADS = 160

HEAD_BYTES, STAGE_BYTES, SUMS_BYTES = 1_024, 24_576, 32_768
"""Of a block's shared memory: barriers, a stage, and the sums of other blocks where a tile's K is shared out."""

STAGES: Mapping[int, tuple[int, int]] = {1: (8, 8), 2: (4, 3)}
"""By the blocks that an SM holds at once: as many stages as fit without and with the sums of other blocks."""

SIZES = (1, 2, 4, 8)
"""Blocks of a cluster, and slices of K in it: powers of two; any GPU takes eight."""

SHARES = (1, 2, 4)
"""Blocks of a cluster that share B: each waits for all."""

CLUSTERS = (1, 2, 4, 8, 16)
"""That may share a tile: the last to come adds up the sums of all."""

MOST_ARRIVALS = 1024
"""Counters of clusters that share a tile, in the source."""

START = 13_000
"""Cycles of the launch, of cold code and the first boxes, and of the stores."""

SUMS, MEETING, MEETING_EACH = 1_500, 4_000, 100
"""Cycles until slices of a cluster are added up; then of clusters that share a tile, and for each of them."""

A_BYTES, B_BYTES = 8_192, 16_384
"""Of a stage."""

SM_BYTES_PER_CYCLE, L2_BYTES_PER_CYCLE, DRAM_BYTES_PER_CYCLE = 56, 3_600, 2_170
"""What boxes arrive with at most: at one SM; at all of them out of L2 (7.1 TB/s); from DRAM (4.3 TB/s); at 1.98 GHz."""

BOX_CYCLES = 1_500
"""From the request of a box to its arrival, under load: what an SM receives is bounded by the stages under way."""

LARGE_START, LARGE_STEP = 19_000, 1_200
"""Of ``gemm_wgmma``: cycles of a launch without its products, and of a step of 64 k of a wave. Within 7 % of what was
measured from 256 to 2048 cubed, at 64 x 4096 x 4096 and at 64 x 64 x 16384."""


@dataclass(frozen=True, slots=True)
class Division:
    """How a problem is divided among blocks.

    Attributes:
        share: Blocks of a cluster that lie below each other and share the tiles of B.
        slices: Of a tile's K in a cluster: their sums meet in shared memory.
        clusters: That share a tile: their sums meet in the workspace.
        per_sm: Blocks that an SM can hold at once, by their shared memory.
    """

    share: int
    slices: int
    clusters: int
    per_sm: int

    @property
    def size(self) -> int:
        """Blocks of a cluster."""
        return self.share * self.slices

    @property
    def alone(self) -> bool:
        """Whether one block takes all of a tile's K."""
        return self.slices * self.clusters == 1

    @property
    def stages(self) -> int:
        """Steps of K that a block holds or has under way."""
        return STAGES[self.per_sm][0 if self.alone else 1]

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block."""
        return HEAD_BYTES + self.stages * STAGE_BYTES + (0 if self.alone else SUMS_BYTES)


def instead_of(stage: Stage, problem: Problem, layout: Layout, sm_count: int) -> Kernels | None:
    """Return the launch of ``wgmma_small`` where a stage's fast path has it and is slower by its own kernel.

    Args:
        stage: The stage, whose fast path fits the problem.
        problem: What is computed.
        layout: Of its operands.
        sm_count: Multiprocessors of the GPU.
    """
    if stage.plan != PLAN:
        return None
    division = divide(problem, sm_count)
    if division is None or small_cycles(problem, division, sm_count) >= large_cycles(stage, problem, sm_count):
        return None
    return launch(stage, problem, layout, division)


def launch(stage: Stage, problem: Problem, layout: Layout, division: Division) -> Kernels:
    """Return the one kernel, and the bytes of the workspace in which clusters of a tile meet."""
    m, n, k = problem.m, problem.n, problem.k
    rows, columns, steps = _tiles(problem)
    groups = -(-rows // division.share)
    slices = division.slices * division.clusters
    tiles = groups * division.share * columns
    several = division.clusters > 1
    workspace = Workspace()
    partial = workspace.take(tiles * division.clusters * TILE_M * TILE_N * C_BYTES if several else 0)
    element = DTYPE_BYTES[stage.dtype]
    box_rows = min(STEP, TILE_N // division.share)
    multiply = KernelLaunch(
        ENTRY,
        (groups * division.size, columns, division.clusters),
        (THREADS, 1, 1),
        (
            TensorMap(stage.dtype, layout.a, k, m, layout.lda * element, (STEP, TILE_M), 128),
            TensorMap(stage.dtype, layout.b, n, k, layout.ldb * element, (128 // element, box_rows), 128),
            *(Pointer(layout.c), Int(m), Int(n), Int(layout.ldc), Float(problem.alpha), Float(problem.beta)),
            *(Int(division.share.bit_length() - 1), Int(division.slices.bit_length() - 1)),
            *(Int(steps // slices), Int(steps % slices), Int(division.stages), Pointer(partial)),
        ),
        cluster=division.size,
        shared_bytes=division.shared_bytes,
        second=True,
    )
    return (multiply,), workspace.bytes


def divide(problem: Problem, sm_count: int) -> Division | None:
    """Return the division that takes the fewest cycles, of those whose blocks all run at once; None for none.

    Of several, as where DRAM is what takes longest, that of most blocks: more has then been asked for.
    """
    possible = (Division(*shares) for shares in itertools.product(SHARES, SIZES, CLUSTERS, STAGES))
    fitting = [division for division in possible if _fits(problem, division, sm_count)]
    return min(
        fitting,
        key=lambda one: (small_cycles(problem, one, sm_count), -_blocks(problem, one)),
        default=None,
    )


def small_cycles(problem: Problem, division: Division, sm_count: int) -> float:
    """Estimate the cycles of ``wgmma_small``: a start, boxes as fast as the slowest of three links, sums.

    Products take less than boxes: 256 cycles of a step, whose boxes an SM receives in 439 at least.
    """
    steps = _tiles(problem)[2]
    slices = division.slices * division.clusters
    blocks = _blocks(problem, division)
    at_one = -(-blocks // sm_count)
    under_way = at_one * division.stages * STAGE_BYTES
    at_sm = at_one * STAGE_BYTES / min(SM_BYTES_PER_CYCLE, under_way / BOX_CYCLES)
    from_l2 = blocks * (A_BYTES + B_BYTES / division.share) / L2_BYTES_PER_CYCLE
    from_dram = 2 * (problem.m + problem.n) * problem.k / DRAM_BYTES_PER_CYCLE
    boxes = max(-(-steps // slices) * max(at_sm, from_l2), from_dram)
    sums = SUMS if slices > 1 else 0
    meeting = MEETING + MEETING_EACH * division.clusters if division.clusters > 1 else 0
    return START + boxes + sums + meeting


def large_cycles(stage: Stage, problem: Problem, sm_count: int) -> float:
    """Estimate the cycles of ``gemm_wgmma``: waves of clusters, each as long as the steps of K."""
    cluster = stage.tile["CLUSTER"]
    work = -(-problem.m // (stage.tile["BM"] * cluster)) * -(-problem.n // stage.tile["BN"])
    waves = -(-work // (sm_count // cluster))
    return LARGE_START + waves * -(-problem.k // stage.tile["BK"]) * LARGE_STEP


def _tiles(problem: Problem) -> tuple[int, int, int]:
    """Rows and columns of tiles, and steps of k."""
    return -(-problem.m // TILE_M), -(-problem.n // TILE_N), -(-problem.k // STEP)


def _blocks(problem: Problem, division: Division) -> int:
    rows, columns, _ = _tiles(problem)
    return -(-rows // division.share) * division.size * columns * division.clusters


def _fits(problem: Problem, division: Division, sm_count: int) -> bool:
    rows, columns, steps = _tiles(problem)
    if division.size > SIZES[-1] or division.share > rows or division.slices * division.clusters > steps:
        return False
    resident = division.per_sm * sm_count // division.size * RESIDENT_OF_32[division.size] // 32
    counters = -(-rows // division.share) * division.size * columns
    fits = _blocks(problem, division) <= resident * division.size
    return fits and (division.clusters == 1 or counters <= MOST_ARRIVALS)
