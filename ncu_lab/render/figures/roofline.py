"""The roofline: where each FP32 stage stands under its roofs, and the path from stage to stage.

Names, speeds and shares stand on a rail to the right; the marks in the plot carry the stage's number only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go

from ncu_lab.metrics import METRICS
from ncu_lab.model import Ladder, LadderRow, Roof, RooflinePoint
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.rows import stage_label
from ncu_lab.render.figures.text import SIZE, SMALL, plain, text_width
from ncu_lab.render.palette import Theme

Level = Literal["l1", "l2", "dram"]

LEVEL_LABELS: Mapping[Level, str] = {"l1": "L1 / shared", "l2": "L2", "dram": "DRAM"}
BYTES_ARE: Mapping[Level, str] = {
    "l1": "wavefronts of the L1 / shared data pipe × 128 B",
    "l2": "sectors through L2 × 32 B",
    "dram": "bytes read from and written to DRAM",
}

HEIGHT_PX = 470
_LEFT_PX, _TOP_PX, _BOTTOM_PX = 58, 26, 48
_RAIL_ROW_PX = 17
_LEADER_PX = 34
_NUMBERED_PX, _DOT_PX = 19, 8
_SLOPE_ARROW_PX = (40, 34)
RAIL_FROM_PX = 560
"""Narrower figures have no rail; the table below them names the numbers."""

_TERA = 1e12


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with its row, its number on the ladder, and its place in px within the plot area."""

    row: LadderRow
    point: RooflinePoint
    number: int | None
    x_px: float
    y_px: float

    @property
    def id(self) -> str:
        """The stage's id."""
        return self.row.stage.id


@dataclass(frozen=True, slots=True)
class _Frame:
    """The plot area: its size in px, and the log10 ranges it shows."""

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def x_px(self, intensity: float) -> float:
        return (math.log10(intensity) - self.x[0]) / (self.x[1] - self.x[0]) * self.width

    def y_px(self, speed: float) -> float:
        return (self.y[1] - math.log10(speed)) / (self.y[1] - self.y[0]) * self.height


def level_points(ladder: Ladder, level: Level) -> list[tuple[LadderRow, RooflinePoint]]:
    """Return the FP32 rows that have a point at a level, in ladder order, references last."""
    points = {point.stage: point for point in ladder.points if point.level == level}
    rows = [row for row in (*ladder.rows, *ladder.references) if row.stage.dtype == "fp32"]
    return [(row, points[row.stage.id]) for row in rows if row.stage.id in points]


def roofline(
    ladder: Ladder, theme: Theme, width: int, level: Level = "l1", *, selected: str | None = None
) -> go.Figure:
    """Draw the roofline of one memory level, log-log.

    Args:
        ladder: What to draw.
        theme: Colours.
        width: Width of the figure in px.
        level: Which bytes the intensity counts.
        selected: Stage that is marked.
    """
    canvas = Canvas(theme, width)
    entries = level_points(ladder, level)
    roofs = {roof.level: roof for roof in ladder.roofs}
    memory, compute = roofs.get(level), roofs.get("fp32")
    if not entries or memory is None or compute is None:
        return _not_collected(canvas, level)
    rail = _rail_px(entries) if width >= RAIL_FROM_PX else 8
    frame = _frame(entries, memory, compute, width - _LEFT_PX - rail)
    panel = Panel(1, 0.0, frame.width, frame.width)
    _roof(canvas, panel, frame, memory, compute)
    marks = _marks(ladder, entries, frame)
    _path(canvas, panel, frame, marks)
    _points(canvas, panel, marks, selected)
    if width >= RAIL_FROM_PX:
        _rail(canvas, frame, marks, selected)
    canvas.x_axis(panel, frame.x, _ticks(frame.x), "log")
    canvas.axes["xaxis"]["title"] = _title(theme, f"FLOP per byte, {LEVEL_LABELS[level]} (log)")
    y_axis: dict[str, Any] = {
        "type": "log", "range": list(frame.y), "tickvals": [value * _TERA for value, _ in _ticks(_in_tera(frame.y))],
        "ticktext": [text for _, text in _ticks(_in_tera(frame.y))], "gridcolor": theme.grid, "zeroline": False,
        "tickfont": {"size": SMALL, "color": theme.muted}, "showline": True, "linecolor": theme.border,
        "fixedrange": True, "title": _title(theme, "TFLOP/s, by instruction counters (log)"),
    }  # fmt: skip
    margin = {"l": _LEFT_PX, "r": rail, "t": _TOP_PX, "b": _BOTTOM_PX}
    return canvas.figure(HEIGHT_PX, margin, yaxis=y_axis)


