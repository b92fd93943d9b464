"""The ladder page: where the stages stand, what their warps wait for, and what each step bought."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go
from dash import Dash, Input, Output, State, ctx, html, no_update

from ncu_lab.advice import as_called
from ncu_lab.errors import NcuLabError
from ncu_lab.model import FAMILIES, Ladder
from ncu_lab.render import headlines
from ncu_lab.render import ladder_cards as cards
from ncu_lab.render import ladder_words as words
from ncu_lab.render.figures import matrix, roofline, speed
from ncu_lab.render.figures.rows import ROW_PX, Sort, place_rows
from ncu_lab.render.figures.stalls import legend_reasons
from ncu_lab_dash import ids
from ncu_lab_dash.data import LadderData, Overview, ladder_key, problem_key
from ncu_lab_dash.in_browser import in_browser
from ncu_lab_dash.ladder_cards import (
    ENDS,
    focus_legend,
    show_fall,
    show_steps,
    show_steps_legend,
    show_theory,
)
from ncu_lab_dash.ladder_layout import ALWAYS, empty_state, layout, unmatched
from ncu_lab_dash.parts import TABLE, table_json, unbroken
from ncu_lab_dash.reconcile import CONTROLS, GRAPHS, opens, reconcile
from ncu_lab_dash.screen import Screen, column_width, is_by_panel, matrix_width, theme_of
from ncu_lab_dash.served import Served
from ncu_lab_dash.view import ALONE, View, read_view
from ncu_lab_dash.wiring import show

__all__ = ["layout", "register"]

_ORDER_NOTES: Mapping[Sort, str] = {
    "ladder": "Read along a stage, down a metric. In ladder order.",
    "duration": "Read along a stage, down a metric. Slowest first.",
}


def choices(options: Sequence[tuple[str, str]], shown: str | None, newest: str | None) -> list[dict[str, str]]:
    """Return options of a control, the newest run's marked; what is shown and alone is no choice."""
    if [key for key, _ in options] == [shown]:
        return []
    return [{"label": f"{text}, newest" if key == newest else text, "value": key} for key, text in options]


def stage_options(ladder: Ladder, sort: Sort) -> list[dict[str, Any]]:
    """Return the focusable rows that lie over the matrix, in its order; the gap before the references is one too."""
    rows = place_rows(ladder, sort)
    options: list[dict[str, Any]] = []
    for placed in rows.placed:
        if placed.y == rows.first_reference_y and rows.gap_y is not None:
            options.append({"label": "", "value": "", "disabled": True})
        options.append({"label": placed.label, "value": placed.id})
    return options


def families(ladder: Ladder | None) -> list[dict[str, str]]:
    """Return the options of the families of launches."""
    there = {chart.family for chart in ladder.rooflines} if ladder else set()
    offered = [family for family in FAMILIES if family in ALWAYS or family in there]
    return [{"label": roofline.FAMILY_LABELS[family], "value": family} for family in offered]


def others_beside(overview: Overview, problem: str | None, device: str | None) -> list[dict[str, str]]:
    """Return the ladders that may be drawn over the roofline of the one shown; nothing when there are none."""
    others = [pair for pair in overview.ladders if pair != (problem, device)]
    options = [
        {"label": label if other == device else f"{label} on {other}", "value": ladder_key(key, other)}
        for key, other in others
        if (label := overview.problems[key].label)
    ]
    return [{"label": "nothing", "value": ALONE}, *options] if options else []


def register(app: Dash, served: Served) -> None:
    """Register the page's callbacks."""
    data = served.ladders
    _register_view(app, data)
    _register_choices(app, data, served.list_command)
    _register_words(app, data)
    order, look = ("sort", "scale", "panel"), ("stage", "theme")
    show(app, data, draw_matrix, Output(ids.MATRIX, "figure"), *order, *look, "focus")
    roofline_fields = ("level", "family", "beside")

    def roofline_figure(ladder: Ladder, view: View, screen: Screen) -> go.Figure:
        return draw_roofline(ladder, view, screen, data.find_beside(view.beside))

    show(app, data, roofline_figure, Output(ids.ROOFLINE, "figure"), *roofline_fields, *look, later=True)
    show(app, data, draw_speed, Output(ids.SPEED, "figure"), *look, later=True)
    show(app, data, offer_stages, [Output(ids.STAGE, "options"), Output(ids.MATRIX_ROWS, "style")], "sort")
    show(app, data, unmatched, _written(ids.UNMATCHED), "stage")
    matrix_words = (ids.MATRIX_TITLE, ids.MATRIX_NOTE, ids.MATRIX_LEGEND, ids.MATRIX_FOOT, ids.MATRIX_TABLE)
    show(app, data, write_matrix, [_written(one) for one in matrix_words], *order, "theme")
    roofline_words = (ids.ROOFLINE_TITLE, ids.ROOFLINE_FOOT, ids.ROOFLINE_TABLE)
    show(app, data, write_roofline, [_written(one) for one in roofline_words], *roofline_fields)
    _show_cards(app, data)
    # Without its rail the figure has numbers only: the table names them.
    show(app, data, _is_railless, Output(ids.ROOFLINE_DETAILS, "open"))


