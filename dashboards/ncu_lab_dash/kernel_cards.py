"""What the cards of the Kernel page hold beside figures: banner, strip, tables of accesses and rules, metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dash import html

from ncu_lab.model import Inspection, MetricValue, RuleFinding, RunMeta
from ncu_lab.render import launch_headlines as headlines
from ncu_lab.render import numbers
from ncu_lab.render.figures.launch_units import AT_LIMIT
from ncu_lab.render.ladder_words import versions
from ncu_lab.render.launch_cards import parted, sentences
from ncu_lab.render.launch_tables import ACCESS_HEADER, AccessRow, Cell, access_rows, between_units_table
from ncu_lab.render.visible import visible
from ncu_lab.render.wording import clock_words, extent
from ncu_lab_dash.parts import data_table, exact, unbroken

MOST_METRICS = 80
"""Metrics that a search shows at most; it says how many more match."""


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
    rows = [_access(one) for one in access_rows(found)]
    kinds = ["text", *["number"] * (len(ACCESS_HEADER) - 1)]
    titles = html.Tr(
        [html.Th(text, className=kind, scope="col") for text, kind in zip(ACCESS_HEADER, kinds, strict=True)]
    )
    tables: list[Any] = []
    if rows:
        tables.append(html.Div(html.Table([html.Thead(titles), html.Tbody(rows)]), className="table-scroll"))
    header, moved = between_units_table(found)
    if moved:
        tables.append(html.Div(data_table(header, moved), className="table-scroll spaced"))
    return tables


def _access(one: AccessRow) -> html.Tr:
    requests, amount, over_ideal, per_request, hit, peak = one.cells
    judged = html.Span(f"✗ {over_ideal.text}", className="chip worse") if one.over else unbroken(over_ideal.text)
    shown: list[tuple[Any, Cell]] = [
        (unbroken(requests.text), requests), (unbroken(amount.text), amount), (judged, over_ideal),
        (unbroken(per_request.text), per_request), (unbroken(hit.text), hit), (_peak(peak.value), peak),
    ]  # fmt: skip
    cells = [html.Td(words, className="number", **exact(cell.value)) for words, cell in shown]
    where = html.Div(f"mostly at {one.place}", className="muted place") if one.place else None
    return html.Tr([html.Td([one.name, where], className="text"), *cells])


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
            html.Div([html.B(parted(rule.rule)), _message(visible(rule.message))]),
        ],
        className="rule",
    )


def _message(message: str) -> Any:
    """Return the first sentence of a rule's words; the others unfold."""
    first, *rest = sentences(message)
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
