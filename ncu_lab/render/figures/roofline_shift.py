"""Where a kernel stood under its roofs and where it stands now: the roofline with an arrow from A to B."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from ncu_lab.model import Roofline, RooflinePoint
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.roofline import BOTTOM_PX, HEIGHT_PX, LEFT_PX, TOP_PX, Level, draw_axes, point_hover
from ncu_lab.render.figures.roofline_frame import (
    NUMBERED_PX,
    Box,
    Frame,
    draw_other_roofs,
    draw_roofs,
    flat_box,
    flat_roofs,
    make_frame,
)
from ncu_lab.render.palette import Theme

_RIGHT_PX = 10
_LEAST_ARROW_PX = 2.2 * NUMBERED_PX


def point_at(chart: Roofline | None, level: Level) -> RooflinePoint | None:
    """Return the point of a chart of one launch at a level; None where there is none, or no roof above it."""
    if chart is None or chart.roof(level) is None or not flat_roofs(chart):
        return None
    return next((point for point in chart.points if point.level == level), None)


def roofline_shift(a: Roofline, b: Roofline, level: Level, theme: Theme, width: int) -> go.Figure:
    """Draw the roofs of B, those of A where they differ, and both launches with an arrow from A to B.

    Args:
        a: Chart of launch A, of the same family as B's.
        b: Chart of launch B.
        level: Memory level whose bytes the intensity counts; both have a point there.
        theme: Colours.
        width: Width of the figure in px.

    Raises:
        ValueError: When either has no point at the level.
    """
    before, after = point_at(a, level), point_at(b, level)
    memory = b.roof(level)
    if before is None or after is None or memory is None:
        raise ValueError(f"no point at {level}")
    canvas = Canvas(theme, width)
    frame = make_frame([b, a], level, width - LEFT_PX - _RIGHT_PX, HEIGHT_PX - TOP_PX - BOTTOM_PX)
    panel = Panel(1, 0.0, frame.width, frame.width)
    covered = [*(_box(frame, point) for point in (before, after))]
    if (line := flat_box(frame, a, level)) is not None:
        covered.append(line)
    draw_roofs(canvas, panel, frame, b, memory, covered)
    draw_other_roofs(canvas, panel, frame, (b, a), level, "dashdot")
    _arrow(canvas, panel, frame, before, after)
    for letter, point in (("A", before), ("B", after)):
        _mark(canvas, panel, letter, point)
    y_axis = draw_axes(canvas, panel, frame, level)
    margin = {"l": LEFT_PX, "r": _RIGHT_PX, "t": TOP_PX, "b": BOTTOM_PX}
    return canvas.figure(HEIGHT_PX, margin, yaxis=y_axis)


def _box(frame: Frame, point: RooflinePoint) -> Box:
    half = NUMBERED_PX / 2
    x, y = frame.x_px(point.intensity), frame.y_px(point.flop_per_s)
    return x - half, y - half, x + half, y + half


def _arrow(canvas: Canvas, panel: Panel, frame: Frame, a: RooflinePoint, b: RooflinePoint) -> None:
    """Draw the way from A to B; its head stands in the middle, where neither mark covers it."""
    length = math.hypot(
        frame.x_px(b.intensity) - frame.x_px(a.intensity), frame.y_px(b.flop_per_s) - frame.y_px(a.flop_per_s)
    )
    middle = math.sqrt(a.intensity * b.intensity), math.sqrt(a.flop_per_s * b.flop_per_s)
    canvas.marks(
        panel,
        "A to B",
        mode="lines+markers",
        x=[a.intensity, middle[0], b.intensity],
        y=[a.flop_per_s, middle[1], b.flop_per_s],
        line={"color": canvas.theme.neutral_2, "width": 1.5},
        marker={
            "symbol": "arrow", "angleref": "previous", "opacity": 1, "color": canvas.theme.neutral_2,
            "size": [0, 10 if length > _LEAST_ARROW_PX else 0, 0],
        },
    )  # fmt: skip


def _mark(canvas: Canvas, panel: Panel, letter: str, point: RooflinePoint) -> None:
    """Draw a mark with its letter: A hollow, B filled."""
    theme = canvas.theme
    fill, ink = (theme.card, theme.text) if letter == "A" else (theme.text, theme.card)
    canvas.marks(
        panel,
        letter,
        mode="markers+text",
        x=[point.intensity],
        y=[point.flop_per_s],
        text=[letter],
        textfont={"size": 11, "color": ink},
        hovertext=[point_hover(f"{letter} {point.stage}", point)],
        hoverinfo="text",
        marker={
            "symbol": "circle", "size": NUMBERED_PX, "opacity": 1, "color": fill,
            "line": {"width": 1.5, "color": theme.text},
        },
    )  # fmt: skip
