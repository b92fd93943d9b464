"""The Compare page before anything was read: pickers, cards in their places, and what stands there without runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import dcc, html

from ncu_lab.advice import as_called
from ncu_lab.errors import NcuLabError
from ncu_lab.render.figures.roofline import LEVEL_LABELS
from ncu_lab.render.visible import visible
from ncu_lab_dash import ids
from ncu_lab_dash.compare_view import CompareView, read_search
from ncu_lab_dash.parts import aria, card, card_head, code, export_buttons, figure_card, segmented


def layout(search: str = "") -> html.Div:
    """Return the page before anything was read, its controls as the address says."""
    view = read_search(search)
    tables = [dcc.Store(id=name) for name in (ids.PAIRS_TABLES, ids.MOVED_TABLES, ids.COMPARED_TABLES)]
    return html.Div(
        [
            dcc.Location(id=ids.COMPARE_URL, refresh="callback-nav"),
            dcc.Store(id=ids.PAIR, data=view.pair),
            dcc.Store(id=ids.COMPARE_SHOWN),
            *tables,
            html.Div(id=ids.COMPARE_CONTEXT, className="context"),
            html.Main(
                [
                    _pickers(),
                    html.P("Comparing…", className="loading-words muted"),
                    html.Div(id=ids.COMPARE_EMPTY),
                    _cards(view),
                ],
                id=ids.COMPARE_PAGE,
                className="loading",
            ),
        ],
        className="page",
    )


def _pickers() -> html.Div:
    return html.Div(
        [
            _side("A, before", ids.COMPARE_A, ids.COMPARE_A_PART, multi=False),
            html.Button("⇄ Swap", id=ids.COMPARE_SWAP, title="Compare the other way round", className="swap"),
            _side("B, after", ids.COMPARE_B, ids.COMPARE_B_PART, multi=True),
            html.Div(segmented(ids.COMPARE_AT, "Shown of B", [], None), className="tabs"),
        ],
        className="sides",
    )


def _side(label: str, run: str, part: str, *, multi: bool) -> html.Div:
    return html.Div(
        [
            html.Div(
                [
                    html.Label(f"{label}: run", htmlFor=run, className="muted"),
                    dcc.Dropdown(id=run, options=[], clearable=False, multi=multi, optionHeight=30, maxHeight=420),
                ],
                className="picker",
            ),
            html.Div(
                [
                    html.Label("of it", htmlFor=part, className="muted"),
                    dcc.Dropdown(id=part, options=[], clearable=False, optionHeight=30, maxHeight=420),
                ],
                className="picker",
            ),
        ],
        className="side",
        role="group",
        **aria(label=label),
    )


def _cards(view: CompareView) -> html.Div:
    waits = segmented(ids.DUMBBELL_SCALE, "In", [("cycles", "Cycles"), ("share", "Share")], view.waits)
    level = segmented(ids.SHIFT_LEVEL, "Level", list(LEVEL_LABELS.items()), view.level)
    rows = segmented(ids.COMPARED_ROWS, "Show", [("changed", "Changed"), ("all", "All")], view.rows)
    return html.Div(
        [
            html.Div(id=ids.COMPARE_CHIPS, className="chips", **aria(live="polite")),
            html.Section(id=ids.COMPARE_BANNER, className="banner"),
            _table_card(ids.PAIRS, "pairs-card"),
            html.Div([figure_card(ids.WATERFALL), figure_card(ids.DUMBBELL, [waits])], className="columns"),
            html.Div([figure_card(ids.SHIFT, [level]), _table_card(ids.MOVED)], className="columns"),
            _table_card(ids.COMPARED, controls=[rows]),
            html.Div(id=ids.COMPARE_NOTICES, className="muted notices"),
        ],
        id="compare-cards",
        className="cards",
    )


def _table_card(name: str, class_name: str = "", controls: Sequence[Any] = ()) -> html.Section:
    return card(
        [
            card_head(ids.title_of(name), html.Span(id=ids.note_of(name)), controls),
            html.Div(id=ids.state_of(name)),
            html.Div(id=ids.body_of(name), className="spots-body"),
            html.Div(export_buttons("csv"), className="card-tools"),
        ],
        f"figure-card {class_name}".strip(),
    )


def empty_state(error: NcuLabError, *, runs: int) -> html.Div:
    """Return what stands in place of the cards when there is nothing to compare: why, and what to do.

    Args:
        error: Why.
        runs: How many runs there are to choose from.
    """
    if runs == 0:
        return html.Div(
            [
                html.H2("No runs to compare yet"),
                html.P("Look at real ones first, make your own, or open a report on the page Runs:"),
                code(
                    as_called("ncu-lab dashboard --example\nncu-lab profile --stage 2d\nncu-lab import REPORT.ncu-rep")
                ),
                html.P("This page shows a new run as soon as it is stored.", className="muted"),
            ],
            className="card empty",
        )
    why = [html.P(visible(as_called(text))) for text in (error.message, error.hint) if text]
    return html.Div([html.H2("Nothing to compare at this address"), *why], className="card empty")
