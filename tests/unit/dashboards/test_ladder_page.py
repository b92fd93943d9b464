"""The ladder page's cards without a browser: the tray, the steps, the waterfall of any two stages, what dims."""

import json
import math
from dataclasses import replace

import pytest

from ncu_lab.errors import InputError
from ncu_lab.model import Attribution, Expectation, Finding, PublishedFigure
from ncu_lab.render import ladder_cards as words
from ncu_lab.render.figures import matrix
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.render.palette import DIMMED, LIGHT, stall_family
from ncu_lab.resources import data_dir
from ncu_lab.workflows.climbing import attribute_stages, ladder
from ncu_lab_dash.ladder_cards import (
    actions,
    ends,
    ends_json,
    findings_table,
    focus_legend,
    show_fall,
    show_steps,
    show_theory,
)
from ncu_lab_dash.ladder_layout import empty_state, unmatched
from ncu_lab_dash.pages.ladder import draw_matrix
from ncu_lab_dash.screen import Screen
from ncu_lab_dash.view import View, read_search

SCREEN = Screen(1280)


@pytest.fixture(scope="module")
def shown():
    return ladder(data_dir("examples"), size=4096)


def text_of(component):
    """Return all words of a component, in order."""
    if component is None:
        return ""
    if isinstance(component, str):
        return plain_spaces(component)
    if isinstance(component, list | tuple):
        return " ".join(filter(None, (text_of(one).strip() for one in component)))
    return text_of(getattr(component, "children", None))


def finding(status, measured=None, lacks=""):
    expected = Expectation("build:registers", "at_most", None, 128, "theory", "64 sums and 64 others.")
    return Finding(expected, status, measured, None if measured is None else 128 - measured, lacks)


def test_a_stage_that_is_not_on_the_ladder_is_said_with_the_nearest_and_a_way_out(shown):
    told = unmatched(shown, View(stage="warptield"), SCREEN)
    assert text_of(told).startswith(
        'No stage "warptield" on this ladder. Nearest: warptiled. It has: naive, coalesced,'
    )
    assert "cublas-fp32" in text_of(told)
    assert "Nearest" not in text_of(unmatched(shown, View(stage="?"), SCREEN))
    assert words.no_waterfall(shown, "", "warptield", None) == "warptield is not on this ladder."
    assert unmatched(shown, View(stage="2d"), SCREEN) is None
    assert unmatched(shown, View(), SCREEN) is None


def test_any_two_stages_are_split_and_the_parts_add_up(shown):
    for a, b in (("naive", "2d"), ("2d", "naive"), ("smem-conflict", "cublas-fp32"), ("wmma", "1d")):
        found = attribute_stages(shown, a, b)
        assert isinstance(found, Attribution)
        durations = [shown.row(one).summary.value("duration_ns") for one in (a, b)]
        assert [found.a_ns, found.b_ns] == durations
        assert sum(one.ns for one in found.parts) + found.residual_ns == pytest.approx(durations[1] - durations[0])
    assert attribute_stages(shown, "naive", "gone") is None
    assert attribute_stages(shown, None, "2d") is None


def test_a_step_by_hand_is_the_split_of_the_registered_predecessor(shown):
    assert attribute_stages(shown, "1d", "2d") == shown.row("2d").attribution


def test_the_waterfall_follows_the_selection_until_its_ends_are_chosen(shown):
    assert ends(shown, View(stage="2d")) == ("1d", "2d")
    assert ends(shown, View(stage="1d")) == ("smem", "1d")  # the registered predecessor, not the row above
    assert ends(shown, View()) == ("warptiled", "sgemm-hopper")  # the last step of the longest row
    assert ends(replace(shown, chain=None), View())[1] == shown.rows[-1].stage.id
    assert ends(shown, View(stage="naive")) == ("naive", "coalesced")
    assert ends(shown, View(stage="wmma", b="2d")) == ("1d", "2d")
    assert ends(shown, View(stage="2d", a="naive")) == ("naive", "2d")
    assert ends(shown, View(stage="cublas-fp32")) == ("sgemm-hopper", "cublas-fp32")  # the fastest against it
    assert ends(shown, View(b="naive")) == ("cublas-fp32", "naive")
    offered = json.loads(ends_json(shown, View(a="naive")))
    assert [one["value"] for one in offered] == ["naive", "auto"]
    assert [one["value"] for one in offered[0]["options"]] == [
        "auto", *(row.stage.id for row in (*shown.rows, *shown.references)),
    ]  # fmt: skip


def test_the_waterfall_card_tells_the_change_by_factors(shown):
    figure, class_name, state, title, note, foot, table, _ = show_fall(shown, View(a="naive", b="2d"), SCREEN)
    assert (class_name, state) == ("", None)
    naive, two = (shown.row(one).summary.value("duration_ns") for one in ("naive", "2d"))
    assert title.startswith(f"naive → 2d: ▼ {naive / two:.1f}× faster, ")
    assert "n = 1 each" in note
    assert "Not the same work" not in foot
    rows = json.loads(table)["rows"]
    parts = [row[2]["value"] for row in rows if row[1] != "net"]
    assert sum(parts) == pytest.approx(two - naive)
    assert figure.data[0].name == "duration"
    other = show_fall(shown, View(a="wmma", b="2d"), SCREEN)[5]
    assert "Not the same work: wmma multiplies FP16, 2d FP32." in other


def test_no_waterfall_says_why(shown):
    def why(a, b, of=shown):
        return text_of(show_fall(of, View(a=a, b=b), SCREEN)[2])

    assert "Both ends are 2d" in why("2d", "2d")
    assert "gone is not on this ladder" in why("gone", "2d")
    bare = replace(shown, rows=tuple(replace(row, summary=None, counters={}) for row in shown.rows))
    assert "naive was timed but not profiled" in why("naive", "2d", bare)
    short = replace(shown, rows=tuple(replace(row, counters={}) for row in shown.rows))
    assert "not collected: --section" in why("naive", "2d", short)


