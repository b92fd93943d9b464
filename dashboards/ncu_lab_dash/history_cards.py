"""What the cards of the History page hold beside the figure: context, heading, ranges, change points."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from dash import html

from ncu_lab.advice import as_called
from ncu_lab.errors import NcuLabError
from ncu_lab.model import TIME_KEY
from ncu_lab.model.history import ChangePoint, History, HistoryBreak, HistoryGap, HistoryPoint, KernelHistory
from ncu_lab.render import history_headlines as headlines
from ncu_lab.render.history_words import amount, chance_words, gap_words, step_words
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.visible import visible
from ncu_lab_dash import ids
from ncu_lab_dash.compare_view import compare_address
from ncu_lab_dash.history_view import LASTS, HistoryView, places_shown, row_key
from ncu_lab_dash.parts import aria, code, exact, held, unbroken

EXAMPLE = " --example"
"""The option of the bundled runs, which nothing can be added to."""

_HEADER = (
    ("Commit", "text"), ("Message", "text"), ("Date", "text"), ("Before", "number"), ("After", "number"),
    ("Change", "number"), ("By chance", "text"), ("Verdict", "text"), ("", "text"), ("", "text"),
)  # fmt: skip


def context(one: KernelHistory, history: History) -> list[Any]:
    """Return the line that tells what the page is of."""
    strong = [one.device or "", one.problem.label if one.problem else "", one.name]
    count = len(one.rows)
    measured = len(one.points)
    rows = f"{count} {'row' if count == 1 else 'rows'}" + (f", {measured} measured" if measured != count else "")
    samples = [point.estimate.n for point in one.points]
    n = f"n = {min(samples)}" + (f" to {max(samples)}" if max(samples) != min(samples) else "") if samples else ""
    plain = [text for text in (rows, n, headlines.order_words(history)) if text]
    return [
        *(html.Span(html.B(unbroken(visible(text)))) for text in strong if text),
        *(html.Span(unbroken(text)) for text in plain),
    ]


def heading(one: KernelHistory, history: History) -> tuple[list[Any], str]:
    """Return what stands in the banner, and its class."""
    head, evidence = headlines.banner(one, history)
    verdict = one.changes[-1].change.verdict if one.changes else ""
    kind = {"slower": "at-limit", "worse": "at-limit", "faster": "is-better", "better": "is-better"}.get(verdict, "")
    words = [html.H1(unbroken(visible(head))), html.P(unbroken(visible(evidence)), className="muted")]
    return words, f"banner {kind}".strip()


def range_buttons(one: KernelHistory, view: HistoryView) -> list[Any]:
    """Return the ranges to choose from: all rows, the last ones where there are more, and what was dragged out."""
    count = len(one.rows)
    first, last = places_shown(one, view.range)
    is_whole = (first, last) == (0, count - 1)
    options = [("", "All")] + [(f"last{last_rows}", f"Last {last_rows}") for last_rows in LASTS if count > last_rows]
    if not is_whole and view.range and view.range not in dict(options):
        ends = [row_key(one.rows[place]) for place in (first, last)]
        options.append((view.range, ends[0] if first == last else f"{ends[0]} to {ends[1]}"))
    if len(options) == 1:
        return []
    chosen = "" if is_whole else view.range
    return [
        html.Span("Rows", className="segmented-label"),
        *(
            html.Button(
                words,
                className="quiet pressable",
                **aria(pressed=str(key == chosen).lower()),
                **held(choose=ids.HISTORY_RANGE, key=key),
            )
            for key, words in options
        ),
    ]


def changes_body(one: KernelHistory, history: History, where: str) -> list[Any]:
    """Return the table of what changed, and a command: to bisect its last change, or to profile commits without any.

    Args:
        one: The line.
        history: What it is of.
        where: The options that name the store.
    """
    table = _changes_table(one, history, where)
    command = bisect_command(one.changes[-1], one, history, where) if one.changes else ""
    if command:
        words = "To look for the commit of the last change, also among those without a run:"
    elif len(one.points) > 1:
        return [table or html.P("Nothing changed, failed or was left uncompared.", className="muted")]
    else:
        words = "To give it neighbours, profile commits, or a range of them:"
        stage = f" --stage {shlex.quote(one.stage)}" if one.stage else ""
        command = as_called(f"ncu-lab profile --rev HEAD~5..HEAD{stage}{'' if where == EXAMPLE else where}")
    copy = html.Button("Copy", className="quiet", **held(copy=command))
    return [table, html.P(words, className="muted spaced"), html.Div([code(command), copy], className="copy")]


def _changes_table(one: KernelHistory, history: History, where: str) -> Any:
    """Return the table of what changed, what is not compared, and what failed, the newest first; None without any."""
    places = {row.meta.id: number for number, row in enumerate(one.rows)}
    found: list[tuple[float, Any]] = [
        (places[change.first.meta.id], _change_row(change, one, history, where)) for change in one.changes
    ]
    found += [(places[broken.after.meta.id] - 0.5, _break_row(broken, one, history)) for broken in one.breaks]
    found += [(places[gap.meta.id], _gap_row(gap)) for gap in one.gaps]
    if not found:
        return None
    head = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in _HEADER])
    rows = [row for _, row in sorted(found, key=lambda item: -item[0])]
    return html.Div(html.Table([html.Thead(head), html.Tbody(rows)], className="changes"), className="table-scroll")


def _row(cells: Sequence[Any], class_name: str = "") -> html.Tr:
    made = [
        cell if isinstance(cell, html.Td) else html.Td(cell, className=kind)
        for cell, (_, kind) in zip(cells, _HEADER, strict=True)
    ]
    return html.Tr(made, className=class_name)


def _named(row: HistoryPoint | HistoryGap) -> list[Any]:
    """Return a row's commit, message and date: of the commit where git tells it, else of the run."""
    date = row.commit.time[:10] if row.commit else row.meta.created[:10]
    message = html.Td(visible(headlines.subject_of(row)), className="text message", title=row.meta.id)
    return [html.Code(visible(headlines.row_name(row))), message, date]


