"""What the Compare page holds beside figures: what is compared, comparability, the banner, and where lines lead."""

from __future__ import annotations

from typing import Any

from dash import dcc, html

from ncu_lab.model import LaunchSummary, RunMeta
from ncu_lab.model.comparison import Comparison, MovedLine, Pair
from ncu_lab.render import compare_words as words
from ncu_lab.render.cause_words import change_sentence
from ncu_lab.render.change_words import reason_words
from ncu_lab.render.diff import tally_words
from ncu_lab.render.visible import visible
from ncu_lab_dash.compare_choices import run_label
from ncu_lab_dash.compare_data import ShownPair
from ncu_lab_dash.compare_figures import nothing_to_compare, said
from ncu_lab_dash.compare_view import CompareView
from ncu_lab_dash.kernel_cards import context_items
from ncu_lab_dash.kernel_view import KernelView, kernel_address
from ncu_lab_dash.parts import unbroken

_TINTS = {"faster": " faster", "slower": " slower"}


def context(comparison: Comparison, launches: int) -> list[Any]:
    """Return the line that says what B was measured on, and which runs are compared."""
    same = {one.id for one in comparison.a.runs} == {one.id for one in comparison.b.runs}
    told = "A: the same run" if same else f"A: {_runs(comparison.a.runs)}"
    return [*context_items(comparison.b.meta, launches), html.Span(visible(told))]


def _runs(metas: tuple[RunMeta, ...]) -> str:
    return run_label(metas[0]) if len(metas) == 1 else f"{len(metas)} runs of one commit"


def chips(shown: ShownPair) -> list[Any]:
    """Return what agrees between both sides and what does not, then, in words, what is not comparable."""
    if not shown.pair.is_on_both_sides:
        return []
    told = [
        html.Span(unbroken(visible(text)), className=f"chip {kind}".strip())
        for kind, text in words.comparability_chips(shown.pair)
    ]
    forbidden = words.forbidden_words(shown.pair.comparability)
    caution = words.cautions(shown.pair.comparability)
    lines = [html.P(visible(text)) for text in (*forbidden, *([caution] if caution else []))]
    return [html.Div(told, className="chip-row"), *([html.Div(lines, className="muted")] if lines else [])]


def banner_class(shown: ShownPair) -> str:
    """Return how the banner is tinted: by the verdict on time."""
    verdict = shown.pair.duration.verdict if shown.pair.duration else ""
    return f"banner{_TINTS.get(verdict, '')}"


def banner(shown: ShownPair, comparison: Comparison) -> list[Any]:
    """Return the sentence of the chosen pair, why, how sure, and where to look on."""
    sentence = change_sentence(comparison, shown.pair)
    told = [f"{sentence}."] if sentence else []
    told += words.banner_words(shown.pair, shown.contributions, itself=shown.itself)
    links = [_link(shown.pair.run_a, shown.pair.chosen_a, "A"), _link(shown.pair.run_b, shown.pair.chosen_b, "B")]
    many = [html.P(visible(tally_words(comparison)), className="muted")] if len(comparison.pairs) > 1 else []
    return [
        html.H1(unbroken(visible(words.banner_head(shown.pair)))),
        *(html.P(unbroken(visible(text))) for text in told),
        *many,
        html.Div([one for one in links if one is not None], className="buttons"),
    ]


def _link(run: RunMeta | None, launch: LaunchSummary | None, letter: str) -> Any:
    if run is None or launch is None:
        return None
    return dcc.Link(f"Open {letter} as a kernel", href=kernel_address(run.id, launch=launch.launch), className="button")


def line_address(pair: Pair, line: MovedLine) -> str | None:
    """Return where a moved line can be looked at: in B, or in A where B does not have it."""
    run, launch, number = (pair.run_b, pair.chosen_b, line.line_b)
    if number is None:
        run, launch, number = (pair.run_a, pair.chosen_a, line.line_a)
    if run is None or launch is None:
        return None
    return f"/kernel{KernelView(run=run.id, launch=launch.launch, line=f'{line.file}:{number}').search()}"


def no_lines(shown: ShownPair) -> Any:
    """Return what stands in place of the lines where none moved: why."""
    pair = shown.pair
    if (absent := nothing_to_compare(shown)) is not None:
        return absent
    if (against := pair.comparability.against("noisy")) is not None:
        return said("Samples are not comparable", f"Because of {against}.")
    return said(
        "No line is known to have moved",
        "Either none moved by a hundredth of the samples, or one side has no samples by line: profile with "
        "--section SourceCounters, compiled with -lineinfo.",
    )


def no_metrics(shown: ShownPair) -> Any:
    """Return what stands in place of the quantities where there is none to show."""
    if (absent := nothing_to_compare(shown)) is not None:
        return absent
    return said("Nothing changed", "All quantities of both sides are the same; Show All lists them.")


def pairs_note(comparison: Comparison) -> str:
    """Say how kernels were paired, and what forbids comparing them."""
    reasons = "; ".join(reason_words(one) for one in comparison.reasons)
    return f"Choose a pair to see why it changed. {f'Not comparable: {reasons}.' if reasons else ''}".strip()


def shown_query(view: CompareView) -> Any:
    """Return what a copied link names where the address left the choice to the page."""
    return html.Span(view.search().removeprefix("?"), className="shown-query", hidden=True)
