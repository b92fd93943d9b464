"""The Compare page: two runs, commits or files beside each other; what changed, whether it is real, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any

from dash import Dash, Input, Output, State, ctx, html, no_update
from dash.exceptions import PreventUpdate

from ncu_lab.errors import NcuLabError
from ncu_lab.model import RunMeta
from ncu_lab.render import compare_tables as tables
from ncu_lab.render import compare_words as words
from ncu_lab.render import numbers
from ncu_lab.render.visible import visible
from ncu_lab_dash import compare_cards as cards
from ncu_lab_dash import compare_choices as choices
from ncu_lab_dash import ids
from ncu_lab_dash.compare_data import CompareData, ShownPair
from ncu_lab_dash.compare_figures import draw_shift, draw_waits, draw_waterfall
from ncu_lab_dash.compare_layout import empty_state, layout
from ncu_lab_dash.compare_view import CompareView, read_search, read_view
from ncu_lab_dash.drawn import card_outputs, card_values
from ncu_lab_dash.in_browser import in_browser
from ncu_lab_dash.kernel_figures import Drawn
from ncu_lab_dash.parts import unbroken
from ncu_lab_dash.screen import Screen, read_screen
from ncu_lab_dash.served import Served

__all__ = ["layout", "register"]

CONTROLS: Mapping[str, tuple[str, str]] = {
    "a": (ids.COMPARE_A, "value"),
    "part_a": (ids.COMPARE_A_PART, "value"),
    "b": (ids.COMPARE_B, "value"),
    "part_b": (ids.COMPARE_B_PART, "value"),
    "at": (ids.COMPARE_AT, "value"),
    "pair": (ids.PAIR, "data"),
    "waits": (ids.DUMBBELL_SCALE, "value"),
    "level": (ids.SHIFT_LEVEL, "value"),
    "rows": (ids.COMPARED_ROWS, "value"),
}
"""What a view holds -> the component that holds it, and the property that does."""

Draw = Callable[[ShownPair, CompareView, Screen], Drawn]

FIGURES: Mapping[str, tuple[Draw, tuple[str, ...]]] = {
    ids.WATERFALL: (draw_waterfall, ()),
    ids.DUMBBELL: (draw_waits, ("waits",)),
    ids.SHIFT: (draw_shift, ("level",)),
}
"""Card -> what draws it, and the fields of the view that it hangs on beside what is compared."""


def register(app: Dash, served: Served) -> None:
    """Register the page's callbacks."""
    data = CompareData(served.runs)
    _register_view(app, data)
    _register_page(app, data)
    for name, (draw, fields) in FIGURES.items():
        _register_figure(app, data, name, draw, fields)
    _register_tables(app, data)
    for name, function, store in (
        (ids.PAIRS, "drawPairs", ids.PAIRS_TABLES),
        (ids.MOVED, "drawMoved", ids.MOVED_TABLES),
        (ids.COMPARED, "drawCompared", ids.COMPARED_TABLES),
    ):
        in_browser(app, "tables", function, Output(ids.body_of(name), "data-rows"), Input(store, "data"))


def _metas(data: CompareData) -> list[RunMeta]:
    try:
        return data.runs.shown()
    except NcuLabError:
        return []  # the page's words tell why


def view_of(controls: Mapping[str, Any], theme: Any) -> CompareView:
    """Read the view that the controls hold."""
    (sa, la), (sb, lb) = choices.read_part(controls.get("part_a")), choices.read_part(controls.get("part_b"))
    return read_view({**controls, "sa": sa, "la": la, "sb": sb, "lb": lb, "theme": theme})


def move(view: CompareView, triggers: Set[str], data: CompareData) -> CompareView:
    """Return the view after controls changed: another run keeps its stage where it has it, other sides their pair."""
    if ids.COMPARE_SWAP in triggers:
        return choices.swapped(view)
    if ids.COMPARE_A in triggers:
        view = replace(view, sa=choices.keep_part(view.sa, data.launches(view.a)), la=None)
    if ids.COMPARE_B in triggers:
        view = replace(view, sb=choices.keep_part(view.sb, data.launches(view.shown_b)), lb=None)
    return view


