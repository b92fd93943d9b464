"""The History page: a time or a counter over commits, where it changed, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go
from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from ncu_lab.errors import NcuLabError
from ncu_lab.model.history import History, KernelHistory
from ncu_lab.render import history_headlines as headlines
from ncu_lab.render.figures.history import Followed, history_figure
from ncu_lab.render.history_words import quantity_name
from ncu_lab.render.visible import visible
from ncu_lab_dash import history_cards, ids
from ncu_lab_dash.history_data import HistoryData, choose, problems_and_devices
from ncu_lab_dash.history_view import (
    COUNTERS,
    KEYS,
    MOST_BELOW,
    HistoryView,
    cut,
    dragged,
    point_address,
    read_search,
    read_view,
)
from ncu_lab_dash.in_browser import in_browser
from ncu_lab_dash.parts import (
    TABLE,
    aria,
    card,
    card_head,
    export_buttons,
    figure_card,
    in_list,
    searched,
    segmented,
    table_json,
    unbroken,
)
from ncu_lab_dash.screen import Screen, is_narrow, matrix_width, read_screen, theme_of
from ncu_lab_dash.served import Served

CONTROLS: Mapping[str, tuple[str, str]] = {
    "metric": (ids.HISTORY_METRIC, "value"),
    "stage": (ids.HISTORY_STAGE, "value"),
    "problem": (ids.HISTORY_PROBLEM, "value"),
    "device": (ids.HISTORY_DEVICE, "value"),
    "range": (ids.HISTORY_RANGE, "data"),
    "below": (ids.HISTORY_BELOW, "value"),
}
"""Field of a view -> the component that holds it, and the property that does."""

_NOTE = (
    "Dot: median; bar: its 99 % interval; line: level, ± 1 % shaded. Hollow: edited tree, not judged; ×: failed. "
    "A click compares a dot with the one before, and opens the first"
)


def layout(search: str = "") -> html.Div:
    """Return the page before anything was read, its controls as the address says."""
    view = read_search(search)
    return html.Div(
        [
            dcc.Location(id=ids.HISTORY_URL, refresh="callback-nav"),
            dcc.Location(id=ids.HISTORY_LEAVE, refresh="callback-nav"),
            dcc.Store(id=ids.HISTORY_SHOWN),
            dcc.Store(id=ids.HISTORY_DRAG),
            dcc.Store(id=ids.HISTORY_RANGE, data=view.range),
            html.Div(id=ids.HISTORY_CONTEXT, className="context"),
            html.Main(
                [
                    _pickers(view),
                    html.P("Judging the commits…", className="loading-words muted"),
                    html.Div(id=ids.HISTORY_EMPTY),
                    _cards(),
                    html.Div(id=ids.HISTORY_NOTICES, className="muted notices"),
                ],
                id=ids.HISTORY_PAGE,
                className="loading",
            ),
        ],
        className="page",
    )


def _pickers(view: HistoryView) -> html.Div:
    def choice(component_id: str, label: str, **options: Any) -> html.Div:
        picker = dcc.Dropdown(id=component_id, optionHeight=30, maxHeight=420, **options)
        return html.Div([html.Label(label, htmlFor=component_id, className="muted"), picker], className="picker")

    followed = [{"value": key, "label": _metric_label(key), "search": f"{key} {quantity_name(key)}"} for key in KEYS]
    below = [one for one in followed if one["value"] in COUNTERS]
    if view.metric not in KEYS:
        followed.insert(0, _named(view.metric))
    stages = [_named(view.stage)] if view.stage else []
    return html.Div(
        [
            choice(ids.HISTORY_STAGE, "Stage", options=stages, value=view.stage, clearable=False),
            choice(ids.HISTORY_METRIC, "Metric", options=followed, value=view.metric, clearable=False),
            choice(
                ids.HISTORY_BELOW, "Exact counters below", options=below, value=list(view.below), multi=True,
                placeholder=f"up to {MOST_BELOW}",
            ),
            html.Div(
                [
                    segmented(ids.HISTORY_PROBLEM, "Problem", [], view.problem),
                    segmented(ids.HISTORY_DEVICE, "Device", [], view.device),
                ],
                className="controls",
            ),
        ],
        className="pickers history-pickers",
    )  # fmt: skip


def _named(name: str) -> dict[str, str]:
    """Return a name as an option; what is asked for is always one, as a list drops a value that it does not have."""
    return {"value": name, "label": in_list(visible(name)), "search": searched(name)}


def _metric_label(key: str) -> str:
    name = quantity_name(key)
    return name if name.replace(" ", "_") == key else f"{name}  ({key})"


def _cards() -> html.Div:
    ranges = html.Div(id=ids.HISTORY_RANGES, className="ranges", role="group", **aria(label="Rows"))
    return html.Div(
        [
            html.Section(id=ids.HISTORY_BANNER, className="banner"),
            figure_card(ids.HISTORY, [ranges]),
            card(
                [
                    card_head(ids.title_of(ids.CHANGES), html.Span(id=ids.note_of(ids.CHANGES))),
                    html.Div(id=ids.body_of(ids.CHANGES)),
                    html.Div(export_buttons("csv"), className="card-tools"),
                ],
                "figure-card",
            ),
        ],
        id=ids.HISTORY_CARDS,
        className="cards",
    )


def register(app: Dash, served: Served) -> None:
    """Register the page's callbacks."""
    data = HistoryData.of(served.ladders.store, served.ladders.version)
    where = served.list_command.removeprefix("ncu-lab runs")
    _register_view(app, data)
    _register_words(app, data, where)
    _register_figure(app, data)
    _register_click(app, data)


