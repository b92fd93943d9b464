"""The ladder's figures: values as measured, gaps as gaps, text that fits."""

import itertools
from dataclasses import replace

import builders
import pytest

from ncu_lab.metrics import stall_cycles
from ncu_lab.model import Ladder, Problem, Stage
from ncu_lab.render.figures import matrix, roofline, speed, stalls
from ncu_lab.render.figures.canvas import Canvas, log_range, round_ticks, spaced
from ncu_lab.render.figures.rows import place_rows, stage_label
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.palette import DARK, LIGHT, stall_colour


@pytest.fixture(scope="module")
def ladder() -> Ladder:
    return builders.ladder()


def traces(figure, name):
    return [trace for trace in figure.data if trace.name == name]


def texts(figure):
    return [annotation.text for annotation in figure.layout.annotations]


def value_at(trace, stage):
    return list(trace.x)[list(trace.customdata).index(stage)]


def test_rows_keep_ladder_order_and_references_stand_below_a_gap(ladder):
    rows = place_rows(ladder)
    assert [placed.id for placed in rows.placed][:3] == ["naive", "coalesced", "smem"]
    assert [placed.y for placed in rows.placed] == [*range(11), 12, 13]
    assert (rows.count, rows.gap_y, rows.first_reference_y) == (14, 11, 12)


def test_sorting_by_duration_puts_the_slowest_first_and_the_untimed_last(ladder):
    rows = list(ladder.rows)
    rows[3] = replace(rows[3], median_ns=None)
    placed = place_rows(replace(ladder, rows=tuple(rows)), "duration").placed
    assert [entry.id for entry in placed][:2] == ["naive", "coalesced"]
    assert [entry.id for entry in placed][10] == "smem-conflict"


def test_a_ladder_without_references_has_no_gap():
    rows = place_rows(builders.ladder(references=[]))
    assert (rows.count, rows.gap_y, rows.first_reference_y) == (11, None, None)


def test_stages_are_named_by_precision_where_it_is_not_fp32():
    assert [stage_label(builders.STAGES[stage]) for stage in ("2d", "wmma", "cublas-tf32")] == [
        "2d",
        "wmma (FP16)",
        "cuBLAS TF32",
    ]


def test_a_reference_is_named_by_its_library():
    cutlass = Stage("cutlass-bf16", "CUTLASS BF16", "", "", "bf16", library_math="cutlass", reference="cublas-bf16")
    assert stage_label(cutlass) == "CUTLASS BF16"


def test_the_line_of_cublas_runs_over_the_rows_that_are_measured_against_it_alone():
    # Rows from 0: ten FP32 stages, wmma, a gap, cuBLAS FP32 and TF32, CUTLASS.
    cutlass = Stage("cutlass-fp32", "CUTLASS FP32", "", "", "fp32", library_math="cutlass", reference="cublas-fp32")
    references = [builders.row(stage) for stage in ("cublas-fp32", "cublas-tf32")]
    references.append(replace(references[0], stage=cutlass))
    figure = matrix.ladder_matrix(builders.ladder(references=references), LIGHT, 1358)
    (line,) = traces(figure, "cuBLAS FP32")
    assert line.y == (-0.5, 9.5, None, 13.5, 14.5, None)
    assert set(line.x) == {references[0].median_ns, None}


def test_the_matrix_has_five_panels_over_one_y_axis(ladder):
    figure = matrix.ladder_matrix(ladder, LIGHT, 1358)
    assert {trace.xaxis for trace in figure.data} == {"x", "x2", "x3", "x4", "x5"}
    assert {trace.yaxis for trace in figure.data} == {"y"}
    assert figure.layout.height == matrix.TOP_PX + 14 * 33 + 26
    domains = [figure.layout[f"xaxis{number}"].domain for number in ("", 2, 3, 4, 5)]
    assert all(left[1] < right[0] for left, right in itertools.pairwise(domains))


def test_stalls_are_shares_of_all_warp_cycles(ladder):
    figure = matrix.ladder_matrix(ladder, LIGHT, 1358)
    # By hand from the golden report: lg_throttle over the sum of all reasons.
    cycles = stall_cycles(builders.golden_counters()["naive"]["metrics"].items())
    expected = 100 * cycles["lg_throttle"] / sum(cycles.values())
    (trace,) = traces(figure, "lg throttle")
    assert value_at(trace, "naive") == pytest.approx(expected)
    assert expected == pytest.approx(91.4, abs=0.1)
    bars = [trace for trace in figure.data if trace.xaxis == "x2" and trace.type == "bar"]
    assert sum(value_at(trace, "2d") for trace in bars) == pytest.approx(100.0)
    assert next(trace.name for trace in bars) == "selected"
    assert [trace.name for trace in bars][-1] == "long scoreboard"


