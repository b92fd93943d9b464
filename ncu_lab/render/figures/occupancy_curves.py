"""How many warps an SM holds as registers, shared memory and the size of a block vary, and where this launch is."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import plotly.graph_objects as go

from ncu_lab.model import OccupancyCurve, OccupancyPicture
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel, round_ticks
from ncu_lab.render.figures.text import SMALL, plain
from ncu_lab.render.palette import Theme

AXES: Mapping[str, str] = {
    "registers": "registers / thread",
    "shared memory": "shared memory / block",
    "block size": "threads / block",
}
_SHORT_AXES: Mapping[str, str] = {"registers": "registers", "shared memory": "shared, kB", "block size": "threads"}
_SHORT_BELOW_PX = 165
"""Width of a panel below which its axis has short words and two ticks."""

_HEIGHT_PX = 244
_TOP_PX = 26
_BOTTOM_PX = 42
_LEFT_PX = 46
_GAP_PX = 20


def current(picture: OccupancyPicture, varies: str) -> int | None:
    """Return what the launch itself asks for of one resource."""
    demand = picture.demand
    if demand is None:
        return None
    return {"registers": demand.registers, "shared memory": demand.shared_bytes, "block size": demand.threads}[varies]


def warps_at(curve: OccupancyCurve, x: int) -> int | None:
    """Return the warps at a demand: those of the next size that is handed out; None beyond the curve."""
    at = bisect_left(curve.x, x)
    return curve.warps[at] if at < len(curve.x) else None


def demand_text(varies: str, x: int) -> str:
    """Write a demand: ``30``, ``8.19 kB``, ``1 024``."""
    return numbers.byte_count(x) if varies == "shared memory" else numbers.integer(x)


def occupancy_curves(picture: OccupancyPicture, theme: Theme, width: int) -> go.Figure:
    """Draw up to three step curves on one axis of resident warps.

    Args:
        picture: The curves and what the launch asks for.
        theme: Colours.
        width: Width of the figure in px.
    """
    canvas = Canvas(theme, width)
    plot = max(150, width - _LEFT_PX - 14)
    count = max(1, len(picture.curves))
    each = (plot - _GAP_PX * (count - 1)) / count
    most = picture.most_warps or max((max(curve.warps) for curve in picture.curves), default=64)
    for number, curve in enumerate(picture.curves, start=1):
        panel = Panel(number, (number - 1) * (each + _GAP_PX), each, plot)
        _curve(canvas, panel, curve, current(picture, curve.varies))
    step = most / 4 if most % 4 == 0 else most
    ticks = [step * at for at in range(int(most / step) + 1)]
    axis = {
        "range": [0, most * 1.04],
        "tickvals": ticks,
        "ticktext": [numbers.integer(tick) for tick in ticks],
        "tickfont": {"size": SMALL, "color": theme.muted},
        "title": {"text": "resident warps / SM", "font": {"size": SMALL, "color": theme.muted}, "standoff": 4},
        "gridcolor": theme.grid,
        "zeroline": False,
        "fixedrange": True,
    }
    return canvas.figure(_HEIGHT_PX, {"l": _LEFT_PX, "r": 14, "t": _TOP_PX, "b": _BOTTOM_PX}, yaxis=axis)


def _curve(canvas: Canvas, panel: Panel, curve: OccupancyCurve, now: int | None) -> None:
    theme, high = canvas.theme, max(curve.x)
    ticks = round_ticks(high) if curve.varies == "shared memory" else [0, high // 2 // 4 * 4, high // 4 * 4]
    short = panel.width < _SHORT_BELOW_PX
    if short:
        ticks = [ticks[0], ticks[-1]]
    labels = [numbers.integer(tick / 1000) if curve.varies == "shared memory" else str(int(tick)) for tick in ticks]
    canvas.x_axis(panel, [0, high * 1.02], list(zip(ticks, labels, strict=True)), "linear")
    name = f"xaxis{'' if panel.number == 1 else panel.number}"
    title = AXES[curve.varies] + (", kB" if curve.varies == "shared memory" else "")
    if short:
        title = _SHORT_AXES[curve.varies]
    canvas.axes[name]["title"] = {
        "text": title, "font": {"size": SMALL, "color": theme.muted}, "standoff": 6,
    }  # fmt: skip
    canvas.marks(
        panel,
        curve.varies,
        mode="lines",
        x=list(curve.x),
        y=list(curve.warps),
        hovertext=[
            f"{demand_text(curve.varies, x)}: {warps} warps an SM"
            for x, warps in zip(curve.x, curve.warps, strict=True)
        ],
        hoverinfo="text",
        cliponaxis=True,
        line={"shape": "vh", "width": 1.6, "color": theme.text},
    )
    warps = warps_at(curve, now) if now is not None else None
    if now is None or warps is None:
        return
    label = demand_text(curve.varies, now)
    right = now > high * 0.6
    canvas.marks(
        panel,
        f"this launch, {curve.varies}",
        mode="markers+text",
        x=[now],
        y=[warps],
        text=[f"<b>{plain(label)}</b>"],
        textposition="top left" if right else "top right",
        textfont={"size": SMALL, "color": theme.accent},
        hovertext=[f"this launch: {plain(label)}, {warps} warps an SM"],
        hoverinfo="text",
        marker={"size": 10, "opacity": 1, "color": theme.accent},
    )