def move(view: HistoryView, triggers: Set[str], shown: Any, drag: Any, data: HistoryData) -> HistoryView:
    """Return the view after controls changed: another stage keeps problem and GPU where it has them."""
    if ids.HISTORY_DRAG in triggers:
        found = _found(data, shown)
        told = dragged(cut(found[1], read_view(shown).range), drag) if found else None
        return replace(view, range=told or view.range)
    return data.settle(replace(view, range=view.range or None))


def _register_view(app: Dash, data: HistoryData) -> None:
    fields = list(CONTROLS)

    @app.callback(
        Output(ids.HISTORY_URL, "search"),
        *(Output(*control) for control in CONTROLS.values()),
        Output(ids.HISTORY_SHOWN, "data"),
        Output(ids.HISTORY_STAGE, "options"),
        Output(ids.HISTORY_PROBLEM, "options"),
        Output(ids.HISTORY_DEVICE, "options"),
        Input(ids.HISTORY_URL, "search"),
        Input(ids.VERSION, "data"),
        Input(ids.THEME, "data"),
        Input(ids.HISTORY_DRAG, "data"),
        State(ids.HISTORY_SHOWN, "data"),
        *(Input(*control) for control in CONTROLS.values()),
    )
    def keep_view(search: Any, _: Any, theme: Any, drag: Any, shown: Any, *values: Any) -> tuple[Any, ...]:
        chosen = dict(zip(fields, values, strict=True))
        triggers = {one.partition(".")[0] for one in ctx.triggered_prop_ids}
        opens = not triggers or ids.HISTORY_URL in triggers or not isinstance(shown, dict)
        if opens:
            view = data.settle(read_search(search))
        else:
            view = move(read_view({**chosen, "theme": theme}), triggers, shown, drag, data)
        held = {name: _held(view, name) for name in fields}
        controls = [no_update if held[name] == chosen[name] else held[name] for name in fields]
        now = {**held, "version": data.version()}
        return (
            no_update if opens else view.search(),
            *controls,
            no_update if now == shown else now,
            *_options(data, view),
        )

    # A figure tells of every layout, and a newer call of the server would outrun the one that is being answered.
    in_browser(app, "history", "drag", Output(ids.HISTORY_DRAG, "data"), Input(ids.HISTORY, "relayoutData"))


def _held(view: HistoryView, name: str) -> Any:
    value = getattr(view, name)
    return list(value) if isinstance(value, tuple) else value


def _options(data: HistoryData, view: HistoryView) -> tuple[Any, ...]:
    """Return what there is to choose from: stages and kernels, and the problems and GPUs of the one shown."""
    try:
        names = [*data.stages(), *data.others()]
    except NcuLabError:
        return no_update, [], []  # the page's words tell why
    if view.stage and view.stage not in names:
        names.insert(0, view.stage)
    stages = [_named(name) for name in names]
    try:
        found = data.lines(view.metric, view.stage).kernels if view.stage else ()
    except NcuLabError:
        return stages, [], []  # likewise; another stage can still be chosen
    problems, devices = problems_and_devices(found)
    return stages, _several(list(problems.items())), _several([(name, name) for name in devices])