def _value(point: HistoryPoint, history: History) -> html.Td:
    value = point.estimate.value
    return html.Td(unbroken(amount(history.key, value, history.unit)), className="number", **exact(value))


def _change_row(change: ChangePoint, one: KernelHistory, history: History, where: str) -> html.Tr:
    kind, words = headlines.verdict_chip(change)
    told = f"{words}, gradually" if change.is_gradual else words
    command = bisect_command(change, one, history, where)
    copy: Any = None
    if command:
        copy = html.Button("Copy bisect", className="quiet", title=command, **held(copy=command))
    cells = [
        *_named(change.first),
        _value(change.before, history),
        _value(change.after, history),
        unbroken(step_words(change.change)),
        chance_words(change.change) or MISSING,
        html.Span(told, className=f"chip {kind}".strip()),
        _compare_link(change.before, change.after, one),
        copy,
    ]
    return _row(cells)


def _compare_link(before: HistoryPoint, after: HistoryPoint, one: KernelHistory) -> Any:
    href = compare_address(before.meta.id, after.meta.id, stage_a=one.stage, stage_b=one.stage)
    return html.A("Compare", href=href, className="button quiet-link", **held(page=""))


def _break_row(broken: HistoryBreak, one: KernelHistory, history: History) -> html.Tr:
    cells = [
        MISSING,
        html.Td(visible(broken.why), className="text message"),
        broken.after.meta.created[:10],
        _value(broken.before, history),
        _value(broken.after, history),
        MISSING,
        MISSING,
        html.Span("⊘ not comparable", className="chip"),
        _compare_link(broken.before, broken.after, one),
        None,
    ]
    return _row(cells)


def _gap_row(gap: HistoryGap) -> html.Tr:
    status, _, why = gap_words(gap).partition(": ")
    chip = html.Span(f"✗ {status}", className="chip worse", title=visible(why))
    return _row([*_named(gap), MISSING, MISSING, MISSING, MISSING, chip, None, None])


def bisect_command(change: ChangePoint, one: KernelHistory, history: History, where: str) -> str:
    """Return the command that finds the commit of a change; empty where bisect cannot ask for it.

    It goes by commits and a stage, and its problems are cubes.
    """
    good, bad = change.before.commit, change.first.commit
    cube = one.problem is None or one.problem.m == one.problem.n == one.problem.k
    if one.stage is None or good is None or bad is None or not cube:
        return ""
    words = ["ncu-lab bisect", f"--good {good.short}", f"--bad {bad.short}", f"--stage {shlex.quote(one.stage)}"]
    if history.key != TIME_KEY:
        words.append(f"--metric {history.key}")
    if one.problem:
        words.append(f"--size {one.problem.m}")
    if one.device:
        words.append(f"--device {shlex.quote(one.device)}")
    return as_called(" ".join(words) + where)


def why_not(error: NcuLabError, stages: Sequence[str]) -> html.Div:
    """Return what stands in place of the cards where there is no history: why, and what to type."""
    lines = [html.P(visible(as_called(text))) for text in (error.message, error.hint) if text]
    there = html.P(f"There are runs of: {', '.join(stages)}.") if stages else None
    return html.Div([html.H2("No history to show"), *lines, there], className="card empty")


def no_runs() -> html.Div:
    """Return what stands on the page of a store without runs."""
    steps = as_called("ncu-lab profile --rev HEAD~5..HEAD --stage naive\nncu-lab dashboard --example")
    words = [
        html.H2("No runs yet"),
        html.P("Profile some commits, or look at the bundled runs:"),
        code(steps),
        html.P("This page shows a new run as soon as it is stored.", className="muted"),
    ]
    return html.Div(words, className="card empty")
