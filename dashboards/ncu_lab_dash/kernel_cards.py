"""What the cards of the Kernel page hold beside figures: banner, strip, tables of accesses and rules, metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from dash import html

from ncu_lab.metrics import OVER_IDEAL
from ncu_lab.model import Access, AccessUse, Inspection, MetricValue, RuleFinding, RunMeta
from ncu_lab.render import launch_headlines as headlines
from ncu_lab.render import numbers
from ncu_lab.render.figures.launch_units import AT_LIMIT
from ncu_lab.render.figures.memory_chart import amount_text, link_name
from ncu_lab.render.ladder_words import versions
from ncu_lab.render.launch_tables import Cell, Row, accesses_of
from ncu_lab.render.visible import visible
from ncu_lab.render.wording import clock_words, extent
from ncu_lab_dash.parts import data_table, exact, unbroken

MOST_METRICS = 80
"""Metrics that a search shows at most; it says how many more match."""

_KIND_TITLES = {"ld": "load", "st": "store", "atom": "atomic", "red": "reduction", "tma": "TMA"}
_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])|(?<=[a-z]\.)(?=[A-Z])")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def context_items(meta: RunMeta, launches: int) -> list[Any]:
    """Return the line that says what the run was made on and with."""
    items: list[tuple[str, str]] = []
    if meta.device is not None:
        capability = (
            f"CC {'.'.join(map(str, meta.device.compute_capability))}" if meta.device.compute_capability else ""
        )
        count = f"{meta.device.sm_count} SMs" if meta.device.sm_count else ""
        items.append((meta.device.name, " · ".join(part for part in (capability, count) if part)))
    if meta.problem is not None:
        items.append((f"{meta.problem.m} × {meta.problem.n} × {meta.problem.k}", ""))
    items += [("", text) for text in (versions(meta.environment), clock_words(meta.environment)) if text]
    if sections := meta.environment.sections:
        items.append(("", f"{len(sections)} sections" if len(sections) > 1 else sections[0]))
    items.append(("", "1 launch" if launches == 1 else f"{numbers.integer(launches)} launches"))
    return [
        html.Span([html.B(unbroken(strong)), " " if strong and plain else "", unbroken(plain)])
        for strong, plain in items
    ]


def signature(found: Inspection) -> list[Any]:
    """Return the kernel's name, grid and block: text, whatever a kernel calls itself."""
    summary = found.view.summaries[0]
    shape = f"grid {extent(summary.grid)}   block {extent(summary.block)}"
    nvtx = [html.Span(f"NVTX {' / '.join(visible(one) for one in summary.nvtx)}")] if summary.nvtx else []
    return [html.Code(visible(summary.kernel)), html.Span(shape), *nvtx]


def banner(found: Inspection) -> list[Any]:
    """Return what bounds the launch, and the evidence."""
    head, evidence = headlines.banner(found)
    return [html.H1(unbroken(head)), html.P(unbroken(evidence), className="muted")]


def strip(found: Inspection) -> list[Any]:
    """Return the numbers below the verdict."""
    return [
        html.Div(
            [
                html.Span(one.label, className="muted"),
                html.B(unbroken(one.value)),
                html.Span(unbroken(one.beside), className="muted"),
            ]
        )
        for one in headlines.strip(found)
    ]


def accesses_body(found: Inspection) -> list[Any]:
    """Return the table of accesses, and what went between the units."""
    uses = {(use.space, use.kind): use for use in found.traffic.uses}
    rows = [_access(one, uses.get((one.space, one.kind))) for one in accesses_of(found)]
    head = ["Access", "Requests", "Moved", "÷ ideal", "Per request", "Hit rate", "Of its peak"]
    kinds = ["text", *["number"] * 6]
    titles = html.Tr([html.Th(text, className=kind, scope="col") for text, kind in zip(head, kinds, strict=True)])
    between = [link for link in found.traffic.links if link.unit == "byte" and link.amount is not None]
    duration = found.view.summaries[0].value("duration_ns")
    moved: list[Row] = [
        [
            link_name(link),
            Cell(amount_text(link), link.amount),
            amount_text(link, duration) if duration else numbers.MISSING,
            Cell(numbers.percent(link.pct, table=True), link.pct),
        ]
        for link in between
    ]
    tables: list[Any] = []
    if rows:
        tables.append(html.Div(html.Table([html.Thead(titles), html.Tbody(rows)]), className="table-scroll"))
    if moved:
        table = data_table(["Between units", "Moved", "Per second", "Of its peak"], moved)
        tables.append(html.Div(table, className="table-scroll spaced"))
    return tables