def _show_cards(app: Dash, data: LadderData) -> None:
    """Fill the cards about steps, and the tray, once the matrix is drawn."""
    in_browser(
        app,
        "browser",
        "drawn",
        Output(ids.LATER, "data"),
        Input(ids.MATRIX, "figure"),
        State(ids.LATER, "data"),
    )
    in_browser(
        app,
        "browser",
        "focused",
        Output(ids.STEPS_LEGEND, "data-focus"),
        Input(ids.FOCUS, "data"),
        Input(ids.MATRIX_LEGEND, "children"),
        Input(ids.STEPS_LEGEND, "children"),
    )
    theory = [part(ids.THEORY) for part in (ids.title_of, ids.note_of)]
    theory += [ids.THEORY_ACTIONS, ids.body_of(ids.THEORY), ids.foot_of(ids.THEORY)]
    show(
        app, data, show_theory, [*(Output(one, "children") for one in theory), _table(ids.THEORY)], "stage", later=True
    )
    steps = [*_figure(ids.STEPS), _child(ids.title_of, ids.STEPS), _child(ids.note_of, ids.STEPS)]
    steps += [_child(ids.foot_of, ids.STEPS), _table(ids.STEPS)]
    show(app, data, show_steps_legend, Output(ids.STEPS_LEGEND, "children"), "theme", later=True)
    show(app, data, show_steps, steps, "stage", "theme", "focus", later=True)
    fall = [_child(part, ids.FALL) for part in (ids.state_of, ids.title_of, ids.note_of, ids.foot_of)]
    show(
        app,
        data,
        show_fall,
        [*_figure(ids.FALL), *fall, _table(ids.FALL), Output(ids.FALL_ENDS, ENDS)],
        "stage",
        "a",
        "b",
        "theme",
        "focus",
        later=True,
    )


def _figure(card: str) -> list[Output]:
    return [Output(card, "figure"), Output(f"{card}-figure", "className")]


def _child(part: Callable[[str], str], card: str) -> Output:
    return Output(part(card), "children")


def _table(card: str) -> Output:
    return Output(ids.table_of(card), TABLE)


def _written(component: str) -> Output:
    """Return what holds the words of a component, or the table of one that shows a table."""
    return Output(component, TABLE if component in (ids.MATRIX_TABLE, ids.ROOFLINE_TABLE) else "children")


def _register_view(app: Dash, data: LadderData) -> None:
    fields = list(CONTROLS)
    written = [name for name in fields if name != "theme"]  # the shell's, and not of this page alone

    @app.callback(
        [Output(ids.URL, "search"), *(Output(*CONTROLS[name]) for name in written)],
        [
            Input(ids.URL, "search"),
            Input(ids.VERSION, "data"),
            *(Input(*control) for control in CONTROLS.values()),
            *(Input(graph_id, "clickData") for graph_id in GRAPHS),
        ],
    )
    def keep_view(search: Any, _: Any, *values: Any) -> list[Any]:
        chosen = dict(zip(fields, values[: len(fields)], strict=True))
        clicks = dict(zip(GRAPHS, values[len(fields) :], strict=True))
        view = reconcile(ctx.triggered_id, search, chosen, clicks, data.find)
        address = no_update if opens(ctx.triggered_id, chosen) else view.search()
        # What hangs on a control that is written is drawn again, even where nothing changed.
        settled = ((getattr(view, name), chosen[name]) for name in written)
        return [address, *(no_update if new == old else new for new, old in settled)]


def _register_choices(app: Dash, data: LadderData, list_command: str) -> None:
    @app.callback(
        Output(ids.PROBLEM, "options"),
        Output(ids.DEVICE, "options"),
        Output(ids.FAMILY, "options"),
        Output(ids.BESIDE, "options"),
        Output(ids.NOTICES, "children"),
        Input(ids.VERSION, "data"),
        Input(*CONTROLS["problem"]),
        Input(*CONTROLS["device"]),
    )
    def offer(_: Any, problem: Any, device: Any) -> tuple[list[Any], ...]:
        try:
            overview = data.overview()
        except NcuLabError as error:
            return [], [], [], [], [html.P(error.message)]
        view = read_view({"problem": problem, "device": device})
        notices = data.notices(view.problem, view.device)
        lines = [as_called(words.others_line(overview.others, list_command)), *(notice.message for notice in notices)]
        return (
            choices([(key, one.label) for key, one in overview.problems.items()], problem, overview.newest_problem),
            choices([(name, name) for name in overview.devices], device, overview.newest_device),
            families(data.find(view.problem, view.device)),
            others_beside(overview, problem, device),
            [html.P(line) for line in dict.fromkeys(lines) if line],
        )