def _not_collected(canvas: Canvas, level: Level) -> go.Figure:
    section = METRICS[f"intensity_{level}"].section
    for shift, text in ((10, "<b>Not collected</b>"), (-12, f"profile with --section {section}")):
        canvas.annotations.append(
            {
                "xref": "paper", "x": 0.5, "yref": "paper", "y": 0.5, "yshift": shift, "showarrow": False,
                "text": text, "font": {"size": SIZE, "color": canvas.theme.muted},
            }
        )  # fmt: skip
    canvas.shapes.append(
        {
            "type": "rect", "xref": "paper", "yref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 1,
            "line": {"color": canvas.theme.neutral_2, "width": 1, "dash": "dot"},
        }
    )  # fmt: skip
    hidden = {"visible": False, "fixedrange": True}
    return canvas.figure(160, {"l": 4, "r": 4, "t": 4, "b": 4}, xaxis=hidden, yaxis=hidden)


def _frame(entries: Sequence[tuple[LadderRow, RooflinePoint]], memory: Roof, compute: Roof, width: float) -> _Frame:
    ridge = compute.per_second / memory.per_second
    intensities = [point.intensity for _, point in entries]
    speeds = [point.flop_per_s for _, point in entries]
    x = (math.log10(min(*intensities, ridge) / 1.6), math.log10(max(*intensities, ridge) * 2.4))
    y = (math.log10(min(speeds) / 1.8), math.log10(compute.per_second * 1.9))
    return _Frame(width, HEIGHT_PX - _TOP_PX - _BOTTOM_PX, x, y)


def _roof(canvas: Canvas, panel: Panel, frame: _Frame, memory: Roof, compute: Roof) -> None:
    """Draw the two roofs and shade what lies above them."""
    left, right, top = 10 ** frame.x[0], 10 ** frame.x[1], 10 ** frame.y[1]
    ridge = compute.per_second / memory.per_second
    x = [left, ridge, right]
    y = [left * memory.per_second, compute.per_second, compute.per_second]
    canvas.marks(
        panel,
        "out of reach",
        mode="lines",
        x=[*x, right, left],
        y=[*y, top, top],
        fill="toself",
        fillcolor=canvas.theme.shade,
        line={"width": 0},
        cliponaxis=True,
    )
    canvas.marks(panel, "roof", mode="lines", x=x, y=y, line={"color": canvas.theme.text, "width": 2}, cliponaxis=True)
    canvas.annotations.append(
        {
            "xref": "x", "x": frame.x[1], "xanchor": "right", "yref": "y", "y": math.log10(compute.per_second),
            "yanchor": "bottom", "yshift": 2, "showarrow": False, "font": {"size": SMALL, "color": canvas.theme.muted},
            "text": f"{plain(compute.label)}  {numbers.flop_rate(compute.per_second)}",
        }
    )  # fmt: skip
    _slope_label(canvas, frame, memory, ridge)


def _slope_label(canvas: Canvas, frame: _Frame, memory: Roof, ridge: float) -> None:
    """Name the sloped roof: left of it, or above the compute roof where the slope is too near to the y axis."""
    words = (plain(memory.label), numbers.byte_rate(memory.per_second))
    ax, ay = _SLOPE_ARROW_PX
    room = max(text_width(text, SMALL) for text in words) + ax + 8
    start = max(frame.x[0], frame.y[0] - math.log10(memory.per_second))
    clear = frame.x[0] + room / frame.width * (frame.x[1] - frame.x[0])
    foot = max((start + math.log10(ridge)) / 2, clear)
    leftwards = foot < math.log10(ridge)
    if not leftwards:
        foot, ax = (frame.x[0] + math.log10(ridge)) / 2, -ax // 2
        below_flat = (math.log10(ridge) - foot) / (frame.y[1] - frame.y[0]) * frame.height
        ay = round(below_flat) + 14
    canvas.annotations.append(
        {
            "xref": "x", "x": foot, "yref": "y", "y": foot + math.log10(memory.per_second),
            "ax": -ax, "ay": -ay, "showarrow": True, "arrowhead": 0, "arrowwidth": 1,
            "xanchor": "right" if leftwards else "left", "align": "right", "arrowcolor": canvas.theme.neutral_2,
            "text": "<br>".join(words) if leftwards else "  ".join(words),
            "font": {"size": SMALL, "color": canvas.theme.muted},
        }
    )  # fmt: skip


