"""How wide the page's figures are, and in which theme: what the browser tells, against what the stylesheet does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ncu_lab.render.palette import THEMES, Theme, ThemeName

Screen = Mapping[str, Any]
"""What the browser tells: ``width`` of the page in px, ``dark`` whether the system prefers it."""

# The numbers of assets/page.css: where its layout changes, and the paddings around a figure.
NARROW_PX = 700
"""Below this width of the page, one panel at a time is shown."""

TWO_COLUMNS_PX = 1000
_MOST_PAGE_PX = 2200
_PAGE_PAD_PX, _CARD_PAD_PX, _GAP_PX = 24, 17, 16
_NARROW_PAGE_PAD_PX, _NARROW_CARD_PAD_PX = 12, 11


def matrix_width(screen: Screen) -> int:
    """Return the width of a figure across the whole page, in px."""
    page = min(int(screen["width"]), _MOST_PAGE_PX)
    if page < NARROW_PX:
        return page - 2 * (_NARROW_PAGE_PAD_PX + _NARROW_CARD_PAD_PX)
    return page - 2 * (_PAGE_PAD_PX + _CARD_PAD_PX)


def column_width(screen: Screen) -> int:
    """Return the width of a figure in one of two columns (or the only one), in px."""
    if int(screen["width"]) < TWO_COLUMNS_PX:
        return matrix_width(screen)
    return (min(int(screen["width"]), _MOST_PAGE_PX) - 2 * _PAGE_PAD_PX - _GAP_PX) // 2 - 2 * _CARD_PAD_PX


def is_narrow(screen: Screen) -> bool:
    """Whether the page shows one panel at a time."""
    return int(screen["width"]) < NARROW_PX


def theme_of(chosen: ThemeName | None, screen: Screen | None) -> Theme:
    """Return the chosen theme, else the one the system prefers."""
    preferred: ThemeName = "dark" if screen and screen.get("dark") else "light"
    return THEMES[chosen or preferred]
