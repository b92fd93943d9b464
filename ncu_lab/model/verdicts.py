"""What bounds a launch, and the figures that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Bound = Literal["compute", "memory", "shared", "latency", "launch", "tail", "balanced", "unknown"]

Fact = Literal[
    "busy", "far", "shared_part", "blocks", "waves", "partial_wave", "idle", "short", "wait", "occupancy", "missing"
]
"""What a figure is evidence of.

- ``busy``: a unit near its peak; ``far``: the busiest unit of a side that was not.
- ``shared_part``: the part of L1's data pipe that serves shared memory.
- ``blocks``: blocks of the grid, ``subject`` how many SMs there are; ``waves``: the grid in what the GPU holds at once;
  ``partial_wave``: places for blocks that the last wave leaves empty, of those of all waves; ``idle``: the part of the
  time in which an SM has no warp; ``short``: a short duration.
- ``wait``: the share of the longest wait, ``subject`` its stall reason; ``occupancy``: warps that were there, of those
  an SM holds, ``subject`` what limits them where something does.
- ``missing``: a quantity that was not collected, ``subject`` the section that collects it.
"""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One figure that a verdict rests on.

    Attributes:
        fact: What it is evidence of.
        key: The quantity: a key of the catalogue, or ``blocks``, ``shared_share``, ``idle_share``,
            ``partial_wave_share``, ``stall_share``.
        value: In ``unit``; None for what is missing.
        unit: Of the value; empty for a plain ratio or a share (0 to 1).
        threshold: What it was compared with, in the same unit; None where it was not.
        subject: See :data:`Fact`.
    """

    fact: Fact
    key: str
    value: float | None
    unit: str = ""
    threshold: float | None = None
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What bounds a launch, with its evidence: what decided first, what else tells of it after."""

    bound: Bound
    because: tuple[Evidence, ...]

    @property
    def missing(self) -> tuple[Evidence, ...]:
        """What was not collected and could have changed or sharpened the verdict."""
        return tuple(one for one in self.because if one.fact == "missing")
