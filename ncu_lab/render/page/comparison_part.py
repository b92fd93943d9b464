"""How two runs compare, as the dashboard's Compare page shows it: pair by pair, with verdict, cause and quantities."""

from __future__ import annotations

from collections.abc import Sequence, Set

from ncu_lab.model import Attribution, Roofline
from ncu_lab.model.comparison import Comparison, Pair
from ncu_lab.render import compare_words as words
from ncu_lab.render.change_words import evidence_words, pair_name, pairing_words, time_words
from ncu_lab.render.compare_tables import (
    lines_table,
    metrics_table,
    pairs_table,
    roofline_table,
    waits_table,
    waterfall_table,
)
from ncu_lab.render.diff import context_lines, reason_lines, shared_reasons, tally_words
from ncu_lab.render.figures.attribution import waterfall_figure
from ncu_lab.render.figures.dumbbell import WaitScale, dumbbell_figure, has_cycles, wait_changes
from ncu_lab.render.figures.roofline import LEVEL_LABELS, Level
from ncu_lab.render.figures.roofline_shift import point_at, roofline_shift
from ncu_lab.render.page.drawings import ALL_WIDTHS, card, choices, figure
from ncu_lab.render.page.markup import Markup, tag
from ncu_lab.render.page.tables import drawn_table, folded, value_table

MOST_PAIRS = 40
"""Pairs that are shown in full; the others are in the table of all."""


Charts = tuple[Roofline, Roofline] | None
"""Of a pair, the rooflines of both launches."""


def comparison_part(comparison: Comparison, rooflines: Sequence[Charts] = ()) -> Markup:
    """Return the table of all pairs, then every pair that both sides have.

    Args:
        comparison: What to show.
        rooflines: The charts of every pair, in the same order; none are shown where there are none.
    """
    charts = {id(pair): chart for pair, chart in zip(comparison.pairs, rooflines, strict=False)}
    both = [pair for pair in comparison.pairs if pair.is_on_both_sides]
    ranked = sorted(both, key=_matters, reverse=True)[:MOST_PAIRS]
    shown = [pair for pair in both if any(pair is one for one in ranked)]
    left = len(both) - len(shown)
    shared = shared_reasons(comparison)
    return tag(
        "div",
        [tag("p", line, class_="muted") for line, _ in context_lines(comparison)],
        card(tally_words(comparison), drawn_table(pairs_table(comparison.pairs, None, ""))),
        [
            _pair(pair, charts.get(id(pair)), f"shift-{at}", shared, unfolded=len(shown) == 1)
            for at, pair in enumerate(shown)
        ],
        tag("p", f"{left} more pairs, which changed least, are in the table alone.", class_="muted") if left else None,
    )


def _matters(pair: Pair) -> tuple[bool, float]:
    time = pair.duration
    return bool(time and time.verdict in ("faster", "slower")), abs((time.delta_pct if time else None) or 0.0)


def _pair(pair: Pair, charts: Charts, key: str, shared: Set[str], *, unfolded: bool) -> Markup:
    told = [evidence_words(pair.duration), pairing_words(pair), *reason_lines(pair)]
    return tag(
        "details",
        tag("summary", tag("b", pair_name(pair)), "  ", time_words(pair.duration), class_="kernel-head"),
        [tag("p", line, class_="muted") for line in dict.fromkeys(told) if line and line not in shared],
        tag("div", _waterfall(pair), _waits(pair), class_="columns"),
        tag("div", _shift(charts, key), _lines(pair), class_="columns"),
        card("What changed", drawn_table(metrics_table(pair, pair.metrics, every=False))) if pair.metrics else None,
        class_="kernel",
        open=unfolded,
    )


def _lines(pair: Pair) -> Markup | None:
    if not pair.lines:
        return None
    return card("Lines whose share of the samples moved", drawn_table(lines_table(pair.lines, lambda _: None)))


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


def _shift(charts: Charts, key: str) -> Markup | None:
    """Return where both stand under their roofs, at each level where both have a point."""
    levels = [one for one in LEVEL_LABELS if charts and all(point_at(chart, one) for chart in charts)]
    if charts is None or not levels:
        return None
    options = {LEVEL_LABELS[level]: _at_level(charts, level) for level in levels}
    before, after = (point_at(chart, levels[0]) for chart in charts)
    heading = words.roofline_headline(before, after) if before and after else ""
    return card(heading, choices(key, "Level", options))


def _at_level(charts: tuple[Roofline, Roofline], level: Level) -> list[Markup]:
    before, after = (point_at(chart, level) for chart in charts)
    if before is None or after is None:
        return []
    return [
        tag("p", words.roofline_note(before, after), class_="muted note"),
        figure(
            lambda theme, width: roofline_shift(*charts, level, theme, width),
            ALL_WIDTHS,
            words.roofline_headline(before, after),
        ),
        folded("Values as a table", value_table(roofline_table(before, after))),
        tag("p", words.roofline_foot(level), class_="card-foot muted"),
    ]
