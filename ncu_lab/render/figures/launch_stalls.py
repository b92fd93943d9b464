"""What the warps of one launch wait for: one bar a stall reason, the largest first."""

from __future__ import annotations

import plotly.graph_objects as go

from ncu_lab.metrics import stall_metric
from ncu_lab.model import LaunchSummary, Spot
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel, round_ticks
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import Theme, stall_colour, stall_label

LEAST_SHARE = 0.005
"""Share of warp-cycles (0 to 1) from which a reason is drawn; the others are counted in words."""

_ROW_PX = 30
_TOP_PX = 4
_BOTTOM_PX = 40


def by_size(summary: LaunchSummary) -> list[tuple[str, float, float | None]]:
    """Return reason, share (0 to 1) and warp-cycles per issued instruction (None where only samples tell)."""
    cycles = summary.stall_cycles
    found = [(reason, share, cycles.get(reason) if cycles else None) for reason, share in summary.stalls.items()]
    return sorted(found, key=lambda one: -one[1])


def stall_bars(
    summary: LaunchSummary, theme: Theme, width: int, *, spot: Spot | None = None, every: bool = False
) -> go.Figure:
    """Draw the reasons by size, in warp-cycles per issued instruction, or in percent of samples.

    Args:
        summary: The launch.
        theme: Colours.
        width: Width of the figure in px.
        spot: A line of code whose own samples are marked beside the bars.
        every: Also reasons below :data:`LEAST_SHARE`.
    """
    found = by_size(summary)
    total = sum(summary.stall_cycles.values())
    unit = total if total else 100.0
    own = _shares(spot)
    rows = [one for one in found if every or one[1] >= LEAST_SHARE or own.get(one[0], 0.0) >= LEAST_SHARE]
    canvas = Canvas(theme, width)
    left = round(max((text_width(stall_label(reason)) for reason, _, _ in rows), default=80.0)) + 14
    plot = max(120, width - left - 10)
    panel = Panel(1, 0.0, plot, plot)
    most = max([share for _, share, _ in rows] + list(own.values()) + [1e-9]) * unit
    label_px = 92
    canvas.x_axis(
        panel,
        [0, most * plot / max(60, plot - label_px)],
        [(tick, numbers.significant(tick, 2) if tick else "0") for tick in round_ticks(most)],
        "linear",
    )
    title = "warp-cycles per issued instruction" if total else "% of samples"
    canvas.axes["xaxis"]["title"] = {
        "text": title, "font": {"size": SMALL, "color": theme.muted}, "standoff": 6,
    }  # fmt: skip
    for y, (reason, share, cycles) in enumerate(rows):
        canvas.bars(
            panel,
            stall_label(reason),
            x=[share * unit],
            y=[y],
            width=0.62,
            customdata=[reason],
            hovertext=[_hover(reason, share, cycles)],
            hoverinfo="text",
            marker={"color": stall_colour(reason, theme)},
        )
        words = numbers.share(share) if cycles is None else numbers.significant(cycles)
        beside = "" if cycles is None else f'  <span style="color:{theme.muted}">{numbers.share(share)}</span>'
        reach = max(share, own.get(reason, 0.0)) * unit
        canvas.mark_label(panel, reach, y, words + beside, shift=8 if own else 4, log=False)
    if own and spot is not None:
        _mark(canvas, panel, [(y, own.get(reason, 0.0)) for y, (reason, _, _) in enumerate(rows)], unit, spot)
    axis = {
        "range": [len(rows) - 0.4, -0.6],
        "tickvals": list(range(len(rows))),
        "ticktext": [plain(stall_label(reason)) for reason, _, _ in rows],
        "tickfont": {"color": theme.text},
        "ticklabelstandoff": 6,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    height = _TOP_PX + len(rows) * _ROW_PX + _BOTTOM_PX
    return canvas.figure(height, {"l": left, "r": 10, "t": _TOP_PX, "b": _BOTTOM_PX}, yaxis=axis)


def _shares(spot: Spot | None) -> dict[str, float]:
    total = sum(spot.stalls.values()) if spot is not None else 0.0
    return {reason: samples / total for reason, samples in spot.stalls.items()} if spot is not None and total else {}


def _mark(canvas: Canvas, panel: Panel, shares: list[tuple[int, float]], unit: float, spot: Spot) -> None:
    name = f"line {spot.line}" if spot.offset is None else f"instruction {spot.offset:04x}"
    canvas.marks(
        panel,
        name,
        mode="markers",
        x=[share * unit for _, share in shares],
        y=[y for y, _ in shares],
        hovertext=[f"{plain(name)}: {numbers.share(share, table=True)} of its samples" for _, share in shares],
        hoverinfo="text",
        marker={
            "symbol": "diamond", "size": 9, "opacity": 1, "color": canvas.theme.card,
            "line": {"width": 2, "color": canvas.theme.accent},
        },
    )  # fmt: skip


def _hover(reason: str, share: float, cycles: float | None) -> str:
    told = f"<b>{plain(stall_label(reason))}</b>  {numbers.share(share, table=True)} of warp-cycles, n = 1<br>"
    if cycles is not None:
        told += f"{numbers.significant(cycles, 4)} cycles per issued instruction<br>"
    return told + plain(stall_metric(reason))
