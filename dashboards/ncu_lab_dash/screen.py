"""How wide the page's figures are, and in which theme: what the browser tells, against what the stylesheet does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ncu_lab.render.figures.matrix import WHOLE_FROM_PX
from ncu_lab.render.palette import THEMES, Theme, ThemeName

# The numbers of assets/page.css: where its layout changes, and the paddings around a figure.
NARROW_PX = 700
"""Below this width the page is that of a phone."""

TWO_COLUMNS_PX = 1000
_MOST_PAGE_PX = 2200
_PAGE_PAD_PX, _CARD_PAD_PX, _GAP_PX = 24, 17, 16
_NARROW_PAGE_PAD_PX, _NARROW_CARD_PAD_PX = 12, 11


@dataclass(frozen=True, slots=True)
class Screen:
    """What the browser tells.

    Attributes:
        width: Width of the page in px; what lies beyond the page's widest is cut off.
        dark: Whether the system prefers dark.
    """

    width: int
    dark: bool = False


def read_screen(told: Any) -> Screen | None:
    """Return what the browser told as :class:`Screen`; None when it told nothing of sense yet."""
    width = told.get("width") if isinstance(told, dict) else None
    if not isinstance(width, int | float) or not width > 0:
        return None
    return Screen(int(min(width, _MOST_PAGE_PX)), told.get("dark") is True)


def matrix_width(screen: Screen) -> int:
    """Return the width of a figure across the whole page, in px."""
    if screen.width < NARROW_PX:
        return screen.width - 2 * (_NARROW_PAGE_PAD_PX + _NARROW_CARD_PAD_PX)
    return screen.width - 2 * (_PAGE_PAD_PX + _CARD_PAD_PX)


def column_width(screen: Screen) -> int:
    """Return the width of a figure in one of two columns (or the only one), in px."""
    if screen.width < TWO_COLUMNS_PX:
        return matrix_width(screen)
    return (screen.width - 2 * _PAGE_PAD_PX - _GAP_PX) // 2 - 2 * _CARD_PAD_PX


def is_narrow(screen: Screen) -> bool:
    """Whether the page is that of a phone."""
    return screen.width < NARROW_PX


def is_by_panel(screen: Screen) -> bool:
    """Whether the matrix is shown one panel at a time, as in exported pages."""
    return matrix_width(screen) < WHOLE_FROM_PX


def theme_of(chosen: ThemeName | None, screen: Screen) -> Theme:
    """Return the chosen theme, else the one the system prefers."""
    return THEMES[chosen or ("dark" if screen.dark else "light")]
