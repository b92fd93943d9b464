"""The pages, each once: its address, its name in the bar, what it shows and how it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dash import Dash
from dash.development.base_component import Component

from ncu_lab_dash.pages import compare, history, kernel, ladder, runs
from ncu_lab_dash.served import Served


@dataclass(frozen=True, slots=True)
class Page:
    """One page.

    Attributes:
        path: Its address.
        title: Its name in the bar.
        layout: Makes it, given the query of its address.
        register: Registers its callbacks.
    """

    path: str
    title: str
    layout: Callable[[str], Component]
    register: Callable[[Dash, Served], None]


PAGES: tuple[Page, ...] = (
    Page("/", "Ladder", ladder.layout, ladder.register),
    Page("/kernel", "Kernel", kernel.layout, kernel.register),
    Page("/compare", "Compare", compare.layout, compare.register),
    Page("/history", "History", history.layout, history.register),
    Page("/runs", "Runs", runs.layout, runs.register),
)
"""In the order of the bar."""

PATHS = frozenset(page.path for page in PAGES)


def page_at(path: str | None) -> Page:
    """Return the page of an address; the first where there is none, which the server answers with 404 anyway."""
    return next((page for page in PAGES if page.path == path), PAGES[0])
