"""The Kernel page before anything was read: pickers, cards in their places, and what stands there without runs."""

from __future__ import annotations

from dash import dcc, html

from ncu_lab.advice import as_called
from ncu_lab.errors import NcuLabError
from ncu_lab.render.visible import visible
from ncu_lab_dash import ids
from ncu_lab_dash.kernel_view import KernelView, read_search
from ncu_lab_dash.parts import aria, card, card_head, code, export_buttons, figure_card, held, segmented


def layout(search: str = "") -> html.Div:
    """Return the page before anything was read, its controls as the address says."""
    view = read_search(search)
    return html.Div(
        [
            dcc.Location(id=ids.KERNEL_URL, refresh="callback-nav"),
            dcc.Store(id=ids.SPOT, data=view.line),
            dcc.Store(id=ids.KERNEL_SHOWN),
            html.Div(id=ids.KERNEL_CONTEXT, className="context"),
            html.Main(
                [
                    _picker(),
                    html.P("Reading the launch…", className="loading-words muted"),
                    html.Div(id=ids.KERNEL_EMPTY),
                    _cards(view),
                ],
                id=ids.KERNEL_PAGE,
                className="loading",
            ),
        ],
        className="page",
    )


def _picker() -> html.Div:
    def choice(component_id: str, label: str) -> html.Div:
        return html.Div(
            [
                html.Label(label, htmlFor=component_id, className="muted"),
                dcc.Dropdown(id=component_id, options=[], clearable=False, optionHeight=30, maxHeight=420),
            ],
            className="picker",
        )

    return html.Div(
        [
            choice(ids.KERNEL_RUN, "Run"),
            choice(ids.KERNEL_LAUNCH, "Launch"),
            html.Div(id=ids.KERNEL_SIGNATURE, className="signature muted"),
        ],
        className="pickers",
    )


def _cards(view: KernelView) -> html.Div:
    units = segmented(ids.UNITS_WHICH, "Units", [("largest", "Largest"), ("all", "All")], view.units)
    amounts = segmented(ids.CHART_AMOUNTS, "In", [("amount", "Amount"), ("rate", "Per second")], view.amounts)
    return html.Div(
        [
            html.Section(id=ids.KERNEL_BANNER, className="banner"),
            html.Section(id=ids.KERNEL_STRIP, className="strip", **aria(label="Key figures")),
            html.Div([figure_card(ids.UNITS, [units]), figure_card(ids.CHART, [amounts])], className="columns"),
            _spots_card(view),
            html.Div([figure_card(ids.WAITS), figure_card(ids.CURVES)], className="columns"),
            html.Div([_table_card(ids.ACCESSES), _table_card(ids.RULES, tabled=False)], className="columns"),
            _metrics_card(view),
            html.Div(id=ids.KERNEL_NOTICES, className="muted notices"),
        ],
        id=ids.KERNEL_CARDS,
        className="cards",
    )


def _spots_card(view: KernelView) -> html.Section:
    controls = [
        segmented(ids.SPOTS_CODE, "Code", [("source", "Source"), ("sass", "SASS"), ("both", "Both")], view.code),
        segmented(
            ids.SPOTS_SORT,
            "Sort",
            [("samples", "Samples"), ("excess", "Excess"), ("executed", "Executed"), ("source", "Code order")],
            view.sort,
        ),
        segmented(ids.SPOTS_ROWS, "Show", [("hot", "Hot"), ("all", "All")], view.rows),
    ]
    return card(
        [
            card_head(ids.title_of(ids.SPOTS), html.Span(id=ids.note_of(ids.SPOTS)), controls),
            html.Div(id=ids.state_of(ids.SPOTS)),
            dcc.Store(id=ids.SPOTS_TABLES),
            html.Div(id=ids.body_of(ids.SPOTS), className="spots-body"),
            html.Div(export_buttons("csv"), className="card-tools"),
        ],
        "figure-card",
    )


def _table_card(name: str, *, tabled: bool = True) -> html.Section:
    return card(
        [
            card_head(ids.title_of(name), html.Span(id=ids.note_of(name))),
            html.Div(id=ids.state_of(name)),
            html.Div(id=ids.body_of(name)),
            html.Div(id=ids.foot_of(name), className="card-foot muted"),
            html.Div(export_buttons("csv") if tabled else None, className="card-tools"),
        ],
        "figure-card",
    )  # fmt: skip


def _metrics_card(view: KernelView) -> html.Section:
    search = dcc.Input(
        id=ids.METRICS_SEARCH, type="search", value=view.metric or "", debounce=0.25, className="search",
        placeholder="sectors global ld …",
    )  # fmt: skip
    label = html.Label("Search all metrics", htmlFor=ids.METRICS_SEARCH, className="segmented-label")
    return card(
        [
            card_head(
                ids.title_of(ids.METRICS),
                "By Nsight Compute's own names, in base units.",
                [html.Div([label, search], className="control always")],
            ),
            html.Div(id=ids.body_of(ids.METRICS)),
            html.Div(export_buttons("csv"), className="card-tools"),
        ],
        "figure-card",
    )


def empty_state(error: NcuLabError, *, any_run: bool) -> html.Div:
    """Return what stands in place of the cards when there is no launch to show: why, and what to do."""
    if not any_run:
        return html.Div(
            [
                html.H2("No launch to show yet"),
                html.P("Look at a real one first, make your own, or open a report on the page Runs:"),
                code(
                    as_called("ncu-lab dashboard --example\nncu-lab profile --stage 2d\nncu-lab import REPORT.ncu-rep")
                ),
                html.P("This page shows a new run as soon as it is stored.", className="muted"),
            ],
            className="card empty",
        )
    why = [html.P(visible(as_called(text))) for text in (error.message, error.hint) if text]
    clear = html.A("Show the newest run", href="/kernel", className="button", **held(page=""))
    buttons = html.Div(clear, className="buttons")
    return html.Div([html.H2("No launch matches this address"), *why, buttons], className="card empty")
