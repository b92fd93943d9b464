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
    least_steps: int = 4  # of BK that a slice of K takes ("small")


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


def small(name: str, question: str, macros: dict[str, int], least_steps: int) -> Variant:
    """An FP32 variant for small outputs; shared memory follows from the stages (see Shared in small.cu)."""
    stages = macros.get("STAGES", 4)
    shared = max(stages, 4) * 16384 + 16384 + 1024 + 1024  # stages or sums, their total, barriers, the base aligned
    return Variant(
        name, "small", question, "sgemm_small/small.cu", "sgemm_small", (64, 64, 32), shared, 2, macros,
        least_steps=least_steps,
    )  # fmt: skip


_SMALL = (
    small("small-4", "one kernel, slices of 4 steps and more, sums met in a cluster's shared memory", {}, 4),
    small("small-2", "slices of 2 steps and more: more blocks for 256, more sums for the rest", {}, 2),
    small("small-1", "slices of 1 step and more", {}, 1),
    small("small-5", "five stages: a refill has longer to come where K is long", {"STAGES": 5}, 4),
)


def bf16(
    name: str, question: str, macros: dict[str, int], max_blocks: int | None = None, *, split: bool = False
) -> Variant:
    """A BF16 variant; shared memory follows from the stages and the staging of C (see Shared in wgmma.cu)."""
    shared = macros.get("STAGES", 4) * 48 * 1024 + 2 * 2 * 8192 + 1024 + 1024  # barriers, the base aligned by hand
    return Variant(
        name, "bf16", question, "wgmma_bf16/wgmma.cu", "wgmma_gemm", (128, 256, 64), shared, 1, macros,
        persistent=True, split=split, cluster=macros.get("CLUSTER", 2), max_blocks=max_blocks,
        bf16_out=macros.get("BF16_OUT", 1) == 1,
    )  # fmt: skip


_BF16 = (
    bf16("bf16-128", "the best of the first four runs, as the control", {}, 128),
    bf16("bf16-direct", "warps store C themselves: no wait for the copy engine to read a chunk", {"DIRECT": 1}, 128),
    bf16("bf16-direct-split", "and the partial wave is shared out over K: 132 blocks, equally busy", {"DIRECT": 1},
         split=True),
    bf16("bf16-swap", "as direct, but A, K-major, streams through the tensor cores", {"DIRECT": 1, "SWAP": 1}, 128),
    bf16("bf16-swap-split", "both", {"DIRECT": 1, "SWAP": 1}, split=True),
    bf16("bf16-f32-split", "direct-split with FP32 output on both sides", {"DIRECT": 1, "BF16_OUT": 0}, split=True),
)  # fmt: skip

VARIANTS = {v.name: v for v in (*_SGEMM, *_SMALL, *_BF16)}