def test_stalls_as_cycles_sum_to_cycles_per_instruction(ladder):
    figure = matrix.ladder_matrix(ladder, LIGHT, 1358, scale="cycles")
    bars = [trace for trace in figure.data if trace.xaxis == "x2" and trace.type == "bar"]
    total = sum(value_at(trace, "1d") for trace in bars)
    metrics = builders.golden_counters()["1d"]["metrics"]
    assert total == pytest.approx(metrics["smsp__average_warp_latency_per_inst_issued.ratio"], rel=0.01)


def test_bars_have_the_colour_of_their_reason_in_each_theme(ladder):
    for theme in (LIGHT, DARK):
        (trace,) = traces(matrix.ladder_matrix(ladder, theme, 1358), "barrier")
        assert trace.marker.color == stall_colour("barrier", theme)


def test_a_name_stands_in_a_bar_only_where_it_fits():
    words = [stalls.bar_text("long_scoreboard", "26", px) for px in (300, 90, 40, 8)]
    assert words == ["long scoreboard 26", "long sb. 26", "26", ""]
    for px in range(0, 200, 7):
        assert text_width(stalls.bar_text("long_scoreboard", "26", px), SMALL) <= px


def test_gaps_never_wipe_out_a_tiny_bar(ladder):
    (trace,) = traces(matrix.ladder_matrix(ladder, LIGHT, 1358, scale="cycles"), "long scoreboard")
    widths = dict(zip(trace.customdata, trace.marker.line.width, strict=True))
    assert widths["naive"] == 1
    assert widths["cublas-fp32"] == 0


def test_sectors_and_conflicts_over_their_ideal_are_marked(ladder):
    figure = matrix.ladder_matrix(ladder, LIGHT, 1358)
    (sectors, conflicts) = traces(figure, "loads")
    assert value_at(sectors, "2d") == pytest.approx(5.647, abs=1e-3)
    colours = dict(zip(sectors.customdata, sectors.marker.color, strict=True))
    assert colours["2d"] == LIGHT.worse  # 5.65 of 4
    assert colours["coalesced"] == LIGHT.text  # 2.5 of 4
    assert colours["vectorized"] == LIGHT.text  # 16.9 of 16: a float4 load needs 16
    assert value_at(conflicts, "2d") == pytest.approx(10485760 / (10485760 - 4194304))
    (_, stores) = traces(figure, "stores")
    assert value_at(stores, "smem-conflict") == pytest.approx(16.68, abs=0.01)


def test_no_trace_of_the_matrix_is_without_points():
    bare = builders.ladder(rows=[builders.row("2d", profiled=False)], references=[])
    drawn = matrix.ladder_matrix(bare, LIGHT, 1200)
    assert len(drawn.data) > 0
    assert all(len(trace.x) for trace in drawn.data)


def test_missing_counters_leave_a_dashed_cell_and_never_a_zero():
    rows = [
        builders.row("2d"),
        builders.row(
            "vectorized",
            without=(
                "stalls", "global_load_sectors_per_request", "global_store_sectors_per_request",
                "shared_load_wavefronts_over_ideal", "shared_store_wavefronts_over_ideal", "achieved_occupancy_pct",
            ),
        ),
        builders.row("warptiled", profiled=False),
    ]  # fmt: skip
    figure = matrix.ladder_matrix(builders.ladder(rows=rows), LIGHT, 1358)
    dashed = [shape for shape in figure.layout.shapes if shape.type == "rect" and shape.line.dash == "dot"]
    assert len(dashed) == 2 * 4
    assert texts(figure).count("not collected: profile with --section WarpStateStats") == 2
    for trace in figure.data:
        stages = list(trace.customdata or ())
        assert "warptiled" not in stages or trace.name.startswith(("duration", "theoretical")), trace.name
        assert "vectorized" not in stages or trace.name in ("duration", "theoretical occupancy"), trace.name


def test_an_untimed_stage_keeps_its_row():
    rows = [builders.row("2d"), replace(builders.row("1d"), median_ns=None, flop_per_s=None, time_source="none")]
    figure = matrix.ladder_matrix(builders.ladder(rows=rows), LIGHT, 1358)
    (dots,) = traces(figure, "duration")
    assert list(dots.customdata) == ["2d"]
    assert list(figure.layout.yaxis.ticktext)[:2] == ["2d", "1d"]


def test_a_kernel_without_shared_memory_says_so_in_words(ladder):
    assert texts(matrix.ladder_matrix(ladder, LIGHT, 1358)).count("no shared memory") == 3  # naive, coalesced, wmma


