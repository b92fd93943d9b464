"""The roofline: where each stage stands under its roofs, and the path from stage to stage.

Names, speeds and shares stand on a rail to the right; the marks in the plot carry the stage's number only. One chart
shows launches of one family (FP32, tensor cores, FP64): their compute roofs are of different orders.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plotly.graph_objects as go

from ncu_lab.metrics import METRICS
from ncu_lab.model import Family, Ladder, LadderRow, Roofline, RooflinePoint
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.roofline_frame import (
    DOT_PX,
    NUMBERED_PX,
    Frame,
    Mark,
    draw_other_roofs,
    draw_roofs,
    flat_box,
    flat_roofs,
    make_frame,
)
from ncu_lab.render.figures.roofline_rail import draw_rail, rail_px
from ncu_lab.render.figures.text import SIZE, SMALL, plain
from ncu_lab.render.palette import Theme

Level = Literal["l1", "shared", "l2", "dram"]

LEVEL_LABELS: Mapping[Level, str] = {"l1": "L1 / shared", "shared": "Shared only", "l2": "L2", "dram": "DRAM"}
ROOF_NAMES: Mapping[Level, str] = {**LEVEL_LABELS, "shared": "shared-memory"}
BYTES_ARE: Mapping[Level, str] = {
    "l1": "wavefronts of the L1 / shared data pipe × 128 B",
    "shared": "wavefronts of shared memory × 128 B",
    "l2": "sectors through L2 × 32 B",
    "dram": "bytes read from and written to DRAM",
}
FAMILY_LABELS: Mapping[Family, str] = {"fp32": "FP32", "tensor": "Tensor", "fp64": "FP64"}
_COLLECTED_WITH: Mapping[Family, str] = {"fp32": "flop", "tensor": "tensor_flop", "fp64": "fp64_flop"}
_BYTES_KEY: Mapping[Level, str] = {"l1": "l1_bytes", "shared": "shared_bytes", "l2": "l2_bytes", "dram": "dram_bytes"}

HEIGHT_PX = 470
LEFT_PX, TOP_PX, BOTTOM_PX = 58, 26, 48
RAIL_FROM_PX = 560
"""Narrower figures have no rail; the table below them names the numbers."""

_OTHERS: Sequence[tuple[str, str, str]] = (
    ("diamond-open", "◇", "dashdot"), ("triangle-up-open", "△", "longdashdot"), ("star-open", "☆", "dot"),
)  # fmt: skip
"""Marker, its sign in words and the dash of roofs, for charts that are drawn over the first one."""

MOST_BESIDE = len(_OTHERS)

_TERA = 1e12


def level_points(ladder: Ladder, level: Level, family: Family = "fp32") -> list[tuple[LadderRow, RooflinePoint]]:
    """Return the rows that have a point at a level of a family's chart, in ladder order, references last."""
    chart = ladder.roofline(family)
    points = {point.stage: point for point in chart.points if point.level == level} if chart else {}
    rows = (*ladder.rows, *ladder.references)
    return [(row, points[row.stage.id]) for row in rows if row.stage.id in points]


