"""The memory of one launch as a chart: kernel, address spaces, L1 and shared memory, L2, DRAM, and what moved between.

The width of a link is its share of that link's own peak; amount and share stand beside it in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from ncu_lab.metrics.links import Place
from ncu_lab.model import MemoryLink, MemoryTraffic
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.launch_units import AT_LIMIT
from ncu_lab.render.figures.text import SIZE, SMALL, plain
from ncu_lab.render.palette import Theme

LEAST_WIDTH = 500
"""Width in px below which words would overlap; the table is shown instead."""

HEIGHT_PX = 310
_WIDEST_PX = 26.0
_THINNEST_PX = 1.4

PLACE_NAMES: Mapping[Place, str] = {
    "kernel": "Kernel",
    "global": "Global",
    "local": "Local",
    "shared space": "Shared",
    "l1": "L1 / TEX",
    "shared": "Shared memory",
    "l2": "L2",
    "dram": "DRAM",
}
_WHAT: Mapping[str, str] = {"inst": "", "request": "requests", "wavefront": "wavefronts", "byte": ""}


@dataclass(frozen=True, slots=True)
class Box:
    """Where a place stands: left, right as shares of the width; top, bottom in px from the top."""

    left: float
    right: float
    top: float
    bottom: float
    hardware: bool = True


BOXES: Mapping[Place, Box] = {
    "kernel": Box(0.0, 0.09, 8, 302),
    "global": Box(0.228, 0.33, 8, 88, hardware=False),
    "local": Box(0.228, 0.33, 116, 176, hardware=False),
    "shared space": Box(0.228, 0.33, 214, 302, hardware=False),
    "l1": Box(0.51, 0.63, 8, 176),
    "shared": Box(0.51, 0.63, 214, 302),
    "l2": Box(0.745, 0.815, 8, 176),
    "dram": Box(0.915, 1.0, 8, 176),
}

_LANES: Mapping[tuple[Place, Place, str], float] = {
    ("kernel", "global", "loads"): 32,
    ("kernel", "global", "stores"): 66,
    ("kernel", "local", "loads"): 134,
    ("kernel", "local", "stores"): 160,
    ("kernel", "shared space", "loads"): 240,
    ("kernel", "shared space", "stores"): 278,
    ("global", "l1", ""): 48,
    ("local", "l1", ""): 147,
    ("shared space", "shared", ""): 258,
    ("l2", "l1", "read"): 58,
    ("l1", "l2", "write"): 136,
    ("dram", "l2", "read"): 58,
    ("l2", "dram", "write"): 136,
}
"""Link -> px from the top."""


def link_name(link: MemoryLink) -> str:
    """Name a link: ``Kernel → Global, loads``."""
    name = f"{PLACE_NAMES[link.source]} → {PLACE_NAMES[link.target]}"
    return f"{name}, {link.what}" if link.what in ("loads", "stores") else name


def amount_text(link: MemoryLink, duration_ns: float | None = None) -> str:
    """Write what went through a link, per second where the duration is given."""
    if link.amount is None:
        return numbers.MISSING
    if not link.amount:
        return "0 B" if link.unit == "byte" else "none"
    amount = link.amount / (duration_ns * 1e-9) if duration_ns else link.amount
    if link.unit == "byte":
        return numbers.byte_rate(amount) if duration_ns else numbers.byte_count(amount)
    what = link.what or _WHAT[link.unit]
    words = [numbers.count(amount), what.removesuffix("s") if amount == 1 else what]
    return " ".join(word for word in words if word) + ("/s" if duration_ns else "")


def memory_chart(traffic: MemoryTraffic, theme: Theme, width: int, *, duration_ns: float | None = None) -> go.Figure:
    """Draw the chart.

    Args:
        traffic: The links.
        theme: Colours.
        width: Width of the figure in px.
        duration_ns: Of the launch, to write amounts per second; None for amounts.
    """
    canvas = Canvas(theme, width)
    plot = max(LEAST_WIDTH - 20, width - 4)
    panel = Panel(1, 0.0, plot, plot)
    canvas.axes["xaxis"] = {"range": [0, plot], "visible": False, "fixedrange": True}
    for place, box in BOXES.items():
        _box(canvas, box, plot, _box_words(traffic, place))
    for link in traffic.links:
        _link(canvas, link, plot, duration_ns)
    shown = [(link, *_middle(link, plot)) for link in traffic.links]
    canvas.marks(
        panel,
        "links",
        mode="markers",
        x=[x for _, x, _ in shown],
        y=[y for _, _, y in shown],
        customdata=[link_name(link) for link, _, _ in shown],
        hovertext=[_hover(link) for link, _, _ in shown],
        hoverinfo="text",
        marker={"size": 22, "opacity": 0, "color": theme.text},
    )
    axis = {"range": [HEIGHT_PX, 0], "visible": False, "fixedrange": True}
    return canvas.figure(HEIGHT_PX, {"l": 2, "r": 2, "t": 0, "b": 0}, yaxis=axis)


def _box_words(traffic: MemoryTraffic, place: Place) -> str:
    words = f"<b>{PLACE_NAMES[place].replace(' memory', '')}</b>"
    rate = traffic.hit_pct.get(place)
    if rate is not None:
        words += f"<br>hit {numbers.percent(rate)}" if place == "l1" else f"<br>hit<br>{numbers.percent(rate)}"
    return words


def _box(canvas: Canvas, box: Box, plot: float, words: str) -> None:
    theme = canvas.theme
    canvas.shapes.append(
        {
            "type": "rect", "xref": "x", "x0": box.left * plot, "x1": box.right * plot, "yref": "y", "y0": box.top,
            "y1": box.bottom, "fillcolor": theme.shade if box.hardware else "rgba(0,0,0,0)",
            "line": {"color": theme.neutral_2, "width": 1.2, "dash": "solid" if box.hardware else "dot"},
        }
    )  # fmt: skip
    canvas.annotations.append(
        {
            "xref": "x", "x": (box.left + box.right) / 2 * plot, "yref": "y", "y": (box.top + box.bottom) / 2,
            "text": words, "showarrow": False, "font": {"size": SIZE, "color": theme.text},
        }
    )  # fmt: skip


def _ends(link: MemoryLink, plot: float) -> tuple[float, float]:
    """Return the px of a link's left and right end, whichever way it goes."""
    first, last = sorted((BOXES[link.source], BOXES[link.target]), key=lambda box: box.left)
    return first.right * plot, last.left * plot


