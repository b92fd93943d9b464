"""The ladder page before anything was read: cards in their places, and what stands there without a ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import dcc, html

from ncu_lab.advice import as_called
from ncu_lab.errors import NcuLabError
from ncu_lab.model import Family, Ladder
from ncu_lab.render.figures import matrix, roofline
from ncu_lab.render.visible import visible
from ncu_lab_dash import ids
from ncu_lab_dash.no_match import nearest_words
from ncu_lab_dash.parts import (
    aria,
    card,
    card_head,
    code,
    figure_card,
    graph,
    held,
    segmented,
    table_view,
)
from ncu_lab_dash.screen import Screen
from ncu_lab_dash.view import ALONE, AUTO, View

PANEL_TITLES: Mapping[matrix.PanelName, str] = {
    "duration": "Time",
    "stalls": "Stalls",
    "sectors": "Sectors",
    "conflicts": "Conflicts",
    "occupancy": "Occupancy",
    "theory": "Expected",
}

ALWAYS: Sequence[Family] = ("fp32", "tensor")
"""Families that the roofline offers whatever was profiled; FP64 where there is any."""

_MATRIX_PX = 800
"""About the height of the matrix of the whole ladder."""


def layout(_search: str = "") -> html.Div:
    """Return the page before anything was read: cards in their final places, figures still empty."""
    return html.Div(
        [
            dcc.Location(id=ids.URL, refresh="callback-nav"),
            dcc.Store(id=ids.FOCUS),
            dcc.Store(id=ids.LATER),
            dcc.Store(id=ids.FALL_A, data=AUTO),
            dcc.Store(id=ids.FALL_B, data=AUTO),
            html.Div(id=ids.CONTEXT, className="context"),
            _main(),
        ],
        className="page",
    )


def _main() -> html.Main:
    panels = segmented(ids.PANEL, "Panel", list(PANEL_TITLES.items()), "duration")
    return html.Main(
        [
            html.H1(id=ids.HEADING),
            html.P(id=ids.LEAD, className="lead muted"),
            html.Div(
                [
                    segmented(ids.PROBLEM, "Problem", [], None),
                    segmented(ids.DEVICE, "Device", [], None),
                ],
                className="controls choice",
            ),
            html.P("Reading the runs…", className="loading-words muted"),
            html.Div(id=ids.EMPTY),
            html.Div(
                [
                    html.Div(id=ids.UNMATCHED, role="status"),
                    html.Div(panels, className="by-panel"),
                    _matrix_card(),
                    _theory_card(),
                    html.Div([_roofline_card(), _steps_card()], className="columns"),
                    html.Div([_fall_card(), figure_card(ids.SPEED)], className="columns"),
                ],
                id=ids.CARDS,
            ),
            html.Div(id=ids.NOTICES, className="muted notices"),
        ],
        id=ids.PAGE,
        className="loading",
    )


def _matrix_card() -> html.Section:
    controls = [
        segmented(ids.SORT, "Sort", [("ladder", "Ladder order"), ("duration", "Duration")], "ladder"),
        segmented(ids.SCALE, "Stalls", [("share", "Share"), ("cycles", "Cycles/instr.")], "share"),
    ]
    rows = dcc.RadioItems(
        id=ids.STAGE, options=[], value=None, className="stage-rows",
    )  # fmt: skip
    return card(
        [
            card_head(ids.MATRIX_TITLE, html.Span(id=ids.MATRIX_NOTE), controls),
            html.Div(id=ids.MATRIX_LEGEND, className="legend"),
            html.Div(
                [
                    graph(ids.MATRIX, _MATRIX_PX),
                    html.Div(rows, id=ids.MATRIX_ROWS, role="group", **aria(label="Stages")),
                ],
                className="figure-with-rows",
            ),
            html.Div(id=ids.MATRIX_FOOT, className="card-foot muted"),
            table_view(ids.MATRIX_TABLE, ids.MATRIX_DETAILS),
        ]
    )


def _roofline_card() -> html.Section:
    controls = [
        segmented(ids.FAMILY, "Launches", [(family, roofline.FAMILY_LABELS[family]) for family in ALWAYS], "fp32"),
        segmented(ids.LEVEL, "Level", list(roofline.LEVEL_LABELS.items()), "l1"),
        segmented(ids.BESIDE, "Beside", [], ALONE),
    ]
    note = "Arrows lead from each stage's predecessor; dotted: side branches. Shaded: out of reach."
    return card(
        [
            card_head(ids.ROOFLINE_TITLE, note, controls),
            graph(ids.ROOFLINE),
            html.Div(id=ids.ROOFLINE_FOOT, className="card-foot muted"),
            table_view(ids.ROOFLINE_TABLE, ids.ROOFLINE_DETAILS),
        ]
    )


def _theory_card() -> html.Section:
    """Return the tray of the selected stage: what it was expected to show, and where to look further."""
    return card(
        [
            card_head(
                ids.title_of(ids.THEORY),
                html.Span(id=ids.note_of(ids.THEORY)),
                [html.Div(id=ids.THEORY_ACTIONS, className="buttons")],
            ),
            html.Div(id=ids.body_of(ids.THEORY), className="table-scroll"),
            html.Div(id=ids.foot_of(ids.THEORY), className="card-foot muted"),
            table_view(ids.table_of(ids.THEORY), ids.details_of(ids.THEORY), "csv"),
        ],
        "figure-card",
    )


def _steps_card() -> html.Section:
    figure = html.Div(
        graph(ids.STEPS), id=f"{ids.STEPS}-figure", role="img", **aria(labelledby=ids.title_of(ids.STEPS))
    )
    return card(
        [
            card_head(ids.title_of(ids.STEPS), html.Span(id=ids.note_of(ids.STEPS))),
            html.Div(id=ids.STEPS_LEGEND, className="legend"),
            figure,
            html.Div(id=ids.foot_of(ids.STEPS), className="card-foot muted"),
            table_view(ids.table_of(ids.STEPS), ids.details_of(ids.STEPS)),
        ],
        "figure-card",
    )


def _fall_card() -> html.Section:
    """Return the card of the waterfall, between any two stages."""
    return figure_card(ids.FALL, [html.Div(id=ids.FALL_ENDS, className="ends")])


def unmatched(ladder: Ladder, view: View, _: Screen) -> html.Div | None:
    """Return what stands above the cards when the address selects a stage that is not here; None where it is."""
    if view.stage is None or ladder.row(view.stage) is not None:
        return None
    there = [row.stage.id for row in (*ladder.rows, *ladder.references)]
    words = f'No stage "{visible(view.stage)}" on this ladder. {nearest_words(view.stage, there, "It has")}'
    clear = html.Button("Clear", **held(clear=ids.STAGE))
    return html.Div([html.P(words), html.Div(clear, className="buttons")], className="card")


def empty_state(error: NcuLabError, *, any_ladder: bool, others: int = 0) -> html.Div:
    """Return what stands in place of the cards when there is no ladder: why, and what to do.

    Args:
        error: Why there is none.
        any_ladder: Whether another address shows one.
        others: How many runs there are that no ladder can show.
    """
    if any_ladder:
        why = [html.P(as_called(text)) for text in (error.message, error.hint) if text]
        return html.Div([html.H2("No ladder matches this address"), *why], className="card empty")
    return html.Div(
        [
            html.H2("No ladder to show yet"),
            html.P(f"{error.message}."),
            *([_own_kernels(others)] if others else []),
            html.P("Look at a real one first, or make your own:"),
            code(as_called("ncu-lab dashboard --example\nncu-lab profile --all")),
            html.P("This page shows a new run as soon as it is stored.", className="muted"),
        ],
        className="card empty",
    )


def _own_kernels(count: int) -> html.Div:
    """Say where runs of other programs are shown: a ladder compares the registered stages of one matrix multiply."""
    runs = "The one run here is" if count == 1 else f"The {count} runs here are"
    return html.Div(
        [
            html.P(f"{runs} of other programs, imported or failed. This page compares the stages of the ladder."),
            html.Div(
                [
                    html.A("List runs", href="/runs", className="button primary", **held(page="")),
                    html.A("Open the newest launch", href="/kernel", className="button", **held(page="")),
                ],
                className="buttons",
            ),
        ]
    )
