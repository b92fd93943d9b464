"""One launch, as the dashboard's Kernel page shows it: what bounds it, and why."""

from __future__ import annotations

from ncu_lab.model import Inspection, LaunchSummary, RuleFinding
from ncu_lab.render import launch_headlines as headlines
from ncu_lab.render import numbers
from ncu_lab.render.explanation import launch_sentences
from ncu_lab.render.figures.launch_stalls import stall_bars
from ncu_lab.render.figures.launch_units import unit_bars
from ncu_lab.render.figures.memory_chart import memory_chart
from ncu_lab.render.figures.occupancy_curves import occupancy_curves
from ncu_lab.render.launch_cards import (
    NEEDS_WIDTH,
    Card,
    Lacking,
    accesses_card,
    command_for,
    memory_card,
    occupancy_card,
    parted,
    rules_card,
    sentences,
    spots_card,
    stalls_card,
    units_card,
)
from ncu_lab.render.launch_tables import ACCESS_HEADER, access_rows, between_units_table
from ncu_lab.render.page.drawings import ALL_WIDTHS, COLUMN_WIDTHS, Draw, card, figure
from ncu_lab.render.page.ladder_part import stall_variable
from ncu_lab.render.page.markup import Content, Markup, table, tag
from ncu_lab.render.page.tables import drawn_table, folded, value_table
from ncu_lab.render.source import CodeChoice, chosen_spots
from ncu_lab.render.spot_tables import left_words, longest_share, spot_cells, spot_columns
from ncu_lab.render.wording import extent

_JUDGED = ACCESS_HEADER.index("÷ ideal") - 1
"""Place of the cell that is over its limit, among those after the name."""


def launch_part(found: Inspection, key: str, *, unfolded: bool) -> Markup:
    """Return all that is shown of a launch, folded below its verdict.

    Args:
        found: The launch.
        key: Its anchor in the page.
        unfolded: Whether it is open at first.
    """
    summary = found.view.summaries[0]
    head, evidence = headlines.banner(found)
    explanation = found.view.explanations.get(summary.launch)
    told = launch_sentences(explanation)[1:] if explanation else []
    return tag(
        "details",
        tag("summary", tag("b", launch_name(summary)), "  ", head, class_="kernel-head"),
        tag("p", tag("code", summary.kernel), "   ", _shape(summary), class_="signature muted"),
        tag("p", evidence, class_="evidence"),
        [tag("p", one.words) for one in told],
        _strip(found),
        tag("div", _units(found), _memory(found), class_="columns"),
        _spots(found),
        tag("div", _stalls(found), _occupancy(found), class_="columns"),
        tag("div", _accesses(found), _rules(found), class_="columns"),
        id=key,
        class_="kernel",
        open=unfolded,
    )


def launch_name(summary: LaunchSummary) -> str:
    """Return what to call a launch: its stage, else its function and place."""
    return summary.stage or f"{summary.function or 'kernel'} (launch {summary.launch})"


def _shape(summary: LaunchSummary) -> str:
    parts = [f"grid {extent(summary.grid)}", f"block {extent(summary.block)}"]
    return "   ".join([*parts, *([f"NVTX {' / '.join(summary.nvtx)}"] if summary.nvtx else [])])


def _strip(found: Inspection) -> Markup:
    cells = [
        tag("div", tag("span", one.label, class_="muted"), tag("b", one.value), tag("span", one.beside, class_="muted"))
        for one in headlines.strip(found)
    ]
    return tag("div", cells, class_="strip")


def _figure_card(found: Inspection, told: Card, draw: Draw, text_columns: int = 1) -> Markup:
    """Return the card of a figure, or what to collect for it."""
    if told.lacking:
        return card(told.title, _lacks(found, told.lacking))
    drawn = figure(draw, ALL_WIDTHS, told.title)
    values = folded("Values as a table", value_table(told.table, text_columns))
    return card(told.title, drawn, values, note=told.note, foot=told.foot or None)


