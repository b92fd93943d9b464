"""The variants that bench.py knows: macros, launch, and the question each one asks."""

from __future__ import annotations

from dataclasses import dataclass, field


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
    groups: tuple[int, ...] | None = None  # reorder.py: before which products of a k step its loads are issued
    cluster: int = 1
    max_blocks: int | None = None  # a cap below one per SM
    bf16_out: bool = False


def sgemm(
    name: str, question: str, macros: dict[str, int], schedule: str = "tiles", groups: tuple[int, ...] | None = None
) -> Variant:
    """An FP32 variant; `schedule` is tiles, persistent, split or overlap, each including the one before."""
    rank = ("tiles", "persistent", "split", "overlap").index(schedule)
    if rank == 3:
        macros = {**macros, "OVERLAP": 1}
    return Variant(
        name, "sgemm", question, "sgemm_hopper/sgemm.cu", "sgemm_hopper", (128, 128, 32), 107904, 2, macros,
        persistent=rank >= 1, split=rank >= 2, overlap=rank >= 3, groups=groups,
    )  # fmt: skip


_BEST = {"ORDER": 1, "MAX_REGISTERS": 208}
_ROOM = {"ORDER": 1, "MAX_REGISTERS": 216}  # reorder.py needs six free quads of registers

_SGEMM = (
    sgemm("f32-base", "the known design, compiler's order: does it reach 53.9 / 54.9?", _BEST),
    sgemm(
        "f32-banks-bad",
        "is the register-bank model right? 1.63 modelled cycles per FFMA against 1.12",
        {"ORDER": 0, "MAX_REGISTERS": 192},
    ),
    sgemm("f32-split", "what the tail wave costs", _BEST, "split"),
    sgemm("f32-overlap", "what the transpose costs when it runs beside the product", _BEST, "overlap"),
    sgemm(
        "f32-reorder",
        "what register banks cost: same schedule as f32-base, SASS order of reorder.py",
        _ROOM,
        "tiles",
        (0,),
    ),
    sgemm("f32-reorder-split", "both", _ROOM, "split", (0,)),
    sgemm("f32-reorder-overlap", "all three", _ROOM, "overlap", (0,)),
    sgemm("f32-reorder-spread", "loads in three groups instead of one", _ROOM, "overlap", (0, 43, 86)),
    sgemm(
        "f32-reorder-8",
        "half the code (instruction fetch), one more loop turn",
        {**_ROOM, "UNROLL_K": 8},
        "overlap",
        (0,),
    ),
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
    bf16("bf16-base", "four stages, two 8 KiB buffers of C per warpgroup: 1.05 / 1.02?", {}),
    bf16("bf16-staging", "three stages, C staged whole: stores never wait", {"STAGES": 3, "STAGING": 4}),
    bf16("bf16-128", "128 blocks: the same four / sixteen waves with less power", {}, 128),
    bf16("bf16-group4", "raster groups of four cluster rows", {"GROUP": 4}),
    bf16("bf16-single", "no cluster: what multicast gives", {"CLUSTER": 1}),
    bf16("bf16-f32out", "FP32 output on both sides", {"BF16_OUT": 0}),
)

VARIANTS = {v.name: v for v in (*_SGEMM, *_BF16)}
