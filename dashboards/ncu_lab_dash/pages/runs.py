"""The Runs page: the store as a table, and files opened without storing them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.exceptions import PreventUpdate

from ncu_lab.advice import as_called
from ncu_lab.errors import NcuLabError
from ncu_lab.model import Json, RunMeta
from ncu_lab.render import numbers
from ncu_lab.render.headlines import count_word
from ncu_lab.render.visible import visible
from ncu_lab_dash import ids
from ncu_lab_dash.compare_view import compare_address
from ncu_lab_dash.in_browser import in_browser
from ncu_lab_dash.opened_cards import opened_card, refused_card
from ncu_lab_dash.parts import aria, card, card_head, code, export_buttons, held, segmented, unbroken
from ncu_lab_dash.runs_table import matching, runs_table, strip
from ncu_lab_dash.runs_view import RunsView, read_search, read_view, toggle
from ncu_lab_dash.served import Served

_SORTS = [
    ("newest", "Newest"), ("oldest", "Oldest"), ("name", "Name"), ("problem", "Problem"), ("device", "GPU"),
    ("size", "Size"), ("state", "State"),
]  # fmt: skip
_STRIPS_AT_ONCE = 40
"""Runs whose durations are read for one answer: each takes some milliseconds. ``assets/tables.js`` asks for as many."""


def layout(search: str = "") -> html.Div:
    """Return the page before anything was read, its controls as the address says."""
    view = read_search(search)
    stores = [dcc.Store(id=name) for name in (ids.RUNS_TABLES, ids.RUNS_WANTED, ids.RUNS_STRIPS, ids.RUNS_TICKED)]
    stores += [dcc.Store(id=name) for name in (ids.ARRIVED, ids.DISMISSED, ids.KEPT)]
    return html.Div(
        [
            dcc.Location(id=ids.RUNS_URL, refresh="callback-nav"),
            dcc.Store(id=ids.RUNS_PICKED, data=list(view.picked)),
            dcc.Store(id=ids.OPENED_KEYS, storage_type="session"),
            *stores,
            html.Div(id=ids.RUNS_CONTEXT, className="context"),
            html.Main(
                [
                    html.H1("Runs"),
                    html.P("One row a run: a profiling session, an import, or a commit.", className="lead muted"),
                    _drop(),
                    html.Div(id=ids.OPENED_CARDS, className="opened", **aria(live="polite")),
                    _table_card(view),
                    html.Div(id=ids.RUNS_NOTICES, className="muted notices"),
                ],
                id=ids.RUNS_PAGE,
            ),
        ],
        className="page",
    )


def _drop() -> html.Section:
    kinds = ".ncu-rep · .ncu-repz · .csv (raw, details, source; also .gz) · read on this server, up to 64 MB"
    return html.Section(
        [
            html.B("Drop a report here, or choose a file"),
            html.P(kinds, className="muted"),
            html.Button("Choose file…", id="choose-file", className="primary", **held(pick="file")),
            html.P(id="drop-state", className="muted drop-state", **aria(live="polite")),
        ],
        id=ids.DROP,
        className="drop",
    )


def _table_card(view: RunsView) -> html.Section:
    search = dcc.Input(
        id=ids.RUNS_FILTER, type="search", value=view.filter, debounce=0.25, className="search",
        placeholder="stage, commit, GPU, state …",
    )  # fmt: skip
    label = html.Label("Filter", htmlFor=ids.RUNS_FILTER, className="segmented-label")
    controls = [
        segmented(ids.RUNS_SORT, "Sort", _SORTS, view.sort),
        html.Div([label, search], className="control always"),
    ]
    note = "A name opens its longest launch; tick two to compare. The filter matches stage, commit, GPU and state."
    return card(
        [
            card_head(ids.title_of(ids.RUNS), note, controls),
            html.Div(id=ids.state_of(ids.RUNS)),
            html.Div(id=ids.body_of(ids.RUNS), className="spots-body"),
            html.Div(id=ids.COMPARABLE, className="comparable"),
            html.Div(export_buttons("csv"), className="card-tools"),
        ],
        "figure-card",
    )


def register(app: Dash, served: Served) -> None:
    """Register the page's callbacks."""
    _register_view(app)
    _register_table(app, served)
    _register_strips(app, served)
    _register_opened(app, served)


