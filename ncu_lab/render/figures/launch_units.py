"""How busy the units of a GPU were in one launch: the largest of memory and of the SM, against the line of 80 %."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from ncu_lab.metrics.units import UnitSide
from ncu_lab.model import Inspection, UnitUse
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import Theme

AT_LIMIT = 80.0
"""Percent of its peak from which a unit is drawn as at its limit, as Nsight Compute's rules have it."""

LARGEST = 6
SIDE_TITLES: Mapping[UnitSide, str] = {"memory": "Memory", "compute": "Compute (SM)"}
SIDES: Sequence[UnitSide] = ("memory", "compute")

_MOST_LABEL = 0.45
"""Share of the figure's width that labels may take; a longer one reaches over the edge and is in the table."""

_ROW_PX = 21
_TOP_PX = 4
_BOTTOM_PX = 40


@dataclass(frozen=True, slots=True)
class UnitRow:
    """One row: a unit, or the title of a side (without one)."""

    y: float
    label: str
    use: UnitUse | None = None


def shown_units(found: Inspection, side: UnitSide, *, every: bool = False) -> list[UnitUse]:
    """Return the largest units of a side, all that were busy at all on request."""
    uses = [use for use in found.units if use.side == side]
    return [use for use in uses if use.pct > 0] if every else uses[:LARGEST]


def unit_rows(found: Inspection, *, every: bool = False) -> list[UnitRow]:
    """Place the rows of both sides, each below its title."""
    rows: list[UnitRow] = []
    y = 0.0
    for side in SIDES:
        uses = shown_units(found, side, every=every)
        if not uses:
            continue
        total = found.totals.get(side)
        title = SIDE_TITLES[side] + (f"  {numbers.percent(total)}" if total is not None else "")
        rows.append(UnitRow(y, title))
        rows += [UnitRow(y + at, use.label, use) for at, use in enumerate(uses, start=1)]
        y += len(uses) + 1.35
    return rows


def unit_bars(found: Inspection, theme: Theme, width: int, *, every: bool = False) -> go.Figure:
    """Draw one bar a unit, in percent of what that unit can sustain.

    Args:
        found: The launch.
        theme: Colours.
        width: Width of the figure in px.
        every: All units that were busy, not the six largest of each side.
    """
    rows = unit_rows(found, every=every)
    canvas = Canvas(theme, width)
    widest = max((text_width(row.label) for row in rows), default=80.0)
    left = round(min(widest + 14, width * _MOST_LABEL))
    plot = max(120, width - left - 10)
    panel = Panel(1, 0.0, plot, plot)
    canvas.x_axis(panel, [0, 108], [(tick, str(tick)) for tick in (0, 20, 40, 60, 80, 100)], "linear")
    canvas.axes["xaxis"]["title"] = {
        "text": "% of peak sustained", "font": {"size": SMALL, "color": theme.muted}, "standoff": 6,
    }  # fmt: skip
    for side in SIDES:
        _bars(canvas, panel, [row for row in rows if row.use and row.use.side == side], side)
    for row in rows:
        if row.use is not None:
            words = numbers.percent(row.use.pct, table=True)
            colour = theme.worse if row.use.pct >= AT_LIMIT else theme.text
            canvas.mark_label(
                panel, row.use.pct, row.y, f'<span style="color:{colour}">{words}</span>', shift=3, log=False
            )
    bottom = (rows[-1].y if rows else 0.0) + 0.6
    canvas.shapes.append(
        {
            "type": "line", "xref": "x", "x0": AT_LIMIT, "x1": AT_LIMIT, "yref": "y", "y0": -0.6, "y1": bottom,
            "line": {"color": theme.neutral_2, "width": 1, "dash": "dot"}, "layer": "below",
        }
    )  # fmt: skip
    axis = {
        "range": [bottom, -0.6],
        "tickvals": [row.y for row in rows],
        "ticktext": [plain(row.label) if row.use else f"<b>{plain(row.label)}</b>" for row in rows],
        "tickfont": {"color": theme.text},
        "ticklabelstandoff": 6,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    height = _TOP_PX + round((bottom + 0.6) * _ROW_PX) + _BOTTOM_PX
    return canvas.figure(height, {"l": left, "r": 10, "t": _TOP_PX, "b": _BOTTOM_PX}, yaxis=axis)


def _bars(canvas: Canvas, panel: Panel, rows: Sequence[UnitRow], side: UnitSide) -> None:
    theme = canvas.theme
    uses = [row.use for row in rows if row.use]
    canvas.bars(
        panel,
        SIDE_TITLES[side],
        x=[use.pct for use in uses],
        y=[row.y for row in rows],
        width=0.66,
        customdata=[use.metric for use in uses],
        hovertext=[
            f"<b>{plain(use.label)}</b>  {numbers.percent(use.pct, digits=4)} of its peak<br>{plain(use.metric)}"
            for use in uses
        ],
        hoverinfo="text",
        marker={"color": [theme.worse if use.pct >= AT_LIMIT else theme.neutral_3 for use in uses]},
    )