def held(view: CompareView) -> dict[str, Any]:
    """Return the values of the controls for a view."""
    return {
        "a": view.a,
        "part_a": choices.part_value(view.sa, view.la),
        "b": list(view.b),
        "part_b": choices.part_value(view.sb, view.lb),
        "at": str(view.at) if len(view.b) > 1 else None,
        "pair": view.pair,
        "waits": view.waits,
        "level": view.level,
        "rows": view.rows,
    }


def _register_view(app: Dash, data: CompareData) -> None:
    fields = list(CONTROLS)

    @app.callback(
        Output(ids.COMPARE_URL, "search"),
        *(Output(*control) for control in CONTROLS.values()),
        Output(ids.COMPARE_SHOWN, "data"),
        Output(ids.COMPARE_A, "options"),
        Output(ids.COMPARE_B, "options"),
        Output(ids.COMPARE_A_PART, "options"),
        Output(ids.COMPARE_B_PART, "options"),
        Output(ids.COMPARE_AT, "options"),
        Input(ids.COMPARE_URL, "search"),
        Input(ids.VERSION, "data"),
        Input(ids.THEME, "data"),
        Input(ids.COMPARE_SWAP, "n_clicks"),
        State(ids.COMPARE_SHOWN, "data"),
        *(Input(*control) for control in CONTROLS.values()),
    )
    def keep_view(search: Any, _: Any, theme: Any, __: Any, shown: Any, *values: Any) -> tuple[Any, ...]:
        chosen = dict(zip(fields, values, strict=True))
        triggers = {one.partition(".")[0] for one in ctx.triggered_prop_ids}
        opens = not triggers or ids.COMPARE_URL in triggers or not isinstance(shown, dict)
        metas = _metas(data)
        view = choices.settle(read_search(search), metas) if opens else move(view_of(chosen, theme), triggers, data)
        now = held(view)
        controls = [no_update if now[name] == (chosen[name] or None) else now[name] for name in fields]
        told = _told(view, data)
        lists = _options(view, metas, data) if opens or told != shown else (no_update,) * 5
        return (no_update if opens else view.search(), *controls, no_update if told == shown else told, *lists)


def _told(view: CompareView, data: CompareData) -> dict[str, Any]:
    """Return what is compared, for callbacks to read; the chosen pair and how it is shown are controls of their own."""
    compared = {name: getattr(view, name) for name in ("a", "sa", "la", "sb", "lb", "at")}
    return {**compared, "b": list(view.b), "version": data.runs.version()}


def _options(view: CompareView, metas: list[RunMeta], data: CompareData) -> tuple[Any, ...]:
    references = [one for one in (view.a, *view.b) if one]
    opened = {one: name for one in references if (name := data.runs.opened_name(one))}
    runs = choices.run_options(metas, references, opened)
    labels = {one["value"]: one["label"] for one in runs}
    tabs = [{"value": str(at), "label": labels[one]} for at, one in enumerate(view.b)] if len(view.b) > 1 else []
    return (
        runs,
        runs,
        choices.part_options(data.launches(view.a), choices.part_value(view.sa, view.la)),
        choices.part_options(data.launches(view.shown_b), choices.part_value(view.sb, view.lb)),
        tabs,
    )


def _view(told: Any, pair: Any, **fields: Any) -> CompareView:
    """Read what is compared, of whatever a browser sent."""
    return read_view({**(told if isinstance(told, dict) else {}), "pair": pair, **fields})


def _register_page(app: Dash, data: CompareData) -> None:
    @app.callback(
        Output(ids.COMPARE_PAGE, "className"),
        Output(ids.COMPARE_EMPTY, "children"),
        Output(ids.COMPARE_CONTEXT, "children"),
        Output(ids.COMPARE_CHIPS, "children"),
        Output(ids.COMPARE_BANNER, "children"),
        Output(ids.COMPARE_BANNER, "className"),
        Output(ids.COMPARE_NOTICES, "children"),
        Input(ids.COMPARE_SHOWN, "data"),
        Input(*CONTROLS["pair"]),
    )
    def write_page(told: Any, pair: Any) -> tuple[Any, ...]:
        if told is None:
            raise PreventUpdate
        view = _view(told, pair)
        try:
            comparison, shown = data.comparison(view), data.pair(view)
        except NcuLabError as error:
            return "is-empty", empty_state(error, runs=len(_metas(data))), [], [], [], "banner", []
        notices = [html.P(visible(notice.message)) for notice in comparison.warnings]
        launches = sum(len(one.launches_b) for one in comparison.pairs)
        context = [*cards.context(comparison, launches), cards.shown_query(view)]
        if shown is None:
            nothing = [html.H1("Nothing to compare"), html.P("Neither side has a launch.")]
            return "nothing", None, context, [], nothing, "banner", notices
        name = "one-pair" if len(comparison.pairs) == 1 else ""
        banner = cards.banner(shown, comparison)
        return name, None, context, cards.chips(shown), banner, cards.banner_class(shown), notices