def _middle(link: MemoryLink, plot: float) -> tuple[float, float]:
    left, right = _ends(link, plot)
    return (left + right) / 2, _LANES[link.source, link.target, link.what]


def _link(canvas: Canvas, link: MemoryLink, plot: float, duration_ns: float | None) -> None:
    theme = canvas.theme
    left, right = _ends(link, plot)
    y = _LANES[link.source, link.target, link.what]
    hot = link.pct is not None and link.pct >= AT_LIMIT
    thick = max(_THINNEST_PX, (link.pct or 0.0) / 100.0 * _WIDEST_PX)
    colour = theme.worse if hot else theme.neutral_2
    if link.amount:
        canvas.shapes.append(
            {
                "type": "rect", "xref": "x", "x0": left, "x1": right, "yref": "y", "y0": y - thick / 2,
                "y1": y + thick / 2, "fillcolor": colour, "line": {"width": 0},
            }
        )  # fmt: skip
        _arrow(canvas, link, left, right, y, colour)
    else:
        canvas.shapes.append(
            {
                "type": "line", "xref": "x", "x0": left, "x1": right, "yref": "y", "y0": y, "y1": y,
                "line": {"color": theme.neutral_3, "width": 1.2, "dash": "dot"},
            }
        )  # fmt: skip
    words = amount_text(link, duration_ns)
    above = words if link.amount or link.amount is None else "none"
    _words(canvas, (left + right) / 2, y - thick / 2 - 2, plain(above), "bottom", theme.worse if hot else theme.text)
    below = link.what if link.what in ("read", "write") else ""
    if link.pct is not None and link.amount:
        share = numbers.percent(link.pct)
        below = f"{below}<br>{share}" if below else f"{share} of peak"
    if below:
        _words(canvas, (left + right) / 2, y + thick / 2 + 2, below, "top", theme.worse if hot else theme.muted)


def _arrow(canvas: Canvas, link: MemoryLink, left: float, right: float, y: float, colour: str) -> None:
    """Put a small head where the link ends."""
    to_right = BOXES[link.target].left >= BOXES[link.source].left
    tip, back = (right, right - 6) if to_right else (left, left + 6)
    canvas.shapes.append(
        {
            "type": "path", "xref": "x", "yref": "y", "path": f"M {tip} {y} L {back} {y - 4} L {back} {y + 4} Z",
            "fillcolor": colour, "line": {"width": 0},
        }
    )  # fmt: skip


def _words(canvas: Canvas, x: float, y: float, text: str, side: str, colour: str) -> None:
    canvas.annotations.append(
        {
            "xref": "x", "x": x, "yref": "y", "y": y, "yanchor": side, "text": text, "showarrow": False,
            "borderpad": 0, "font": {"size": SMALL, "color": colour},
        }
    )  # fmt: skip


def _hover(link: MemoryLink) -> str:
    share = f", {numbers.percent(link.pct, digits=4)} of its peak" if link.pct is not None else ""
    amount = numbers.significant(link.amount, 4) if link.amount is not None else "not collected"
    return f"<b>{plain(link_name(link))}</b>  {amount} {link.unit}{share}<br>{plain(link.metric)}"
