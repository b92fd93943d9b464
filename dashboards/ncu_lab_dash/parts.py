"""The page's building blocks: cards, segmented controls, legends, tables. Everything from data is text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from ncu_lab.render.launch_tables import Cell
from ncu_lab.render.numbers import unbroken as unbroken  # pages take it from here
from ncu_lab.render.visible import isolated
from ncu_lab_dash import ids

_LONGEST_LABEL = 160
_MOST_SEARCHED = 1_000
_LONGEST_WORD = 100


def in_list(text: str) -> str:
    """Return a name as a list to choose from shows it; the end of a very long one gives way to an ellipsis."""
    return isolated(text if len(text) <= _LONGEST_LABEL else f"{text[: _LONGEST_LABEL - 1]}…")


def searched(text: str) -> str:
    """Return what an option of a list is found by: the beginning of a very long text, and of each very long word.

    A browser keeps every part of every word, as many as the square of its length: one mangled name of 5 000 letters
    would take all its memory.
    """
    return re.sub(rf"([\w'-]{{{_LONGEST_WORD}}})[\w'-]+", r"\1", text)[:_MOST_SEARCHED]


def graph(component_id: str, height: int = 450) -> dcc.Graph:
    """Return a graph, blank until it is drawn, without axes of nothing, and about as high in px as it will be.

    ``assets/browser.js`` lets it follow the width of its card. Plotly's own way also forgets its height and makes it
    100 % of a box that has none: cards collapse and figures lie over one another.
    """
    hidden = {"visible": False}
    grounds = dict.fromkeys(("paper_bgcolor", "plot_bgcolor"), "rgba(0,0,0,0)")
    return dcc.Graph(
        id=component_id,
        figure={"layout": {"height": height, "xaxis": hidden, "yaxis": hidden, **grounds}},
        config={"displayModeBar": False, "responsive": False, "doubleClick": False, "scrollZoom": False},
        responsive="auto",
        className="graph",
    )


def aria(**attributes: str) -> dict[str, Any]:
    """Return accessibility attributes, which Dash takes with a hyphen: ``aria(label="Sort")``."""
    return {f"aria-{name}": value for name, value in attributes.items()}


def held(**attributes: str) -> dict[str, Any]:
    """Return data attributes, for scripts of the page to read: ``held(export="png")`` is ``data-export``."""
    return {f"data-{name}": value for name, value in attributes.items()}


def exact(value: float | None) -> dict[str, Any]:
    """Return the attribute that holds a cell's number in full precision, for CSV; none without one."""
    return {} if value is None else held(value=repr(value))


def segmented(component_id: str, label: str, options: Sequence[tuple[str, str]], value: str | None) -> html.Div:
    """Return a labelled row of mutually exclusive choices; arrow keys move between them."""
    return html.Div(
        [
            html.Span(label, className="segmented-label"),
            dcc.RadioItems(
                id=component_id,
                options=[{"label": text, "value": key} for key, text in options],
                value=value,
                className="segmented",
            ),
        ],
        className="control",
        role="group",
        **aria(label=label),
    )


def card(children: Sequence[Any], class_name: str = "") -> html.Section:
    """Return a card."""
    return html.Section(list(children), className=f"card {class_name}".strip())


def card_head(title_id: str, note: Any, controls: Sequence[Any] = ()) -> html.Div:
    """Return a card's head: title, the muted line under it, controls at the right."""
    return html.Div(
        [
            html.Div([html.H2(id=title_id), html.P(note, className="muted note")], className="card-title"),
            html.Div(list(controls), className="controls"),
        ],
        className="card-head",
    )


def export_buttons(*kinds: str) -> html.Div:
    """Return buttons that save what their card shows: its figure (``png``, ``svg``), its table (``csv``)."""
    buttons = [
        html.Button(kind.upper(), className="quiet", title=f"Save as {kind.upper()}", **held(export=kind))
        for kind in kinds
    ]
    return html.Div(buttons, className="exports", role="group", **aria(label="Save this card"))


def figure_card(name: str, controls: Sequence[Any] = (), class_name: str = "") -> html.Section:
    """Return the card of one figure: title, figure or what stands in its place, foot, table, buttons to save it."""
    figure = html.Div(graph(name), id=f"{name}-figure", role="img", **aria(labelledby=ids.title_of(name)))
    return card(
        [
            card_head(ids.title_of(name), html.Span(id=ids.note_of(name)), controls),
            figure,
            html.Div(id=ids.state_of(name)),
            html.Div(id=ids.foot_of(name), className="card-foot muted"),
            table_view(ids.table_of(name), ids.details_of(name)),
        ],
        f"figure-card {class_name}".strip(),
    )


def not_collected(what: str, sections: Sequence[str], price: str, command: str) -> html.Div:
    """Return what stands in place of a figure whose counters the report lacks: how to get them, and their price."""
    named = " and ".join(f"--section {section}" for section in sections)
    return html.Div(
        [
            html.B(f"Not collected: {what}"),
            html.P(f"Profile with {named}. {price}"),
            html.Div([code(command), html.Button("Copy", className="quiet", **held(copy=command))], className="copy"),
        ],
        className="missing",
    )


def data_table(header: Sequence[str], rows: Sequence[Sequence[Cell | str]], text_columns: int = 1) -> html.Table:
    """Return a small table whose cells carry their values in full precision, for CSV."""
    kinds = _kinds(header, text_columns)
    body = [html.Tr([_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)]) for row in rows]
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in zip(header, kinds, strict=True)])
    return html.Table([html.Thead(head), html.Tbody(body)])


def _kinds(header: Sequence[str], text_columns: int) -> list[str]:
    return ["text" if column < text_columns else "number" for column in range(len(header))]


def _cell(cell: Cell | str, kind: str) -> html.Td:
    if isinstance(cell, str):
        return html.Td(cell, className=kind)
    return html.Td(cell.text, className=kind, **exact(cell.value))


TABLE = "data-table"
"""Property of a component that ``assets/tables.js`` fills with a table of :func:`table_json`."""


def table_json(header: Sequence[str], rows: Sequence[Sequence[Cell | str]], text_columns: int = 1) -> str:
    """Return a table for the browser to draw: as Dash components, hundreds of cells would cost it seconds.

    Columns from ``text_columns`` on are numbers, right-aligned; a cell is its text, or text and value.
    """
    cells = [
        [cell if isinstance(cell, str) else {"text": cell.text, "value": cell.value} for cell in row] for row in rows
    ]
    return json.dumps({"header": list(header), "kinds": _kinds(header, text_columns), "rows": cells})


def table_view(component_id: str, details_id: str, *kinds: str) -> html.Div:
    """Return the table under a figure, closed at first, and the buttons that save both, or only ``kinds``."""
    details = html.Details(
        [html.Summary("Values as a table"), html.Div(id=component_id, className="table-scroll")],
        id=details_id,
        className="table-view",
    )
    return html.Div([details, export_buttons(*(kinds or ("png", "svg", "csv")))], className="card-tools")


def code(text: str) -> html.Pre:
    """Return a command to type."""
    return html.Pre(html.Code(text), className="command")
