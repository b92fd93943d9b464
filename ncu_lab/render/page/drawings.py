"""Figures in a page: each drawn for some widths and both themes, packed until they come into view."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go

from ncu_lab.render.figures.matrix import WHOLE_FROM_PX
from ncu_lab.render.page.markup import Content, Markup, tag
from ncu_lab.render.palette import THEMES, Theme

Draw = Callable[[Theme, int], go.Figure]
"""Draws a figure in a theme, for a width in px."""

NARROW_WIDTHS = (300, 334)
"""Widths in px of a figure on a phone: 360 px wide, and 390."""

COLUMN_WIDTHS = (560, 640, 700)
"""Widths of one in two columns: of a window 1280, 1440 and 1600 px wide."""

PAGE_WIDTHS = (WHOLE_FROM_PX, 1340, 1450)
"""Widths across the page, of windows from 1280 px on.

A figure is shown in the widest that fits: labels stand by the px, so none is stretched.
"""

ALL_WIDTHS = (*NARROW_WIDTHS, *COLUMN_WIDTHS)

PANEL_WIDTHS = (*ALL_WIDTHS, 1010)
"""Widths of a panel of the matrix across a page that has no room for all of them."""


def packed(data: bytes) -> str:
    """Return bytes compressed, as text that is safe anywhere in a page: letters, digits, ``+``, ``/`` and ``=``."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def figure(draw: Draw, widths: Sequence[int], label: str, *, named_from: int | None = None) -> Markup:
    """Return the place of a figure, with all that draws it.

    Args:
        draw: Draws it.
        widths: For which widths in px.
        label: What it shows, for those who cannot see it.
        named_from: Width in px below which it has no names, so that the table after it is to be open.
    """
    made = {width: {name: draw(theme, width) for name, theme in THEMES.items()} for width in widths}
    document = ",".join(
        f'"{width}":{{{",".join(f"{chr(34)}{name}{chr(34)}:{one.to_json()}" for name, one in themes.items())}}}'
        for width, themes in made.items()
    )
    height = max(one["light"].layout.height for one in made.values())
    return tag(
        "div",
        tag("script", Markup(packed(f"{{{document}}}".encode())), type="text/plain"),
        class_="figure",
        role="img",
        aria_label=label,
        data_named_from=None if named_from is None else str(named_from),
        style=f"min-height:{height}px",
    )


def choices(name: str, label: str, options: Mapping[str, Content]) -> Markup:
    """Return several contents of which one is shown, and what chooses it; without a choice that one alone.

    Args:
        name: What tells this choice from others of the page.
        label: What is chosen.
        options: Title -> content, the one shown first.
    """
    if len(options) == 1:
        return tag("div", *options.values())
    buttons = [
        tag("label", tag("input", type="radio", name=name, value=str(at), checked=at == 0), title)
        for at, title in enumerate(options)
    ]
    bodies = [tag("div", body, class_="option", data_option=str(at)) for at, body in enumerate(options.values())]
    return tag(
        "div", tag("div", buttons, class_="segmented", role="radiogroup", aria_label=label), bodies, class_="choice"
    )


def card(title: str, *inside: Content, note: str = "", foot: Content = None, class_: str = "") -> Markup:
    """Return a card: its title, the muted line below it, what it holds, its foot."""
    return tag(
        "section",
        tag("h3", title),
        tag("p", note, class_="muted note") if note else None,
        *inside,
        tag("div", foot, class_="card-foot muted") if foot else None,
        class_=f"card {class_}".strip(),
    )
