"""How two runs compare, as the dashboard's Compare page shows it: pair by pair, with verdict, cause and quantities."""

from __future__ import annotations

from ncu_lab.model import Attribution, Unattributed
from ncu_lab.model.comparison import Comparison, Pair
from ncu_lab.render.attribution import unattributed_words
from ncu_lab.render.change_words import evidence_words, pair_name, pairing_words, time_words
from ncu_lab.render.compare_tables import (
    lines_table,
    metrics_table,
    pairs_table,
    waits_table,
    waterfall_table,
)
from ncu_lab.render.diff import context_lines, tally_words
from ncu_lab.render.figures.attribution import waterfall_figure
from ncu_lab.render.figures.dumbbell import WaitScale, dumbbell_figure, has_cycles, wait_changes
from ncu_lab.render.page.drawings import ALL_WIDTHS, card, figure
from ncu_lab.render.page.markup import Markup, tag
from ncu_lab.render.page.tables import drawn_table, folded, value_table

MOST_PAIRS = 40
"""Pairs that are shown in full; the others are in the table of all."""


def comparison_part(comparison: Comparison) -> Markup:
    """Return the table of all pairs, then every pair that both sides have."""
    both = [pair for pair in comparison.pairs if pair.is_on_both_sides]
    ranked = sorted(both, key=_matters, reverse=True)[:MOST_PAIRS]
    shown = [pair for pair in both if any(pair is one for one in ranked)]
    left = len(both) - len(shown)
    return tag(
        "div",
        [tag("p", line, class_="muted") for line, _ in context_lines(comparison)],
        card(tally_words(comparison), drawn_table(pairs_table(comparison.pairs, None, ""))),
        [_pair(pair, unfolded=len(shown) == 1) for pair in shown],
        tag("p", f"{left} more pairs, which changed least, are in the table alone.", class_="muted") if left else None,
    )


def _matters(pair: Pair) -> tuple[bool, float]:
    time = pair.duration
    return bool(time and time.verdict in ("faster", "slower")), abs((time.delta_pct if time else None) or 0.0)


def _pair(pair: Pair, *, unfolded: bool) -> Markup:
    told = [evidence_words(pair.duration), pairing_words(pair)]
    if isinstance(pair.attribution, Unattributed):
        told.append(unattributed_words(pair.attribution))
    return tag(
        "details",
        tag("summary", tag("b", pair_name(pair)), "  ", time_words(pair.duration), class_="kernel-head"),
        [tag("p", line, class_="muted") for line in told if line],
        tag("div", _waterfall(pair), _waits(pair), class_="columns"),
        card("What changed", drawn_table(metrics_table(pair, pair.metrics, every=False))) if pair.metrics else None,
        card("Lines whose share of the samples moved", drawn_table(lines_table(pair.lines, lambda _: None)))
        if pair.lines
        else None,
        class_="kernel",
        open=unfolded,
    )


def _waterfall(pair: Pair) -> Markup | None:
    found = pair.attribution
    if not isinstance(found, Attribution):
        return None
    heading = "Why: from A's duration to B's, under the profiler"
    return card(
        heading,
        figure(lambda theme, width: waterfall_figure(found, "A", "B", theme, width), ALL_WIDTHS, heading),
        folded("Values as a table", value_table(waterfall_table(found), 2)),
        note="Instructions and warps are those of a scheduler; stalls and warps trade, their net is bracketed.",
    )


def _waits(pair: Pair) -> Markup | None:
    a, b = pair.chosen_a, pair.chosen_b
    if a is None or b is None:
        return None
    scale: WaitScale = "cycles" if has_cycles(a, b) else "share"
    changes = wait_changes(a, b, scale)
    if not changes:
        return None
    heading = "What the warps wait for: ○ A, ● B"
    return card(
        heading,
        figure(lambda theme, width: dumbbell_figure(changes, scale, theme, width), ALL_WIDTHS, heading),
        folded("Values as a table", value_table(waits_table(changes, scale))),
    )
