"""The Kernel page: one launch taken apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from dash import Dash, Input, Output, State, ctx, html, no_update
from dash.exceptions import PreventUpdate

from ncu_lab.errors import NcuLabError
from ncu_lab.model import Inspection, RunMeta
from ncu_lab.render import numbers
from ncu_lab.render.launch_cards import accesses_card, rules_card, spots_card
from ncu_lab.render.launch_headlines import is_at_limit
from ncu_lab.render.visible import visible
from ncu_lab.workflows.inspecting import LaunchEntry
from ncu_lab_dash import ids, kernel_cards
from ncu_lab_dash.drawn import card_outputs, card_values
from ncu_lab_dash.in_browser import in_browser
from ncu_lab_dash.kernel_choice import entries_of, find_shown, move, settle
from ncu_lab_dash.kernel_figures import (
    Drawn,
    draw_chart,
    draw_curves,
    draw_stalls,
    draw_units,
    lacks,
)
from ncu_lab_dash.kernel_layout import empty_state, layout
from ncu_lab_dash.kernel_spots import spot_tables
from ncu_lab_dash.kernel_view import KernelView, read_search, read_view
from ncu_lab_dash.opened import KEY
from ncu_lab_dash.parts import in_list, searched, unbroken
from ncu_lab_dash.run_data import RunData
from ncu_lab_dash.screen import Screen, read_screen, theme_of
from ncu_lab_dash.served import Served

CONTROLS: Mapping[str, tuple[str, str]] = {
    "run": (ids.KERNEL_RUN, "value"),
    "launch": (ids.KERNEL_LAUNCH, "value"),
    "units": (ids.UNITS_WHICH, "value"),
    "amounts": (ids.CHART_AMOUNTS, "value"),
    "code": (ids.SPOTS_CODE, "value"),
    "sort": (ids.SPOTS_SORT, "value"),
    "rows": (ids.SPOTS_ROWS, "value"),
    "line": (ids.SPOT, "data"),
    "metric": (ids.METRICS_SEARCH, "value"),
}
"""Field of a view -> the component that holds it, and the property that does."""

MOST_LAUNCHES = 200
"""Launches that are offered at once: of ten thousand, the list alone would take a browser seconds to make."""

__all__ = ["layout", "register"]

Draw = Callable[[Inspection, KernelView, Screen], Drawn]

FIGURES: Mapping[str, tuple[Draw, tuple[str, ...]]] = {
    ids.UNITS: (draw_units, ("units",)),
    ids.CHART: (draw_chart, ("amounts",)),
    ids.WAITS: (draw_stalls, ("line",)),
    ids.CURVES: (draw_curves, ()),
}
"""Card -> what draws it, and the fields of the view that it hangs on."""


def register(app: Dash, served: Served) -> None:
    """Register the page's callbacks."""
    _register_view(app, served.runs)
    _register_page(app, served)
    for name, (draw, fields) in FIGURES.items():
        _register_figure(app, served.runs, name, draw, fields)
    _register_spots(app, served.runs)
    _register_tables(app, served.runs)


def run_options(metas: list[RunMeta], shown: str | None, opened: str = "opened file") -> list[dict[str, str]]:
    """Return the runs to choose from, newest first; an opened file, or what is no run here, stands before them."""
    options = [
        {
            "value": meta.id,
            "label": in_list(run_label(meta)),
            "search": searched(f"{meta.id} {' '.join(meta.stages)}"),
        }
        for meta in metas
    ]
    if shown and shown not in {meta.id for meta in metas}:
        label = f"{opened}, not stored" if shown.startswith(KEY) else visible(shown)
        options.insert(0, {"value": shown, "label": in_list(label), "search": searched(f"{shown} {label}")})
    return options


def run_label(meta: RunMeta) -> str:
    """Name a run in a list: what it holds, its problem, when it was made."""
    what = visible(meta.name) if meta.name else "ladder" if len(meta.stages) > 1 else ", ".join(meta.stages)
    made = meta.created[:16].replace("T", " ")
    parts = [what or "program", meta.problem.label if meta.problem else "", made]
    return " · ".join(part for part in parts if part)


