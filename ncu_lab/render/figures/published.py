"""Published figures in a figure of one's own: a mark at the same share of its own source's reference, below the row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ncu_lab.model import Ladder, LadderRow, PublishedFigure
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.rows import PlacedRow, Rows
from ncu_lab.render.figures.text import plain

SIGN = "△"
"""What the mark is called in a note."""

_BELOW = 0.36
"""How far below the middle of its row a mark stands, in rows: clear of dots, bars and their labels."""

_SIZE_PX = 8


@dataclass(frozen=True, slots=True)
class PublishedMark:
    """One published figure in the row of its stage; ``share`` is that of the reference in its own source, 0 to 1."""

    placed: PlacedRow
    figure: PublishedFigure
    share: float


def published_marks(ladder: Ladder, rows: Rows) -> list[PublishedMark]:
    """Return the published figures of the shown stages that have a reference, there and here."""
    return [
        PublishedMark(placed, figure, figure.share_of_reference)
        for placed in rows.placed
        for figure in ladder.published
        if figure.stage == placed.id
        and figure.share_of_reference is not None
        and placed.row.share_of_reference is not None
    ]


def draw_published(
    canvas: Canvas, panel: Panel, marks: Sequence[PublishedMark], place: Callable[[LadderRow, float], float]
) -> None:
    """Draw the marks.

    Args:
        canvas: The figure.
        panel: Its panel of times or speeds.
        marks: What to draw.
        place: Row and published share of the reference -> value on the panel's axis.
    """
    if not marks:
        return
    canvas.marks(
        panel,
        "published",
        mode="markers",
        x=[place(one.placed.row, one.share) for one in marks],
        y=[one.placed.y + _BELOW for one in marks],
        customdata=[one.placed.id for one in marks],
        hovertext=[_hover(one) for one in marks],
        hoverinfo="text",
        marker={
            "symbol": "triangle-up-open",
            "size": _SIZE_PX,
            "color": canvas.theme.text,
            "opacity": 1,
            "line": {"width": 1.2, "color": canvas.theme.text},
        },
    )


def _hover(one: PublishedMark) -> str:
    figure = one.figure
    problem = f", {plain(figure.problem)}" if figure.problem else ""
    lines = [
        f"<b>{plain(one.placed.id)}</b>  published: {numbers.share(one.share, table=True)} of its reference",
        f"{numbers.significant(figure.value, 4)} {plain(figure.unit)} on {plain(figure.gpu)}{problem}",
        f"here {numbers.share(one.placed.row.share_of_reference, table=True)}",
    ]
    if figure.step is not None:
        lines.append(f"{numbers.ratio(figure.step)} the stage before, there")
    lines.append(plain(figure.source))
    return "<br>".join([*lines, *([plain(figure.note)] if figure.note else [])])
