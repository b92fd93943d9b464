"""The tables of a page, of the same data that the dashboard draws them from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ncu_lab.model import Json
from ncu_lab.render.launch_tables import Cell
from ncu_lab.render.page.markup import Content, Markup, table, tag
from ncu_lab.render.tables import Column, Row


def value_table(values: tuple[Sequence[str], Sequence[Sequence[Cell | str]]], text_columns: int = 1) -> Markup:
    """Return the values behind a figure; columns from ``text_columns`` on are numbers."""
    header, rows = values
    kinds = ["text" if at < text_columns else "number" for at in range(len(header))]
    return table(header, [[one.text if isinstance(one, Cell) else one for one in row] for row in rows], kinds)


def column_table(rows: Sequence[Row], columns: Sequence[Column], wrapped: Sequence[str] = ()) -> Markup:
    """Return rows as people read them, by the columns of a terminal; cells of ``wrapped`` columns may break."""
    kinds = [
        f"{'number' if column.align == 'right' else 'text'}{' wrap' if column.key in wrapped else ''}"
        for column in columns
    ]
    return table(
        [column.title for column in columns], [[column.cell(row) for column in columns] for row in rows], kinds
    )


def folded(summary: str, *inside: Content) -> Markup:
    """Return what is closed at first, and opens on its summary."""
    return tag("details", tag("summary", summary), *inside, class_="table-view")


def drawn_table(data: Json) -> Markup:
    """Return a table of the shape that the dashboard's script draws: hot spots, pairs of kernels, quantities, lines."""
    kinds = [str(column["kind"]) for column in data["columns"]]
    head = tag("tr", [tag("th", one["title"], class_=one["kind"], scope="col") for one in data["columns"]])
    body = []
    for row in data["rows"]:
        if "group" in row:
            body.append(
                tag("tr", tag("th", row["group"], class_="text group", colspan=str(len(kinds)), scope="rowgroup"))
            )
        else:
            cells = [tag("td", _drawn(one), class_=kind) for one, kind in zip(row["cells"], kinds, strict=True)]
            body.append(tag("tr", cells))
    made = tag("table", tag("thead", head), tag("tbody", body), class_="spots")
    note = tag("p", data["note"], class_="muted note") if data.get("note") else None
    return tag("div", tag("div", made, class_="table-scroll", tabindex="0"), note)


def _drawn(cell: Any) -> Content:
    """Return one cell: words, or an object that says what it is."""
    if isinstance(cell, str):
        return cell
    if "chip" in cell:
        return tag("span", cell["text"], class_=f"chip {cell['chip']}".strip())
    if "place" in cell:
        return str(cell["place"])
    if "code" in cell:
        file = tag("span", f"{cell['file']}  ", class_="muted") if cell["file"] else None
        return [file, tag("code", cell["code"])]
    if "bar" in cell:
        parts = [
            tag("i", style=f"width:{width}%;background:{colour}", title=told) for width, colour, told in cell["bar"]
        ]
        return tag("div", parts, class_="stack")
    if "ratio" in cell:
        start_length = cell["ratio"]
        bar = tag("i", style=f"left:{start_length[0]}%;width:{start_length[1]}%") if start_length else None
        return tag("div", bar, class_="ratio")
    return tag("span", f"✗ {cell['text']}", class_="chip worse") if cell.get("over") else str(cell["text"])
