"""The page's building blocks: cards, segmented controls, legends, tables. Everything from data is text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.render.numbers import THIN
from ncu_lab.render.palette import FAMILY_TITLES, Theme, stall_colour, stall_family, stall_label


def graph(component_id: str) -> dcc.Graph:
    """Return a graph that follows the width of its card; until it is drawn it is blank, without axes of nothing."""
    hidden = {"visible": False}
    clear = "rgba(0,0,0,0)"
    return dcc.Graph(
        id=component_id,
        figure={"layout": {"xaxis": hidden, "yaxis": hidden, "paper_bgcolor": clear, "plot_bgcolor": clear}},
        config={"displayModeBar": False, "responsive": True, "doubleClick": False, "scrollZoom": False},
        responsive="auto",
        className="graph",
    )


def aria(**attributes: str) -> dict[str, Any]:
    """Return accessibility attributes, which Dash takes with a hyphen: ``aria(label="Sort")``."""
    return {f"aria-{name}": value for name, value in attributes.items()}


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


def table_view(component_id: str, details_id: str) -> html.Details:
    """Return the table under a figure, closed at first."""
    return html.Details(
        [html.Summary("Values as a table"), html.Div(id=component_id, className="table-scroll")],
        id=details_id,
        className="table-view",
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]], text_columns: int = 1) -> html.Table:
    """Return a table; columns from ``text_columns`` on are numbers, right-aligned."""
    kinds = ["text" if column < text_columns else "number" for column in range(len(header))]
    return html.Table(
        [
            html.Thead(
                html.Tr([html.Th(text, className=kind, scope="col") for text, kind in zip(header, kinds, strict=True)])
            ),
            html.Tbody(
                [
                    html.Tr([html.Td(text, className=kind) for text, kind in zip(row, kinds, strict=True)])
                    for row in rows
                ]
            ),
        ]
    )


def stall_legend(reasons: Sequence[str], theme: Theme) -> list[html.Div]:
    """Return the legend: stall reasons by family, in the order they stack."""
    families = []
    for family in STALL_FAMILIES:
        members = [reason for reason in reasons if stall_family(reason) == family]
        if members:
            keys = [_key(stall_label(reason), stall_colour(reason, theme)) for reason in members]
            families.append(html.Div([html.B(FAMILY_TITLES[family]), *keys], className="family"))
    return families


def _key(label: str, colour: str) -> html.Span:
    return html.Span([html.I(className="swatch", style={"background": colour}), label], className="key")


def unbroken(text: str) -> str:
    """Keep numbers and units on one line: a browser may break a line at a thin space, not at a narrow no-break one."""
    return text.replace(THIN, "\u202f")


def code(text: str) -> html.Pre:
    """Return a command to type."""
    return html.Pre(html.Code(text), className="command")