def roofline(
    ladder: Ladder,
    theme: Theme,
    width: int,
    level: Level = "l1",
    family: Family = "fp32",
    *,
    selected: str | None = None,
    beside: Sequence[Roofline] = (),
) -> go.Figure:
    """Draw the roofline of one memory level, log-log.

    Args:
        ladder: What to draw.
        theme: Colours.
        width: Width of the figure in px.
        level: Which bytes the intensity counts.
        family: Which launches.
        selected: Stage that is marked.
        beside: Charts of other runs or GPUs to draw over it, each with its roofs; at most ``MOST_BESIDE``.
    """
    canvas = Canvas(theme, width)
    entries, chart = level_points(ladder, level, family), ladder.roofline(family)
    memory = chart.roof(level) if chart else None
    if chart is None or memory is None or not entries or not flat_roofs(chart):
        return _not_collected(canvas, level, family)
    others = [one for one in beside[:MOST_BESIDE] if one.family == family]
    rail = rail_px([row.stage for row, _ in entries]) if width >= RAIL_FROM_PX else 8
    plot_height = HEIGHT_PX - TOP_PX - BOTTOM_PX
    frame = make_frame([chart, *others], level, width - LEFT_PX - rail, plot_height)
    panel = Panel(1, 0.0, frame.width, frame.width)
    marks = _marks(ladder, entries, frame)
    covered = [*(mark.box for mark in marks), *(box for one in others if (box := flat_box(frame, one, level)))]
    draw_roofs(canvas, panel, frame, chart, memory, covered)
    for other, (symbol, _, dash) in zip(others, _OTHERS, strict=False):
        draw_other_roofs(canvas, panel, frame, (chart, other), level, dash)
        _other_points(canvas, panel, other, level, symbol)
    _path(canvas, panel, marks)
    _points(canvas, panel, marks, selected)
    if width >= RAIL_FROM_PX:
        draw_rail(canvas, frame, marks, selected)
    if others:
        _key(canvas, others, name_of(ladder))
    y_axis = draw_axes(canvas, panel, frame, level)
    margin = {"l": LEFT_PX, "r": rail, "t": TOP_PX, "b": BOTTOM_PX}
    return canvas.figure(HEIGHT_PX, margin, yaxis=y_axis)


def draw_axes(canvas: Canvas, panel: Panel, frame: Frame, level: Level) -> dict[str, Any]:
    """Draw the x axis of a roofline at a level, and return its y axis."""
    theme = canvas.theme
    canvas.x_axis(panel, frame.x, _ticks(frame.x), "log")
    canvas.axes["xaxis"]["title"] = _title(theme, f"FLOP per byte, {LEVEL_LABELS[level]} (log)")
    return {
        "type": "log", "range": list(frame.y), "tickvals": [value * _TERA for value, _ in _ticks(_in_tera(frame.y))],
        "ticktext": [text for _, text in _ticks(_in_tera(frame.y))], "gridcolor": theme.grid, "zeroline": False,
        "tickfont": {"size": SMALL, "color": theme.muted}, "showline": True, "linecolor": theme.border,
        "fixedrange": True, "title": _title(theme, "TFLOP/s, by instruction counters (log)"),
    }  # fmt: skip


def _not_collected(canvas: Canvas, level: Level, family: Family) -> go.Figure:
    sections = dict.fromkeys(METRICS[key].section for key in (_COLLECTED_WITH[family], _BYTES_KEY[level]))
    options = " ".join(f"--section {section}" for section in sections)
    title = f"No {FAMILY_LABELS[family]} launch has a point at {LEVEL_LABELS[level]}"
    for shift, text in ((10, f"<b>{title}</b>"), (-12, f"profile with {options}")):
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


def _marks(ladder: Ladder, entries: Sequence[tuple[LadderRow, RooflinePoint]], frame: Frame) -> list[Mark]:
    order = {row.stage.id: index for index, row in enumerate(ladder.rows, start=1)}
    return [
        Mark(row, point, order.get(row.stage.id), frame.x_px(point.intensity), frame.y_px(point.flop_per_s))
        for row, point in entries
    ]


def _path(canvas: Canvas, panel: Panel, marks: Sequence[Mark]) -> None:
    """Draw an arrow from each stage's predecessor; what leaves the longest line is a side branch, and dotted."""
    at = {mark.id: mark for mark in marks}
    main = main_line({id: mark.row.stage.predecessor for id, mark in at.items()})
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
            line={"color": colour, "width": 1.5, "dash": "solid" if {before.id, mark.id} <= main else "dot"},
            marker={
                "symbol": "arrow", "angleref": "previous", "opacity": 1, "color": colour,
                "size": [0, 9 if length > 2.2 * NUMBERED_PX else 0, 0],
            },
        )  # fmt: skip


