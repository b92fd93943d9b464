"""Text in figures: escaping, and how wide a label will be."""

from __future__ import annotations

import html

from ncu_lab.render.visible import isolated, visible

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif'
SIZE = 12
"""Size of labels and ticks in px."""

SMALL = 11
"""Size of captions, hover and what stands inside bars in px; nothing is smaller."""

_DEFAULT_EM = 0.64
_EM: dict[str, float] = {
    **dict.fromkeys("ijl'|", 0.30),
    **dict.fromkeys(" .,:;!", 0.32),
    **dict.fromkeys("\u2009\u202f", 0.21),
    **dict.fromkeys("ftr()[]-·", 0.42),
    **dict.fromkeys("scz", 0.54),
    **dict.fromkeys("mMW%", 0.96),
    **dict.fromkeys("w×÷−≥", 0.83),
    **dict.fromkeys("ABCDEFGHKLNOPQRSTUVXYZ", 0.69),
}


def plain(text: str) -> str:
    """Return text as a figure shows it literally, every name of a file or kernel among it.

    Plotly reads a few HTML tags in labels, and kernel names are full of ``<…>``. What would turn text around is shown
    as an escape, and what is written from right to left turns nothing beside it, as everywhere on a page.
    """
    return html.escape(isolated(visible(text)), quote=False)


def text_width(text: str, size: float = SIZE) -> float:
    """Estimate the width of a label in px, from the widest of the usual system fonts (so it errs to the wide)."""
    return size * sum(_EM.get(character, _DEFAULT_EM) for character in text)
