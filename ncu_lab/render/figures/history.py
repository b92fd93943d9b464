"""History: one quantity over commits in the order of git, its levels and changes; exact counters as steps below.

The x axis counts rows, not days: two commits of one afternoon are as far apart as any. Failed builds keep their place,
edited trees are hollow, a change is a line with its verdict, and where nothing is compared across the line is dotted.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from ncu_lab.model.history import ChangePoint, HistoryGap, HistoryPoint, KernelHistory
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, round_ticks
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.history_words import (
    amount,
    chance_words,
    commit_words,
    gap_words,
    quantity_name,
    step_words,
)
from ncu_lab.render.palette import Theme

LEVEL_BAND = 0.01
"""A level is drawn with a band of ±1 %."""

_MAIN_PX = 260
_COUNTER_PX = 84
_GAP_PX = 26
_TOP_PX = 12
_BOTTOM_PX = 46
_LEFT_PX = 96
_RIGHT_PX = 20
_DOT_PX = 8
_TICK_DIGITS = (3, 4, 5, 6)
_HEADROOM = 0.18
"""Share of the panel above the highest point, for labels of changes."""

_BOLD = 1.15
"""How much wider bold text is than plain, at most, in the usual system fonts."""


@dataclass(frozen=True, slots=True)
class Followed:
    """One quantity of one kernel over commits.

    Attributes:
        key: The quantity.
        unit: Its unit.
        history: The kernel's line.
    """

    key: str
    unit: str
    history: KernelHistory


def history_figure(main: Followed, counters: Sequence[Followed], theme: Theme, width: int) -> go.Figure:
    """Draw a quantity over commits.

    Args:
        main: What is followed; a line without points is an empty plot.
        counters: Exact counters of the same kernel, drawn as steps on the same axis.
        theme: The colours.
        width: Px that the figure is made for.
    """
    canvas = Canvas(theme, width)
    places = {row.meta.id: number for number, row in enumerate(main.history.rows)}
    height = _MAIN_PX + len(counters) * (_GAP_PX + _COUNTER_PX)
    _main_axes(canvas, main, height)
    _levels(canvas, main, places)
    _points(canvas, main, places)
    _gaps(canvas, main, places, width)
    _changes(canvas, main, places, width)
    _breaks(canvas, main, places)
    for number, one in enumerate(counters, start=2):
        _counter(canvas, one, main, number, height)
    _commit_axis(canvas, main, width, len(counters) + 1)
    margin = {"l": _LEFT_PX, "r": _RIGHT_PX, "t": _TOP_PX, "b": _BOTTOM_PX}
    return canvas.figure(height + _TOP_PX + _BOTTOM_PX, margin, showlegend=False)


def _main_axes(canvas: Canvas, main: Followed, height: int) -> None:
    values = [point.estimate.value for point in main.history.points] or [0.0, 1.0]
    low, high = min(values), max(values)
    pad = max(high - low, abs(high) * 2.0 * LEVEL_BAND) or 1.0
    start = max(0.0, low - 0.4 * pad) if low >= 0.0 else low - 0.4 * pad
    start = 0.0 if start < 0.4 * high else start
    title = quantity_name(main.key)
    if start:
        title += f"<br>(axis from {plain(amount(main.key, start, main.unit))})"
    canvas.axes["yaxis"] = {
        **_y_axis(canvas.theme, title, 1.0 - _MAIN_PX / height, 1.0),
        "range": [start, high + _HEADROOM * (high - start + pad)],
        **_ticks(main, start, high),
    }


def _y_axis(theme: Theme, title: str, bottom: float, top: float) -> dict[str, Any]:
    return {
        "domain": [max(0.0, bottom), top],
        "title": {"text": title, "font": {"size": SMALL, "color": theme.muted}},
        "tickfont": {"size": SMALL, "color": theme.muted},
        "gridcolor": theme.grid,
        "zeroline": False,
        "showline": True,
        "linecolor": theme.border,
        "fixedrange": True,
    }


def _ticks(one: Followed, low: float, high: float) -> dict[str, Any]:
    """Return round ticks in our numbers: Plotly's own would say ``2.5M`` of nanoseconds."""
    step = round_ticks(high - low)[1]
    values = [at * step for at in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return _labelled(one, values or [low])


def _labelled(one: Followed, values: Sequence[float]) -> dict[str, Any]:
    """Return ticks; where digits do not tell neighbours apart, of the first and the last as far as they do."""
    for digits in _TICK_DIGITS:
        words = [numbers.duration(value, digits) if one.unit == "ns" else _amount(one, value) for value in values]
        if len(set(words)) == len(words):
            break
    else:
        kept = {words[0]: values[0], words[-1]: values[-1]}
        words, values = list(kept), list(kept.values())
    return {"tickvals": list(values), "ticktext": [plain(text) for text in words]}


def _amount(one: Followed, value: float) -> str:
    return amount(one.key, value, one.unit)


def _commit_axis(canvas: Canvas, main: Followed, width: int, panels: int) -> None:
    rows = main.history.rows
    names = [_name(row) for row in rows]
    px = (width - _LEFT_PX - _RIGHT_PX) / max(1, len(rows))
    every = max(1, -(-int(max((text_width(name, SMALL) for name in names), default=0.0) + 10) // max(1, int(px))))
    shown = range(0, len(rows), every)
    canvas.axes["xaxis"] = {
        "domain": [0.0, 1.0],
        "anchor": "y" if panels == 1 else f"y{panels}",
        "range": [-0.6, max(1, len(rows)) - 0.4],
        "tickvals": list(shown),
        "ticktext": [plain(names[place]) for place in shown],
        "tickfont": {"size": SMALL, "color": canvas.theme.muted},
        "tickangle": 0,
        "showgrid": False,
        "zeroline": False,
        "title": {
            "text": "commit, in the order of git" if _in_git_order(main) else "run, in the order of time",
            "font": {"size": SMALL, "color": canvas.theme.muted},
        },
    }


def _in_git_order(main: Followed) -> bool:
    return any(row.commit is not None for row in main.history.rows)


def _name(row: HistoryPoint | HistoryGap) -> str:
    if row.commit is not None:
        return row.commit.short
    return (row.meta.git.commit or row.meta.created[:10])[: 10 if not row.meta.git.commit else 7]


def levels(history: KernelHistory) -> Iterator[list[HistoryPoint]]:
    """Yield the points of each level: between changes and breaks, without edited trees of a line of commits."""
    starts = {one.first.meta.id for one in history.changes} | {one.after.meta.id for one in history.breaks}
    level: list[HistoryPoint] = []
    for point in history.points:
        if point.is_dirty and point.commit is not None:
            continue
        if point.meta.id in starts and level:
            yield level
            level = []
        level.append(point)
    if level:
        yield level


def _levels(canvas: Canvas, main: Followed, places: Mapping[str, int]) -> None:
    for level in levels(main.history):
        start, end = places[level[0].meta.id] - 0.4, places[level[-1].meta.id] + 0.4
        middle = statistics.median(point.estimate.value for point in level)
        band = LEVEL_BAND * abs(middle)
        canvas.shapes.append(
            {
                "type": "rect", "xref": "x", "x0": start, "x1": end, "yref": "y", "y0": middle - band,
                "y1": middle + band, "layer": "below", "line": {"width": 0}, "fillcolor": canvas.theme.selection,
            }
        )  # fmt: skip
        line = {"color": canvas.theme.accent, "width": 2}
        _trace(canvas, "level", mode="lines", x=[start, end], y=[middle, middle], line=line)


def _trace(canvas: Canvas, name: str, **trace: Any) -> None:
    base = {"type": "scatter", "name": name, "xaxis": "x", "yaxis": "y", "hoverinfo": "skip"}
    canvas.traces.append({**base, **trace})


def _points(canvas: Canvas, main: Followed, places: Mapping[str, int]) -> None:
    colour = canvas.theme.text
    for name, symbol, dirty in (("median", "circle", False), ("edited tree", "circle-open", True)):
        points = [point for point in main.history.points if point.is_dirty == dirty]
        if not points:
            continue
        _trace(
            canvas,
            name,
            mode="markers",
            x=[places[point.meta.id] for point in points],
            y=[point.estimate.value for point in points],
            customdata=[point.meta.id for point in points],
            hovertext=[_hover(point, main) for point in points],
            hoverinfo="text",
            cliponaxis=False,
            marker={"symbol": symbol, "size": _DOT_PX, "color": colour, "line": {"width": 1.5, "color": colour}},
            error_y={
                "type": "data", "symmetric": False, "color": colour, "thickness": 1, "width": 3,
                "array": [_above(point) for point in points], "arrayminus": [_below(point) for point in points],
            },
        )  # fmt: skip


def _above(point: HistoryPoint) -> float:
    return 0.0 if point.estimate.high is None else point.estimate.high - point.estimate.value


def _below(point: HistoryPoint) -> float:
    return 0.0 if point.estimate.low is None else point.estimate.value - point.estimate.low


def _hover(point: HistoryPoint, main: Followed) -> str:
    found = point.estimate
    subject = (point.commit.subject if point.commit else point.meta.git.subject) or ""
    lines = [f"<b>{plain(commit_words(point))}</b>  {plain(subject)}", plain(amount(main.key, found.value, main.unit))]
    if found.low is not None and found.high is not None:
        ends = (plain(amount(main.key, end, main.unit)) for end in (found.low, found.high))
        lines.append("99 % interval of the median: " + " to ".join(ends))
    lines.append(f"n = {found.n}" + (f", of {point.runs} runs the newest" if point.runs > 1 else ""))
    return "<br>".join([*lines, plain(point.meta.id)])


def _gaps(canvas: Canvas, main: Followed, places: Mapping[str, int], width: int) -> None:
    gaps = main.history.gaps
    if not gaps:
        return
    axis = canvas.axes["yaxis"]["range"]
    middle = (axis[0] + axis[1]) / 2.0
    _trace(
        canvas,
        "failed",
        mode="markers",
        x=[places[gap.meta.id] for gap in gaps],
        y=[middle] * len(gaps),
        hovertext=[f"<b>{plain(_name(gap))}</b><br>{plain(gap_words(gap))}" for gap in gaps],
        hoverinfo="text",
        marker={"symbol": "x-thin", "size": _DOT_PX, "line": {"width": 2, "color": canvas.theme.muted}},
    )
    px = (width - _LEFT_PX - _RIGHT_PX) / max(1, len(main.history.rows))
    for gap in gaps:
        words = gap_words(gap).partition(":")[0]
        if text_width(words, SMALL) < 2.0 * px:
            _words(canvas, places[gap.meta.id], plain(words), y=middle, yshift=-14, xanchor="center")


def _words(canvas: Canvas, x: float, html: str, **options: Any) -> None:
    """Write words; ``options`` are Plotly's and tell at least ``y``."""
    canvas.annotations.append(
        {
            "xref": "x", "x": x, "yref": "y", "text": html, "showarrow": False, "align": "left",
            "font": {"size": SMALL, "color": canvas.theme.muted}, "xanchor": "left", "yanchor": "middle", **options,
        }
    )  # fmt: skip


def _changes(canvas: Canvas, main: Followed, places: Mapping[str, int], width: int) -> None:
    """Draw a line where the quantity changed, and the fullest label that reaches no further than the next change."""
    changes = main.history.changes
    at = [places[change.first.meta.id] - 0.5 for change in changes]
    px = (width - _LEFT_PX - _RIGHT_PX) / max(1, len(main.history.rows))
    for number, (change, x) in enumerate(zip(changes, at, strict=True)):
        colour = _colour(change, canvas.theme)
        _vertical(canvas, x, colour, "solid")
        end = at[number + 1] if number + 1 < len(at) else len(main.history.rows) - 0.4
        labels = _labels(change)
        fitting = (one for one in labels if _width_of(one) + 8 <= (end - x) * px)
        # The sign stands there however narrow it is: better and worse are one grey to some, and on paper.
        label = next(fitting, labels[-1])
        html = "<br>".join([f"<b>{plain(label[0])}</b>", *map(plain, label[1:])])
        font = {"size": SMALL, "color": colour}
        _words(canvas, x, html, yref="y domain", y=1.0, yanchor="top", xshift=4, font=font)


def _width_of(label: Sequence[str]) -> float:
    """Return the width of a label in px, whose first line is bold."""
    first, *others = (text_width(line, SMALL) for line in label)
    return max([first * _BOLD, *others])


def _labels(change: ChangePoint) -> list[tuple[str, ...]]:
    """Return the label of a change, the fullest first."""
    step, commit, chance = step_words(change.change), commit_words(change.first), chance_words(change.change)
    return [(f"{step}   {commit}", chance or " "), (step, commit), (step,), (step[:1],)]


def _colour(change: ChangePoint, theme: Theme) -> str:
    verdict = change.change.verdict
    return (
        theme.better
        if verdict in ("faster", "better")
        else theme.worse
        if verdict in ("slower", "worse")
        else theme.text
    )


def _vertical(canvas: Canvas, x: float, colour: str, dash: str) -> None:
    """Draw a line through all panels."""
    canvas.shapes.append(
        {
            "type": "line", "xref": "x", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "layer": "below",
            "line": {"color": colour, "width": 1.5, "dash": dash},
        }
    )  # fmt: skip


def _breaks(canvas: Canvas, main: Followed, places: Mapping[str, int]) -> None:
    for found in main.history.breaks:
        x = places[found.after.meta.id] - 0.5
        _vertical(canvas, x, canvas.theme.muted, "dot")
        html = f"⊘ {plain(found.why)}<br>not compared across"
        _words(canvas, x, html, yref="y domain", y=0.72, yanchor="top", xshift=4)


def _counter(canvas: Canvas, one: Followed, main: Followed, number: int, height: int) -> None:
    """Draw an exact counter as steps in a panel of its own; its first value and each new one are written."""
    top = height - _MAIN_PX - (number - 2) * (_GAP_PX + _COUNTER_PX) - _GAP_PX
    axis = f"y{number}"
    name = quantity_name(one.key)
    canvas.axes[f"yaxis{number}"] = _y_axis(
        canvas.theme, plain(name).replace(" ", "<br>", 1), (top - _COUNTER_PX) / height, top / height
    )
    by_row = {_row_key(row): place for place, row in enumerate(main.history.rows)}
    points = [point for point in one.history.points if _row_key(point) in by_row]
    if not points:
        canvas.axes[f"yaxis{number}"] |= {"range": [0, 1], "tickvals": []}
        return
    values = [point.estimate.value for point in points]
    low, high = min(values), max(values)
    pad = max((high - low) * 0.35, abs(high) * LEVEL_BAND) or 1.0
    ends = [low] if low == high else [low, high]
    canvas.axes[f"yaxis{number}"] |= {"range": [low - pad, high + pad], **_labelled(one, ends)}
    at = [by_row[_row_key(point)] for point in points]
    told = [f"<b>{plain(commit_words(p))}</b><br>{plain(amount(one.key, p.estimate.value, one.unit))}" for p in points]
    _trace(
        canvas, one.key, mode="lines+markers" if len(points) == 1 else "lines", yaxis=axis, x=at, y=values,
        hoverinfo="text", hovertext=told,
        line={"shape": "hvh", "color": canvas.theme.text, "width": 1.5},
    )  # fmt: skip
    changed = {change.first.meta.id for change in one.history.changes}
    for place, point in zip(at, points, strict=True):
        if point is points[0] or point.meta.id in changed:
            words = f"<b>{plain(amount(one.key, point.estimate.value, one.unit))}</b>"
            _words(
                canvas,
                place,
                words,
                y=point.estimate.value,
                yref=axis,
                yshift=9,
                font={"size": SMALL, "color": canvas.theme.text},
            )


def _row_key(row: HistoryPoint | HistoryGap) -> tuple[str, bool]:
    """Return what makes two rows the same commit: of time and counter another run may speak."""
    return (row.commit.hash if row.commit else row.meta.id), row.meta.git.dirty
