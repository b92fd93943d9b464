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
    bf16("bf16-128", "the second and third runs' best, as the control", {}, 128),
    bf16("bf16-128-pass", "less DRAM traffic, less energy: L2 lets B and C pass and keeps A", {"PASS": 1}, 128),
)

VARIANTS = {v.name: v for v in (*_SGEMM, *_BF16)}
