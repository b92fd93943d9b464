"""The figures of the Compare page: drawn where there is anything to draw, else why not stands in their place."""

from __future__ import annotations

from typing import Any

from dash import html

from ncu_lab.metrics import METRICS
from ncu_lab.model import Attribution, Unattributed
from ncu_lab.render import compare_tables as tables
from ncu_lab.render import compare_words as words
from ncu_lab.render.attribution import unattributed_words
from ncu_lab.render.change_words import pair_name
from ncu_lab.render.figures.attribution import waterfall_figure
from ncu_lab.render.figures.dumbbell import LEAST_SHARE, dumbbell_figure, has_cycles, wait_changes
from ncu_lab.render.figures.roofline import LEVEL_LABELS
from ncu_lab.render.figures.roofline_shift import point_at, roofline_shift
from ncu_lab.render.launch_cards import CHEAP, Card, command_for
from ncu_lab.render.visible import visible
from ncu_lab_dash.compare_data import ShownPair
from ncu_lab_dash.compare_view import CompareView
from ncu_lab_dash.kernel_figures import Drawn
from ncu_lab_dash.parts import not_collected
from ncu_lab_dash.screen import Screen, column_width, theme_of

_LONGEST_NAME = 22


def said(text: str, *more: str) -> html.Div:
    """Return what stands in place of a figure that cannot be drawn: why, in words."""
    return html.Div([html.B(visible(text)), *(html.P(visible(one)) for one in more if one)], className="missing")


def nothing_to_compare(shown: ShownPair) -> html.Div | None:
    """Return what stands in place of every figure where a kernel is on one side alone, or compared with itself."""
    if shown.itself:
        return said("Nothing changed", "A and B are the same launches.")
    if shown.pair.is_on_both_sides:
        return None
    side = "A" if shown.pair.status == "removed" else "B"
    return said(
        f"Only in {side}: {pair_name(shown.pair)}", "Choose a pair that both have, or one stage of each side, above."
    )


def _against(shown: ShownPair) -> html.Div | None:
    """Return what stands in place of counters that are not comparable; None where they are."""
    against = shown.pair.comparability.against("noisy")
    return said("⊘ Not comparable", f"Because of {against}. Open either as a kernel, above.") if against else None


def _to_collect(shown: ShownPair, what: str, *sections: str) -> Any:
    """Return what stands in place of a figure whose counters one side lacks."""
    launch = shown.pair.chosen_b or shown.pair.chosen_a
    return not_collected(what, sections, CHEAP, command_for(launch, *sections) if launch else "")


def side_names(shown: ShownPair) -> tuple[str, str]:
    """Name both launches beside a figure: ``A · 2d``; long names are cut, the banner has them in full."""
    names = []
    for letter, launch in (("A", shown.pair.chosen_a), ("B", shown.pair.chosen_b)):
        name = visible((launch.stage or launch.function) if launch else "")
        names.append(f"{letter} · {name if len(name) <= _LONGEST_NAME else f'{name[: _LONGEST_NAME - 1]}…'}")
    return names[0], names[1]


def draw_waterfall(shown: ShownPair, view: CompareView, screen: Screen) -> Drawn:
    """Draw how A's duration becomes B's."""
    title, split = "Why the duration changed", shown.pair.attribution
    if (absent := nothing_to_compare(shown)) is not None:
        return Drawn(Card(title), None, absent)
    if isinstance(split, Unattributed):
        return Drawn(Card(title), None, _unattributed(shown, split))
    if not isinstance(split, Attribution):
        against = shown.pair.comparability.against("profiled_time")
        return Drawn(Card(title), None, said("⊘ Not comparable", f"Because of {against}." if against else ""))
    a, b = side_names(shown)
    figure = waterfall_figure(split, a, b, theme_of(view.theme, screen), column_width(screen))
    note = (
        "Durations under the profiler, split exactly by the logarithmic mean: parts and residual sum to B − A. "
        "Instructions and warps are a scheduler's, waits cycles per instruction."
    )
    return Drawn(Card(words.waterfall_headline(split), note, table=tables.waterfall_table(split)), figure)


def _unattributed(shown: ShownPair, why: Unattributed) -> Any:
    if why.why == "not_collected" and why.sections:
        side = f" of {' and '.join(one.upper() for one in why.sides)}" if len(why.sides) == 1 else ""
        return _to_collect(shown, f"what the duration is made of{side}", *why.sections)
    return said("The change cannot be split", unattributed_words(why))


def draw_waits(shown: ShownPair, view: CompareView, screen: Screen) -> Drawn:
    """Draw what the warps of both wait for."""
    title, pair = "What the warps wait for", shown.pair
    absent = nothing_to_compare(shown) or _against(shown)
    if absent is not None or pair.chosen_a is None or pair.chosen_b is None:
        return Drawn(Card(title), None, absent)
    cycles = has_cycles(pair.chosen_a, pair.chosen_b)
    scale = view.waits if cycles else "share"
    changes = wait_changes(pair.chosen_a, pair.chosen_b, scale)
    if not changes:
        lacking = [
            name for name, one in (("A", pair.chosen_a), ("B", pair.chosen_b)) if not one.stalls
        ]  # fmt: skip
        section = METRICS["warp_cycles_per_instruction"].section
        what = f"what the warps of {' and '.join(lacking)} wait for"
        return Drawn(Card(title), None, _to_collect(shown, what, section))
    figure = dumbbell_figure(changes, scale, theme_of(view.theme, screen), column_width(screen))
    drawn = sum(one.least >= LEAST_SHARE for one in changes)
    note = words.waits_note(changes, drawn, scale)
    if not cycles:
        note += " Only shares are known of both."
    foot = "In the order in which stalls stack: issuing first, global memory last. One launch a side, n = 1 + 1."
    return Drawn(Card(words.waits_headline(changes, scale), note, foot, tables.waits_table(changes, scale)), figure)


def draw_shift(shown: ShownPair, view: CompareView, screen: Screen) -> Drawn:
    """Draw where both stand under their roofs."""
    title = "Where they stand under the roof"
    absent = nothing_to_compare(shown) or _against(shown)
    if absent is not None:
        return Drawn(Card(title), None, absent)
    level = view.level
    a, b = shown.rooflines or (None, None)
    before, after = point_at(a, level), point_at(b, level)
    if a is None or b is None or before is None or after is None:
        if shown.rooflines is not None:
            return Drawn(Card(title), None, said(f"No point of both at {LEVEL_LABELS[level]}", "Choose another level."))
        sections = (METRICS["flop"].section, METRICS["l1_bytes"].section)
        missing = _to_collect(shown, "operations and bytes of both launches in one precision", *sections)
        return Drawn(Card(title), None, missing)
    figure = roofline_shift(a, b, level, theme_of(view.theme, screen), column_width(screen))
    note, foot = words.roofline_note(before, after), words.roofline_foot(level)
    return Drawn(Card(words.roofline_headline(before, after), note, foot, tables.roofline_table(before, after)), figure)
