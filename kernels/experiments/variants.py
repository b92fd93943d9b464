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
    bf16_out: bool = False
    a_box_rows: int = 64
    b_box_rows: int = 64


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

VARIANTS = {v.name: v for v in _SGEMM}
