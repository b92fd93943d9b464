"""Where the stages of a ladder stand, one row each, in every figure that lists them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.model import Ladder, LadderRow, Stage

Sort = Literal["ladder", "duration"]

ROW_PX = 33
"""Height of a row; the page aligns its own focusable rows to it."""


@dataclass(frozen=True, slots=True)
class PlacedRow:
    """A row and the y of its centre; y counts rows downwards from 0."""

    row: LadderRow
    y: float
    label: str

    @property
    def id(self) -> str:
        """The stage's id."""
        return self.row.stage.id


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows of a figure.

    Attributes:
        placed: Stages, then references, each with its y.
        count: Height of the figure in rows, the gap before the references included.
        gap_y: Centre of that gap; None without references (or without stages).
        first_reference_y: Centre of the first reference row; None without.
    """

    placed: tuple[PlacedRow, ...]
    count: int
    gap_y: float | None
    first_reference_y: float | None

    @property
    def bottom(self) -> float:
        """The y of the lower edge."""
        return self.count - 0.5

    def find(self, stage: str | None) -> PlacedRow | None:
        """Return the row of a stage, None when it is not shown."""
        return next((placed for placed in self.placed if placed.id == stage), None)


def stage_label(stage: Stage) -> str:
    """Name a stage in a figure: ``2d``, ``wmma (FP16)`` off FP32, ``CUTLASS FP32`` for a reference."""
    if stage.is_reference:
        library = "CUTLASS" if stage.library_math == "cutlass" else "cuBLAS"
        return f"{library} {stage.dtype.upper()}"
    return stage.id if stage.dtype == "fp32" else f"{stage.id} ({stage.dtype.upper()})"


def place_rows(ladder: Ladder, sort: Sort = "ladder") -> Rows:
    """Place stages in ladder order, or slowest first on request, and the references below a gap."""
    stages = list(ladder.rows)
    if sort == "duration":
        # Rows without a time keep their order, below those that have one.
        stages.sort(key=lambda row: -row.median_ns if row.median_ns is not None else 0.0)
    placed = [PlacedRow(row, float(y), stage_label(row.stage)) for y, row in enumerate(stages)]
    gap = 1 if stages and ladder.references else 0
    first = len(stages) + gap
    placed += [PlacedRow(row, float(first + i), stage_label(row.stage)) for i, row in enumerate(ladder.references)]
    return Rows(
        placed=tuple(placed),
        count=first + len(ladder.references),
        gap_y=float(len(stages)) if gap else None,
        first_reference_y=float(first) if ladder.references else None,
    )
