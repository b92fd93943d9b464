"""The waterfall and the steps: bars where the parts say, labels where they fit, one net."""

import math
from dataclasses import replace

import pytest
from builders import ladder, row

from ncu_lab.analyze.attribution import split
from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.model import Factors
from ncu_lab.render.attribution import waterfall
from ncu_lab.render.figures.attribution import HATCHES, waterfall_figure
from ncu_lab.render.figures.steps import FAMILY_REASONS, step_rows, step_words, steps_figure
from ncu_lab.render.palette import DARK, LIGHT, stall_colour, stall_family

# 1000 x 4 / 2 / 1e9 = 2000 ns; 500 x 6 / 2 / 1e9 = 1500 ns.
A = Factors(0, "full", 2000.0, 1000.0, {"selected": 1.0, "barrier": 1.0, "lg_throttle": 2.0}, 2.0, 1.0, 1e9)
B = Factors(0, "full", 1500.0, 500.0, {"selected": 1.0, "barrier": 2.0, "lg_throttle": 3.0}, 2.0, 1.0, 1e9)
CHANGE = split(A, B)


def bars(figure):
    return {trace.name: trace for trace in figure.data if trace.type == "bar"}


@pytest.fixture
def figure():
    return waterfall_figure(CHANGE, "A · 1d", "B · 2d", LIGHT, 620)


def test_bars_begin_where_the_one_above_ends_and_lead_from_a_to_b(figure):
    at = 2.0
    for drawn in [trace for trace in figure.data if trace.name != "duration"]:
        assert drawn.base[0] == pytest.approx(at)
        at += drawn.x[0]
    assert at == pytest.approx(1.5)
    assert list(bars(figure)["duration"].x) == [2.0, 1.5]
    assert figure.layout.xaxis.title.text == "duration, µs"


def test_parts_are_as_worked_out_by_hand(figure):
    # L(2000, 1500) = 500 / ln(4 / 3) = 1738.03; of instructions - ln 2, of each reason 1 / L(4, 6) = ln 1.5 / 2.
    mean = 500 / math.log(4 / 3)
    assert bars(figure)["instructions"].x[0] == pytest.approx(-mean * math.log(2) / 1000)
    assert bars(figure)["barrier"].x[0] == pytest.approx(mean * math.log(1.5) / 2 / 1000)


def test_stalls_have_their_colour_and_other_factors_a_hatch(figure):
    drawn = bars(figure)
    for theme in (LIGHT, DARK):
        themed = bars(waterfall_figure(CHANGE, "A", "B", theme, 620))
        assert themed["barrier"].marker.color == stall_colour("barrier", theme)
    for factor, hatch in HATCHES.items():
        assert drawn[factor].marker.pattern.shape == hatch
        assert drawn[factor].marker.color == LIGHT.card
    assert drawn["residual"].marker.pattern.shape is None


def test_every_row_is_named_with_its_values_and_its_part(figure):
    names = list(figure.layout.yaxis.ticktext)
    assert names[0] == "<b>A · 1d</b>"
    assert names[-1] == "<b>B · 2d</b>"
    assert names[1] == f'instructions  <span style="color:{LIGHT.muted}">1.00\u2009k → 500</span>'
    assert len(names) == len([one for one in waterfall(CHANGE) if one.factor != "net"]) + 2
    texts = [one.text for one in figure.layout.annotations]
    assert any("▼ −1.20\u2009µs" in text and LIGHT.better in text for text in texts)
    assert any("▲ +0.35\u2009µs" in text and LIGHT.worse in text for text in texts)


@pytest.mark.parametrize(
    ("form", "issued", "imbalance"),
    [
        ("full", "smsp__inst_issued.avg", "smsp__cycles_elapsed.avg ÷ smsp__cycles_active.avg"),
        ("targeted", "smsp__inst_executed.avg", "gpc__cycles_elapsed.max ÷ sm__cycles_active.avg"),
    ],
)
def test_every_factor_tells_on_hover_which_counters_it_is_read_from(form, issued, imbalance):
    change = split(replace(A, form=form), replace(B, form=form))
    told = {
        name: bar.hovertext[0].split("<br>")[-1]
        for name, bar in bars(waterfall_figure(change, "A", "B", LIGHT, 620)).items()
    }
    assert (told["instructions"], told["imbalance"]) == (issued, imbalance)
    assert told["warps"] == "smsp__warps_active.avg.per_cycle_active"
    assert told["clock"].endswith("cycles_elapsed.avg.per_second")
    assert told["barrier"].startswith("smsp__average_warps_issue_stalled_barrier")
    assert "__" not in told["residual"]


def test_one_bracket_nets_stalls_and_warps(figure):
    assert [one.text for one in figure.layout.annotations][-2:] == ["stalls ÷ warps", "net ▲ +0.70\u2009µs"]
    [bracket] = [shape for shape in figure.layout.shapes if shape.type == "path"]
    inside = [y for y, one in enumerate(one for one in waterfall(CHANGE) if one.factor != "net") if one.bracket]
    assert f" {inside[0] + 1 - 0.31} " in bracket.path
    assert f" {inside[-1] + 1 + 0.31}" in bracket.path


