"""Writes HTML: every word is escaped unless it was made here, so that names from reports never become markup."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from ncu_lab.render.numbers import unbroken
from ncu_lab.render.visible import visible

_VOID = frozenset({"meta", "input"})


class Markup(str):
    """HTML that was made by this module."""

    __slots__ = ()


Content = Markup | str | None | Iterable["Content"]
"""What an element holds: markup, words to be escaped, nothing, or several of these."""


def words(text: str) -> Markup:
    """Return text as HTML: escaped, with what steers or turns text made visible, numbers not parted from units."""
    return Markup(html.escape(unbroken(visible(text))))


def content(of: Content) -> Markup:
    """Return content as one piece of HTML."""
    if of is None:
        return Markup("")
    if isinstance(of, Markup):
        return of
    if isinstance(of, str):
        return words(of)
    return Markup("".join(content(one) for one in of))


def tag(name: str, /, *children: Content, **attributes: str | bool | None) -> Markup:
    """Return an element.

    Args:
        name: Its name.
        children: What it holds.
        attributes: Written ``class_`` for ``class`` and ``data_key`` for ``data-key``; True stands alone, False and
            None are left out.
    """
    told = []
    for key, value in attributes.items():
        if value is not None and value is not False:
            spelt = key.rstrip("_").replace("_", "-")
            told.append(f" {spelt}" if value is True else f' {spelt}="{html.escape(visible(value))}"')
    opening = f"<{name}{''.join(told)}>"
    return Markup(opening if name in _VOID else f"{opening}{content(children)}</{name}>")


def table(header: Sequence[str], rows: Iterable[Sequence[Content]], kinds: Sequence[str]) -> Markup:
    """Return a table that scrolls sideways by itself.

    Args:
        header: Titles of the columns.
        rows: Cells, or a cell made by :func:`cell`.
        kinds: Classes of each column: ``text`` or ``number``, and more.
    """
    head = tag("tr", [tag("th", title, class_=kind, scope="col") for title, kind in zip(header, kinds, strict=True)])
    body = [tag("tr", [tag("td", one, class_=kind) for one, kind in zip(row, kinds, strict=True)]) for row in rows]
    return tag("div", tag("table", tag("thead", head), tag("tbody", body)), class_="table-scroll", tabindex="0")