def _access(one: Access, use: AccessUse | None) -> html.Tr:
    over = one.over_ideal
    judged: Any = numbers.ratio(over)
    if over is not None and over > OVER_IDEAL:
        judged = html.Span(f"✗ {numbers.ratio(over)}", className="chip worse")
    worst = max(one.culprits, key=lambda culprit: culprit.excess, default=None)
    hit, peak = (use.hit_pct, use.peak_pct) if use else (None, None)
    over_limit = over is not None and over > OVER_IDEAL
    at = worst.place.rpartition("/")[2] if worst is not None and worst.excess and over_limit else ""
    values: list[tuple[Any, float | None]] = [
        (numbers.count(one.requests), one.requests),
        (f"{numbers.count(one.amount)} {one.unit}s" if one.amount is not None else numbers.MISSING, one.amount),
        (judged, over),
        (numbers.significant(one.per_request), one.per_request),
        (numbers.percent(hit, table=True), hit),
        (_peak(peak), peak),
    ]
    cells = [
        html.Td(unbroken(shown) if isinstance(shown, str) else shown, className="number", **exact(value))
        for shown, value in values
    ]
    name = f"{one.space.capitalize()} {_KIND_TITLES.get(one.kind, one.kind)}"
    where = html.Div(f"mostly at {visible(at)}", className="muted place") if at else None
    return html.Tr([html.Td([name, where], className="text"), *cells])


def _peak(pct: float | None) -> Any:
    """Return a share of a peak as a small bar and in words."""
    if pct is None:
        return numbers.MISSING
    kind = "meter at-limit" if pct >= AT_LIMIT else "meter"
    bar = html.Span(html.I(style={"width": f"{min(pct, 100.0):.1f}%"}), className=kind)
    return html.Span([bar, unbroken(numbers.percent(pct, table=True))], className="metered")


def rules_body(found: Inspection) -> list[Any]:
    """Return what ncu's rules say: those with an estimate first, the others folded away."""
    estimated = [rule for rule in found.rules if rule.speedup_pct is not None]
    others = [rule for rule in found.rules if rule.speedup_pct is None]
    body: list[Any] = [html.Div([_rule(rule) for rule in estimated], className="rules")] if estimated else []
    if others:
        count = "1 rule" if len(others) == 1 else f"{len(others)} rules"
        body.append(
            html.Details(
                [
                    html.Summary(f"{count} without an estimate"),
                    html.Div([_rule(rule) for rule in others], className="rules"),
                ],
                className="table-view",
            )
        )
    return body


def _rule(rule: RuleFinding) -> html.Div:
    estimate = [html.B(numbers.percent(rule.speedup_pct)), html.Span(rule.scope or "", className="muted")]
    return html.Div(
        [
            html.Div(estimate if rule.speedup_pct is not None else [], className="estimate"),
            html.Div([html.B(_WORD.sub(" ", rule.rule)), _message(visible(rule.message))]),
        ],
        className="rule",
    )


def _message(message: str) -> Any:
    """Return the first sentence of a rule's words; the others unfold."""
    first, *rest = _SENTENCE.split(message.strip(), maxsplit=1)
    if not rest:
        return html.P(first, className="muted")
    return html.Details([html.Summary(first), html.P(rest[0], className="muted")], className="message")


def matching(metrics: Sequence[MetricValue], words: str | None) -> list[MetricValue]:
    """Return the metrics whose name or meaning has every word, in any case; none for no words."""
    wanted = (words or "").casefold().split()
    if not wanted:
        return []
    return [one for one in metrics if all(word in f"{one.name} {one.meaning}".casefold() for word in wanted)]


def metrics_body(found: Inspection, words: str | None) -> tuple[str, list[Any]]:
    """Return how many metrics match, and their table."""
    total = numbers.integer(len(found.metrics))
    if not (words or "").strip():
        return f"{total} metrics of this launch, by name or meaning", []
    hits = matching(found.metrics, words)
    if not hits:
        return f"None of {total} metrics matches all of these words", []
    shown = hits[:MOST_METRICS]
    rows = [[html.Code(visible(one.name)), Cell(_metric_text(one), one.value), one.unit, one.meaning] for one in shown]
    head = [html.Th(text, className="text", scope="col") for text in ("Metric", "Value", "Unit", "Meaning")]
    table = html.Table([html.Thead(html.Tr(head)), html.Tbody([_metric_row(row) for row in rows])], className="metrics")
    more = f", the first {len(shown)} are shown: more words narrow them" if len(hits) > len(shown) else ""
    return f"{numbers.integer(len(hits))} of {total} metrics match{more}", [html.Div(table, className="table-scroll")]


def _metric_row(row: Sequence[Any]) -> html.Tr:
    name, cell, unit, told = row
    return html.Tr(
        [
            html.Td(name, className="text"),
            html.Td(cell.text, className="number", **exact(cell.value)),
            html.Td(unit, className="text"),
            html.Td(told, className="text wrap"),
        ]
    )


def _metric_text(one: MetricValue) -> str:
    if one.text is not None:
        text = visible(one.text)
        return text if len(text) <= 120 else f"{text[:120]}… ({len(text)} characters)"
    return numbers.significant(one.value, 6)
