"""The stages of a run beside each other, as the dashboard's Ladder page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import get_args

import plotly.graph_objects as go

from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.model import ORIGINS, Family, Ladder
from ncu_lab.render import headlines, ladder_words
from ncu_lab.render.expectations import finding_columns, finding_rows, lacking, tally_words
from ncu_lab.render.explanation import ladder_sentences
from ncu_lab.render.figures import matrix, roofline, speed, steps
from ncu_lab.render.figures.attribution import HATCHES
from ncu_lab.render.figures.roofline import LEVEL_LABELS, Level, level_points
from ncu_lab.render.figures.stalls import Scale, legend_reasons
from ncu_lab.render.ladder_cards import published_note
from ncu_lab.render.page.drawings import ALL_WIDTHS, PAGE_WIDTHS, PANEL_WIDTHS, card, choices, figure
from ncu_lab.render.page.markup import Markup, tag
from ncu_lab.render.page.tables import column_table, folded, value_table
from ncu_lab.render.palette import FAMILY_TITLES, Theme, stall_family, stall_label
from ncu_lab.render.published import published_columns, published_rows
from ncu_lab.render.steps import all_step_rows, step_columns

_SCALES: Mapping[Scale, str] = {"share": "Share", "cycles": "Cycles per instruction"}


def ladder_part(ladder: Ladder, key: str) -> Markup:
    """Return the cards of a ladder.

    Args:
        ladder: Whose.
        key: Tells it from other ladders of the page.
    """
    sentences = [tag("p", one.words) for one in ladder_sentences(ladder.explanation)]
    charts = [_roofline_card(ladder, chart.family, key) for chart in ladder.rooflines]
    cards = [*charts, _steps_card(ladder), _speed_card(ladder)]
    return tag(
        "div",
        tag("h2", headlines.ladder_headline(ladder)),
        tag("div", sentences, class_="lead muted"),
        _matrix_card(ladder, key),
        tag("div", cards, class_="columns"),
        _theory_card(ladder),
        _published_card(ladder),
        [tag("p", notice.message, class_="muted note") for notice in ladder.omitted],
    )


def legend(ladder: Ladder) -> Markup:
    """Return the stall reasons by family, in the order they stack."""
    reasons = legend_reasons(ladder)
    families = []
    for family in STALL_FAMILIES:
        members = [reason for reason in reasons if stall_family(reason) == family]
        keys = [
            tag(
                "span",
                tag("i", class_="swatch", style=f"background:{stall_variable(one)}"),
                stall_label(one),
                class_="key",
            )
            for one in members
        ]
        if keys:
            families.append(tag("div", tag("b", FAMILY_TITLES[family]), keys, class_="family"))
    return tag("div", families, class_="legend")


def stall_variable(reason: str) -> str:
    """Return the colour of a stall reason as the page's style names it, for whichever theme is shown."""
    return f"var(--stall-{reason.replace('_', '-')}, var(--stall-misc))"


def _matrix_card(ladder: Ladder, key: str) -> Markup:
    label = headlines.matrix_headline(ladder)
    wide = {title: figure(partial(_matrix, ladder, scale), PAGE_WIDTHS, label) for scale, title in _SCALES.items()}
    panels = {
        matrix.PANELS[name].title: [
            tag("p", matrix.panel_note(name, ladder), class_="muted note"),
            figure(partial(_panel, ladder, name), PANEL_WIDTHS, matrix.PANELS[name].title),
        ]
        for name in get_args(matrix.PanelName)
    }
    lines = (ladder_words.MATRIX_FOOT, published_note(ladder), *headlines.not_collected(ladder))
    foot = [tag("p", line) for line in lines if line]
    return card(
        label,
        legend(ladder),
        tag("div", choices(f"{key}-stalls", "Stalls as", wide), class_="matrix-wide"),
        tag("div", choices(f"{key}-panel", "Panel", panels), class_="matrix-narrow"),
        folded("Values as a table", value_table(ladder_words.matrix_table(ladder))),
        note="Read along a stage, down a metric; a click on a stage opens its kernel below.",
        foot=foot,
    )