def test_the_title_of_the_steps_multiplies_to_the_whole(shown):
    title = words.steps_card(shown).title
    first, last = (shown.row(one).summary.value("duration_ns") for one in ("naive", "sgemm-hopper"))
    assert title.startswith(f"naive to sgemm-hopper: ▼ {first / last:.0f}× faster, ")
    assert "by stalls ÷ warps" in title
    nothing = replace(shown, chain=None, rows=())
    assert show_steps(nothing, View(), SCREEN)[1] == "no-figure"
    assert words.steps_card(nothing).title == "What bought each step"


def test_the_table_of_the_steps_holds_the_same_logs(shown):
    table = json.loads(show_steps(shown, View(), SCREEN)[5])
    rows = {row[0]["text"] if isinstance(row[0], dict) else row[0]: row for row in table["rows"]}
    at = table["header"].index("inst.")
    coalesced = shown.row("coalesced").attribution
    assert rows["coalesced"][at]["value"] == pytest.approx(
        math.log2(coalesced.part("instructions").value_b / coalesced.part("instructions").value_a)
    )


def test_the_tray_shows_what_was_expected_and_by_sign_what_came_of_it():
    table = findings_table([finding("met", 120.0), finding("missed", 130.0), finding("not_collected", lacks="--x")])
    assert [text_of(row) for row in table.children[1].children] == [
        "registers ≤ 128 120 ✓ met theory 64 sums and 64 others.",
        "registers ≤ 128 130 ✗ missed theory 64 sums and 64 others.",
        "registers ≤ 128 – – not collected needs --x theory 64 sums and 64 others.",
    ]


def test_the_tray_without_a_stage_counts_all_and_tells_how_to_choose(shown):
    title, note, buttons, body, _, table = show_theory(shown, View(), SCREEN)
    findings = [one for row in (*shown.rows, *shown.references) for one in row.findings]
    met = sum(one.status == "met" for one in findings)
    assert title.startswith(f"Against theory: {met} of {len(findings)} expectations met")
    assert "Choose a stage" in note
    assert buttons == body == []
    assert len(json.loads(table)["rows"]) == len(findings)


def test_the_selected_stage_leads_to_its_kernel_and_the_comparison_with_its_predecessor(shown):
    row = shown.row("1d")
    assert [one.href for one in actions(shown, row)] == [
        f"/kernel?run={row.run}&stage=1d",
        f"/compare?a={row.run}&sa=smem&b={row.run}&sb=1d",
    ]
    assert [text_of(one) for one in actions(shown, shown.row("naive"))] == ["Open kernel"]
    assert actions(shown, replace(row, summary=None))[0].href.startswith("/compare?")


def test_a_family_dims_all_others_and_removes_nothing(shown):
    whole = draw_matrix(shown, View(), SCREEN)
    drawn = draw_matrix(shown, View(focus="sync"), SCREEN)
    assert len(whole.data) == len(drawn.data)
    stalls = [one for one in drawn.data if one.type == "bar" and one.xaxis == "x2"]
    assert {one.opacity for one in stalls if stall_family(one.name.replace(" ", "_")) == "sync"} == {1.0}
    assert {one.opacity for one in stalls if stall_family(one.name.replace(" ", "_")) != "sync"} == {DIMMED}
    buttons = [one.children[0] for one in focus_legend(["barrier", "selected"], LIGHT)]
    assert [getattr(one, "data-key") for one in buttons] == ["issuing", "sync"]
    assert read_search("?focus=global+%2F+L1TEX").focus == "global / L1TEX"
    assert read_search("?focus=evil").focus is None


def test_badges_count_by_sign_and_nothing_expected_is_said(shown):
    row = replace(shown.row("2d"), findings=(finding("met", 120.0), finding("met", 1.0), finding("missed", 130.0)))
    bare = replace(shown.row("1d"), findings=())
    figure = matrix.ladder_panel(replace(shown, rows=(bare, row), references=()), LIGHT, 344, "theory")
    assert {one.name: list(one.text) for one in figure.data} == {"met": ["✓ 2"], "missed": ["✗ 1"]}
    assert [list(one.y) for one in figure.data] == [[1.0], [1.0]]
    assert "2 of 3 expectations met" in figure.data[0].hovertext[0]
    assert "none declared" in [one.text for one in figure.layout.annotations]


def test_a_published_share_stands_at_the_same_share_of_ones_own_reference(shown):
    figure = PublishedFigure("2d", "A6000", "4092³", "speed", 160.0, "GFLOP/s", "a log", "u", "", 0.5, 1.9)
    alone = replace(figure, stage="wmma", share_of_reference=None)
    published = replace(shown, published=(figure, alone))
    (mark,) = [one for one in draw_matrix(published, View(), SCREEN).data if one.name == "published"]
    assert list(mark.x) == [pytest.approx(shown.row("cublas-fp32").median_ns / 0.5, rel=1e-3)]
    assert list(mark.customdata) == ["2d"]
    assert "A6000, 4092³" in mark.hovertext[0]
    assert words.published_note(shown) != ""  # the bundled ones
    assert words.published_note(replace(shown, published=())) == ""
    assert words.published_foot(published).startswith("Published: A6000, by a log.")


def test_a_store_of_other_programs_says_where_they_are_shown():
    error = InputError("no runs of the ladder in reports")
    words_of = text_of(empty_state(error, any_ladder=False, others=3))
    assert "3 runs here are of other programs" in words_of
    assert "List runs" in words_of
    assert "of other programs" not in text_of(empty_state(error, any_ladder=False))
