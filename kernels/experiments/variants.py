"""The variants that bench.py knows: macros, launch, and the question each one asks."""

from __future__ import annotations

from dataclasses import dataclass, field

from reorder import Recipe


@dataclass(frozen=True)
class Variant:
    """How one variant is built and launched."""

    name: str
    family: str  # "sgemm", "small" (FP32 too) or "bf16"
    question: str
    source: str
    entry: str
    tile: tuple[int, int, int]
    shared_bytes: int
    blocks_per_sm: int
    macros: dict[str, int] = field(default_factory=dict)
    persistent: bool = False
    split: bool = False  # the last, partial wave is shared out over K
    level: int = 3  # of ptxas; 1 keeps the order the source has
    recipe: Recipe | None = None  # reorder.py rewrites the main loop
    cluster: int = 1
    max_blocks: int | None = None  # a cap below one per SM
    bf16_out: bool = False
    threads: int = 384
    least_steps: int = 4  # of BK that a slice of K takes ("small")
    most_cluster: int = 8  # blocks of a cluster that share a tile ("small")


def sgemm(
    name: str, question: str, macros: dict[str, int], recipe: Recipe | None = None, level: int = 1, split: bool = True
) -> Variant:
    """An FP32 variant: two blocks per SM, persistent where the last wave is split."""
    return Variant(
        name, "sgemm", question, "sgemm_hopper/sgemm.cu", "sgemm_hopper", (128, 128, macros.get("BK", 24)), 107904, 2,
        macros, persistent=split, split=split, recipe=recipe, level=level,
    )  # fmt: skip


_SGEMM = (
    sgemm("f32-lean-free-split", "the third run's best, plain nvcc at its default level", {}, level=3),
    sgemm(
        "f32-early",
        "the same; multiplying blocks start under the transpose's tail, others' sums are read 64 at a time",
        {"EARLY": 1, "SUM_ROWS": 4},
        level=3,
    ),
    sgemm("f32-lean-split", "ptxas's level 1: the order of the source", {}),
    sgemm("f32-lines-split", "a cubin rewritten for register banks and instruction lines", {}, Recipe()),
)


def small(name: str, question: str, macros: dict[str, int], level: int = 1, most_cluster: int = 8) -> Variant:
    """An FP32 variant for small outputs: room for four stages (Shared in small.cu), and for no third block per SM."""
    shared = 5 * 16384 + 1024 + 1024
    return Variant(
        name, "small", question, "sgemm_small/small.cu", "sgemm_small", (64, 64, 32), shared, 2, macros,
        level=level, threads=64 * macros.get("GROUPS", 2), least_steps=2, most_cluster=most_cluster,
    )  # fmt: skip


_SMALL = (
    small("small-fit", "four groups of ptxas's level 3; only clusters that are all resident at once", {"GROUPS": 4}, 3),
    small("small-four", "level 1, which keeps to the banks; four groups hide its waits?", {"GROUPS": 4}),
    small("small-ahead", "two groups, twice the registers: fragments loaded a step ahead, few waits", {"AHEAD": 1}),
    small("small-flat", "the same without clusters: what does a cluster's launch cost?", {"AHEAD": 1}, most_cluster=1),
)


def bf16(name: str, question: str, macros: dict[str, int], max_blocks: int | None = 128) -> Variant:
    """A BF16 variant; shared memory follows from the stages and the staging of C (see Shared in wgmma.cu)."""
    shared = macros.get("STAGES", 4) * 48 * 1024 + 2 * 2 * 8192 + 1024 + 1024  # barriers, the base aligned by hand
    return Variant(
        name, "bf16", question, "wgmma_bf16/wgmma.cu", "wgmma_gemm", (128, 256, 64), shared, 1, macros,
        persistent=True, cluster=macros.get("CLUSTER", 2), max_blocks=max_blocks, bf16_out=True,
    )  # fmt: skip


_BF16 = (
    bf16("bf16-128", "the best of the first four runs, as the control", {}),
    bf16("bf16-late", "C is stored from registers under the next tile's first products", {"LATE": 1}),
    bf16("bf16-late-stagger", "and one warpgroup rounds while the other multiplies", {"LATE": 1, "STAGGER": 1}),
    bf16("bf16-late-132", "the same on all SMs, as cuBLAS", {"LATE": 1, "STAGGER": 1}, None),
    bf16("bf16-late-16", "raster groups of 16: half as many blocks ask for each of A's tiles, twice as many for B's",
         {"LATE": 1, "STAGGER": 1, "GROUP": 16}),
)  # fmt: skip

VARIANTS = {v.name: v for v in (*_SGEMM, *_SMALL, *_BF16)}