def _register_view(app: Dash) -> None:
    @app.callback(
        Output(ids.RUNS_URL, "search"),
        Output(ids.RUNS_FILTER, "value"),
        Output(ids.RUNS_SORT, "value"),
        Output(ids.RUNS_PICKED, "data"),
        Input(ids.RUNS_URL, "search"),
        Input(ids.THEME, "data"),
        Input(ids.RUNS_FILTER, "value"),
        Input(ids.RUNS_SORT, "value"),
        Input(ids.RUNS_TICKED, "data"),
        State(ids.RUNS_PICKED, "data"),
    )
    def keep_view(search: Any, theme: Any, words: Any, sort: Any, ticked: Any, picked: Any) -> tuple[Any, ...]:
        triggers = {one.partition(".")[0] for one in ctx.triggered_prop_ids}
        if not triggers or ids.RUNS_URL in triggers:
            view = read_search(search)
            return no_update, view.filter, view.sort, list(view.picked)
        chosen = {"filter": words, "sort": sort, "picked": picked, "theme": theme}
        view = read_view(chosen)
        run = ticked.get("key") if isinstance(ticked, dict) else None
        if ids.RUNS_TICKED in triggers and isinstance(run, str):
            view = read_view({**chosen, "picked": list(toggle(view.picked, run))})
        return view.search(), no_update, no_update, list(view.picked)


def _register_table(app: Dash, served: Served) -> None:
    @app.callback(
        Output(ids.RUNS_CONTEXT, "children"),
        Output(ids.title_of(ids.RUNS), "children"),
        Output(ids.state_of(ids.RUNS), "children"),
        Output(ids.RUNS_TABLES, "data"),
        Output(ids.COMPARABLE, "children"),
        Output(ids.RUNS_NOTICES, "children"),
        Input(ids.VERSION, "data"),
        Input(ids.RUNS_FILTER, "value"),
        Input(ids.RUNS_SORT, "value"),
        Input(ids.RUNS_PICKED, "data"),
    )
    def show(_: Any, words: Any, sort: Any, picked: Any) -> tuple[Any, ...]:
        view = read_view({"filter": words, "sort": sort, "picked": picked})
        try:
            metas, notices = served.runs.listed()
        except NcuLabError as error:
            return [], "Runs cannot be listed", _why(error), [], None, []
        told = [html.P(visible(notice.message)) for notice in notices]
        table = runs_table(metas, view, served.runs.size)
        missing = None if table["rows"] else _none(metas, view)
        title = _title(metas, view)
        return _context(served, metas), title, missing, [table] if table["rows"] else [], _compare(served, view), told

    in_browser(
        app,
        "tables",
        "drawRuns",
        Output(ids.body_of(ids.RUNS), "data-rows"),
        Input(ids.RUNS_TABLES, "data"),
    )


def _title(metas: Sequence[RunMeta], view: RunsView) -> str:
    found = len(matching(metas, view.filter))
    runs = "run" if found == 1 else "runs"
    told = f"{count_word(found).capitalize()} {runs}" + (f" of {len(metas)}" if found != len(metas) else "")
    return f"{told}, {count_word(len(view.picked))} ticked" if view.picked else told


def _why(error: NcuLabError) -> Any:
    return html.Div([html.P(as_called(text)) for text in (error.message, error.hint) if text], className="missing")


def _none(metas: Sequence[RunMeta], view: RunsView) -> Any:
    if metas:
        words = [html.B(f"No run matches “{visible(view.filter)}”"), html.P(f"{len(metas)} runs are in this store.")]
        return html.Div(words, className="missing")
    steps = as_called("ncu-lab dashboard --example\nncu-lab profile --stage naive\nncu-lab import REPORT.ncu-rep")
    words = [html.B("No runs yet"), html.P("Look at a real one first, or make your own:"), code(steps)]
    return html.Div(words, className="missing")


def _context(served: Served, metas: Sequence[RunMeta]) -> list[Any]:
    devices = list(dict.fromkeys(meta.device.name for meta in metas if meta.device))
    gpus = f"one GPU: {devices[0]}" if len(devices) == 1 else f"{len(devices)} GPUs" if devices else ""
    count = "1 run" if len(metas) == 1 else f"{numbers.integer(len(metas))} runs"
    may = "opened files may be kept" if served.allow_import else "read-only"
    store = html.Span(["Store: ", html.B(f"{served.runs.store.name}/")])
    return [store, *(html.Span(unbroken(text)) for text in (count, gpus, may) if text)]


