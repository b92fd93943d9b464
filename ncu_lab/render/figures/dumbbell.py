"""What the warps of two launches wait for: a dumbbell from A to B a stall reason, in the order in which they stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import plotly.graph_objects as go

from ncu_lab.metrics import STALL_ORDER, stall_metric
from ncu_lab.model import LaunchSummary
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel, round_ticks, spaced
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import Theme, stall_colour, stall_label

WaitScale = Literal["cycles", "share"]

LEAST_SHARE = 0.005
"""A reason that takes less of the warp-cycles (0 to 1) of both launches is left to the table."""

_ROW_PX = 32
_TOP_PX = 24
_BOTTOM_PX = 44
_DOT_PX = 11
_HEAD = "B − A"


@dataclass(frozen=True, slots=True)
class WaitChange:
    """One stall reason of two launches.

    Attributes:
        reason: Which.
        a: Warp-cycles per issued instruction, or share (0 to 1), of A; None where A's GPU or report has no such reason.
        b: Likewise of B.
        least: The larger of both shares of all warp-cycles (0 to 1).
    """

    reason: str
    a: float | None
    b: float | None
    least: float

    @property
    def delta(self) -> float | None:
        """B - A; None where either is missing."""
        return None if self.a is None or self.b is None else self.b - self.a


def has_cycles(a: LaunchSummary, b: LaunchSummary) -> bool:
    """Whether both launches tell warp-cycles; else only shares can be compared."""
    return bool(a.stall_cycles and b.stall_cycles)


def wait_changes(a: LaunchSummary, b: LaunchSummary, scale: WaitScale) -> list[WaitChange]:
    """Return every stall reason of either launch, in stacking order, those nobody knows last; empty without any.

    Args:
        a: Launch A.
        b: Launch B.
        scale: Warp-cycles, or shares of them.
    """
    shares_a, shares_b = a.stalls, b.stalls
    if not shares_a or not shares_b:
        return []
    values_a, values_b = (shares_a, shares_b) if scale == "share" else (a.stall_cycles, b.stall_cycles)
    rank = {reason: place for place, reason in enumerate(STALL_ORDER)}
    reasons = sorted({*values_a, *values_b}, key=lambda reason: (rank.get(reason, len(rank)), reason))
    return [
        WaitChange(
            reason,
            values_a.get(reason),
            values_b.get(reason),
            max(shares_a.get(reason, 0.0), shares_b.get(reason, 0.0)),
        )
        for reason in reasons
    ]


def dumbbell_figure(changes: list[WaitChange], scale: WaitScale, theme: Theme, width: int) -> go.Figure:
    """Draw ○ A and ● B of each reason that matters, and their difference at the right.

    Args:
        changes: As :func:`wait_changes` returns them.
        scale: In what they are.
        theme: Colours.
        width: Width of the figure in px.
    """
    rows = [one for one in changes if one.least >= LEAST_SHARE]
    unit = 100.0 if scale == "share" else 1.0
    words = [change_text(one.delta, scale) for one in rows]
    left = round(max((text_width(stall_label(one.reason)) for one in rows), default=60.0)) + 20
    right = round(max([text_width(text, SMALL) for text in words] + [text_width(_HEAD, SMALL)])) + 22
    plot = max(120, width - left - right)
    canvas, panel = Canvas(theme, width), Panel(1, 0.0, plot, plot)
    most = max([unit * value for one in rows for value in (one.a, one.b) if value is not None] + [1e-9])
    high = most * plot / max(60, plot - _DOT_PX)
    ticks = round_ticks(most)
    apart = plot * (ticks[1] / high) if len(ticks) > 1 else float(plot)
    marks = spaced([(tick, numbers.significant(tick, 2) if tick else "0") for tick in ticks], apart)
    canvas.x_axis(panel, [-0.02 * high, high], marks, "linear")
    title = "% of warp-cycles" if scale == "share" else "warp-cycles per issued instruction"
    canvas.axes["xaxis"]["title"] = {"text": title, "font": {"size": SMALL, "color": theme.muted}, "standoff": 6}
    for y, (one, text) in enumerate(zip(rows, words, strict=True)):
        _row(canvas, panel, one, y, unit, scale)
        canvas.words(panel, y, text, px=plot + right - 4, colour=theme.text, anchor="right")
    canvas.words(panel, -0.72, _HEAD, px=plot + right - 4, anchor="right")
    y_axis: dict[str, Any] = {
        "range": [len(rows) - 0.4, -0.6], "tickvals": list(range(len(rows))),
        "ticktext": [plain(stall_label(one.reason)) for one in rows], "tickfont": {"color": theme.text},
        "ticklabelstandoff": 6, "gridcolor": theme.grid, "zeroline": False, "fixedrange": True,
    }  # fmt: skip
    height = _TOP_PX + len(rows) * _ROW_PX + _BOTTOM_PX
    return canvas.figure(height, {"l": left, "r": right, "t": _TOP_PX, "b": _BOTTOM_PX}, yaxis=y_axis)


def _row(canvas: Canvas, panel: Panel, one: WaitChange, y: int, unit: float, scale: WaitScale) -> None:
    ends = [unit * value for value in (one.a, one.b) if value is not None]
    hover = _hover(one, scale)
    canvas.marks(
        panel,
        stall_label(one.reason),
        mode="lines",
        x=ends,
        y=[y] * len(ends),
        line={"color": stall_colour(one.reason, canvas.theme), "width": 7},
    )
    for name, value, fill in (("A", one.a, canvas.theme.card), ("B", one.b, canvas.theme.text)):
        if value is not None:
            canvas.marks(
                panel,
                f"{name} {stall_label(one.reason)}",
                mode="markers",
                x=[unit * value],
                y=[y],
                customdata=[one.reason],
                hovertext=[hover],
                hoverinfo="text",
                marker={
                    "symbol": "circle", "size": _DOT_PX, "opacity": 1, "color": fill,
                    "line": {"width": 2, "color": canvas.theme.text},
                },
            )  # fmt: skip


def wait_text(value: float | None, scale: WaitScale, digits: int = 3) -> str:
    """Write one value: cycles, or a share in percent."""
    return numbers.share(value, table=True) if scale == "share" else numbers.significant(value, digits)


def change_text(delta: float | None, scale: WaitScale) -> str:
    """Write B - A: ``+0.65`` cycles, or ``−3.2`` points of percent."""
    if delta is None:
        return numbers.MISSING
    shown = round(delta * 100.0, 1) if scale == "share" else round(delta, 2)
    if shown == 0:
        return "0" if delta == 0 else "≈ 0"
    places = 1 if scale == "share" else 2
    return numbers.signed(f"{abs(shown):.{places}f}" if shown > 0 else f"{numbers.MINUS}{abs(shown):.{places}f}")


def _hover(one: WaitChange, scale: WaitScale) -> str:
    both = " → ".join(wait_text(value, scale, 4) for value in (one.a, one.b))
    unit = "of warp-cycles" if scale == "share" else "cycles per issued instruction"
    return (
        f"<b>{plain(stall_label(one.reason))}</b>  {plain(both)} {unit}, n = 1 + 1<br>{plain(stall_metric(one.reason))}"
    )