def launch_options(
    entries: Sequence[LaunchEntry], shown: int | None = None, words: str = "", most: int = MOST_LAUNCHES
) -> list[dict[str, Any]]:
    """Return the launches to choose from, in their order: those that have every word, so many at most.

    Args:
        entries: All launches of the run.
        shown: The launch that is shown, which always stands among them.
        words: What was typed to search; a launch must have all of it, in any case.
        most: How many may stand in the list; how many more there are is said in its last line.
    """
    wanted = words.casefold().split()
    texts = {one.launch: _search_text(one) for one in entries}
    found = [one for one in entries if all(word in texts[one.launch].casefold() for word in wanted)]
    there = {one.launch for one in found[:most]}
    kept = [one for one in entries if one.launch in there or one.launch == shown]
    options: list[dict[str, Any]] = [
        {
            "value": str(one.launch),
            "label": f"{one.launch}  {_name(one)}  {numbers.duration(one.duration_ns)}",
            "search": searched(texts[one.launch]),
        }
        for one in kept
    ]
    if len(found) > most:
        told = f"{numbers.integer(len(found) - most)} more: type a number or a part of a name"
        options.append({"value": "", "label": told, "disabled": True, "search": words})
    return options


def _name(one: LaunchEntry) -> str:
    return in_list(visible(one.stage or one.function))


def _search_text(one: LaunchEntry) -> str:
    return f"{one.launch} {one.stage or ''} {one.kernel} {' '.join(one.nvtx)}"


def _register_view(app: Dash, runs: RunData) -> None:
    fields = list(CONTROLS)

    @app.callback(
        Output(ids.KERNEL_URL, "search"),
        *(Output(*control) for control in CONTROLS.values()),
        Output(ids.KERNEL_SHOWN, "data"),
        Output(ids.KERNEL_RUN, "options"),
        Output(ids.KERNEL_LAUNCH, "options"),
        Input(ids.KERNEL_URL, "search"),
        Input(ids.VERSION, "data"),
        Input(ids.THEME, "data"),
        State(ids.KERNEL_SHOWN, "data"),
        *(Input(*control) for control in CONTROLS.values()),
    )
    def keep_view(search: Any, _: Any, theme: Any, shown: Any, *values: Any) -> tuple[Any, ...]:
        chosen = dict(zip(fields, values, strict=True))
        triggers = {one.partition(".")[0] for one in ctx.triggered_prop_ids}
        opens = not triggers or ids.KERNEL_URL in triggers or not isinstance(shown, dict)
        if opens:
            view = settle(read_search(search), runs)
        else:
            view = move(read_view({**chosen, "theme": theme}), triggers, shown, runs)
        held = {name: _held(view, name) for name in fields}
        controls = [no_update if held[name] == (chosen[name] or None) else held[name] for name in fields]
        now, entries = _now(view, runs)
        lists = opens or ids.VERSION in triggers or shown.get("run") != view.run
        return (
            no_update if opens else view.search(),
            *controls,
            no_update if now == shown else now,
            _run_options(runs, view.run) if lists else no_update,
            launch_options(entries, view.launch_number) if lists else no_update,
        )

    @app.callback(
        Output(ids.KERNEL_LAUNCH, "options", allow_duplicate=True),
        Input(ids.KERNEL_LAUNCH, "search_value"),
        State(ids.KERNEL_SHOWN, "data"),
        prevent_initial_call=True,
    )
    def search(words: Any, shown: Any) -> Any:
        view = read_view(shown if isinstance(shown, dict) else {})
        entries = entries_of(view, runs)
        if len(entries) <= MOST_LAUNCHES:
            raise PreventUpdate
        return launch_options(entries, view.launch_number, words if isinstance(words, str) else "")


def _held(view: KernelView, name: str) -> Any:
    value = getattr(view, name)
    return str(value) if name == "launch" and value is not None else value


def _now(view: KernelView, runs: RunData) -> tuple[dict[str, Any], list[LaunchEntry]]:
    """Return what is shown, with the stage of its launch or else the one asked for, and the launches of its run."""
    entries = entries_of(view, runs)
    stage = view.stage or next((one.stage for one in entries if one.launch == view.launch), None)
    return {"run": view.run, "launch": view.launch, "version": runs.version(), "stage": stage}, entries


def _run_options(runs: RunData, shown: str | None) -> list[dict[str, str]]:
    try:
        return run_options(runs.shown(), shown, runs.opened_name(shown) or "opened file")
    except NcuLabError:
        return []  # the page's words tell why


def _shown(told: Any) -> tuple[str | None, int | None]:
    """Read which launch is shown, of whatever a browser sent."""
    view = read_view(told if isinstance(told, dict) else {})
    return view.run, view.launch_number


