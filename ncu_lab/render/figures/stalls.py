"""The stall panel: where the warps' cycles go, as one stack a stage in a fixed order of families."""

from __future__ import annotations

from typing import Literal

from ncu_lab.metrics import METRICS, STALL_ORDER, stall_metric
from ncu_lab.model import Ladder
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel, round_ticks
from ncu_lab.render.figures.rows import PlacedRow, Rows
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import DIMMED, stall_colour, stall_family, stall_label, text_on

Scale = Literal["share", "cycles"]

LEGEND_SHARE = 0.04
"""A reason under this share in every stage is drawn and named on hover, but not in the legend."""

_BAR = 0.74
_PAD_PX = 6
_LEAST_GAP_PX = 4


def reasons_shown(ladder: Ladder) -> list[str]:
    """Return the reasons any stage has, in stacking order; unknown ones last."""
    present = {reason for row in (*ladder.rows, *ladder.references) if row.summary for reason in row.summary.stalls}
    known = [reason for reason in STALL_ORDER if reason in present]
    return known + sorted(present.difference(known))


def legend_reasons(ladder: Ladder) -> list[str]:
    """Return the reasons that reach :data:`LEGEND_SHARE` somewhere, in stacking order."""
    summaries = [row.summary for row in (*ladder.rows, *ladder.references) if row.summary]
    return [
        reason
        for reason in reasons_shown(ladder)
        if any(summary.stalls.get(reason, 0.0) >= LEGEND_SHARE for summary in summaries)
    ]


def draw(
    canvas: Canvas, panel: Panel, rows: Rows, ladder: Ladder, scale: Scale = "share", family: str | None = None
) -> None:
    """Draw the stack; a row without stall counters keeps its place as a dashed cell.

    ``share`` shows percent of warp-cycles, ``cycles`` warp-cycles per issued instruction. Reasons of other families
    than ``family`` are dimmed, if it names one.
    """
    section = METRICS["warp_cycles_per_instruction"].section
    stacked = [placed for placed in rows.placed if placed.row.summary and placed.row.summary.stall_cycles]
    totals = {placed.id: sum(_cycles(placed).values()) for placed in stacked}
    for placed in rows.placed:
        if placed.id not in totals:
            canvas.missing_cell(panel, placed.y, section)
    most = 100.0 if scale == "share" else max(totals.values(), default=1.0)
    canvas.x_axis(panel, [0.0, most], _ticks(most, scale), "linear")
    px_per_unit = panel.width / most
    for reason in reasons_shown(ladder):
        members = [placed for placed in stacked if reason in _cycles(placed)]
        values = [_value(placed, reason, scale) for placed in members]
        # The gap is drawn over the bar's edges: it would wipe out a bar that is hardly wider.
        gaps = [1 if value * px_per_unit >= _LEAST_GAP_PX else 0 for value in values]
        colour = stall_colour(reason, canvas.theme)
        canvas.bars(
            panel,
            stall_label(reason),
            x=values,
            y=[placed.y for placed in members],
            width=_BAR,
            customdata=[placed.id for placed in members],
            hovertext=[_hover(placed, reason) for placed in members],
            hoverinfo="text",
            text=[bar_text(reason, _number(value, scale), value * px_per_unit) for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"size": SMALL, "color": text_on(colour)},
            marker={"color": colour, "line": {"width": gaps, "color": canvas.theme.card}},
            opacity=1.0 if family in (None, stall_family(reason)) else DIMMED,
        )
    for placed in stacked:
        text = numbers.significant(totals[placed.id])
        canvas.side_text(panel, placed.y, text)


def bar_text(reason: str, number: str, width_px: float) -> str:
    """Return what fits into a bar: ``lg throttle 92``, else ``not sel. 23``, else ``23``, else nothing."""
    for text in (f"{stall_label(reason)} {number}", f"{stall_label(reason, short=True)} {number}", number):
        if text_width(text, SMALL) + _PAD_PX <= width_px:
            return text
    return ""


def _cycles(placed: PlacedRow) -> dict[str, float]:
    return dict(placed.row.summary.stall_cycles) if placed.row.summary else {}


def _value(placed: PlacedRow, reason: str, scale: Scale) -> float:
    cycles = _cycles(placed)
    return cycles[reason] if scale == "cycles" else 100.0 * cycles[reason] / sum(cycles.values())


def _number(value: float, scale: Scale) -> str:
    return numbers.significant(value, 2) if scale == "cycles" or value < 1 else f"{value:.0f}"


def _hover(placed: PlacedRow, reason: str) -> str:
    cycles = _cycles(placed)
    share = numbers.share(cycles[reason] / sum(cycles.values()), table=True)
    return (
        f"<b>{plain(placed.id)}</b>  {plain(stall_label(reason))}  {share} of warp-cycles<br>"
        f"{numbers.significant(cycles[reason], 4)} cycles per issued instruction, n = 1<br>{stall_metric(reason)}"
    )


def _ticks(most: float, scale: Scale) -> list[tuple[float, str]]:
    if scale == "share":
        return [(0, "0"), (25, "25"), (50, "50"), (75, "75"), (100, numbers.percent(100))]
    return [(tick, numbers.significant(tick, 1)) for tick in round_ticks(most)]
