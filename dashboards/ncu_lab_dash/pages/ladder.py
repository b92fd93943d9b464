"""The ladder page: where the stages stand, what their warps wait for, and the path under the roof."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update

from ncu_lab.errors import NcuLabError
from ncu_lab.model import Ladder
from ncu_lab.render import headlines
from ncu_lab.render.figures import matrix, roofline, speed
from ncu_lab.render.figures.rows import ROW_PX, Sort, place_rows
from ncu_lab.render.figures.stalls import legend_reasons
from ncu_lab_dash import ids, words
from ncu_lab_dash.data import LadderData, problem_key
from ncu_lab_dash.parts import aria, card, card_head, code, graph, segmented, stall_legend, table, table_view, unbroken
from ncu_lab_dash.reconcile import CONTROLS, GRAPHS, reconcile
from ncu_lab_dash.screen import Screen, column_width, is_narrow, matrix_width, theme_of

PANEL_TITLES: Mapping[matrix.PanelName, str] = {
    "duration": "Time",
    "stalls": "Stalls",
    "sectors": "Sectors",
    "conflicts": "Conflicts",
    "occupancy": "Occupancy",
}

_ORDER_NOTES: Mapping[Sort, str] = {
    "ladder": "Read along a stage, down a metric. In ladder order.",
    "duration": "Read along a stage, down a metric. Slowest first.",
}

_SHOWN = (Input(ids.VERSION, "data"), Input(ids.PROBLEM, "value"), Input(ids.DEVICE, "value"))
"""What decides which ladder is shown: the state of the folder, the problem, the device."""


def layout() -> html.Main:
    """Return the page before anything was read: cards in their final places, figures still empty."""
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
                    html.Div(panels, className="narrow-only"),
                    _matrix_card(),
                    html.Div([_roofline_card(), _speed_card()], className="columns"),
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
                [graph(ids.MATRIX), html.Div(rows, id=ids.MATRIX_ROWS, role="group", **aria(label="Stages"))],
                className="figure-with-rows",
            ),
            html.Div(id=ids.MATRIX_FOOT, className="card-foot muted"),
            table_view(ids.MATRIX_TABLE, ids.MATRIX_DETAILS),
        ]
    )


def _roofline_card() -> html.Section:
    levels = segmented(ids.LEVEL, "Level", list(roofline.LEVEL_LABELS.items()), "l1")
    note = "Arrows lead from each stage's predecessor; dotted: the A·Aᵀ side branch. Shaded: out of reach."
    return card(
        [
            card_head(ids.ROOFLINE_TITLE, note, [levels]),
            graph(ids.ROOFLINE),
            html.Div(id=ids.ROOFLINE_FOOT, className="card-foot muted"),
            table_view(ids.ROOFLINE_TABLE, ids.ROOFLINE_DETAILS),
        ]
    )


def _speed_card() -> html.Section:
    note = "Work 2·m·n·k over the duration, % of cuBLAS FP32 (dotted). Right: duration against the predecessor."
    return card([card_head(ids.SPEED_TITLE, note), graph(ids.SPEED)])


def empty_state(error: NcuLabError, any_runs: bool) -> html.Div:
    """Return what stands in place of the cards when there is no ladder: why, and what to type."""
    if any_runs:
        why = [html.P(text) for text in (error.message, error.hint) if text]
        return html.Div([html.H2("No ladder matches this address"), *why], className="card empty")
    return html.Div(
        [
            html.H2("No ladder to show yet"),
            html.P(f"{error.message}."),
            html.P("Look at a real one first, or make your own:"),
            code("ncu-lab dashboard --example\nncu-lab profile --all"),
            html.P("This page shows a new run as soon as it is stored.", className="muted"),
        ],
        className="card empty",
    )


def choices(options: Sequence[tuple[str, str]], shown: str | None) -> list[dict[str, Any]]:
    """Return options of a control, the shown one marked even when the page chose it; one choice is no choice."""
    if len(options) < 2:
        return []
    return [
        {"label": html.Span(text, className="is-shown") if key == shown else text, "value": key}
        for key, text in options
    ]


def stage_options(ladder: Ladder, sort: str) -> list[dict[str, Any]]:
    """Return the focusable rows that lie over the matrix, in its order; the gap before the references is one too."""
    rows = place_rows(ladder, "duration" if sort == "duration" else "ladder")
    options: list[dict[str, Any]] = []
    for placed in rows.placed:
        if placed.y == rows.first_reference_y and rows.gap_y is not None:
            options.append({"label": "", "value": "", "disabled": True})
        options.append({"label": placed.label, "value": placed.id})
    return options


def register(app: Dash, data: LadderData) -> None:
    """Register the page's callbacks."""
    _register_view(app)
    _register_choices(app, data)
    _register_figures(app, data)
    _register_narrow(app)
    _register_words(app, data)
    _register_card_words(app, data)


