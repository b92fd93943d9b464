"""The ladder's cards about steps: the tray of the selected stage, what bought each step, why any two stages differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dash import html, no_update

from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.model import Attribution, Finding, Ladder, LadderRow
from ncu_lab.render import ladder_cards as words
from ncu_lab.render.figures.attribution import HATCHES, waterfall_figure
from ncu_lab.render.figures.badges import SIGNS
from ncu_lab.render.figures.rows import stage_label
from ncu_lab.render.figures.steps import (
    FACTOR_TITLES,
    FAMILY_REASONS,
    FAMILY_SIGNS,
    families_shown,
    step_rows,
    steps_figure,
)
from ncu_lab.render.palette import FAMILY_TITLES, Theme, stall_colour, stall_family, stall_label, text_on
from ncu_lab.workflows.climbing import attribute_stages
from ncu_lab_dash import ids
from ncu_lab_dash.compare_view import compare_address
from ncu_lab_dash.kernel_view import kernel_address
from ncu_lab_dash.parts import aria, exact, held, table_json, unbroken
from ncu_lab_dash.screen import Screen, column_width, theme_of
from ncu_lab_dash.view import AUTO, View

_CHIPS: Mapping[str, str] = {"met": "chip better", "missed": "chip worse", "not_collected": "chip"}

_LINK = "button quiet-link"

ENDS = "data-ends"
"""Property of a component that ``assets/ladder.js`` fills with the lists of :func:`ends_json`."""


def show_theory(ladder: Ladder, view: View, _: Screen) -> tuple[Any, ...]:
    """Return the tray's title, note, buttons, body, foot, and the table of every expectation of the ladder."""
    told, row = words.theory_card(ladder, view.stage), ladder.row(view.stage)
    return (
        unbroken(told.title),
        unbroken(told.note),
        actions(ladder, row) if row is not None else [],
        findings_table(row.findings) if row is not None and row.findings else [],
        unbroken(told.foot),
        table_json(*told.table, text_columns=len(told.table[0])),
    )


def findings_table(findings: Sequence[Finding]) -> html.Table:
    """Return what was expected of one stage, what was measured, and what came of it by sign and word."""
    titles = ("Quantity", "Expected", "Measured", "", "From", "Arithmetic")
    kinds = ("text", "text", "number", "text", "text", "text wrap")
    head = [html.Th(title, className=kind, scope="col") for title, kind in zip(titles, kinds, strict=True)]
    return html.Table(
        [html.Thead(html.Tr(head)), html.Tbody([_finding(one) for one in findings])], className="findings"
    )


def _finding(one: Finding) -> html.Tr:
    quantity, expected, measured = words.expected_words(one)
    status = f"{SIGNS[one.status]} {one.status.replace('_', ' ')}"
    needs = html.Span(f" needs {one.lacks}", className="muted") if one.lacks else None
    return html.Tr(
        [
            html.Th(quantity, className="text", scope="row"),
            html.Td(unbroken(expected), className="text"),
            html.Td(unbroken(measured), className="number", **exact(one.measured)),
            html.Td([html.Span(status, className=_CHIPS[one.status]), needs], className="text"),
            html.Td(one.expectation.source, className="text muted"),
            html.Td(unbroken(one.expectation.derivation), className="text wrap muted"),
        ]
    )


def actions(ladder: Ladder, row: LadderRow) -> list[html.A]:
    """Return where the selected stage leads: its launch, and the comparison with its predecessor."""
    found = []
    stage, before = row.stage.id, ladder.row(row.stage.predecessor)
    if row.summary is not None:
        found.append(html.A("Open kernel", href=kernel_address(row.run, stage=stage), className=_LINK, **held(page="")))
    if before is not None:
        address = compare_address(before.run, row.run, stage_a=before.stage.id, stage_b=stage)
        text = f"Compare with {before.stage.id}"
        found.append(html.A(text, href=address, className=_LINK, **held(page="")))
    return found


def show_steps(ladder: Ladder, view: View, screen: Screen) -> tuple[Any, ...]:
    """Return the figure of what bought each step, its title, note, foot and table."""
    told, theme = words.steps_card(ladder), theme_of(view.theme, screen)
    drawn = bool(step_rows(ladder))
    figure = steps_figure(ladder, theme, column_width(screen), selected=view.stage, family=view.focus)
    return (
        figure if drawn else no_update,
        "" if drawn else "no-figure",
        unbroken(told.title),
        told.note if drawn else "No step can be split: the stages of its two ends were not both profiled.",
        unbroken(told.foot),
        table_json(*told.table) if drawn else "",
    )