def test_a_label_stands_left_of_a_shorter_bar_only_where_it_fits():
    long = split(A, replace(B, duration_ns=20.0, instructions=5.0, stalls={"selected": 1.0, "lg_throttle": 7.0}))
    drawn = waterfall_figure(long, "A", "B", LIGHT, 500)
    placed = {one.text: one.xshift for one in drawn.layout.annotations if one.xshift is not None}
    shifts = [shift for text, shift in placed.items() if "▼" in text]
    assert min(shifts) < 0 or max(shifts) > 0
    assert waterfall_figure(long, "A", "B", LIGHT, 900).layout.height == drawn.layout.height


def test_a_narrow_waterfall_has_its_labels_above_the_bars():
    wide, narrow = (waterfall_figure(CHANGE, "A · 1d", "B · 2d", LIGHT, width) for width in (620, 360))
    assert narrow.layout.margin.l < 20 < wide.layout.margin.l
    assert not any(narrow.layout.yaxis.ticktext)
    labels = {one.text: one.y for one in narrow.layout.annotations}
    for place, text in enumerate(wide.layout.yaxis.ticktext):
        assert place - 0.5 < labels[text] < place
    # The lines from bar to bar are drawn below, and are not seen through a label.
    assert {one.bgcolor for one in narrow.layout.annotations if one.text in wide.layout.yaxis.ticktext} == {LIGHT.card}
    assert {one.layer for one in narrow.layout.shapes if one.type == "line"} == {"below"}
    assert [one.x for one in narrow.data] == [one.x for one in wide.data]


def test_no_change_is_neither_better_nor_worse():
    texts = [one.text for one in waterfall_figure(split(A, A), "A", "B", LIGHT, 620).layout.annotations]
    parts = [text for text in texts if "= 0.00" in text and "span" in text]
    assert parts
    assert all(LIGHT.muted in text for text in parts)


def stepped():
    return ladder(rows=[row("1d"), replace(row("2d"), attribution=CHANGE)], references=[])


def test_a_step_stacks_its_log2_factors_outwards():
    drawn = bars(steps_figure(stepped(), LIGHT, 620))
    assert drawn["Instructions"].x[0] == pytest.approx(-1.0)  # half of them
    assert drawn["Instructions"].base[0] == 0
    # log2 1.5 = 0.585, half to each of two families; the second begins where the first ends.
    half = math.log2(1.5) / 2
    assert drawn["Synchronisation"].x[0] == pytest.approx(half)
    assert drawn["Global memory / L1TEX"].base[0] == pytest.approx(half)
    assert "Warps in flight" not in drawn


def test_the_mark_is_the_step_and_words_say_it():
    figure = steps_figure(stepped(), LIGHT, 620, selected="2d")
    [net] = [trace for trace in figure.data if trace.name == "step"]
    assert list(net.x) == [pytest.approx(math.log2(0.75))]
    [found] = step_rows(stepped())
    assert step_words(found) == "▼ 1.33× faster"
    assert step_words(replace(found, total=1.0)) == "▲ 2.00× slower"
    assert step_words(replace(found, total=0.001)) == "= 1.00×"
    assert any(shape.fillcolor == LIGHT.selection for shape in figure.layout.shapes)
    assert list(figure.layout.yaxis.ticktext) == ["1d → <b>2d</b>"]


def test_ticks_are_powers_of_two_that_hold_every_stack():
    axis = steps_figure(stepped(), LIGHT, 620).layout.xaxis
    assert list(axis.ticktext) == ["÷2", "1", "×2"]
    assert list(axis.range) == [-1.2, 1.2]


def test_a_ladder_without_splits_is_an_empty_figure():
    assert step_rows(ladder(rows=[row("2d")], references=[])) == []
    assert steps_figure(ladder(rows=[row("2d")], references=[]), LIGHT, 620).layout.height > 0


def test_every_family_has_a_reason_of_its_own_whose_colour_stands_for_it():
    assert list(FAMILY_REASONS) == list(STALL_FAMILIES)
    assert all(stall_family(reason) == family for family, reason in FAMILY_REASONS.items())


def test_a_narrow_figure_of_steps_names_the_stage_alone_and_keeps_room_for_its_bars():
    found = ladder(rows=[replace(row("2d"), attribution=CHANGE)], references=[])
    wide, narrow = (steps_figure(found, LIGHT, width) for width in (620, 260))
    assert list(wide.layout.yaxis.ticktext) == ["1d → <b>2d</b>"]
    assert [one.text for one in wide.layout.annotations] == ["▼ 1.33× faster"]
    assert list(narrow.layout.yaxis.ticktext) == ["<b>2d</b>"]
    assert [one.text for one in narrow.layout.annotations] == ["▼ 1.33×"]