def _register_view(app: Dash) -> None:
    fields = list(CONTROLS)
    properties = ["data" if component == ids.THEME else "value" for component in CONTROLS.values()]
    controls = list(zip(CONTROLS.values(), properties, strict=True))

    @app.callback(
        [Output(ids.URL, "search"), *(Output(*control) for control in controls)],
        [
            Input(ids.URL, "search"),
            *(Input(*control) for control in controls),
            *(Input(graph_id, "clickData") for graph_id in GRAPHS),
        ],
    )
    def keep_view(search: str | None, *values: Any) -> list[Any]:
        chosen = dict(zip(fields, values[: len(fields)], strict=True))
        clicks = dict(zip(GRAPHS, values[len(fields) :], strict=True))
        view = reconcile(ctx.triggered_id, search, chosen, clicks)
        return [view.search(), *(getattr(view, name) for name in fields)]


def _register_choices(app: Dash, data: LadderData) -> None:
    @app.callback(Output(ids.VERSION, "data"), Input(ids.WATCH, "n_intervals"), State(ids.VERSION, "data"))
    def watch(_: int | None, shown: str | None) -> Any:
        version = data.version()
        return no_update if version == shown else version

    @app.callback(
        Output(ids.PROBLEM, "options"),
        Output(ids.DEVICE, "options"),
        Output(ids.NOTICES, "children"),
        *_SHOWN,
    )
    def offer(_: Any, problem: Any, device: Any) -> tuple[list[Any], list[Any], list[html.P]]:
        try:
            overview = data.overview()
        except NcuLabError as error:
            return [], [], [html.P(error.message)]
        ladder = _ladder(data, problem, device)
        sizes = [(key, found.label) for key, found in overview.problems.items()]
        names = [(name, name) for name in overview.devices]
        return (
            choices(sizes, problem_key(ladder.problem) if ladder else None),
            choices(names, ladder.device.name if ladder and ladder.device else None),
            [html.P(notice.message) for notice in overview.notices],
        )

    @app.callback(
        Output(ids.STAGE, "options"),
        Output(ids.MATRIX_ROWS, "style"),
        *_SHOWN,
        Input(ids.SORT, "value"),
        Input(ids.SCREEN, "data"),
    )
    def offer_stages(
        _: Any, problem: Any, device: Any, sort: str, screen: Screen | None
    ) -> tuple[list[dict[str, Any]], Any]:
        ladder = _ladder(data, problem, device)
        if ladder is None or screen is None:
            return [], no_update
        top = matrix.PANEL_TOP_PX if is_narrow(screen) else matrix.TOP_PX
        style = {
            "--row": f"{ROW_PX}px", "top": f"{top}px", "width": f"{matrix.names_px(place_rows(ladder))}px"
        }  # fmt: skip
        return stage_options(ladder, sort), style


def _register_figures(app: Dash, data: LadderData) -> None:
    @app.callback(
        Output(ids.MATRIX, "figure"),
        *_SHOWN,
        Input(ids.STAGE, "value"),
        Input(ids.SORT, "value"),
        Input(ids.SCALE, "value"),
        Input(ids.PANEL, "value"),
        Input(ids.THEME, "data"),
        Input(ids.SCREEN, "data"),
    )
    def draw_matrix(
        _: Any,
        problem: Any,
        device: Any,
        stage: str | None,
        sort: Any,
        scale: Any,
        panel: Any,
        chosen: Any,
        screen: Screen | None,
    ) -> Any:
        ladder = _ladder(data, problem, device)
        if ladder is None or screen is None:
            return no_update
        theme, width = theme_of(chosen, screen), matrix_width(screen)
        if is_narrow(screen):
            return matrix.ladder_panel(ladder, theme, width, panel, selected=stage, sort=sort, scale=scale)
        return matrix.ladder_matrix(ladder, theme, width, selected=stage, sort=sort, scale=scale)

    @app.callback(
        Output(ids.ROOFLINE, "figure"),
        *_SHOWN,
        Input(ids.STAGE, "value"),
        Input(ids.LEVEL, "value"),
        Input(ids.THEME, "data"),
        Input(ids.SCREEN, "data"),
    )
    def draw_roofline(
        _: Any, problem: Any, device: Any, stage: str | None, level: Any, chosen: Any, screen: Screen | None
    ) -> Any:
        ladder = _ladder(data, problem, device)
        if ladder is None or screen is None:
            return no_update
        return roofline.roofline(ladder, theme_of(chosen, screen), column_width(screen), level, selected=stage)

    @app.callback(
        Output(ids.SPEED, "figure"),
        *_SHOWN,
        Input(ids.STAGE, "value"),
        Input(ids.THEME, "data"),
        Input(ids.SCREEN, "data"),
    )
    def draw_speed(_: Any, problem: Any, device: Any, stage: str | None, chosen: Any, screen: Screen | None) -> Any:
        ladder = _ladder(data, problem, device)
        if ladder is None or screen is None:
            return no_update
        return speed.speed_bars(ladder, theme_of(chosen, screen), column_width(screen), selected=stage)


