"""The variants that bench.py knows: macros, launch, and the question each one asks."""

from __future__ import annotations

from dataclasses import dataclass, field

from reorder import Recipe


@dataclass(frozen=True)
class Variant:
    """How one variant is built and launched."""

    name: str
    family: str  # "sgemm" or "bf16"
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


def sgemm(
    name: str, question: str, macros: dict[str, int], recipe: Recipe | None = None, level: int = 1, split: bool = True
) -> Variant:
    """An FP32 variant: two blocks per SM, persistent where the last wave is split."""
    return Variant(
        name, "sgemm", question, "sgemm_hopper/sgemm.cu", "sgemm_hopper", (128, 128, macros.get("BK", 24)), 107904, 2,
        macros, persistent=split, split=split, recipe=recipe, level=level,
    )  # fmt: skip


_PASS8 = {"BK": 16, "UNROLL_K": 8, "STAGES": 6}
_PASS14 = {"BK": 28, "UNROLL_K": 14, "STAGES": 3}

_SGEMM = (
    sgemm("f32-lean", "a loop that fits the instruction cache, its upkeep a third; a grid of tiles", {}, split=False),
    sgemm("f32-lean-split", "the same with the tail wave shared out over K", {}),
    sgemm("f32-lean8-split", "passes of 8 k instead of 12, stages of 16", _PASS8),
    sgemm("f32-lean14-split", "passes of 14 k: just inside the instruction cache", _PASS14),
    sgemm("f32-lean-free-split", "ptxas's default level, which now keeps the loads early by itself", {}, level=3),
    sgemm("f32-lines-split", "rewritten for register banks and instruction lines", {}, Recipe()),
)


def bf16(name: str, question: str, macros: dict[str, int], max_blocks: int | None = None) -> Variant:
    """A BF16 variant; shared memory follows from the stages and the staging of C (see Shared in wgmma.cu)."""
    stages, staging = macros.get("STAGES", 4), macros.get("STAGING", 2)
    shared = stages * 48 * 1024 + 2 * staging * 8192 + 1024 + 1024  # barriers, and the base aligned by hand
    return Variant(
        name, "bf16", question, "wgmma_bf16/wgmma.cu", "wgmma_gemm", (128, 256, 64), shared, 1, macros,
        persistent=True, cluster=macros.get("CLUSTER", 2), max_blocks=max_blocks,
        bf16_out=macros.get("BF16_OUT", 1) == 1,
    )  # fmt: skip


_BF16 = (
    bf16("bf16-128", "the second run's best, as the control", {}, 128),
    bf16("bf16-128-stagger", "with the second warpgroup two K steps behind", {"STAGGER": 2}, 128),
    bf16(
        "bf16-quad",
        "clusters of 2 x 2: a third less traffic from L2",
        {"CLUSTER": 4},
        128,
    ),
    bf16("bf16-quad-stagger", "both", {"CLUSTER": 4, "STAGGER": 2}, 128),
)

VARIANTS = {v.name: v for v in (*_SGEMM, *_BF16)}
