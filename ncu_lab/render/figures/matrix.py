"""The ladder as one figure: a row a stage, a panel a metric, read along a stage or down a metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go

from ncu_lab.model import Ladder
from ncu_lab.render.figures import accesses, badges, duration, occupancy, stalls
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.published import SIGN as PUBLISHED
from ncu_lab.render.figures.published import published_marks
from ncu_lab.render.figures.rows import ROW_PX, Rows, Sort, place_rows
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import Theme

PanelName = Literal["duration", "stalls", "sectors", "conflicts", "occupancy", "theory"]

TOP_PX = 46
"""Height of the captions above the rows of the matrix."""

WHOLE_FROM_PX = 1180
"""Width from which all panels have room beside each other; narrower places show one panel at a time."""

PANEL_TOP_PX = 6
"""The same for a single panel, whose captions are the page's."""

_BOTTOM_PX = 26
_TITLE_PX = 20
_RIGHT_PX = 6
_NAMES_PAD_PX = 14
_GAP_PX = 22


@dataclass(frozen=True, slots=True)
class PanelSpec:
    """A panel's words and its room: a share of what is left, and px for text, right of its axis if it has one.

    ``short`` is the note where the whole does not fit. Below ``least_px`` a heading, or words in place of marks, would
    touch the next panel.
    """

    title: str
    note: str
    share: float
    side_px: int
    short: str = ""
    least_px: int = 0


PANELS: Mapping[PanelName, PanelSpec] = {
    "duration": PanelSpec("Duration", "log · bar = gap to cuBLAS, %", 0.285, 0),
    "stalls": PanelSpec("What the warps wait for", "% of warp-cycles · right: cycles per instruction", 0.37, 44),
    "sectors": PanelSpec("Sectors / request", "● loads ◇ stores | ideal", 0.135, 0, "● loads ◇ stores", 120),
    "conflicts": PanelSpec("Bank conflicts", "÷ conflict-free", 0.125, 0, least_px=112),
    "occupancy": PanelSpec("Occupancy", "achieved | max · regs", 0.085, 62),
    "theory": PanelSpec("Expected", "✓ met ✗ missed – not collected", 0.0, 94, "✓ met ✗ missed"),
}


def names_px(rows: Rows) -> int:
    """Return the width of the column of stage names."""
    return round(max((text_width(placed.label) for placed in rows.placed), default=60.0)) + _NAMES_PAD_PX


def ladder_matrix(
    ladder: Ladder,
    theme: Theme,
    width: int,
    *,
    selected: str | None = None,
    sort: Sort = "ladder",
    scale: stalls.Scale = "share",
    family: str | None = None,
) -> go.Figure:
    """Draw all panels over one y axis.

    Args:
        ladder: What to draw.
        theme: Colours.
        width: Width of the figure in px, which decides what text fits.
        selected: Stage whose row is marked.
        sort: Order of the rows.
        scale: Stalls as shares or as cycles per issued instruction.
        family: Family of stall reasons beside which all others are dimmed; None dims none.
    """
    rows = place_rows(ladder, sort)
    canvas = Canvas(theme, width)
    left = names_px(rows)
    plot = max(600, width - left - _RIGHT_PX)
    widths = _widths(plot - sum(spec.side_px for spec in PANELS.values()) - _GAP_PX * (len(PANELS) - 1))
    x = 0.0
    for number, (name, spec) in enumerate(PANELS.items(), start=1):
        panel = Panel(number, x, widths[name] or spec.side_px, plot)
        _draw_panel(canvas, panel, name, rows, ladder, scale, family)
        room = panel.width + (spec.side_px if spec.share else 0) + _GAP_PX
        canvas.caption(panel, spec.title, _caption(name, scale, ladder, room))
        x += panel.width + spec.side_px + _GAP_PX
    return finish(canvas, rows, selected, left, plot, TOP_PX)


def _widths(free: float) -> dict[PanelName, float]:
    """Divide a width in px among the panels by their shares, those that would be too narrow at their least first."""
    widths = {name: float(spec.least_px) for name, spec in PANELS.items() if free * spec.share < spec.least_px}
    others = sum(spec.share for name, spec in PANELS.items() if name not in widths)
    left = free - sum(widths.values())
    return widths | {name: left * spec.share / others for name, spec in PANELS.items() if name not in widths}


def ladder_panel(
    ladder: Ladder,
    theme: Theme,
    width: int,
    name: PanelName,
    *,
    selected: str | None = None,
    sort: Sort = "ladder",
    scale: stalls.Scale = "share",
    family: str | None = None,
) -> go.Figure:
    """Draw one panel with its own stage names, for a narrow page."""
    rows = place_rows(ladder, sort)
    canvas = Canvas(theme, width)
    left = names_px(rows)
    plot = max(160, width - left - _RIGHT_PX)
    spec = PANELS[name]
    panel = Panel(1, 0.0, plot - (spec.side_px if spec.share else 0) - 8, plot)
    _draw_panel(canvas, panel, name, rows, ladder, scale, family)
    return finish(canvas, rows, selected, left, plot, PANEL_TOP_PX)


