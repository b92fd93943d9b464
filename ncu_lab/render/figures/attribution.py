"""Why one launch takes longer than another: a waterfall from A's duration to B's, in time.

Hue means stall reason; the other factors are neutral and hatched. A bracket nets stalls and warps, since they trade.
The residual is always there. Bars of A and B begin at zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from ncu_lab.metrics import IDENTITY_FORMS, stall_metric
from ncu_lab.model import Attribution
from ncu_lab.model.attribution import STALL
from ncu_lab.render import numbers
from ncu_lab.render.attribution import NET, WaterfallRow, waterfall
from ncu_lab.render.figures.canvas import Canvas, Panel, round_ticks, spaced
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import DIMMED, Theme, stall_colour, stall_family

HATCHES: Mapping[str, str] = {"instructions": "|", "warps": "/", "imbalance": ".", "clock": "-"}
"""Factor that is no stall reason -> how its bars are hatched."""

_ROW_PX = 27
_TOP_PX = 6
_BOTTOM_PX = 44
_BAR = 0.62
_NARROW_PX, _NARROW_ROW_PX, _NARROW_BAR, _LABEL_ABOVE = 480, 40, 0.36, 0.42
"""Narrower figures have a row's label above its bar: there, what a bar takes of a row, and how far above it stands."""

_GAP_PX = 6
_BRACKET_PX = 14
"""From the longest bar or label to the bracket."""

_SIGNS = {-1: "▼", 0: "=", 1: "▲"}


@dataclass(frozen=True, slots=True)
class _Axis:
    """Time on the x axis: its unit, where it begins and ends, the most that bars reach, and how wide it is in px.

    ``bar`` is how much of a row a bar takes.
    """

    unit: str
    unit_ns: float
    low_ns: float
    most_ns: float
    high_ns: float
    px: float
    bar: float = _BAR

    def value(self, ns: float) -> float:
        return ns / self.unit_ns

    def place(self, ns: float) -> float:
        """Return px from the left edge of the panel."""
        return (ns - self.low_ns) / (self.high_ns - self.low_ns) * self.px


