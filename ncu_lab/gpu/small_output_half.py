"""When and how the kernels of ``kernels/gemm/small_output_half.cu`` run in the place of ``gemm_wgmma``. Pure.

A C of few tiles of 128 x 256 leaves most multiprocessors idle. The kernels' source says what their arguments mean.
Cycles are those of an H200: measured of ``gemm_wgmma``, predicted of the others
(``kernels/experiments/wgmma_bf16/README.md``).
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

ENTRIES: Mapping[int, str] = {64: "wgmma_small_narrow", 128: "wgmma_small"}
"""The kernels, by the columns of C that a block computes."""

PLAN = "clustered"
"""Of the stages whose kernel they replace."""

TILE_M, STEP = 64, 64
"""Rows of C that a block computes; k of a stage."""

THREADS = 160
HEAD_BYTES = 1_024
"""Of a block's shared memory, before its stages."""

LEAST_STAGES, MOST_STAGES = 3, 12
SHARED_OF_BLOCK: Mapping[int, int] = {1: 232_448, 2: 115_712, 3: 76_800}
"""Shared memory that a block may have, by the blocks that an SM holds at once: of 228 KiB each takes 1 KiB more."""

SIZES = (1, 2, 4, 8)
"""Blocks of a cluster, and slices of K in it: powers of two; any GPU takes eight."""

SHARES = (1, 2, 4)
"""Blocks of a cluster that share B: each waits for all."""

CLUSTERS = (1, 2, 4, 8, 16)
"""That may share a tile: the last to come adds up the sums of all."""

MOST_ARRIVALS = 1024
"""Counters of clusters that share a tile, in the source."""

START = 14_000
"""Cycles of a launch without its products: events, cold code and arguments, the way of the first boxes, stores."""

SUMS, MEETING, MEETING_EACH = 2_200, 3_500, 100
"""Cycles until slices of a cluster are added up; then of clusters that share a tile, and for each of them."""

PRODUCTS = 60
"""Cycles of a step's products beside the two of every column: they are waited for before their stage is given back."""

SM_BYTES_PER_CYCLE, L2_BYTES_PER_CYCLE, DRAM_BYTES_PER_CYCLE = 56, 5_000, 1_800
"""What boxes arrive with at most: at one SM; at all of them out of L2 (9.9 TB/s); from DRAM (3.6 TB/s); at 1.98 GHz."""

BOX_CYCLES = 1_500
"""From the request of a box to its arrival, under load: what an SM receives is bounded by the stages under way."""

LARGE_START, LARGE_STEP = 19_000, 1_200
"""Of ``gemm_wgmma``: cycles of a launch without its products, and of a step of 64 k of a wave. Within 7 % of what was
measured from 256 to 2048 cubed, at 64 x 4096 x 4096 and at 64 x 64 x 16384."""