def _register_words(app: Dash, data: LadderData) -> None:
    @app.callback(
        Output(ids.PAGE, "className"),
        Output(ids.EMPTY, "children"),
        Output(ids.CONTEXT, "children"),
        Output(ids.HEADING, "children"),
        Output(ids.LEAD, "children"),
        *(_child(part, ids.SPEED) for part in (ids.title_of, ids.note_of, ids.foot_of)),
        _table(ids.SPEED),
        Input(ids.VERSION, "data"),
        Input(*CONTROLS["problem"]),
        Input(*CONTROLS["device"]),
    )
    def write_page(_: Any, problem: Any, device: Any) -> tuple[Any, ...]:
        view = read_view({"problem": problem, "device": device})
        try:
            ladder = data.ladder(view.problem, view.device)
        except NcuLabError as error:
            return "is-empty", _no_ladder(data, error), [], "Ladder", *[""] * 5
        context = [
            html.Span([html.B(unbroken(strong)), " " if strong and plain else "", unbroken(plain)])
            for strong, plain in words.context_items(ladder)
        ]
        shown = {"problem": problem_key(ladder.problem), "device": ladder.device.name if ladder.device else ""}
        context.append(html.Span(urlencode(shown), className="shown-query", hidden=True))
        lead = headlines.waits_sentence(ladder)
        heading = headlines.ladder_headline(ladder)
        return "", None, context, unbroken(heading), unbroken(lead), *speed_words(ladder)


def _no_ladder(data: LadderData, error: NcuLabError) -> html.Div:
    try:
        overview = data.overview()
    except NcuLabError:
        # The same error already stands on the page as the reason.
        return empty_state(error, any_ladder=False)
    return empty_state(error, any_ladder=bool(overview.problems), others=overview.others)


def speed_words(ladder: Ladder) -> tuple[str, str, str, str]:
    """Return the title, note, foot and table of the speeds: one's own beside what is published."""
    note = "Work 2·m·n·k over the duration, % of cuBLAS FP32 (dotted). Right: duration against the predecessor."
    note = f"{note} {cards.published_note(ladder)}".strip()
    table = table_json(*cards.published_table(ladder))
    foot = unbroken(as_called(cards.published_foot(ladder)))
    return unbroken(headlines.speed_headline(ladder)), note, foot, table


def draw_matrix(ladder: Ladder, view: View, screen: Screen) -> go.Figure:
    """Draw the matrix, or where it has no room one panel of it."""
    theme, width = theme_of(view.theme, screen), matrix_width(screen)
    options: dict[str, Any] = {
        "selected": view.stage, "sort": view.sort, "scale": view.scale, "family": view.focus,
    }  # fmt: skip
    if is_by_panel(screen):
        return matrix.ladder_panel(ladder, theme, width, view.panel, **options)
    return matrix.ladder_matrix(ladder, theme, width, **options)


def draw_roofline(ladder: Ladder, view: View, screen: Screen, other: Ladder | None = None) -> go.Figure:
    """Draw the roofline of the chosen level and launches, over it that of another ladder if one is chosen."""
    chart = other.roofline(view.family) if other and other is not ladder else None
    named = [replace(chart, label=roofline.name_of(other))] if other and chart else []
    theme, width = theme_of(view.theme, screen), column_width(screen)
    return roofline.roofline(ladder, theme, width, view.level, view.family, selected=view.stage, beside=named)


def draw_speed(ladder: Ladder, view: View, screen: Screen) -> go.Figure:
    """Draw the speeds."""
    return speed.speed_bars(ladder, theme_of(view.theme, screen), column_width(screen), selected=view.stage)


def offer_stages(ladder: Ladder, view: View, screen: Screen) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return the focusable rows of the matrix, and the style that lays them over it."""
    top = matrix.PANEL_TOP_PX if is_by_panel(screen) else matrix.TOP_PX
    width = matrix.names_px(place_rows(ladder))
    return stage_options(ladder, view.sort), {"--row": f"{ROW_PX}px", "top": f"{top}px", "width": f"{width}px"}


def write_matrix(ladder: Ladder, view: View, screen: Screen) -> tuple[Any, ...]:
    """Return the matrix's title, note, legend, foot and table."""
    legend = focus_legend(legend_reasons(ladder), theme_of(view.theme, screen))
    title, note = headlines.matrix_headline(ladder), _ORDER_NOTES[view.sort]
    if is_by_panel(screen):
        title, note = matrix.PANELS[view.panel].title, matrix.panel_note(view.panel, ladder, view.scale)
        legend = legend if view.panel == "stalls" else []
    lines = (words.MATRIX_FOOT, cards.published_note(ladder), *headlines.not_collected(ladder))
    foot = [html.P(unbroken(line)) for line in lines if line]
    return unbroken(title), note, legend, foot, table_json(*words.matrix_table(ladder))


def write_roofline(ladder: Ladder, view: View, _: Screen) -> tuple[Any, ...]:
    """Return the roofline's title, foot and table."""
    level, family = view.level, view.family
    title, foot = headlines.roofline_headline(ladder, level, family), words.roofline_foot(ladder, level, family)
    return unbroken(title), unbroken(foot), table_json(*words.roofline_table(ladder, level, family))


def _is_railless(_: Ladder, __: View, screen: Screen) -> bool:
    return column_width(screen) < roofline.RAIL_FROM_PX