def _register_figure(app: Dash, data: CompareData, name: str, draw: Draw, fields: tuple[str, ...]) -> None:
    @app.callback(
        *card_outputs(name),
        Input(ids.COMPARE_SHOWN, "data"),
        Input(*CONTROLS["pair"]),
        Input(ids.SCREEN, "data"),
        Input(ids.THEME, "data"),
        *(Input(*CONTROLS[one]) for one in fields),
    )
    def show(told: Any, pair: Any, screen_told: Any, theme: Any, *values: Any) -> tuple[Any, ...]:
        screen = read_screen(screen_told)
        if told is None or screen is None:
            raise PreventUpdate
        view = _view(told, pair, theme=theme, **dict(zip(fields, values, strict=True)))
        shown = data.find(view)
        if shown is None:
            raise PreventUpdate
        return card_values(draw(shown, view, screen))


def _register_tables(app: Dash, data: CompareData) -> None:
    @app.callback(
        Output(ids.title_of(ids.PAIRS), "children"),
        Output(ids.note_of(ids.PAIRS), "children"),
        Output(ids.PAIRS_TABLES, "data"),
        Input(ids.COMPARE_SHOWN, "data"),
        Input(*CONTROLS["pair"]),
    )
    def show_pairs(told: Any, pair: Any) -> tuple[Any, ...]:
        view = _view(told, pair)
        shown = data.find(view) if told is not None else None
        if shown is None:
            raise PreventUpdate
        comparison = data.comparison(view)
        count = len(comparison.pairs)
        title = f"{numbers.integer(count)} pairs of kernels"
        note = unbroken(visible(cards.pairs_note(comparison)))
        return title, note, [tables.pairs_table(comparison.pairs, shown.key, ids.PAIR)]

    @app.callback(
        *(
            Output(part(ids.MOVED), "children")
            for part in (ids.title_of, ids.note_of, ids.state_of)
        ),
        Output(ids.MOVED_TABLES, "data"),
        Input(ids.COMPARE_SHOWN, "data"),
        Input(*CONTROLS["pair"]),
    )  # fmt: skip
    def show_lines(told: Any, pair: Any) -> tuple[Any, ...]:
        shown = data.find(_view(told, pair)) if told is not None else None
        if shown is None:
            raise PreventUpdate
        try:
            lines = data.lines(shown)
        except NcuLabError:
            raise PreventUpdate from None  # the run is just going; the page's words follow
        title = unbroken(visible(words.lines_headline(lines)))
        if not lines:
            return title, "", cards.no_lines(shown), []
        note = "Lines whose share of the samples moved by a hundredth of all, and by more than sampling itself does."
        return title, note, None, [tables.lines_table(lines, lambda line: cards.line_address(shown.pair, line))]

    @app.callback(
        *(
            Output(part(ids.COMPARED), "children")
            for part in (ids.title_of, ids.note_of, ids.state_of)
        ),
        Output(ids.COMPARED_TABLES, "data"),
        Input(ids.COMPARE_SHOWN, "data"),
        Input(*CONTROLS["pair"]),
        Input(*CONTROLS["rows"]),
    )  # fmt: skip
    def show_metrics(told: Any, pair: Any, rows: Any) -> tuple[Any, ...]:
        view = _view(told, pair, rows=rows)
        shown = data.find(view) if told is not None else None
        if shown is None:
            raise PreventUpdate
        table = tables.metrics_table(shown.pair, shown.metrics, every=view.rows == "all")
        title = words.metrics_headline(shown.metrics)
        if not table["rows"]:
            return title, "", cards.no_metrics(shown), []
        note = "Bars show B ÷ A on a log scale. Direction is no judgement: the verdict is."
        return title, note, None, [table]