def main_line(predecessors: Mapping[str, str | None]) -> set[str]:
    """Return the stages of the longest line of predecessors, the first of several of one length.

    Args:
        predecessors: Stage id -> that of its predecessor, in ladder order.
    """
    longest: list[str] = []
    for stage in predecessors:
        line: list[str] = []
        at: str | None = stage
        while at is not None and at in predecessors and at not in line:
            line.append(at)
            at = predecessors[at]
        longest = max(longest, line, key=len)
    return set(longest)


def _other_points(canvas: Canvas, panel: Panel, chart: Roofline, level: Level, symbol: str) -> None:
    points = [point for point in chart.points if point.level == level]
    canvas.marks(
        panel,
        chart.label,
        mode="markers",
        x=[point.intensity for point in points],
        y=[point.flop_per_s for point in points],
        customdata=[point.stage for point in points],
        hovertext=[point_hover(point.stage, point, chart.label) for point in points],
        hoverinfo="text",
        marker={
            "symbol": symbol,
            "size": DOT_PX,
            "opacity": 1,
            "color": canvas.theme.text,
            "line": {"width": 1.2},
        },
    )


def _key(canvas: Canvas, others: Sequence[Roofline], where: str) -> None:
    """Say above the plot which marks are whose."""
    told = [f"●  {where}", *(f"{sign}  {one.label}" for one, (_, sign, _) in zip(others, _OTHERS, strict=False))]
    canvas.annotations.append(
        {
            "xref": "paper", "x": 0, "xanchor": "left", "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 8,
            "text": plain("     ".join(told)), "showarrow": False,
            "font": {"size": SMALL, "color": canvas.theme.muted},
        }
    )  # fmt: skip


def name_of(ladder: Ladder) -> str:
    """Name what a chart is of, where several are drawn over each other: ``4096³ on NVIDIA H200``."""
    return f"{ladder.problem.label} on {ladder.device.name}" if ladder.device else ladder.problem.label


def _numbered(marks: Sequence[Mark], selected: str | None) -> set[str]:
    """Choose the marks that keep their number: the selected one, then in ladder order while they do not overlap."""
    kept: list[Mark] = []
    for mark in sorted(marks, key=lambda mark: (mark.id != selected, mark.number or 0)):
        clear = all(math.hypot(mark.x_px - other.x_px, mark.y_px - other.y_px) > NUMBERED_PX for other in kept)
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
        hovertext=[point_hover(mark.id, mark.point) for mark in drawn],
        hoverinfo="text",
        marker={
            "symbol": ["square" if mark.number is None else "circle" for mark in drawn],
            "size": [NUMBERED_PX if mark.id in numbered else DOT_PX for mark in drawn],
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


def point_hover(name: str, point: RooflinePoint, where: str = "") -> str:
    """Say where a launch stands, in the words of a hover label."""
    told = f" on {where}" if where else ""
    level = next(known for known in LEVEL_LABELS if known == point.level)
    return (
        f"<b>{plain(name)}</b>{plain(told)}  {numbers.flop_rate(point.flop_per_s, 4)}<br>"
        f"{numbers.share(point.share_of_roof, table=True)} of the roof above it<br>"
        f"{numbers.significant(point.intensity, 4)} FLOP per byte ({LEVEL_LABELS[level]}), n = 1"
    )


def _ticks(shown: tuple[float, float]) -> list[tuple[float, str]]:
    """Return ticks at 1 and 3 of every decade of a log10 range."""
    values = [size * 10.0**power for power in range(math.floor(shown[0]), math.ceil(shown[1]) + 1) for size in (1, 3)]
    return [(value, f"{value:g}") for value in values if shown[0] <= math.log10(value) <= shown[1]]


def _in_tera(shown: tuple[float, float]) -> tuple[float, float]:
    return shown[0] - math.log10(_TERA), shown[1] - math.log10(_TERA)


def _title(theme: Theme, text: str) -> dict[str, Any]:
    return {"text": text, "font": {"size": SMALL, "color": theme.muted}, "standoff": 6}