def ends(ladder: Ladder, view: View) -> tuple[str | None, str | None]:
    """Return the two stages of the waterfall: what was chosen, else the selected stage and its predecessor.

    A selected stage that has no predecessor here begins the waterfall instead, which then leads to the first stage
    that follows from it. Without a selection it shows the last step of the longest row of steps.
    """
    followers = [row.stage.id for row in ladder.rows if ladder.row(row.stage.predecessor)]
    last = ladder.chain.stages[-1] if ladder.chain else next(reversed(followers), None)
    b = view.b if view.b != AUTO else view.stage or last
    if view.a != AUTO:
        return view.a, b
    row = ladder.row(b)
    before = ladder.row(row.stage.predecessor) if row else None
    if before is not None:
        return before.stage.id, b
    if view.b != AUTO or row is None:
        return (row.stage.reference if row else None), b
    if row.stage.is_reference:
        rivals = [one for one in ladder.rows if one.stage.reference == b and one.median_ns]
        nearest = min(rivals, key=lambda one: one.median_ns or 0.0, default=None)
        return (nearest.stage.id if nearest else None), b
    after = next((one.stage.id for one in ladder.rows if one.stage.predecessor == b), row.stage.reference)
    return b, after


def ends_json(ladder: Ladder, view: View) -> str:
    """Return what the waterfall may begin with and lead to, for ``assets/ladder.js`` to offer."""
    stages = [{"label": stage_label(row.stage), "value": row.stage.id} for row in (*ladder.rows, *ladder.references)]
    ends = (("From", ids.FALL_A, "its predecessor", view.a), ("To", ids.FALL_B, "the selected stage", view.b))
    return json.dumps(
        [
            {"label": label, "into": into, "options": [{"label": own, "value": AUTO}, *stages], "value": value}
            for label, into, own, value in ends
        ]
    )


def show_fall(ladder: Ladder, view: View, screen: Screen) -> tuple[Any, ...]:
    """Return the waterfall between two stages, or why there is none: figure, state, title, note, foot, table, ends."""
    a, b = ends(ladder, view)
    offered = ends_json(ladder, view)
    row_a, row_b = ladder.row(a), ladder.row(b)
    found = attribute_stages(ladder, a, b) if a != b else None
    if row_a is None or row_b is None or not isinstance(found, Attribution):
        why = words.no_waterfall(ladder, a or "", b or "", found if not isinstance(found, Attribution) else None)
        state = html.Div([html.B("No waterfall"), html.P(unbroken(why))], className="missing")
        return no_update, "no-figure", state, "Why two stages differ", "", "", "", offered
    told = words.waterfall_card(row_a, row_b, found)
    theme, width = theme_of(view.theme, screen), column_width(screen)
    names = stage_label(row_a.stage), stage_label(row_b.stage)
    figure = waterfall_figure(found, *names, theme, width, family=view.focus)
    return (
        figure,
        "",
        None,
        unbroken(told.title),
        unbroken(told.note),
        unbroken(told.foot),
        table_json(*told.table),
        offered,
    )


def focus_legend(reasons: Sequence[str], theme: Theme) -> list[html.Div]:
    """Return the legend of stall reasons; a press on a family dims all others, a second one lets them be.

    The buttons stay the same while families are pressed (``assets/browser.js`` marks them): they keep the focus.
    """
    families = []
    for family in STALL_FAMILIES:
        members = [reason for reason in reasons if stall_family(reason) == family]
        if members:
            keys = [
                html.Span([_swatch(stall_colour(reason, theme)), stall_label(reason)], className="key")
                for reason in members
            ]
            families.append(html.Div([_family_button(family), *keys], className="family"))
    return families


def show_steps_legend(ladder: Ladder, view: View, screen: Screen) -> list[html.Div]:
    """Return the legend of the steps: families by the colour that stands for each, other factors by their hatch."""
    theme, shown = theme_of(view.theme, screen), families_shown(ladder)
    families = [html.Div([_sign(name, theme), _family_button(name)], className="family") for name in shown]
    hatched = [
        html.Span([html.I(HATCHES[name], className="swatch hatch", **aria(hidden="true")), title], className="key")
        for name, title in FACTOR_TITLES.items()
    ]
    return [*families, html.Div(hatched, className="family")] if step_rows(ladder) else []


def _family_button(family: str) -> html.Button:
    return html.Button(
        FAMILY_TITLES[family],
        className="family-button",
        title="Dim the other families, or show all again",
        **held(choose=ids.FOCUS, key=family),
        **aria(pressed="false"),
    )


def _sign(family: str, theme: Theme) -> html.I:
    """Return the colour of a family with the letter that stands in its bars."""
    colour = stall_colour(FAMILY_REASONS[family], theme)
    style = {"background": colour, "color": text_on(colour), "borderColor": colour}
    return html.I(FAMILY_SIGNS[family][1], className="swatch hatch", style=style, **aria(hidden="true"))


def _swatch(colour: str) -> html.I:
    return html.I(className="swatch", style={"background": colour})