def _compare(served: Served, view: RunsView) -> Any:
    """Say whether two ticked runs can be compared before anybody does."""
    if len(view.picked) != 2:
        return None
    try:
        a, b = _older_first(served.runs.listed()[0], view.picked)
        found = served.runs.comparability(a, b)
    except NcuLabError as error:
        return _why(error)
    command = as_called(f"ncu-lab diff run:{a} run:{b}")
    if found.is_comparable:
        chip, words = (
            html.Span("✓ comparable", className="chip better"),
            "Nothing forbids a verdict on time or counters.",
        )
    else:
        chip = html.Span("⊘ not comparable", className="chip")
        words = f"The two ticked runs are of {'; '.join(one.words for one in found.reasons)}."
    copy = html.Button("Copy", className="quiet", **held(copy=command))
    compare = dcc.Link("Compare", id=ids.COMPARE_PICKED, href=compare_address(a, b), className="primary button")
    return [
        html.P([chip, " ", unbroken(visible(words))]),
        html.Div([compare, code(command), copy], className="copy"),
    ]


def _older_first(metas: Sequence[RunMeta], picked: Sequence[str]) -> tuple[str, str]:
    """Return two ticked runs in the order in which they were made; runs that are gone keep theirs.

    Args:
        metas: Runs of the store, newest first.
        picked: Two ids.
    """
    place = {meta.id: at for at, meta in enumerate(metas)}
    a, b = sorted(picked, key=lambda run: -place.get(run, -1))
    return a, b


def _register_strips(app: Dash, served: Served) -> None:
    """Register what reads the strips of the rows shown, some at a time: the browser asks for those it lacks."""

    @app.callback(Output(ids.RUNS_STRIPS, "data"), Input(ids.RUNS_WANTED, "data"), prevent_initial_call=True)
    def read_strips(wanted: Any) -> Any:
        runs = [one for one in wanted if isinstance(one, str)] if isinstance(wanted, list) else []
        if not runs:
            raise PreventUpdate
        known = {meta.id for meta in served.runs.shown()}
        # A failed run has no launches; one that is gone is answered too, or it would be asked for again.
        return {run: _strip(served, run) if run in known else None for run in runs[:_STRIPS_AT_ONCE]}

    in_browser(
        app,
        "tables",
        "fillStrips",
        Output(ids.RUNS_PAGE, "data-strips"),
        Input(ids.RUNS_STRIPS, "data"),
        Input(ids.RUNS_TABLES, "data"),
    )


def _strip(served: Served, run: str) -> Json:
    try:
        return strip(served.runs.outline(run))
    except NcuLabError as error:
        return {"heights": [], "title": visible(error.message), "holds": "cannot be read"}


def _register_opened(app: Dash, served: Served) -> None:
    @app.callback(
        Output(ids.OPENED_KEYS, "data"),
        Output(ids.OPENED_CARDS, "children"),
        Input(ids.ARRIVED, "data"),
        Input(ids.DISMISSED, "data"),
        Input(ids.KEPT, "data"),
        State(ids.OPENED_KEYS, "data"),
    )
    def show(arrived: Any, dismissed: Any, kept: Any, held_keys: Any) -> tuple[Any, Any]:
        keys = [one for one in held_keys if isinstance(one, str)] if isinstance(held_keys, list) else []
        triggers = {one.partition(".")[0] for one in ctx.triggered_prop_ids}
        new = arrived.get("key") if isinstance(arrived, dict) else None
        if ids.ARRIVED in triggers and isinstance(new, str) and new not in keys:
            keys.append(new)
        if ids.DISMISSED in triggers and isinstance(dismissed, str) and dismissed in keys:
            served.opened.dismiss(dismissed)
        stored = {}
        if ids.KEPT in triggers and isinstance(kept, str) and kept in keys and served.allow_import:
            stored[kept] = _keep(served, kept)
        files = [found for key in keys if (found := served.opened.find(key)) is not None]
        cards: list[Any] = [opened_card(one, served.allow_import, stored.get(one.key)) for one in reversed(files)]
        if isinstance(arrived, dict) and isinstance(arrived.get("refused"), str) and ids.ARRIVED in triggers:
            cards.insert(0, refused_card(str(arrived.get("name") or "file"), arrived["refused"]))
        return [one.key for one in files], cards


def _keep(served: Served, key: str) -> str:
    """Store an opened file; return what to tell of it."""
    run = served.opened.find_run(key)
    if run is None:
        return "There is nothing to keep."
    try:
        return f"Kept as {served.runs.keep(run)}."
    except NcuLabError as error:
        return visible(f"Not kept: {error.message}")
