"""What bought each step of the ladder: one diverging stack a step, in log2 factors, which add; left is faster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from ncu_lab.model import Attribution, Ladder, LadderRow
from ncu_lab.model.attribution import STALL
from ncu_lab.render import numbers
from ncu_lab.render.figures.attribution import factor_marker
from ncu_lab.render.figures.canvas import Canvas, Panel, spaced
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import DIMMED, FAMILY_TITLES, Theme, stall_colour, text_on

FAMILY_REASONS: Mapping[str, str] = {
    "issuing": "not_selected",
    "execution": "wait",
    "fetch": "no_instruction",
    "other": "misc",
    "sync": "barrier",
    "shared / MIO": "mio_throttle",
    "global / L1TEX": "long_scoreboard",
}
"""Family -> the reason whose colour stands for it."""

FAMILY_SIGNS: Mapping[str, tuple[str, str]] = {
    "issuing": ("issue", "I"),
    "execution": ("exec", "E"),
    "fetch": ("fetch", "F"),
    "other": ("other", "O"),
    "sync": ("sync", "S"),
    "shared / MIO": ("MIO", "M"),
    "global / L1TEX": ("global", "G"),
}
"""Family -> what stands in its bars where it fits, beside the hue: a short name, else a letter.

Barrier and mio_throttle, which stand for two families that touch here, are nearly one grey in the dark theme.
"""

HATCHED = ("instructions", "warps", "imbalance", "clock")
FACTOR_TITLES: Mapping[str, str] = {
    "instructions": "Instructions",
    "warps": "Warps in flight",
    "imbalance": "Imbalance, tail",
    "clock": "Clock",
}

_ROW_PX = 31
_LEAST_PX = 180
"""Width of the bars below which names and words are cut short."""
_TOP_PX = 6
_BOTTOM_PX = 44
_BAR = 0.62
_LEAST = 0.005
"""A log2 factor below (0.3 %) is not drawn."""
_PAD_PX, _LETTER_PAD_PX = 8, 3
"""What a bar is wider than a name, and than a letter, in it."""
_NET_PX = 13
"""Room of the mark of the step itself, which covers what is below it."""
_EDGE = 1e-6
"""What a sum may miss a whole factor by."""


@dataclass(frozen=True, slots=True)
class StepRow:
    """One step: what led to it, and its factors in the order in which they stack, log2."""

    stage: str
    label: str
    total: float
    factors: Mapping[str, float]
    net: float


def step_rows(ladder: Ladder) -> list[StepRow]:
    """Return the steps that are split, in ladder order; their factors: stalls by family, then the hatched ones."""
    return [_row(row, found) for row in ladder.rows if isinstance(found := row.attribution, Attribution)]


def _row(row: LadderRow, found: Attribution) -> StepRow:
    families = {f"{STALL}{FAMILY_REASONS[name]}": log2 for name, log2 in found.stall_families_log2.items()}
    hatched = {name: found.log2[name] for name in HATCHED}
    label = f"{plain(row.stage.predecessor or '')} → <b>{plain(row.stage.id)}</b>"
    total = sum(found.log2.values())
    return StepRow(row.stage.id, label, total, {**families, **hatched}, found.log2["stalls"] + found.log2["warps"])


def families_shown(ladder: Ladder) -> list[str]:
    """Return the families of stall reasons that any step shows, in stacking order."""
    rows = step_rows(ladder)
    return [
        name
        for name, reason in FAMILY_REASONS.items()
        if any(abs(row.factors.get(f"{STALL}{reason}", 0.0)) >= _LEAST for row in rows)
    ]


def steps_figure(
    ladder: Ladder, theme: Theme, width: int, *, selected: str | None = None, family: str | None = None
) -> go.Figure:
    """Draw one stack a step; what is left of the line made it faster, ◆ is the step itself.

    Args:
        ladder: What to draw.
        theme: Colours.
        width: Width of the figure in px.
        selected: Stage whose step is marked.
        family: Family of stall reasons beside which all other factors are dimmed; None dims none.
    """
    rows = step_rows(ladder)
    canvas = Canvas(theme, width)
    room = _room(ladder, rows, width)
    left, plot, panel = room.left, room.plot, Panel(1, 0.0, max(80.0, room.plot - room.side), room.plot)
    low, high = _range(rows)
    ticks = spaced([(tick, _tick(tick)) for tick in range(low, high + 1)], panel.width / max(high - low, 1))
    canvas.x_axis(panel, [low - 0.2, high + 0.2], ticks, "linear")
    canvas.axes["xaxis"]["title"] = {
        "text": "factor on the duration; left = faster"
        if room.brief
        else "factor on the duration of the stage before; left = faster",
        "font": {"size": SMALL, "color": theme.muted},
        "standoff": 4,
    }
    px = panel.width / (high - low + 0.4)
    names: list[_Name] = []
    for y, row in enumerate(rows):
        if row.stage == selected:
            _band(canvas, y, left / plot)
        names += [name for bar in _stack(canvas, panel, row, y, family) if (name := _name(bar, row.total, px))]
        colour = theme.muted if row.total == 0 else theme.better if row.total < 0 else theme.worse
        canvas.words(panel, y, _side_words(row, brief=room.brief), px=panel.width + 8, colour=colour)
    canvas.shapes.append(
        {
            "type": "line", "xref": panel.x, "x0": 0, "x1": 0, "yref": "y", "y0": -0.5, "y1": len(rows) - 0.5,
            "line": {"color": theme.text, "width": 1},
        }
    )  # fmt: skip
    _write_names(canvas, panel, names)
    _mark_steps(canvas, panel, rows)
    y_axis: dict[str, Any] = {
        "range": [len(rows) - 0.5, -0.5],
        "tickvals": list(range(len(rows))),
        "ticktext": [f"<b>{plain(row.stage)}</b>" if room.brief else row.label for row in rows],
        "tickfont": {"color": theme.text},
        "ticklabelstandoff": 6,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    height = _TOP_PX + max(1, len(rows)) * _ROW_PX + _BOTTOM_PX
    margin = {"l": left, "r": 8, "t": _TOP_PX, "b": _BOTTOM_PX}
    return canvas.figure(height, margin, yaxis=y_axis, barmode="overlay", bargap=0)


@dataclass(frozen=True, slots=True)
class _Room:
    """Px of the names, the plot area and the words beside it; ``brief``: names without the stage before."""

    left: int
    plot: int
    side: float
    brief: bool


def _room(ladder: Ladder, rows: Sequence[StepRow], width: int) -> _Room:
    """Return names and words in full where bars keep enough room, else in brief."""
    stepping = [row.stage for row in ladder.rows if row.stage.predecessor]
    for brief in (False, True):
        names = (stage.id if brief else f"{stage.predecessor} → {stage.id}" for stage in stepping)
        left = round(max((text_width(name) for name in names), default=80.0)) + 14
        side = max((text_width(_side_words(row, brief=brief), SMALL) for row in rows), default=0.0) + 12
        if width - left - 8 - side >= _LEAST_PX:
            break
    return _Room(left, max(160, width - left - 8), side, brief)


def _side_words(row: StepRow, *, brief: bool) -> str:
    words = step_words(row)
    return words.removesuffix(" faster").removesuffix(" slower") if brief else words


def _range(rows: Sequence[StepRow]) -> tuple[int, int]:
    """Return whole log2 factors that hold every stack, at least from a half to twice."""
    lows = [sum(value for value in row.factors.values() if value < 0) for row in rows]
    highs = [sum(value for value in row.factors.values() if value > 0) for row in rows]
    low, high = min([-1.0, *lows]), max([1.0, *highs])
    return math.floor(low + _EDGE), math.ceil(high - _EDGE)


def _tick(power: int) -> str:
    return "1" if power == 0 else f"{'÷' if power < 0 else '×'}{2 ** abs(power)}"


def step_words(row: StepRow) -> str:
    """Write a step: ``▼ 1.66× faster``."""
    return factor_words(row.total)


def factor_words(log2: float) -> str:
    """Write a factor on a duration, given as its log2: ``▼ 1.66× faster``."""
    factor = 2.0 ** abs(log2)
    if factor < 1.005:
        return f"= {numbers.ratio(factor)}"
    return f"▼ {numbers.ratio(factor)} faster" if log2 < 0 else f"▲ {numbers.ratio(factor)} slower"


@dataclass(frozen=True, slots=True)
class _Bar:
    """A bar that may be named: its family, its row, and its ends, the left one first."""

    family: str
    y: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class _Name:
    """What is written into a bar, and where its middle is; on the colour of that reason."""

    text: str
    x: float
    y: int
    reason: str


def _stack(canvas: Canvas, panel: Panel, row: StepRow, y: int, family: str | None) -> list[_Bar]:
    """Stack the factors outwards from the line: those that made it faster to the left, the others to the right.

    Returns:
        The bars of families that are not dimmed.
    """
    ends = {-1: 0.0, 1: 0.0}
    drawn: list[_Bar] = []
    for factor, value in row.factors.items():
        if abs(value) < _LEAST:
            continue
        side = 1 if value > 0 else -1
        canvas.bars(
            panel,
            _title(factor),
            x=[value],
            base=[ends[side]],
            y=[y],
            width=_BAR,
            customdata=[row.stage],
            hovertext=[f"{row.label}<br>{plain(_title(factor))}  {_times(value)}"],
            hoverinfo="text",
            marker=factor_marker(factor, canvas.theme),
            opacity=1.0 if family is None or factor == f"{STALL}{FAMILY_REASONS[family]}" else DIMMED,
        )
        own = _family(factor)
        if own is not None and family in (None, own):
            low, high = sorted((ends[side], ends[side] + value))
            drawn.append(_Bar(own, y, low, high))
        ends[side] += value
    return drawn


def _name(bar: _Bar, net: float, px: float) -> _Name | None:
    """Return what fits into a bar beside the mark at ``net``: the short name of its family, else a letter, else none.

    Args:
        bar: The bar.
        net: Where the step's own mark stands.
        px: Px of one on the axis.
    """
    half = _NET_PX / 2 / px
    spans = [(bar.low, bar.high)]
    if bar.low < net + half and net - half < bar.high:
        spans = [(bar.low, net - half), (net + half, bar.high)]
    low, high = max(spans, key=lambda span: span[1] - span[0])
    short, letter = FAMILY_SIGNS[bar.family]
    for text, pad in ((short, _PAD_PX), (letter, _LETTER_PAD_PX)):
        if text_width(text, SMALL) + pad <= (high - low) * px:
            return _Name(text, (low + high) / 2, bar.y, FAMILY_REASONS[bar.family])
    return None


def _write_names(canvas: Canvas, panel: Panel, names: Sequence[_Name]) -> None:
    canvas.marks(
        panel,
        "names of families",
        mode="text",
        x=[name.x for name in names],
        y=[name.y for name in names],
        text=[name.text for name in names],
        textfont={"size": SMALL, "color": [text_on(stall_colour(name.reason, canvas.theme)) for name in names]},
    )


def _mark_steps(canvas: Canvas, panel: Panel, rows: Sequence[StepRow]) -> None:
    canvas.marks(
        panel,
        "step",
        mode="markers",
        x=[row.total for row in rows],
        y=list(range(len(rows))),
        customdata=[row.stage for row in rows],
        hovertext=[_net_hover(row) for row in rows],
        hoverinfo="text",
        marker={
            "symbol": "diamond", "size": 11, "color": canvas.theme.text, "opacity": 1,
            "line": {"color": canvas.theme.card, "width": 1.5},
        },
    )  # fmt: skip


def _title(factor: str) -> str:
    family = _family(factor)
    return FACTOR_TITLES[factor] if family is None else FAMILY_TITLES[family]


def _family(factor: str) -> str | None:
    """Return the family that a factor stands for; None for one that is no stall."""
    return next((name for name, reason in FAMILY_REASONS.items() if factor == STALL + reason), None)


def _times(log2: float) -> str:
    """Write a factor on the duration: ``× 0.66 (log2 −0.60)``."""
    return f"× {numbers.significant(2.0**log2)} (log2 {numbers.log2_factor(log2)})"


def _net_hover(row: StepRow) -> str:
    lines = (row.label, step_words(row), f"stalls ÷ warps, net  {_times(row.net)}", "gpu__time_duration.sum, n = 1")
    return "<br>".join(lines)


def _band(canvas: Canvas, y: int, names: float) -> None:
    canvas.shapes.append(
        {
            "type": "rect", "layer": "below", "xref": "paper", "x0": -names, "x1": 1, "yref": "y",
            "y0": y - 0.5, "y1": y + 0.5, "fillcolor": canvas.theme.selection, "line": {"width": 0},
        }
    )  # fmt: skip