def _several(options: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """Return options; one alone is no choice."""
    return [{"value": key, "label": unbroken(visible(text))} for key, text in options] if len(options) > 1 else []


def _found(data: HistoryData, told: Any) -> tuple[History, KernelHistory] | None:
    """Return the history that is shown and its line, None when there is none, of whatever a browser sent."""
    view = read_view(told if isinstance(told, dict) else {})
    if view.stage is None:
        return None
    try:
        history = data.lines(view.metric, view.stage)
    except NcuLabError:
        return None  # the page's words tell why
    return history, choose(history.kernels, view)


def _register_words(app: Dash, data: HistoryData, where: str) -> None:
    @app.callback(
        Output(ids.HISTORY_PAGE, "className"),
        Output(ids.HISTORY_EMPTY, "children"),
        Output(ids.HISTORY_CONTEXT, "children"),
        Output(ids.HISTORY_BANNER, "children"),
        Output(ids.HISTORY_BANNER, "className"),
        Output(ids.HISTORY_RANGES, "children"),
        Output(ids.title_of(ids.CHANGES), "children"),
        Output(ids.note_of(ids.CHANGES), "children"),
        Output(ids.body_of(ids.CHANGES), "children"),
        Output(ids.HISTORY_NOTICES, "children"),
        Input(ids.HISTORY_SHOWN, "data"),
    )
    def write_page(told: Any) -> tuple[Any, ...]:
        if told is None:
            raise PreventUpdate
        view = read_view(told if isinstance(told, dict) else {})
        try:
            stages = data.stages()
            history = data.lines(view.metric, view.stage) if view.stage else None
        except NcuLabError as error:
            return _empty(history_cards.why_not(error, _stages(data) if view.metric in KEYS else []))
        if history is None:
            return _empty(history_cards.no_runs() if not stages else None)
        one = choose(history.kernels, view)
        shown = cut(one, view.range)
        link = html.Span(urlencode(_link(view)), className="shown-query", hidden=True)
        notices = [html.P(visible(notice.message)) for notice in history.notices]
        return (
            "",
            None,
            [*history_cards.context(one, history), link],
            *history_cards.heading(one, history),
            history_cards.range_buttons(one, view),
            headlines.changes_title(shown),
            "What ncu-lab diff says of the two runs; newest first. Exact counters need no statistics.",
            history_cards.changes_body(shown, history, where),
            notices,
        )


def _empty(why: Any) -> tuple[Any, ...]:
    return "is-empty", why, [], [], "banner", [], "", "", None, []


def _stages(data: HistoryData) -> list[str]:
    try:
        return data.stages()
    except NcuLabError:
        return []  # the same error already stands on the page


def _link(view: HistoryView) -> dict[str, str]:
    """Return what a copied link has to name where the address leaves it open."""
    told = {"stage": view.stage, "problem": view.problem, "device": view.device}
    return {name: value for name, value in told.items() if value}


def _register_figure(app: Dash, data: HistoryData) -> None:
    @app.callback(
        Output(ids.HISTORY, "figure"),
        Output(ids.title_of(ids.HISTORY), "children"),
        Output(ids.note_of(ids.HISTORY), "children"),
        Output(ids.foot_of(ids.HISTORY), "children"),
        Output(ids.table_of(ids.HISTORY), TABLE),
        Input(ids.HISTORY_SHOWN, "data"),
        Input(ids.SCREEN, "data"),
        Input(ids.THEME, "data"),
    )
    def show(told: Any, screen_told: Any, theme: Any) -> tuple[Any, ...]:
        found, screen = _found(data, told), read_screen(screen_told)
        if found is None or screen is None:
            raise PreventUpdate
        history, one = found
        view = read_view({**told, "theme": theme})
        shown = cut(one, view.range)
        figure = draw(shown, history, counters_below(data, view), view, screen)
        zoom = "." if is_narrow(screen) else "; drag to see fewer rows."
        title, foot = headlines.title(shown, history), headlines.foot(one, history)
        return (
            figure,
            unbroken(title),
            _NOTE + zoom,
            unbroken(foot),
            table_json(*headlines.points_table(shown, history), 3),
        )


def counters_below(data: HistoryData, view: HistoryView) -> list[Followed]:
    """Return the counters to draw below, of the same problem and GPU; one that no run tells is left out."""
    found = []
    for key in view.below:
        if key == view.metric or view.stage is None:
            continue
        try:
            history = data.lines(key, view.stage)
        except NcuLabError:
            continue  # not collected: the steps of the others are still worth a look
        found.append(Followed(key, history.unit, choose(history.kernels, view)))
    return found


def draw(
    one: KernelHistory, history: History, below: Sequence[Followed], view: HistoryView, screen: Screen
) -> go.Figure:
    """Draw the rows shown; where there is room for a pointer, a range can be dragged out."""
    main = Followed(history.key, history.unit, one)
    figure = history_figure(main, below, theme_of(view.theme, screen), matrix_width(screen))
    if not is_narrow(screen):
        figure.update_layout(dragmode="zoom")
    return figure


def _register_click(app: Dash, data: HistoryData) -> None:
    @app.callback(
        Output(ids.HISTORY_LEAVE, "href"),
        Input(ids.HISTORY, "clickData"),
        State(ids.HISTORY_SHOWN, "data"),
        prevent_initial_call=True,
    )
    def leave(click: Any, told: Any) -> Any:
        found, run = _found(data, told), clicked_run(click)
        address = point_address(found[1], run) if found and run else None
        if address is None:
            raise PreventUpdate
        return address


def clicked_run(click: Any) -> str | None:
    """Return the run of a click in the figure; None when what was clicked is none."""
    points = click.get("points") if isinstance(click, dict) else None
    point = points[0] if isinstance(points, list) and points else None
    run = point.get("customdata") if isinstance(point, dict) else None
    return run if isinstance(run, str) else None