def _lacks(found: Inspection, lacking: Lacking) -> Markup:
    named = " and ".join(f"--section {section}" for section in lacking.sections)
    command = command_for(found.view.summaries[0], *lacking.sections)
    return tag(
        "div",
        tag("b", f"Not collected: {lacking.what}"),
        tag("p", f"Profile with {named}. {lacking.price}"),
        tag("pre", tag("code", command), class_="command"),
        class_="missing",
    )


def _units(found: Inspection) -> Markup:
    return _figure_card(found, units_card(found), lambda theme, width: unit_bars(found, theme, width), 2)


def _memory(found: Inspection) -> Markup:
    told = memory_card(found)
    if told.lacking:
        return card(told.title, _lacks(found, told.lacking))
    values = value_table(told.table)
    drawn = figure(lambda theme, width: memory_chart(found.traffic, theme, width), COLUMN_WIDTHS, told.title)
    return card(
        told.title,
        tag(
            "div",
            tag("p", told.note, class_="muted note"),
            drawn,
            folded("Values as a table", values),
            class_="wide-only",
        ),
        tag("div", tag("p", NEEDS_WIDTH, class_="muted note"), values, class_="narrow-only"),
    )


def _stalls(found: Inspection) -> Markup:
    summary = found.view.summaries[0]
    return _figure_card(found, stalls_card(found), lambda theme, width: stall_bars(summary, theme, width))


def _occupancy(found: Inspection) -> Markup:
    told = occupancy_card(found)
    return _figure_card(found, told, lambda theme, width: occupancy_curves(found.occupancy, theme, width))


def _spots(found: Inspection) -> Markup:
    told, spots = spots_card(found), found.spots
    if told.lacking:
        return card(told.title, _lacks(found, told.lacking))
    sass = not spots.has_lines
    shown, left = chosen_spots(spots, CodeChoice(sass=sass, sort="source"))
    columns, most = spot_columns(spots, sass=sass), longest_share(spots, sass=sass)
    cells = [spot_cells(spots, spot, stall_variable, most) for spot in shown]
    data = {
        "columns": [{"title": title, "kind": kind} for title, kind in columns.values()],
        "rows": [{"cells": [row[key] for key in columns]} for row in cells],
        "note": left_words(spots, left, sass=sass),
    }
    return card(told.title, drawn_table(data), note=told.note)


def _accesses(found: Inspection) -> Markup:
    told = accesses_card(found)
    if told.lacking:
        return card(told.title, _lacks(found, told.lacking))
    rows: list[list[Content]] = []
    for row in access_rows(found):
        cells: list[Content] = [cell.text for cell in row.cells]
        if row.over:
            cells[_JUDGED] = tag("span", f"✗ {row.cells[_JUDGED].text}", class_="chip worse")
        where = tag("div", f"mostly at {row.place}", class_="muted place") if row.place else None
        rows.append([[row.name, where], *cells])
    kinds = ["text", *["number"] * (len(ACCESS_HEADER) - 1)]
    between = between_units_table(found)
    return card(
        told.title,
        table(ACCESS_HEADER, rows, kinds) if rows else None,
        value_table(between) if between[1] else None,
        foot=told.foot,
    )


def _rules(found: Inspection) -> Markup:
    told = rules_card(found)
    estimated = [_rule(one) for one in found.rules if one.speedup_pct is not None]
    others = [_rule(one) for one in found.rules if one.speedup_pct is None]
    count = "1 rule" if len(others) == 1 else f"{len(others)} rules"
    return card(
        told.title, estimated, folded(f"{count} without an estimate", others) if others else None, foot=told.foot
    )


def _rule(one: RuleFinding) -> Markup:
    estimate = [tag("b", numbers.percent(one.speedup_pct)), tag("span", one.scope or "", class_="muted")]
    first, *rest = sentences(one.message)
    message = folded(first, tag("p", rest[0])) if rest else tag("p", first)
    return tag(
        "div",
        tag("div", estimate if one.speedup_pct is not None else None, class_="estimate"),
        tag("div", tag("b", parted(one.rule)), message),
        class_="rule",
    )
