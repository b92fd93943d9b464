"""What so many samples can tell: how often they would show a slowdown, and how many would."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Power:
    """How well samples that scatter as these do tell a slowdown.

    Attributes:
        scatter: Standard deviation of the samples of one process, as a share.
        slowdown: Which slowdown is meant (0.01: by 1 %).
        seen: In what share of comparisons as many samples as these show it.
        needed: Samples a side that show it in 99 of 100; None where none do, as processes themselves differ too much.
    """

    scatter: float
    slowdown: float
    seen: float
    needed: int | None