def test_the_selected_stage_is_bold_with_a_band(ladder):
    figure = matrix.ladder_matrix(ladder, LIGHT, 1358, selected="2d")
    assert "<b>2d</b>" in figure.layout.yaxis.ticktext
    (band,) = [shape for shape in figure.layout.shapes if shape.fillcolor == LIGHT.selection]
    assert (band.y0, band.y1) == (5.5, 6.5)
    unselected = matrix.ladder_matrix(ladder, LIGHT, 1358)
    assert all(shape.fillcolor != LIGHT.selection for shape in unselected.layout.shapes)


@pytest.mark.parametrize("name", matrix.PANELS)
def test_a_narrow_page_gets_one_panel_with_its_own_names(ladder, name):
    figure = matrix.ladder_panel(ladder, LIGHT, 344, name)
    assert {trace.xaxis for trace in figure.data} <= {"x"}  # of theory none, where nothing is expected
    assert "double-buffered" in figure.layout.yaxis.ticktext


@pytest.mark.parametrize("width", [1198, 1358, 2166])
def test_duration_labels_fit_into_their_panel(ladder, width):
    figure = matrix.ladder_matrix(ladder, LIGHT, width)
    left, right = figure.layout.xaxis.range
    plot = width - figure.layout.margin.l - figure.layout.margin.r
    start, end = (edge * plot for edge in figure.layout.xaxis.domain)
    for annotation in figure.layout.annotations:
        if annotation.xref == "x":
            shown = annotation.text.replace(f'<span style="color:{LIGHT.muted}">', "").replace("</span>", "")
            at = start + (annotation.x - left) / (right - left) * (end - start)
            assert at + annotation.xshift + text_width(shown) <= end + 1


@pytest.mark.parametrize("width", [1100, 1184, 1358, 2460])
def test_headings_and_words_in_place_of_marks_end_before_the_next_panel(ladder, width):
    figure = matrix.ladder_matrix(ladder, LIGHT, width)
    plot = width - figure.layout.margin.l - figure.layout.margin.r
    headings = [one for one in figure.layout.annotations if one.yref == "paper" and one.text.startswith("<b>")]
    starts = [one.x * plot for one in headings]
    ends = {one.x * plot: text_width(one.text[3:-4], one.font.size * 1.08) for one in headings}  # bold is wider
    for one in figure.layout.annotations:
        if one.text == "no shared memory":
            ends[one.x * plot] = text_width(one.text, one.font.size)
    assert (len(starts), len(ends)) == (len(matrix.PANELS), len(matrix.PANELS) + 1)
    for x, wide in ends.items():
        assert x + wide <= min((start for start in starts if start > x), default=plot) - 8


def test_kernel_names_are_text_never_markup():
    assert plain("gemm<float, 8> & co") == "gemm&lt;float, 8&gt; &amp; co"
    hostile = replace(builders.STAGES["2d"], id="<img src=x>")
    row = replace(builders.row("2d"), stage=hostile)
    figure = matrix.ladder_matrix(builders.ladder(rows=[row]), LIGHT, 1358, selected="<img src=x>")
    shown = [*texts(figure), *figure.layout.yaxis.ticktext]
    shown += [text for trace in figure.data for text in trace.hovertext or ()]
    assert any("&lt;img" in text for text in shown)
    assert not any("<img" in text for text in shown)


def test_a_name_written_from_right_to_left_turns_nothing_beside_it_in_a_figure():
    name = "\u05e9\u05dc\u05d5\u05dd"
    row = replace(builders.row("2d"), stage=replace(builders.STAGES["2d"], id=f"{name}<64>\u202e"))
    figure = matrix.ladder_matrix(builders.ladder(rows=[row]), LIGHT, 1358)
    shown = [*texts(figure), *figure.layout.yaxis.ticktext]
    shown += [text for trace in figure.data for text in trace.hovertext or ()]
    named = [text for text in shown if name in text]
    assert len(named) > 5  # the row, and what is said of marks in each panel
    assert all(f"\u2068{name}\u2069&lt;64&gt;\\u202e" in text for text in named)
    assert not any("\u202e" in text for text in shown)


def test_speed_bars_start_at_zero_and_hold_fp32_alone(ladder):
    figure = speed.speed_bars(ladder, LIGHT, 680)
    (bars,) = traces(figure, "speed")
    assert "wmma" not in bars.customdata
    assert "cublas-tf32" not in bars.customdata
    assert figure.layout.xaxis.range[0] == 0
    # 2 · 1024³ / 127.2 µs
    assert value_at(bars, "1d") == pytest.approx(16.88, abs=0.01)


def test_steps_name_the_predecessor_where_it_is_not_the_row_above(ladder):
    rows = place_rows(speed.fp32_only(ladder))
    words = {placed.id: speed.step_words(placed.row, rows) for placed in rows.placed}
    assert words["coalesced"] == "▼ 12.5× faster"
    assert words["1d"] == "▼ 1.94× faster than smem"
    assert words["2d"] == "▲ 1.56× slower"
    assert words["naive"] == ""