@dataclass(frozen=True, slots=True)
class Division:
    """How a problem is divided among blocks.

    Attributes:
        width: Columns of C that a block computes.
        share: Blocks of a cluster that lie below each other and share the tiles of B.
        slices: Of a tile's K in a cluster: their sums meet in shared memory.
        clusters: That share a tile: their sums meet in the workspace.
        per_sm: Blocks that an SM can hold at once, by their shared memory.
    """

    width: int
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
    def a_bytes(self) -> int:
        """Of A in a stage."""
        return TILE_M * STEP * 2

    @property
    def b_bytes(self) -> int:
        """Of B in a stage."""
        return self.width * STEP * 2

    @property
    def stage_bytes(self) -> int:
        """Of a stage."""
        return self.a_bytes + self.b_bytes

    @property
    def sums_bytes(self) -> int:
        """Of the sums that come in from other blocks, where a tile's K is shared out."""
        return 0 if self.alone else TILE_M * self.width * C_BYTES

    @property
    def stages(self) -> int:
        """Steps of K that a block holds or has under way: as many as fit."""
        room = SHARED_OF_BLOCK[self.per_sm] - HEAD_BYTES - self.sums_bytes
        return min(MOST_STAGES, room // self.stage_bytes)

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block."""
        return HEAD_BYTES + self.stages * self.stage_bytes + self.sums_bytes


def instead_of(stage: Stage, problem: Problem, layout: Layout, sm_count: int) -> Kernels | None:
    """Return the launch of a kernel for few tiles, where a stage's fast path has it and is slower by its own.

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
    rows, columns, steps = tiles_of(problem, division.width)
    groups = -(-rows // division.share)
    slices = division.slices * division.clusters
    tiles = groups * division.share * columns
    several = division.clusters > 1
    workspace = Workspace()
    partial = workspace.take(tiles * division.clusters * TILE_M * division.width * C_BYTES if several else 0)
    element = DTYPE_BYTES[stage.dtype]
    box_rows = min(STEP, division.width // division.share)
    multiply = KernelLaunch(
        ENTRIES[division.width],
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
    possible = (Division(*shares) for shares in itertools.product(ENTRIES, SHARES, SIZES, CLUSTERS, SHARED_OF_BLOCK))
    fitting = [one for one in possible if is_possible(problem, one) and _runs_at_once(problem, one, sm_count)]
    return min(
        fitting,
        key=lambda one: (small_cycles(problem, one, sm_count), -blocks_of(problem, one)),
        default=None,
    )


def small_cycles(problem: Problem, division: Division, sm_count: int) -> float:
    """Estimate the cycles of a kernel for few tiles: a start, steps as long as what takes longest, sums."""
    steps = tiles_of(problem, division.width)[2]
    slices = division.slices * division.clusters
    blocks = blocks_of(problem, division)
    at_one = -(-blocks // sm_count)
    under_way = at_one * division.stages * division.stage_bytes
    at_sm = at_one * division.stage_bytes / min(SM_BYTES_PER_CYCLE, under_way / BOX_CYCLES)
    from_l2 = blocks * (division.a_bytes + division.b_bytes / division.share) / L2_BYTES_PER_CYCLE
    products = at_one * (2 * division.width + PRODUCTS)
    from_dram = 2 * (problem.m + problem.n) * problem.k / DRAM_BYTES_PER_CYCLE
    boxes = max(-(-steps // slices) * max(products, at_sm, from_l2), from_dram)
    sums = SUMS if slices > 1 else 0
    meeting = MEETING + MEETING_EACH * division.clusters if division.clusters > 1 else 0
    return START + boxes + sums + meeting


def large_cycles(stage: Stage, problem: Problem, sm_count: int) -> float:
    """Estimate the cycles of ``gemm_wgmma``: waves of clusters, each as long as the steps of K."""
    cluster = stage.tile["CLUSTER"]
    work = -(-problem.m // (stage.tile["BM"] * cluster)) * -(-problem.n // stage.tile["BN"])
    waves = -(-work // (sm_count // cluster))
    return LARGE_START + waves * -(-problem.k // stage.tile["BK"]) * LARGE_STEP


def tiles_of(problem: Problem, width: int) -> tuple[int, int, int]:
    """Return rows and columns of tiles, and steps of k."""
    return -(-problem.m // TILE_M), -(-problem.n // width), -(-problem.k // STEP)


def blocks_of(problem: Problem, division: Division) -> int:
    """Return the blocks of a launch."""
    rows, columns, _ = tiles_of(problem, division.width)
    return -(-rows // division.share) * division.size * columns * division.clusters


def is_possible(problem: Problem, division: Division) -> bool:
    """Whether the kernel can divide a problem so: every slice has a step, a tile its counters."""
    rows, columns, steps = tiles_of(problem, division.width)
    if division.size > SIZES[-1] or division.share > rows or division.slices * division.clusters > steps:
        return False
    if division.stages < LEAST_STAGES:
        return False
    counters = -(-rows // division.share) * division.size * columns
    return division.clusters == 1 or (division.slices > 1 and counters <= MOST_ARRIVALS)


def _runs_at_once(problem: Problem, division: Division, sm_count: int) -> bool:
    resident = division.per_sm * sm_count // division.size * RESIDENT_OF_32[division.size] // 32
    return blocks_of(problem, division) <= resident * division.size