def panel_note(name: PanelName, ladder: Ladder, scale: stalls.Scale = "share") -> str:
    """Return the muted line that says what a panel's marks mean."""
    if name == "stalls" and scale == "cycles":
        return "warp-cycles per issued instruction · right: their sum"
    if name == "duration" and published_marks(ladder, place_rows(ladder)):
        return f"bar = gap to cuBLAS, % · {PUBLISHED} published"
    return PANELS[name].note


def _caption(name: PanelName, scale: stalls.Scale, ladder: Ladder, width: float) -> str:
    """Return the note of a panel where it fits above it, else what is short enough."""
    note, spec = panel_note(name, ladder, scale), PANELS[name]
    return next((one for one in (note, spec.note) if text_width(one, SMALL) <= width), spec.short or spec.note)


def _draw_panel(
    canvas: Canvas,
    panel: Panel,
    name: PanelName,
    rows: Rows,
    ladder: Ladder,
    scale: stalls.Scale,
    family: str | None,
) -> None:
    painters: Mapping[PanelName, Callable[[], None]] = {
        "duration": lambda: duration.draw(canvas, panel, rows, ladder),
        "stalls": lambda: stalls.draw(canvas, panel, rows, ladder, scale, family),
        "sectors": lambda: accesses.draw_sectors(canvas, panel, rows),
        "conflicts": lambda: accesses.draw_conflicts(canvas, panel, rows),
        "occupancy": lambda: occupancy.draw(canvas, panel, rows),
        "theory": lambda: badges.draw(canvas, panel, rows),
    }
    painters[name]()


def finish(
    canvas: Canvas,
    rows: Rows,
    selected: str | None,
    left: int,
    plot: int,
    top: int,
    *,
    below: dict[str, Any] | None = None,
) -> go.Figure:
    """Add what spans all panels (names, bands, row lines) and size the figure to its rows.

    Args:
        canvas: A canvas with its panels drawn.
        rows: The rows they share.
        selected: Stage whose row is marked.
        left: Width of the names in px.
        plot: Width of the plot area in px.
        top: Height above the first row in px.
        below: Plotly title of the x axis; None without.
    """
    theme = canvas.theme
    # Of a panel whose traces have no point, Plotly writes the line of the axis at NaN, and the browser complains.
    canvas.traces = [trace for trace in canvas.traces if len(trace["x"])]
    chosen = rows.find(selected)
    if chosen is not None:
        _band(canvas, chosen.y - 0.5, chosen.y + 0.5, left / plot, theme.selection)
    if rows.first_reference_y is not None:
        _band(canvas, rows.first_reference_y - 0.5, rows.bottom, left / plot, theme.shade)
    for y in range(rows.count - 1):
        canvas.shapes.append(
            {
                "type": "line", "layer": "below", "xref": "paper", "x0": 0, "x1": 1, "yref": "y",
                "y0": y + 0.5, "y1": y + 0.5, "line": {"color": theme.grid, "width": 1},
            }
        )  # fmt: skip
    if rows.gap_y is not None:
        canvas.annotations.append(
            {
                "xref": "paper", "x": 0, "xanchor": "right", "xshift": -6, "yref": "y", "y": rows.gap_y + 0.15,
                "text": "references", "showarrow": False, "font": {"size": SMALL, "color": theme.muted},
            }
        )  # fmt: skip
    y_axis: dict[str, Any] = {
        "range": [rows.bottom, -0.5],
        "tickvals": [placed.y for placed in rows.placed],
        "ticktext": [
            f"<b>{plain(placed.label)}</b>" if placed is chosen else plain(placed.label) for placed in rows.placed
        ],
        "tickfont": {"color": theme.text},
        "ticklabelstandoff": 6,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    bottom = _BOTTOM_PX
    if below is not None:
        canvas.axes["xaxis"]["title"] = below
        bottom += _TITLE_PX
    height = top + rows.count * ROW_PX + bottom
    margin = {"l": left, "r": _RIGHT_PX, "t": top, "b": bottom}
    return canvas.figure(height, margin, barmode="stack", yaxis=y_axis)


def _band(canvas: Canvas, y0: float, y1: float, left: float, colour: str) -> None:
    """Put a band behind everything drawn so far."""
    canvas.shapes.insert(
        0,
        {
            "type": "rect", "layer": "below", "xref": "paper", "x0": -left, "x1": 1, "yref": "y", "y0": y0, "y1": y1,
            "fillcolor": colour, "line": {"width": 0},
        },
    )  # fmt: skip