def _marks(ladder: Ladder, entries: Sequence[tuple[LadderRow, RooflinePoint]], frame: _Frame) -> list[Mark]:
    order = {row.stage.id: index for index, row in enumerate(ladder.rows, start=1)}
    return [
        Mark(row, point, order.get(row.stage.id), frame.x_px(point.intensity), frame.y_px(point.flop_per_s))
        for row, point in entries
    ]


def _path(canvas: Canvas, panel: Panel, frame: _Frame, marks: Sequence[Mark]) -> None:
    """Draw an arrow from each stage's predecessor; the A·Aᵀ side branch is dotted."""
    at = {mark.id: mark for mark in marks}
    colour = canvas.theme.neutral_2
    for mark in marks:
        before = at.get(mark.row.stage.predecessor or "")
        if before is None:
            continue
        middle = (
            10 ** ((math.log10(before.point.intensity) + math.log10(mark.point.intensity)) / 2),
            10 ** ((math.log10(before.point.flop_per_s) + math.log10(mark.point.flop_per_s)) / 2),
        )
        length = math.hypot(mark.x_px - before.x_px, mark.y_px - before.y_px)
        canvas.marks(
            panel,
            f"{before.id} to {mark.id}",
            mode="lines+markers",
            x=[before.point.intensity, middle[0], mark.point.intensity],
            y=[before.point.flop_per_s, middle[1], mark.point.flop_per_s],
            line={"color": colour, "width": 1.5, "dash": "dot" if mark.row.stage.operation == "aat" else "solid"},
            marker={
                "symbol": "arrow", "angleref": "previous", "opacity": 1, "color": colour,
                "size": [0, 9 if length > 2.2 * _NUMBERED_PX else 0, 0],
            },
        )  # fmt: skip


def _numbered(marks: Sequence[Mark], selected: str | None) -> set[str]:
    """Choose the marks that keep their number: the selected one, then in ladder order while they do not overlap."""
    kept: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.id != selected, mark.number or 0)):
        clear = all(math.hypot(mark.x_px - other.x_px, mark.y_px - other.y_px) > _NUMBERED_PX for other in kept)
        if mark.number is not None and clear:
            kept.append(mark)
    return {mark.id for mark in kept}


def _points(canvas: Canvas, panel: Panel, marks: Sequence[Mark], selected: str | None) -> None:
    theme = canvas.theme
    numbered = _numbered(marks, selected)
    # Dots first, so that a numbered circle is never covered.
    drawn = sorted(marks, key=lambda mark: (mark.id in numbered, mark.id == selected))
    fill = []
    for mark in drawn:
        chosen = mark.id == selected
        fill.append(theme.accent if chosen else theme.card if mark.id in numbered else theme.text)
    canvas.marks(
        panel,
        "stages",
        mode="markers",
        x=[mark.point.intensity for mark in drawn],
        y=[mark.point.flop_per_s for mark in drawn],
        customdata=[mark.id for mark in drawn],
        hovertext=[_hover(mark) for mark in drawn],
        hoverinfo="text",
        marker={
            "symbol": ["square" if mark.number is None else "circle" for mark in drawn],
            "size": [_NUMBERED_PX if mark.id in numbered else _DOT_PX + 1 for mark in drawn],
            "opacity": 1,
            "color": fill,
            "line": {
                "width": 1.5,
                "color": [theme.accent if mark.id == selected else theme.text for mark in drawn],
            },
        },
    )
    # A trace of its own: where Plotly redraws a mark whose text was empty before, it leaves the new text out.
    named = [mark for mark in drawn if mark.id in numbered]
    canvas.marks(
        panel,
        "numbers",
        mode="text",
        x=[mark.point.intensity for mark in named],
        y=[mark.point.flop_per_s for mark in named],
        customdata=[mark.id for mark in named],
        text=[str(mark.number) for mark in named],
        textfont={
            "size": SMALL,
            "color": [theme.card if mark.id == selected else theme.text for mark in named],
        },
    )


