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
    overlap: bool = False  # the transpose runs beside the product
    level: int = 3  # of ptxas; 1 keeps the order the source has
    recipe: Recipe | None = None  # reorder.py rewrites the main loop
    cluster: int = 1
    max_blocks: int | None = None  # a cap below one per SM
    bf16_out: bool = False


def sgemm(
    name: str,
    question: str,
    macros: dict[str, int],
    schedule: str = "tiles",
    recipe: Recipe | None = None,
    level: int = 3,
) -> Variant:
    """An FP32 variant; `schedule` is tiles, persistent, split or overlap, each including the one before."""
    rank = ("tiles", "persistent", "split", "overlap").index(schedule)
    if rank == 3:
        macros = {**macros, "OVERLAP": 1}
    return Variant(
        name, "sgemm", question, "sgemm_hopper/sgemm.cu", "sgemm_hopper", (128, 128, 32), 107904, 2, macros,
        persistent=rank >= 1, split=rank >= 2, overlap=rank >= 3, recipe=recipe, level=level,
    )  # fmt: skip


_COLUMNS = {"ORDER": 1, "MAX_REGISTERS": 208}
_ROOM = {"ORDER": 1, "MAX_REGISTERS": 224}  # reorder.py needs six free quads of registers

_SGEMM = (
    sgemm("f32-base", "the first run's base, as the control", _COLUMNS),
    sgemm("f32-level1", "ptxas keeps our order: rows, loads among the first products", {}, level=1),
    sgemm(
        "f32-level1-208",
        "fewest conflicts of any, but 6 waits close behind their loads",
        {"MAX_REGISTERS": 208},
        level=1,
    ),
    sgemm("f32-level1-halves", "two halves of eight columns", {"ORDER": 3}, level=1),
    sgemm("f32-columns-192", "best of ptxas's default level", {"ORDER": 1, "MAX_REGISTERS": 192}),
    sgemm("f32-level1-split", "f32-level1 with the tail wave shared out over K", {}, "split", level=1),
    sgemm("f32-reorder", "the loop rewritten for the register banks", _ROOM, recipe=Recipe()),
    sgemm("f32-reorder-spread", "loads in three groups instead of one", _ROOM, recipe=Recipe((0, 43, 86))),
    sgemm("f32-reorder-split", "f32-reorder with the tail wave shared out over K", _ROOM, "split", Recipe()),
    sgemm(
        "f32-reorder-snake", "f32-reorder along plain rows: what the path is worth", _ROOM, recipe=Recipe(path="snake")
    ),
    sgemm("f32-reorder-noreuse", "f32-reorder without the reuse cache", _ROOM, recipe=Recipe(reuse=False)),
    sgemm("f32-reorder-shuffled", "f32-reorder in random order", _ROOM, recipe=Recipe(path="shuffled")),
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
    bf16("bf16-base", "no GPU-wide fence in the K loop, descriptors in uniform registers", {}),
    bf16("bf16-stagger", "the second warpgroup two K steps behind: does C's store hide?", {"STAGGER": 2}),
    bf16("bf16-128", "128 blocks: the same four / sixteen waves with less power", {}, 128),
    bf16("bf16-staging", "three stages, C staged whole: is it the stages or the stores?", {"STAGES": 3, "STAGING": 4}),
    bf16("bf16-single", "no cluster: what multicast gives", {"CLUSTER": 1}),
    bf16("bf16-f32out", "FP32 output on both sides", {"BF16_OUT": 0}),
)

VARIANTS = {v.name: v for v in (*_SGEMM, *_BF16)}
