"""What every figure is drawn on: traces, shapes and annotations of one theme, and panels side by side in pixels.

Plotly places subplots by fraction. Labels need pixels, so a figure is built for a width, and a panel knows its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import plotly.graph_objects as go

from ncu_lab.render.figures.text import FONT, SIZE, SMALL, plain, text_width
from ncu_lab.render.palette import Theme

NOT_COLLECTED = "not collected"


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a figure: its x axis and where it lies in the plot area, in px from the left."""

    number: int
    left: float
    width: float
    plot_width: float

    @property
    def x(self) -> str:
        """Plotly's name of the x axis: ``x``, ``x2``, …."""
        return "x" if self.number == 1 else f"x{self.number}"

    def fraction(self, px: float) -> float:
        """Return a place in the panel (px from its left edge) as a fraction of the plot area."""
        return (self.left + px) / self.plot_width


@dataclass
class Canvas:
    """A figure in the making."""

    theme: Theme
    width: int
    traces: list[dict[str, Any]] = field(default_factory=list)
    shapes: list[dict[str, Any]] = field(default_factory=list)
    annotations: list[dict[str, Any]] = field(default_factory=list)
    axes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def x_axis(self, panel: Panel, axis_range: Sequence[float], ticks: Sequence[tuple[float, str]], kind: str) -> None:
        """Add a panel's x axis: ``linear``, or ``log`` (with a range in log10, as Plotly wants it)."""
        name = f"xaxis{'' if panel.number == 1 else panel.number}"
        self.axes[name] = {
            "domain": [panel.fraction(0), min(1.0, panel.fraction(panel.width))],
            "anchor": "y",
            "type": kind,
            "range": list(axis_range),
            "tickvals": [value for value, _ in ticks],
            "ticktext": [plain(text) for _, text in ticks],
            "tickfont": {"size": SMALL, "color": self.theme.muted},
            "tickangle": 0,
            "gridcolor": self.theme.grid,
            "zeroline": False,
            "showline": True,
            "linecolor": self.theme.border,
            "fixedrange": True,
        }

    def marks(self, panel: Panel, name: str, **trace: Any) -> None:
        """Add a scatter trace of markers, lines or text to a panel."""
        base = {
            "type": "scatter",
            "name": name,
            "xaxis": panel.x,
            "yaxis": "y",
            "showlegend": False,
            "hoverinfo": "skip",
        }
        self.traces.append({**base, "cliponaxis": False, **trace})

    def bars(self, panel: Panel, name: str, **trace: Any) -> None:
        """Add a trace of horizontal bars to a panel."""
        base = {"type": "bar", "name": name, "xaxis": panel.x, "yaxis": "y", "showlegend": False, "orientation": "h"}
        self.traces.append({**base, **trace})

    def words(
        self,
        panel: Panel,
        y: float,
        text: str,
        *,
        px: float = 0,
        colour: str | None = None,
        anchor: Literal["left", "right"] = "left",
    ) -> None:
        """Write words into a row of a panel; their ``anchor`` end stands ``px`` right of the panel's left edge."""
        self.annotations.append(
            {
                "xref": "paper", "x": panel.fraction(px), "xanchor": anchor, "yref": "y", "y": y, "yanchor": "middle",
                "text": plain(text), "showarrow": False, "align": "left",
                "font": {"size": SMALL, "color": colour or self.theme.muted},
            }
        )  # fmt: skip

    def side_text(self, panel: Panel, y: float, text: str) -> None:
        """Write a muted number just right of a panel."""
        self.words(panel, y, text, px=panel.width + 6)

    def mark_label(
        self,
        panel: Panel,
        x: float,
        y: float,
        html: str,
        *,
        shift: float,
        log: bool,
        size: int = SMALL,
    ) -> None:
        """Write a label beside a mark.

        Args:
            panel: Where the mark is.
            x: The mark's value; a log annotation takes log10 coordinates, which is done here.
            y: The mark's row.
            html: The label, already escaped.
            shift: How many px right of the mark.
            log: Whether the panel's axis is logarithmic.
            size: Size of the text in px.
        """
        self.annotations.append(
            {
                "xref": panel.x, "x": math.log10(x) if log else x, "xanchor": "left", "xshift": shift,
                "yref": "y", "y": y, "yanchor": "middle", "text": html, "showarrow": False, "borderpad": 1,
                "font": {"size": size, "color": self.theme.text},
            }
        )  # fmt: skip

    def missing_cell(self, panel: Panel, y: float, section: str) -> None:
        """Draw the dashed cell that stands where a value was not collected, and name the section that has it."""
        self.shapes.append(
            {
                "type": "rect", "xref": "paper", "x0": panel.fraction(0), "x1": panel.fraction(panel.width),
                "yref": "y", "y0": y - 0.32, "y1": y + 0.32, "layer": "below",
                "line": {"color": self.theme.neutral_2, "width": 1, "dash": "dot"},
            }
        )  # fmt: skip
        help_text = f"{NOT_COLLECTED}: profile with --section {section}"
        fits = text_width(help_text, SMALL) <= panel.width - 12
        self.words(panel, y, help_text if fits else NOT_COLLECTED, px=6)

    def caption(self, panel: Panel, title: str, note: str) -> None:
        """Write a panel's title and note above it."""
        for text, shift, colour, size in (
            (f"<b>{plain(title)}</b>", 22, self.theme.text, SIZE),
            (plain(note), 5, self.theme.muted, SMALL),
        ):
            self.annotations.append(
                {
                    "xref": "paper", "x": panel.fraction(0), "xanchor": "left", "yref": "paper", "y": 1,
                    "yanchor": "bottom", "yshift": shift, "text": text, "showarrow": False, "align": "left",
                    "font": {"size": size, "color": colour},
                }
            )  # fmt: skip

    def figure(self, height: int, margin: dict[str, int], **layout: Any) -> go.Figure:
        """Return the finished figure, as wide as what holds it.

        Plotly would check every property of it, which takes longer than all the drawing; tests do that once instead.
        """
        theme = self.theme
        return go.Figure(
            _validate=False,
            data=self.traces,
            layout={
                "height": height,
                "autosize": True,
                "margin": {"pad": 0, **margin},
                "paper_bgcolor": "rgba(0,0,0,0)",
                "plot_bgcolor": "rgba(0,0,0,0)",
                "font": {"family": FONT, "size": SIZE, "color": theme.text},
                "hoverlabel": {
                    "bgcolor": theme.card,
                    "bordercolor": theme.neutral_2,
                    "align": "left",
                    "font": {"family": FONT, "size": SIZE, "color": theme.text},
                },
                "template": {},  # the default template widens margins by itself
                "hovermode": "closest",
                "dragmode": False,
                "shapes": self.shapes,
                "annotations": self.annotations,
                **self.axes,
                **layout,
            },
        )


def spaced(ticks: Sequence[tuple[float, str]], px_apart: float) -> list[tuple[float, str]]:
    """Return every n-th of evenly spaced ticks, so that their labels do not touch.

    Args:
        ticks: Value and label.
        px_apart: Px from one tick to the next.
    """
    widest = max((text_width(text, SMALL) for _, text in ticks), default=0.0) + 8
    return list(ticks[:: max(1, math.ceil(widest / max(px_apart, 1.0)))])


def round_ticks(most: float) -> list[float]:
    """Return round ticks from zero up to ``most``: at most five."""
    step = next(size * 10.0**power for power in range(-9, 10) for size in (1, 2, 5) if most / (size * 10.0**power) <= 4)
    return [step * index for index in range(5) if step * index <= most * 1.001]


def log_range(low: float, high: float, width: float, left_pad: float, right_pad: float) -> tuple[float, float]:
    """Return the log10 range of an axis ``width`` px wide that leaves room in px on both sides of [low, high]."""
    start, end = math.log10(low), math.log10(high)
    usable = max(20.0, width - left_pad - right_pad)
    per_px = max(end - start, 1e-6) / usable
    return start - left_pad * per_px, start + (width - left_pad) * per_px