def _register_page(app: Dash, served: Served) -> None:
    @app.callback(
        Output(ids.KERNEL_PAGE, "className"),
        Output(ids.KERNEL_EMPTY, "children"),
        Output(ids.KERNEL_CONTEXT, "children"),
        Output(ids.KERNEL_SIGNATURE, "children"),
        Output(ids.KERNEL_BANNER, "children"),
        Output(ids.KERNEL_BANNER, "className"),
        Output(ids.KERNEL_STRIP, "children"),
        Output(ids.KERNEL_NOTICES, "children"),
        Input(ids.KERNEL_SHOWN, "data"),
    )
    def write_page(told: Any) -> tuple[Any, ...]:
        if told is None:
            raise PreventUpdate
        view = read_view(told if isinstance(told, dict) else {})
        try:
            found = find_shown(view, served.runs)
            entries = entries_of(view, served.runs)
        except NcuLabError as error:
            return "is-empty", empty_state(error, any_run=bool(view.run or view.stage)), [], [], [], "banner", [], []
        meta = found.view.run.meta
        link = urlencode({"run": view.run, "launch": view.launch})
        context = [
            *kernel_cards.context_items(meta, len(entries)),
            html.Span(link, className="shown-query", hidden=True),
        ]
        notices = [html.P(visible(notice.message)) for notice in meta.warnings]
        limit = "banner at-limit" if is_at_limit(found) else "banner"
        parts = (kernel_cards.signature(found), kernel_cards.banner(found), limit, kernel_cards.strip(found))
        return "", None, context, *parts, notices


def _register_figure(app: Dash, runs: RunData, name: str, draw: Draw, fields: tuple[str, ...]) -> None:
    @app.callback(
        *card_outputs(name),
        Input(ids.KERNEL_SHOWN, "data"),
        Input(ids.SCREEN, "data"),
        Input(ids.THEME, "data"),
        *(Input(*CONTROLS[one]) for one in fields),
    )
    def show(told: Any, screen_told: Any, theme: Any, *values: Any) -> tuple[Any, ...]:
        found, screen = runs.find(*_shown(told)), read_screen(screen_told)
        if found is None or screen is None:
            raise PreventUpdate
        view = read_view({**dict(zip(fields, values, strict=True)), "theme": theme})
        return card_values(draw(found, view, screen))


def _register_spots(app: Dash, runs: RunData) -> None:
    fields = ("code", "sort", "rows", "line")

    @app.callback(
        Output(ids.title_of(ids.SPOTS), "children"),
        Output(ids.note_of(ids.SPOTS), "children"),
        Output(ids.state_of(ids.SPOTS), "children"),
        Output(ids.SPOTS_TABLES, "data"),
        Input(ids.KERNEL_SHOWN, "data"),
        Input(ids.SCREEN, "data"),
        Input(ids.THEME, "data"),
        *(Input(*CONTROLS[one]) for one in fields),
    )
    def show(told: Any, screen_told: Any, theme: Any, *values: Any) -> tuple[Any, ...]:
        found, screen = runs.find(*_shown(told)), read_screen(screen_told)
        if found is None or screen is None:
            raise PreventUpdate
        view = read_view({**dict(zip(fields, values, strict=True)), "theme": theme})
        card = spots_card(found)
        if card.lacking:
            return card.title, "", lacks(found, card.lacking), []
        tables = spot_tables(found.spots, view, theme_of(view.theme, screen))
        return unbroken(card.title), unbroken(visible(card.note)), None, tables

    in_browser(
        app,
        "tables",
        "drawSpots",
        Output(ids.body_of(ids.SPOTS), "data-rows"),
        Input(ids.SPOTS_TABLES, "data"),
    )


def _register_tables(app: Dash, runs: RunData) -> None:
    @app.callback(
        *(
            Output(part(name), "children")
            for name in (ids.ACCESSES, ids.RULES)
            for part in (ids.title_of, ids.state_of, ids.body_of, ids.foot_of)
        ),
        Input(ids.KERNEL_SHOWN, "data"),
    )
    def show(told: Any) -> tuple[Any, ...]:
        found = runs.find(*_shown(told))
        if found is None:
            raise PreventUpdate
        accesses, rules = accesses_card(found), rules_card(found)
        lacking = lacks(found, accesses.lacking) if accesses.lacking else None
        return (
            unbroken(accesses.title), lacking, kernel_cards.accesses_body(found), accesses.foot,
            unbroken(rules.title), None, kernel_cards.rules_body(found), rules.foot,
        )  # fmt: skip

    @app.callback(
        Output(ids.title_of(ids.METRICS), "children"),
        Output(ids.body_of(ids.METRICS), "children"),
        Input(ids.KERNEL_SHOWN, "data"),
        Input(*CONTROLS["metric"]),
    )
    def search(told: Any, words: Any) -> tuple[Any, Any]:
        found = runs.find(*_shown(told))
        if found is None:
            raise PreventUpdate
        return kernel_cards.metrics_body(found, words if isinstance(words, str) else None)
