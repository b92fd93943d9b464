"""Cards of files that were opened: what was read, what is lost and where, or why nothing can be read."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from ncu_lab.model import LOSSES, Run
from ncu_lab.render import numbers
from ncu_lab.render.visible import visible
from ncu_lab_dash import ids
from ncu_lab_dash.compare_view import CompareView
from ncu_lab_dash.kernel_view import kernel_address
from ncu_lab_dash.opened import Opened
from ncu_lab_dash.parts import held, unbroken

_CHIPS = {
    "read": ("chip better", "✓ read"),
    "part": ("chip unsure", "! read in part"),
    "refused": ("chip worse", "✗ cannot be read"),
}


def opened_card(opened: Opened, may_keep: bool, told: str | None = None) -> html.Section:
    """Return the card of one file.

    Args:
        opened: What became of it.
        may_keep: Whether it may be kept in the store.
        told: What came of keeping it, if that was asked for.
    """
    kind, words = _CHIPS[opened.state]
    body: list[Any] = []
    if opened.error is not None:
        body += [html.P(visible(opened.error.message)), html.P(visible(opened.error.hint or ""), className="muted")]
    if opened.run is not None:
        if opened.run.launches.empty:
            body.append(html.P(_without_launches(opened.run)))
        lost = [notice for notice in opened.run.meta.warnings if notice.code in LOSSES]
        body += [html.P(html.B(visible(notice.message))) for notice in lost]
        if lost:
            body.append(html.P("Not used for verdicts against a complete run.", className="muted"))
        body.append(_facts(opened.run, opened.size))
    if told is not None:
        body.append(html.P(told))
    return html.Section(
        [
            html.H2([html.Span(words, className=kind), " ", opened.name]),
            *body,
            html.Div(_buttons(opened, may_keep), className="buttons"),
        ],
        className="card",
    )


def _without_launches(run: Run) -> str:
    """Say what a file holds that was read and has no launch to show."""
    if any(notice.code == "session_page" for notice in run.meta.warnings):
        what = "device and environment" if run.meta.device else "environment"
        return f"It holds only the session: {what}, no launches. Export the raw page for these: --page raw"
    return "It holds no launches."


def _facts(run: Run, size: int) -> html.Table:
    launches = len(run.launches)
    a_launch = int(run.metrics.groupby("launch").size().max()) if len(run.metrics) else 0
    device = run.meta.device.name if run.meta.device else numbers.MISSING
    facts = [
        ("Launches", numbers.integer(launches)),
        ("Metrics a launch", numbers.integer(a_launch)),
        ("Size", numbers.byte_count(size)),
        ("GPU", visible(device)),
        ("Stages recognised", numbers.integer(len(run.meta.stages)) if run.meta.stages else numbers.MISSING),
    ]
    rows = [
        html.Tr([html.Td(name, className="text"), html.Td(unbroken(value), className="number")])
        for name, value in facts
    ]
    return html.Table(html.Tbody(rows), className="facts")


def _buttons(opened: Opened, may_keep: bool) -> list[Any]:
    dismiss = html.Button("Dismiss", **held(choose=ids.DISMISSED, key=opened.key))
    if opened.run is None or not len(opened.run.launches):
        return [dismiss]
    view = dcc.Link("View without keeping", href=kernel_address(opened.key), className="primary button")
    keep = html.Button("Keep in store", **held(choose=ids.KEPT, key=opened.key))
    compare = dcc.Link(
        "Compare with a run…", href=f"/compare{CompareView(b=(opened.key,)).search()}", className="button"
    )
    return [view, compare, *([keep] if may_keep else []), dismiss]


def refused_card(name: str, why: str) -> html.Section:
    """Return the card of a file that was not even sent, or not taken."""
    return html.Section(
        [html.H2([html.Span("✗ not opened", className="chip worse"), " ", visible(name)]), html.P(visible(why))],
        className="card",
    )
