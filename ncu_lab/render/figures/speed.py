"""Speed of every FP32 stage from zero, against cuBLAS FP32, and what each step bought."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go

from ncu_lab.model import Ladder, LadderRow
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel, round_ticks, spaced
from ncu_lab.render.figures.duration import time_hover
from ncu_lab.render.figures.matrix import PANEL_TOP_PX, finish, names_px
from ncu_lab.render.figures.published import draw_published, published_marks
from ncu_lab.render.figures.rows import Rows, place_rows
from ncu_lab.render.figures.text import SMALL, text_width
from ncu_lab.render.palette import Theme

_BAR = 0.55
_HEADROOM = 1.02
_COLUMN_GAP_PX = 10
_TERA = 1e12


def fp32_only(ladder: Ladder) -> Ladder:
    """Return the ladder without tensor-core launches: they never share a speed axis with FP32 ones."""
    return replace(
        ladder,
        rows=tuple(row for row in ladder.rows if row.stage.dtype == "fp32"),
        references=tuple(row for row in ladder.references if row.stage.dtype == "fp32"),
    )


def speed_bars(ladder: Ladder, theme: Theme, width: int, *, selected: str | None = None) -> go.Figure:
    """Draw TFLOP/s as bars from zero; the dotted line is cuBLAS, △ the published share of its own reference.

    Right of the bars, where the line cannot run through them: the speed, its share of cuBLAS, and the step from the
    predecessor.

    Args:
        ladder: What to draw; tensor-core stages are left out.
        theme: Colours.
        width: Width of the figure in px; the steps are left out where they do not fit.
        selected: Stage whose row is marked.
    """
    ladder = fp32_only(ladder)
    rows = place_rows(ladder)
    canvas = Canvas(theme, width)
    left = names_px(rows)
    plot = max(160, width - left - 6)
    steps = {placed.id: step_words(placed.row, rows) for placed in rows.placed}
    side = max((text_width(text, SMALL) for text in steps.values()), default=0.0) + 14
    if plot - side < 240:
        side, steps = 0.0, {}
    fast = [(placed, placed.row.flop_per_s) for placed in rows.placed if placed.row.flop_per_s]
    speeds = {placed.id: numbers.flop_rate(speed) for placed, speed in fast}
    shares = {
        placed.id: numbers.share(placed.row.share_of_reference)
        for placed, _ in fast
        if placed.row.share_of_reference is not None
    }
    speed_px, share_px = _column_px(speeds), _column_px(shares)
    panel = Panel(1, 0.0, max(60.0, plot - side - speed_px - share_px), plot)
    published = published_marks(ladder, rows)
    marked = [_at_share(one.placed.row, one.share) for one in published]
    most = max([*(speed / _TERA for _, speed in fast), *marked], default=1.0)
    values = round_ticks(most)
    ticks = spaced([(tick, numbers.significant(tick, 1)) for tick in values], panel.width * values[1] / most)
    canvas.x_axis(panel, [0.0, most * _HEADROOM], ticks, "linear")
    canvas.bars(
        panel,
        "speed",
        x=[speed / _TERA for _, speed in fast],
        y=[placed.y for placed, _ in fast],
        width=_BAR,
        customdata=[placed.id for placed, _ in fast],
        hovertext=[time_hover(placed.row) for placed, _ in fast],
        hoverinfo="text",
        marker={
            "color": [theme.neutral_4 if placed.row.stage.is_reference else theme.neutral_3 for placed, _ in fast],
            "line": {"width": 0},
        },
    )
    _reference_line(canvas, panel, rows, ladder)
    draw_published(canvas, panel, published, _at_share)
    for placed in rows.placed:
        if not placed.row.flop_per_s:
            canvas.missing_cell(panel, placed.y, "SpeedOfLight")
        if text := speeds.get(placed.id):
            canvas.words(panel, placed.y, text, px=panel.width + speed_px, colour=theme.text, anchor="right")
        if text := shares.get(placed.id):
            canvas.words(panel, placed.y, text, px=panel.width + speed_px + share_px, anchor="right")
        if text := steps.get(placed.id):
            colour = theme.better if (placed.row.step or 1.0) >= 1.0 else theme.worse
            canvas.words(panel, placed.y, text, px=panel.width + speed_px + share_px + 14, colour=colour)
    return finish(canvas, rows, selected, left, plot, PANEL_TOP_PX, below=_x_title(theme))


def _at_share(row: LadderRow, share: float) -> float:
    """Return the TFLOP/s that would be a share of the row's own reference."""
    return (row.flop_per_s or 0.0) / (row.share_of_reference or 1.0) * share / _TERA


def step_words(row: LadderRow, rows: Rows) -> str:
    """Return what a step bought: ``▼ 1.66× faster``, naming the predecessor where it is not the row above."""
    if row.step is None:
        return ""
    faster = row.step >= 1.0
    words = f"▼ {numbers.ratio(row.step)} faster" if faster else f"▲ {numbers.ratio(1.0 / row.step)} slower"
    placed, before = rows.find(row.stage.id), rows.find(row.stage.predecessor)
    adjacent = placed is not None and before is not None and before.y == placed.y - 1
    return words if adjacent else f"{words} than {row.stage.predecessor}"


def _column_px(texts: Mapping[str, str]) -> float:
    """Return the width of a column of numbers, the gap to its left included; 0 where there are none."""
    return max((text_width(text, SMALL) for text in texts.values()), default=-_COLUMN_GAP_PX) + _COLUMN_GAP_PX


def _reference_line(canvas: Canvas, panel: Panel, rows: Rows, ladder: Ladder) -> None:
    reference = next((row for row in ladder.references if row.flop_per_s), None)
    if reference is not None and reference.flop_per_s:
        canvas.marks(
            panel,
            "cuBLAS FP32",
            mode="lines",
            x=[reference.flop_per_s / _TERA] * 2,
            y=[-0.5, rows.bottom],
            line={"color": canvas.theme.text, "width": 1, "dash": "dot"},
        )


def _x_title(theme: Theme) -> dict[str, Any]:
    return {"text": "TFLOP/s", "font": {"size": SMALL, "color": theme.muted}, "standoff": 4}