def _matrix(ladder: Ladder, scale: Scale, theme: Theme, width: int) -> go.Figure:
    return matrix.ladder_matrix(ladder, theme, width, scale=scale)


def _panel(ladder: Ladder, name: matrix.PanelName, theme: Theme, width: int) -> go.Figure:
    return matrix.ladder_panel(ladder, theme, width, name)


def _roofline_card(ladder: Ladder, family: Family, key: str) -> Markup:
    levels: list[Level] = [level for level in LEVEL_LABELS if level_points(ladder, level, family)]
    options = {LEVEL_LABELS[level]: _at_level(ladder, level, family) for level in levels}
    title = headlines.roofline_headline(ladder, levels[0], family) if levels else "Roofline"
    note = "Arrows lead from each stage's predecessor; dotted: side branches. Shaded: out of reach."
    return card(title, choices(f"{key}-{family}-level", "Level", options), note=note) if levels else Markup("")


def _at_level(ladder: Ladder, level: Level, family: Family) -> list[Markup]:
    label = headlines.roofline_headline(ladder, level, family)
    return [
        figure(
            lambda theme, width: roofline.roofline(ladder, theme, width, level, family),
            ALL_WIDTHS,
            label,
            named_from=roofline.RAIL_FROM_PX,
        ),
        folded("Values as a table", value_table(ladder_words.roofline_table(ladder, level, family))),
        tag("p", ladder_words.roofline_foot(ladder, level, family), class_="card-foot muted"),
    ]


def _steps_card(ladder: Ladder) -> Markup:
    rows = all_step_rows(ladder)
    if not steps.step_rows(ladder):
        return Markup("")
    note = "Each bar splits one step by the counters of both launches; factors multiply. ◆ the step itself."
    return card(
        "What bought each step",
        _steps_legend(ladder),
        figure(lambda theme, width: steps.steps_figure(ladder, theme, width), ALL_WIDTHS, "What bought each step"),
        folded("Values as a table", column_table(rows, step_columns())),
        note=note,
    )


def _steps_legend(ladder: Ladder) -> Markup:
    """Return the families with the letters that stand in their bars, and the hatches of the other factors."""
    families = [
        tag(
            "span",
            tag("i", steps.FAMILY_SIGNS[name][1], class_="swatch sign", style=_sign_style(name)),
            FAMILY_TITLES[name],
            class_="key",
        )
        for name in steps.families_shown(ladder)
    ]
    hatched = [
        tag("span", tag("i", HATCHES[name], class_="swatch sign"), title, class_="key")
        for name, title in steps.FACTOR_TITLES.items()
    ]
    return tag("div", families, hatched, class_="legend")


def _sign_style(family: str) -> str:
    reason = steps.FAMILY_REASONS[family]
    return f"background:{stall_variable(reason)}; color:{stall_variable(f'{reason}_text')}"


def _speed_card(ladder: Ladder) -> Markup:
    title = headlines.speed_headline(ladder)
    note = "Work 2·m·n·k over the duration, % of cuBLAS FP32 (dotted). Right: duration against the predecessor."
    note = f"{note} {published_note(ladder)}".strip()
    return card(
        title, figure(lambda theme, width: speed.speed_bars(ladder, theme, width), ALL_WIDTHS, title), note=note
    )


def _theory_card(ladder: Ladder) -> Markup:
    rows = (*ladder.rows, *ladder.references)
    findings = [finding for row in rows for finding in row.findings]
    if not findings:
        return Markup("")
    origins = "; ".join(f"{origin}: {told}" for origin, told in ORIGINS.items())
    foot = [tag("p", f"{origins}."), *(tag("p", line) for line in lacking(rows))]
    return card(
        f"Against theory: {tally_words(findings)}",
        column_table(finding_rows(rows), finding_columns(), ("derivation",)),
        note="What each stage declares that it changes, and what the counters say.",
        foot=foot,
    )


def _published_card(ladder: Ladder) -> Markup:
    rows = published_rows(ladder)
    if not ladder.published or not rows:
        return Markup("")
    return card(
        "Published figures beside these",
        column_table(rows, published_columns(ladder, rows)),
        note="What others measured of such stages, on other GPUs: shapes compare, times do not.",
    )
