"""Figures, tables and sentences of two launches beside each other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import summary

from ncu_lab.analyze.ideal_changes import against_ideal
from ncu_lab.model import RooflinePoint
from ncu_lab.model.comparison import MetricChange, MovedLine, Pair, TimeChange
from ncu_lab.render import compare_tables as tables
from ncu_lab.render import compare_words as words
from ncu_lab.render.figures.dumbbell import change_text, dumbbell_figure, wait_changes
from ncu_lab.render.palette import DARK, LIGHT, stall_colour

A, B = summary("1d"), summary("2d")


def metric(key, a, b, verdict="changed", kind="exact", **more):
    return MetricChange(key, a, b, more.pop("unit", ""), kind, "neutral", verdict, n_a=1, n_b=1, **more)


def pair(**more):
    return Pair("matched", "choice", (A,), (B,), A, B, confidence=1.0, **more)


def test_dumbbells_hold_the_cycles_of_both_in_stacking_order():
    changes = wait_changes(A, B, "cycles")
    figure = dumbbell_figure(changes, "cycles", LIGHT, 600)
    points = {one.name: one.x[0] for one in figure.data if one.mode == "markers"}
    assert points["A barrier"] == A.stall_cycles["barrier"]
    assert points["B barrier"] == B.stall_cycles["barrier"]
    rows = list(figure.layout.yaxis.ticktext)
    assert rows.index("selected") < rows.index("barrier") < rows.index("long scoreboard")
    line = next(one for one in figure.data if one.name == "barrier")
    assert line.line.color == stall_colour("barrier", LIGHT)
    assert dumbbell_figure(changes, "cycles", DARK, 320).layout.height == figure.layout.height


def test_shares_sum_to_one_and_are_drawn_in_percent():
    changes = wait_changes(A, B, "share")
    assert sum(one.a or 0.0 for one in changes) == pytest.approx(1.0)
    figure = dumbbell_figure(changes, "share", LIGHT, 600)
    points = {one.name: one.x[0] for one in figure.data if one.mode == "markers"}
    assert points["B barrier"] == pytest.approx(100.0 * B.stalls["barrier"])


def test_a_reason_that_one_side_lacks_is_missing_not_zero():
    without = replace(A, stall_cycles={name: value for name, value in A.stall_cycles.items() if name != "barrier"})
    found = next(one for one in wait_changes(without, B, "cycles") if one.reason == "barrier")
    assert (found.a, found.delta) == (None, None)
    figure = dumbbell_figure(wait_changes(without, B, "cycles"), "cycles", LIGHT, 600)
    assert not any(one.name == "A barrier" for one in figure.data)
    assert "–" in [note.text for note in figure.layout.annotations]
    assert wait_changes(replace(A, stall_cycles={}), B, "cycles") == []


@pytest.mark.parametrize(
    ("delta", "scale", "text"),
    [(0.651, "cycles", "+0.65"), (-0.38, "cycles", "−0.38"), (0.0, "cycles", "0"), (1e-4, "cycles", "≈ 0"),
     (-0.032, "share", "−3.2"), (None, "share", "–")],
)  # fmt: skip
def test_changes_are_written_with_their_sign(delta, scale, text):
    assert change_text(delta, scale) == text


@pytest.mark.parametrize(
    ("ratio", "bar"),
    [(1.0, [50.0, 0.0]), (2.0, [50.0, 25.0]), (0.5, [25.0, 25.0]), (4.0, [50.0, 50.0]), (100.0, [50.0, 50.0]),
     (0.01, [0.0, 50.0]), (0.0, [0.0, 50.0]), (None, [])],
)  # fmt: skip
def test_ratio_bars_are_logarithmic_from_the_middle(ratio, bar):
    assert tables.ratio_bar(ratio) == bar


def test_sectors_are_judged_against_their_ideal():
    counted = metric("global_load_sectors_per_request", 4.84, 16.48, unit="sector/request")
    ideal = metric("global_load_sectors_ideal", 4.0, 16.0, unit="sector/request")
    (found,) = against_ideal([counted, ideal])
    assert (found.key, found.verdict) == ("global_load_sectors_over_ideal", "better")
    assert (found.a, found.b) == pytest.approx((1.21, 1.03))
    table = tables.metrics_table(pair(metrics=(counted, ideal)), [found], every=False)
    cells = table["rows"][1]["cells"]
    assert cells[0]["text"] == "Global load sectors ÷ ideal"
    assert cells[-1].replace("\u202f", " ") == "4.84 of 4.00 → 16.5 of 16.0 a request"


def test_sectors_that_kept_their_distance_from_the_ideal_are_the_same():
    wider = [metric("global_store_sectors_per_request", 4.0, 16.0), metric("global_store_sectors_ideal", 4.0, 16.0)]
    assert against_ideal(wider)[0].verdict == "same"
    unknown = [metric("global_store_sectors_per_request", 4.0, 16.0), metric("global_store_sectors_ideal", None, 16.0)]
    assert against_ideal(unknown) == tuple(unknown)
    apart = [replace(wider[0], verdict="not_comparable", reason="another GPU"), wider[1]]
    assert (against_ideal(apart)[0].verdict, against_ideal(apart)[0].reason) == ("not_comparable", "another GPU")


def test_quantities_are_grouped_and_equal_ones_counted():
    found = [
        metric("instructions_issued", 100.0, 90.0, "better", unit="inst"),
        metric("flop", 5.0, 5.0, "same"),
        metric("dram_bytes", 0.0, 8.0, "worse", "noisy", unit="byte"),
    ]
    time = TimeChange(2e6, 1e6, 10, 10, "timings", "faster", ratio=0.5, low=0.5, high=0.5, p=1e-5)
    shown = tables.metrics_table(pair(duration=time), found, every=False)
    assert [row["key"] for row in shown["rows"]] == ["exact", "instructions_issued", "noisy", "time", "dram_bytes"]
    assert shown["note"] == "1 quantity is the same"
    assert shown["rows"][1]["cells"][3] == {"text": "−10.0\u202f%", "value": pytest.approx(-10.0)}
    assert shown["rows"][4]["cells"][3] == "+8.00\u202fB"
    every = tables.metrics_table(pair(), found, every=True)
    assert "flop" in [row["key"] for row in every["rows"]]


def test_pairs_have_keys_that_do_not_repeat_and_chosen_rows():
    loose = replace(B, stage=None, function="saxpy")
    pairs = [pair(), replace(pair(), launches_b=(loose,)), replace(pair(), launches_b=(loose,))]
    assert tables.pair_keys(pairs) == ["2d", "saxpy", "saxpy~2"]
    table = tables.pairs_table(pairs, "saxpy", "pair")
    assert [row["chosen"] for row in table["rows"]] == [False, True, False]
    assert table["rows"][0]["cells"][0] == {"place": "1d → 2d", "choose": "pair"}


def test_a_kernel_on_one_side_shows_its_time_there():
    added = Pair("added", None, (), (B,), None, B)
    cells = tables.pairs_table([added], None, "pair")["rows"][0]["cells"]
    assert cells[3] == "–"
    assert cells[4]["value"] == B.value("duration_ns")
    assert cells[6] == {"chip": "", "text": "added"}
    assert words.banner_head(added) == "2d: only in B"


def test_moved_lines_say_where_they_are_and_what_became_of_them():
    lines = [
        MovedLine("kernels/a.cu", 3, None, "x += 1;", 0.5, 0.0),
        MovedLine("kernels/a.cu", 4, 6, None, 0.1, 0.3),
    ]
    table = tables.lines_table(lines, lambda line: f"/kernel?line={line.line_b}" if line.line_b else None)
    first, second = (row["cells"] for row in table["rows"])
    assert (first[0], first[1]["code"], first[5]) == ("a.cu:3", "x += 1;", "gone")
    assert (second[0], second[5]) == ({"link": "/kernel?line=6", "text": "a.cu:6"}, "was line 4")
    assert first[4] == {"text": "−50.0", "value": -50.0}
    assert words.lines_headline(lines).replace("\u2009", " ") == "a.cu:3 went from 50 % to 0.0 % of the samples"
    assert words.lines_headline([]) == "Source lines whose samples moved"


def test_sentences_count_and_name_what_changed():
    found = [metric("flop", 1.0, 2.0), metric("dram_bytes", 1.0, 2.0, "worse"), metric("l2_bytes", 1.0, 1.0, "same")]
    assert words.metrics_headline(found) == "Metric by metric: one worse, one changed"
    assert words.metrics_headline(found[2:]) == "Metric by metric: nothing changed"
    headline = words.waits_headline(wait_changes(A, B, "cycles"), "cycles")
    assert "shrank by" in headline
    assert headline.endswith("cycles")
    assert words.waits_headline(wait_changes(A, A, "cycles"), "cycles") == "What the warps wait for hardly changed"
    a, b = (RooflinePoint("x", "l1", 1.0, 1.0, share) for share in (0.494, 0.9))
    assert words.roofline_headline(a, b).replace("\u2009", " ") == "From 49 % to 90 % of the roof above it"