def waterfall_figure(
    attribution: Attribution, a: str, b: str, theme: Theme, width: int, *, family: str | None = None
) -> go.Figure:
    """Draw how A's duration becomes B's, factor by factor.

    Args:
        attribution: The split.
        a: Name of launch A.
        b: Name of launch B.
        theme: Colours.
        width: Width of the figure in px.
        family: Family of stall reasons beside which all other factors are dimmed; None dims none.
    """
    rows = [row for row in waterfall(attribution) if row.factor != "net"]
    labels = [_label(row, theme) for row in rows]
    narrow = width < _NARROW_PX
    left = 8 if narrow else round(max(text_width(_plain_label(row)) for row in rows)) + 16
    panel_px = max(140, width - left - 8)
    label_px = max(text_width(_change_words(row.ns, attribution), SMALL) for row in rows) + 2 * _GAP_PX
    bracket_px = _BRACKET_PX + 10 + max(text_width(text, SMALL) for text in _net_words(attribution))
    axis = replace(_axis(rows, attribution, panel_px, label_px + bracket_px), bar=_NARROW_BAR if narrow else _BAR)
    canvas = Canvas(theme, width)
    panel = Panel(1, 0.0, panel_px, panel_px)
    ticks = round_ticks(axis.value(axis.most_ns))
    step_px = axis.place(ticks[1] * axis.unit_ns) - axis.place(0.0) if len(ticks) > 1 else panel_px
    marks = spaced([(tick, numbers.significant(tick, 1)) for tick in ticks], step_px)
    canvas.x_axis(panel, [axis.value(axis.low_ns), axis.value(axis.high_ns)], marks, "linear")
    canvas.axes["xaxis"]["title"] = {
        "text": f"duration, {axis.unit}", "font": {"size": SMALL, "color": theme.muted}, "standoff": 4,
    }  # fmt: skip
    last = len(rows) + 1
    _ends(canvas, panel, axis, attribution, {0: a, last: b})
    for y, row in enumerate(rows, start=1):
        _step(canvas, panel, axis, row, y, attribution, family)
    _bracket(canvas, panel, axis, rows, attribution, label_px)
    texts = [f"<b>{plain(a)}</b>", *labels, f"<b>{plain(b)}</b>"]
    for y, html in enumerate(texts if narrow else []):
        canvas.mark_label(panel, axis.value(axis.low_ns), y - _LABEL_ABOVE, html, shift=-4, log=False)
        canvas.annotations[-1]["bgcolor"] = theme.card  # lines from bar to bar pass behind it
    y_axis: dict[str, Any] = {
        "range": [last + 0.5, -0.65 if narrow else -0.5],
        "tickvals": list(range(last + 1)),
        "ticktext": [""] * len(texts) if narrow else texts,
        "tickfont": {"color": theme.text},
        "ticklabelstandoff": 6,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    height = _TOP_PX + (last + 1) * (_NARROW_ROW_PX if narrow else _ROW_PX) + _BOTTOM_PX
    return canvas.figure(height, {"l": left, "r": 8, "t": _TOP_PX, "b": _BOTTOM_PX}, yaxis=y_axis, bargap=0)


def _axis(rows: Sequence[WaterfallRow], attribution: Attribution, panel_px: float, right_px: float) -> _Axis:
    """Return an axis from zero, or from below where the bars dip there, with room for labels on the right."""
    ends = [end for row in rows for end in (row.start_ns, row.start_ns + row.ns)]
    low, high = min(0.0, *ends), max(attribution.a_ns, attribution.b_ns, *ends)
    _, _, unit = numbers.duration(max(attribution.a_ns, attribution.b_ns)).rpartition(numbers.THIN)
    used = max(panel_px - right_px, 0.4 * panel_px)
    unit_ns = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    return _Axis(unit, unit_ns, low, high, low + (high - low) * panel_px / used, panel_px)


def _ends(canvas: Canvas, panel: Panel, axis: _Axis, attribution: Attribution, names: Mapping[int, str]) -> None:
    """Draw the durations of A and B, from zero."""
    durations = dict(zip(names, (attribution.a_ns, attribution.b_ns), strict=True))
    canvas.bars(
        panel,
        "duration",
        x=[axis.value(ns) for ns in durations.values()],
        y=list(durations),
        width=axis.bar,
        hovertext=[f"<b>{plain(names[y])}</b>  {numbers.duration(ns, 4)}" for y, ns in durations.items()],
        hoverinfo="text",
        marker={"color": canvas.theme.neutral_2, "line": {"width": 0}},
    )
    for y, ns in durations.items():
        canvas.mark_label(
            panel, axis.value(ns), y, f"<b>{plain(numbers.duration(ns))}</b>", shift=_GAP_PX - 1, log=False
        )


def _step(
    canvas: Canvas,
    panel: Panel,
    axis: _Axis,
    row: WaterfallRow,
    y: int,
    attribution: Attribution,
    family: str | None,
) -> None:
    """Draw one factor: its bar, the line down from the bar above, and its part beside it."""
    theme = canvas.theme
    start = axis.value(row.start_ns)
    canvas.shapes.append(
        {
            "type": "line", "xref": panel.x, "x0": start, "x1": start, "yref": "y",
            "y0": y - 1 + axis.bar / 2, "y1": y + axis.bar / 2, "line": {"color": theme.neutral_2, "width": 1},
            "layer": "below",
        }
    )  # fmt: skip
    canvas.bars(
        panel,
        row.label,
        x=[axis.value(row.ns)],
        base=[start],
        y=[y],
        width=axis.bar,
        hovertext=[_hover(row, attribution)],
        hoverinfo="text",
        marker=factor_marker(row.factor, theme),
        opacity=1.0 if family is None or _family(row.factor) == family else DIMMED,
    )
    words = _change_words(row.ns, attribution)
    low, high = sorted((row.start_ns, row.start_ns + row.ns))
    if row.factor == "residual" or words.startswith(_SIGNS[0]):
        colour = theme.muted
    else:
        colour = theme.better if row.ns < 0 else theme.worse
    html = f'<span style="color:{colour}">{plain(words)}</span>'
    width_px = text_width(words, SMALL)
    if row.ns < 0 and axis.place(low) >= width_px + _GAP_PX:
        canvas.mark_label(panel, axis.value(low), y, html, shift=-width_px - _GAP_PX + 1, log=False)
    else:
        canvas.mark_label(panel, axis.value(high), y, html, shift=_GAP_PX - 1, log=False)


def _family(factor: str) -> str | None:
    return stall_family(factor.removeprefix(STALL)) if factor.startswith(STALL) else None


def factor_marker(factor: str, theme: Theme) -> dict[str, Any]:
    """Return how the bars of a factor are filled: the colour of a stall reason, else a neutral hatch."""
    if factor.startswith(STALL):
        colour = stall_colour(factor.removeprefix(STALL), theme)
        return {"color": colour, "line": {"width": 1, "color": theme.card}}
    if factor in HATCHES:
        pattern = {
            "shape": HATCHES[factor], "fgcolor": theme.neutral_1, "bgcolor": theme.card, "size": 5, "solidity": 0.35,
            "fillmode": "overlay",
        }  # fmt: skip
        return {"color": theme.card, "pattern": pattern, "line": {"width": 1, "color": theme.neutral_1}}
    return {"color": theme.neutral_4, "line": {"width": 1, "color": theme.neutral_2}}


def _bracket(
    canvas: Canvas,
    panel: Panel,
    axis: _Axis,
    rows: Sequence[WaterfallRow],
    attribution: Attribution,
    label_px: float,
) -> None:
    """Draw the bracket around warps and stall reasons, and write their net beside it."""
    inside = [y for y, row in enumerate(rows, start=1) if row.bracket]
    theme = canvas.theme
    right = max(axis.place(max(row.start_ns, row.start_ns + row.ns)) for row in rows if row.bracket) + label_px
    x = min(right + _BRACKET_PX / 2, axis.px - 10)
    top, bottom = inside[0] - axis.bar / 2, inside[-1] + axis.bar / 2
    path = f"M {panel.fraction(x)} {top} L {panel.fraction(x + 5)} {top} "
    path += f"L {panel.fraction(x + 5)} {bottom} L {panel.fraction(x)} {bottom}"
    canvas.shapes.append(
        {"type": "path", "xref": "paper", "yref": "y", "path": path, "line": {"color": theme.neutral_2, "width": 1.5}}
    )
    title, net = _net_words(attribution)
    colour = theme.better if attribution.net_ns < 0 else theme.worse if attribution.net_ns > 0 else theme.muted
    middle = (top + bottom) / 2
    canvas.words(panel, middle - 0.3, title, px=x + 11, colour=theme.text)
    canvas.words(panel, middle + 0.3, net, px=x + 11, colour=colour)


def _net_words(attribution: Attribution) -> tuple[str, str]:
    return NET, f"net {_change_words(attribution.net_ns, attribution)}"


def _change_words(ns: float, attribution: Attribution) -> str:
    """Write a part with its direction: ``▼ −304 µs``."""
    words = numbers.duration_change(ns, max(attribution.a_ns, attribution.b_ns))
    nothing = not any(digit in words for digit in "123456789")
    return f"{_SIGNS[0 if nothing else 1 if ns > 0 else -1]} {words}"


def _label(row: WaterfallRow, theme: Theme) -> str:
    values = f'  <span style="color:{theme.muted}">{plain(row.values)}</span>' if row.values else ""
    return plain(row.label) + values


def _plain_label(row: WaterfallRow) -> str:
    return f"{row.label}  {row.values}" if row.values else row.label


def _hover(row: WaterfallRow, attribution: Attribution) -> str:
    share = numbers.signed(numbers.percent(row.ns / attribution.a_ns * 100.0, table=True))
    told = [f"<b>{plain(row.label)}</b>  {plain(row.values)}", f"{numbers.signed(_exact(row.ns))}  {share} of A"]
    if row.factor.startswith(STALL):
        told.append(stall_metric(row.factor.removeprefix(STALL)))
    elif row.factor in HATCHES:
        form = next(one for one in IDENTITY_FORMS if one.name == attribution.form)
        told.append(" ÷ ".join(form.read(row.factor)))
    return "<br>".join(told)


def _exact(ns: float) -> str:
    return numbers.si(ns * 1e-9, "s", 4, least=-9, most=0)