def _rail_px(entries: Sequence[tuple[LadderRow, RooflinePoint]]) -> int:
    names = max(text_width(stage_label(row.stage)) for row, _ in entries)
    return round(_LEADER_PX + 26 + names + 110)


def _rail_places(marks: Sequence[Mark], height: float) -> dict[str, float]:
    """Return stage -> px from the top of its rail row: as near its mark as rows of one height allow."""
    ordered = sorted(marks, key=lambda mark: mark.y_px)
    places: list[float] = []
    for index, mark in enumerate(ordered):
        least = places[-1] + _RAIL_ROW_PX if places else 8.0
        # Enough room must stay below for those that follow.
        most = height - _RAIL_ROW_PX * (len(ordered) - 1 - index) - 8
        places.append(max(least, min(mark.y_px - 20, most)))
    return {mark.id: place for mark, place in zip(ordered, places, strict=True)}


def _rail(canvas: Canvas, frame: _Frame, marks: Sequence[Mark], selected: str | None) -> None:
    theme = canvas.theme
    names = max(text_width(stage_label(mark.row.stage)) for mark in marks)
    columns = (_LEADER_PX + 14, _LEADER_PX + 24, _LEADER_PX + 24 + names + 58, _LEADER_PX + 24 + names + 100)
    places = _rail_places(marks, frame.height)
    for mark in marks:
        chosen = mark.id == selected
        y = 1 - places[mark.id] / frame.height
        colour = theme.accent if chosen else theme.text
        texts = (
            (str(mark.number) if mark.number is not None else "■", "right", colour),
            (plain(stage_label(mark.row.stage)), "left", colour),
            (numbers.significant(mark.point.flop_per_s / _TERA), "right", colour),
            (numbers.share(mark.point.share_of_roof), "right", colour if chosen else theme.muted),
        )
        for shift, (text, anchor, ink) in zip(columns, texts, strict=True):
            canvas.annotations.append(_rail_text(f"<b>{text}</b>" if chosen else text, shift, y, anchor, ink))
        path = (
            f"M {mark.x_px / frame.width:.5f} {1 - mark.y_px / frame.height:.5f} "
            f"L {1 + 10 / frame.width:.5f} {y:.5f} L {1 + (_LEADER_PX - 8) / frame.width:.5f} {y:.5f}"
        )
        line = {"color": theme.accent if chosen else theme.neutral_4, "width": 1}
        canvas.shapes.append(
            {"type": "path", "xref": "paper", "yref": "paper", "path": path, "layer": "below", "line": line}
        )
    canvas.annotations.append(
        {**_rail_text("TFLOP/s · % of roof", columns[-1], 1.0, "right", theme.muted), "yanchor": "bottom", "yshift": 8}
    )


def _rail_text(text: str, shift: float, y: float, anchor: str, colour: str) -> dict[str, Any]:
    return {
        "xref": "paper", "x": 1, "xanchor": anchor, "xshift": shift, "yref": "paper", "y": y, "yanchor": "middle",
        "text": text, "showarrow": False, "font": {"size": SMALL, "color": colour},
    }  # fmt: skip


def _hover(mark: Mark) -> str:
    level = mark.point.level
    return (
        f"<b>{plain(mark.id)}</b>  {numbers.flop_rate(mark.point.flop_per_s, 4)}<br>"
        f"{numbers.share(mark.point.share_of_roof, table=True)} of the roof above it<br>"
        f"{numbers.significant(mark.point.intensity, 4)} FLOP per byte ({LEVEL_LABELS[_level(level)]}), n = 1"
    )


def _level(level: str) -> Level:
    return next(known for known in LEVEL_LABELS if known == level)


def _ticks(shown: tuple[float, float]) -> list[tuple[float, str]]:
    """Return ticks at 1 and 3 of every decade of a log10 range."""
    values = [size * 10.0**power for power in range(math.floor(shown[0]), math.ceil(shown[1]) + 1) for size in (1, 3)]
    return [(value, f"{value:g}") for value in values if shown[0] <= math.log10(value) <= shown[1]]


def _in_tera(shown: tuple[float, float]) -> tuple[float, float]:
    return shown[0] - math.log10(_TERA), shown[1] - math.log10(_TERA)


def _title(theme: Theme, text: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": SMALL, "color": theme.muted}, "standoff": 6}
