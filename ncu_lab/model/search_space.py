"""Which tiles of a stage may be tried, as ``kernels/stages.toml`` registers them, and which one it is built with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Tile = Mapping[str, int]
"""Size -> value, by the names of the macros: BM, BN, BK, TM, …"""


@dataclass(frozen=True, slots=True)
class TileRule:
    """What a kernel assumes of its tile.

    Attributes:
        needs: A condition on the tile's sizes: ``BM % TM == 0``.
        why: What breaks otherwise, in a few words.
    """

    needs: str
    why: str


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """Which tiles of a stage may be tried, as registered in ``kernels/stages.toml``.

    Expressions are integer arithmetic on the tile's sizes (``ncu_lab.gpu.arithmetic``).

    Attributes:
        values: Size -> the values it may take; sizes that are not named keep the registered one.
        threads: Threads of a block.
        shared_bytes: Static shared memory of a block.
        registers: Registers that a thread needs at the very least: its sums and fragments.
        multiples: What m, n and k must be multiples of for the fast path.
        derived: Size -> expression, for sizes that follow from those in ``values``.
        rules: What else the kernel assumes: its ``static_assert`` in words.
        adopted: Whether the stage is built with the best tile that a search has stored; else with the registered one.
    """

    values: Mapping[str, tuple[int, ...]]
    threads: str
    shared_bytes: str
    registers: str
    multiples: tuple[str, str, str]
    derived: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[TileRule, ...] = ()
    adopted: bool = False


@dataclass(frozen=True, slots=True)
class TileChoice:
    """Which tile a stage with a search space was built with, and why.

    Attributes:
        tile: All of its sizes.
        source: ``search`` for the best of a stored search, ``default`` for the registered tile.
        reason: In words: which search, or why none.
        record: File of the search below the store; None for the default.
    """

    tile: Tile
    source: Literal["search", "default"]
    reason: str
    record: str | None = None