def test_the_roofline_places_stages_under_their_roof(ladder):
    figure = roofline.roofline(ladder, LIGHT, 680)
    (points,) = traces(figure, "stages")
    assert value_at(points, "naive") == pytest.approx(0.015144, rel=1e-3)
    assert "wmma" not in points.customdata
    (roof,) = traces(figure, "roof")
    compute, memory = (peak.per_second for peak in (builders.roofs()[4], builders.roofs()[0]))
    assert roof.y[1] == pytest.approx(compute)
    assert roof.x[1] == pytest.approx(compute / memory)


def test_the_path_leads_from_the_predecessor_and_the_side_branch_is_dotted(ladder):
    figure = roofline.roofline(ladder, LIGHT, 680)
    dashes = {trace.name: trace.line.dash for trace in figure.data if " to " in trace.name}
    assert dashes["smem to 1d"] == "solid"
    assert dashes["smem to smem-conflict"] == "dot"
    assert dashes["smem-conflict to smem-padded"] == "dot"
    assert "smem-padded to 1d" not in dashes


def test_the_selected_stage_keeps_its_number_and_takes_the_accent(ladder):
    for stage, number in (("2d", "7"), ("warptiled", "10")):
        figure = roofline.roofline(ladder, LIGHT, 680, selected=stage)
        (points,) = traces(figure, "stages")
        (drawn,) = traces(figure, "numbers")
        assert drawn.text[list(drawn.customdata).index(stage)] == number
        assert points.marker.color[list(points.customdata).index(stage)] == LIGHT.accent


def test_no_mark_of_the_roofline_has_an_empty_text(ladder):
    # Plotly removes the node of an empty text, and a later redraw does not bring it back.
    for selected in (None, "double-buffered"):
        for trace in roofline.roofline(ladder, LIGHT, 680, selected=selected).data:
            assert all(trace.text or ())


@pytest.mark.parametrize("width", [342, 590, 680, 1050])
def test_no_label_of_the_speeds_stands_on_the_line_of_cublas(ladder, width):
    figure = speed.speed_bars(ladder, LIGHT, width)
    (line,) = traces(figure, "cuBLAS FP32")
    _, most = figure.layout.xaxis.range
    plot = width - figure.layout.margin.l - figure.layout.margin.r
    line_px = line.x[0] / most * figure.layout.xaxis.domain[1] * plot
    for annotation in figure.layout.annotations:
        if annotation.xref == "paper" and annotation.text != "references":
            start = annotation.x * plot - (text_width(annotation.text, SMALL) if annotation.xanchor == "right" else 0)
            assert start > line_px + 3, annotation.text
    shown = [text for text in texts(figure) if text.endswith("FLOP/s")]
    assert len(shown) == 11


def test_rail_labels_never_overlap(ladder):
    figure = roofline.roofline(ladder, LIGHT, 680)
    plot = figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
    names = [
        annotation.y * plot
        for annotation in figure.layout.annotations
        if annotation.xref == "paper" and annotation.xanchor == "left"
    ]
    assert len(names) == 11
    ordered = sorted(names)
    assert all(high - low >= 16.9 for low, high in itertools.pairwise(ordered))
    assert ordered[0] >= 0


def test_a_level_without_points_says_what_to_profile(ladder):
    chart = ladder.roofline("fp32")
    bare = replace(chart, points=tuple(point for point in chart.points if point.level != "l2"))
    figure = roofline.roofline(replace(ladder, rooflines=(bare,)), LIGHT, 680, "l2")
    assert len(figure.data) == 0
    assert any("profile with --section" in text for text in texts(figure))


def test_an_empty_ladder_draws_without_an_error():
    empty = Ladder(None, builders.ladder().environment, Problem(1, 1, 1), (), ())
    assert matrix.ladder_matrix(empty, LIGHT, 1358).layout.height > 0
    assert speed.speed_bars(empty, LIGHT, 680).layout.height > 0


def test_log_ranges_leave_the_room_asked_for():
    start, end = log_range(1.0, 100.0, 200.0, 10.0, 40.0)
    per_px = (end - start) / 200
    assert (0 - start) / per_px == pytest.approx(10)
    assert (end - 2) / per_px == pytest.approx(40)


def test_ticks_are_round_and_apart():
    assert round_ticks(34.9) == [0, 10, 20, 30]
    assert round_ticks(430) == [0, 200, 400]
    ticks = [(float(n), str(n)) for n in range(6)]
    assert spaced(ticks, 100) == ticks
    assert spaced(ticks, 10) == ticks[::2]


def test_a_property_that_plotly_does_not_know_is_caught_here() -> None:
    with pytest.raises(ValueError, match="colour"):
        Canvas(LIGHT, 300).figure(100, {"l": 0}, colour="red")