def _register_narrow(app: Dash) -> None:
    @app.callback(Output(ids.ROOFLINE_DETAILS, "open"), Input(ids.SCREEN, "data"))
    def open_table(screen: Screen | None) -> bool:
        # Without its rail the figure has numbers only: the table names them.
        return screen is not None and column_width(screen) < roofline.RAIL_FROM_PX


def _register_words(app: Dash, data: LadderData) -> None:
    @app.callback(
        Output(ids.PAGE, "className"),
        Output(ids.EMPTY, "children"),
        Output(ids.CONTEXT, "children"),
        Output(ids.HEADING, "children"),
        Output(ids.LEAD, "children"),
        Output(ids.SPEED_TITLE, "children"),
        *_SHOWN,
    )
    def write_page(_: Any, problem: Any, device: Any) -> tuple[Any, ...]:
        try:
            ladder = data.ladder(problem, device)
        except NcuLabError as error:
            return "is-empty", empty_state(error, _any_runs(data)), [], "Ladder", "", ""
        context = [
            html.Span([html.B(unbroken(strong)), " " if strong and plain else "", unbroken(plain)])
            for strong, plain in words.context_items(ladder)
        ]
        lead = headlines.waits_sentence(ladder)
        heading, speed_title = headlines.ladder_headline(ladder), headlines.speed_headline(ladder)
        return "", None, context, unbroken(heading), unbroken(lead), unbroken(speed_title)


def _register_card_words(app: Dash, data: LadderData) -> None:
    @app.callback(
        Output(ids.MATRIX_TITLE, "children"),
        Output(ids.MATRIX_NOTE, "children"),
        Output(ids.MATRIX_LEGEND, "children"),
        Output(ids.MATRIX_FOOT, "children"),
        Output(ids.MATRIX_TABLE, "children"),
        *_SHOWN,
        Input(ids.SORT, "value"),
        Input(ids.SCALE, "value"),
        Input(ids.PANEL, "value"),
        Input(ids.THEME, "data"),
        Input(ids.SCREEN, "data"),
    )
    def write_matrix(
        _: Any, problem: Any, device: Any, sort: Any, scale: Any, panel: Any, chosen: Any, screen: Screen | None
    ) -> Any:
        ladder = _ladder(data, problem, device)
        if ladder is None or screen is None:
            return [no_update] * 5
        legend = stall_legend(legend_reasons(ladder), theme_of(chosen, screen))
        title, note = headlines.matrix_headline(ladder), _ORDER_NOTES[sort]
        if is_narrow(screen):
            title, note = matrix.PANELS[panel].title, matrix.panel_note(panel, scale)
            legend = legend if panel == "stalls" else []
        foot = [html.P(unbroken(words.MATRIX_FOOT)), *(html.P(line) for line in headlines.not_collected(ladder))]
        return unbroken(title), note, legend, foot, table(*words.matrix_table(ladder))

    @app.callback(
        Output(ids.ROOFLINE_TITLE, "children"),
        Output(ids.ROOFLINE_FOOT, "children"),
        Output(ids.ROOFLINE_TABLE, "children"),
        *_SHOWN,
        Input(ids.LEVEL, "value"),
    )
    def write_roofline(_: Any, problem: Any, device: Any, level: Any) -> Any:
        ladder = _ladder(data, problem, device)
        if ladder is None:
            return [no_update] * 3
        title, foot = headlines.roofline_headline(ladder, level), words.roofline_foot(ladder, level)
        return unbroken(title), unbroken(foot), table(*words.roofline_table(ladder, level))


def _any_runs(data: LadderData) -> bool:
    try:
        return bool(data.overview().problems)
    except NcuLabError:
        # The same error already stands on the page as the reason.
        return False


def _ladder(data: LadderData, problem: str | None, device: str | None) -> Ladder | None:
    """Return the ladder, None when there is none: then the page's words say why."""
    try:
        return data.ladder(problem, device)
    except NcuLabError:
        return None
