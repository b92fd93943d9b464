"""Words and tables of the page: formats of the house, missing as an en dash."""

from dataclasses import replace

import builders
import pytest

from ncu_lab.model import Notice
from ncu_lab.render import ladder_words as words
from ncu_lab.render.launch_tables import Cell
from ncu_lab.render.numbers import THIN
from ncu_lab_dash.pages.ladder import choices, stage_options


def test_the_context_line_names_what_must_agree():
    ladder = replace(builders.ladder(), omitted=(Notice("no_stage", "2 launches of no stage"),))
    items = [" ".join(part for part in pair if part) for pair in words.context_items(ladder)]
    assert items == [
        "NVIDIA H200 CC 9.0 · 132 SMs",
        "1024 × 1024 × 1024 C = A·B, row-major",
        "ncu 2025.3.1 · CUDA 13.0 · driver 580.159",
        "clocks not locked",
        "profiler durations, n = 1",
        "2 launches of no stage",
    ]


def test_mixed_sources_of_time_are_both_named():
    rows = [
        builders.row("2d", samples_ns=(1.0,) * 10),
        builders.row("1d", samples_ns=(1.0,) * 20),
        builders.row("smem"),
    ]
    assert words.times_source(rows) == "unprofiled medians, n = 10 to 20; profiler durations, n = 1 for smem"
    assert words.times_source([replace(rows[2], time_source="none")]) == "no times"


def test_the_table_shows_missing_values_as_dashes_and_never_zero():
    row = builders.row("2d", profiled=False)
    header, rows = words.matrix_table(builders.ladder(rows=[row], references=[builders.row("cublas-fp32")]))
    cells = dict(zip(header, rows[0], strict=True))
    assert cells["Duration"] == Cell(f"198{THIN}µs", row.median_ns)
    assert cells["Of cuBLAS"] == Cell(f"31.0{THIN}%", 100.0 * row.share_of_reference)
    absent = ("Sectors per load", "Occupancy", "Registers", "Cycles per instruction")
    assert {cells[name] for name in absent} == {Cell("–", None)}
    assert "0" not in {cell.text for line in rows for cell in line[1:]}


def test_the_roofline_table_numbers_stages_as_the_figure_does():
    header, rows = words.roofline_table(builders.ladder(), "l1")
    assert header == ["Stage", "TFLOP/s", "FLOP per byte", "Of roof", "Roof"]
    assert rows[0][0] == "1  naive"
    assert rows[0][1].text == "0.486"
    assert rows[0][1].value == pytest.approx(0.486, abs=5e-4)
    assert rows[-1][0] == "■  cuBLAS FP32"


def test_the_roofline_says_what_it_leaves_out():
    ladder = builders.ladder()
    assert words.roofline_foot(ladder, "l1").endswith("Not drawn, as their roofs are others: 2 tensor-core launches.")
    assert words.roofline_foot(ladder, "l1", "tensor").endswith("others: 11 FP32 launches.")
    assert "Not drawn" not in words.roofline_foot(builders.ladder(rows=[builders.row("2d")], references=[]), "l2")
    assert "have no point here" in words.roofline_foot(ladder, "shared")
    assert "Dashed" not in words.roofline_foot(ladder, "l1")


def test_focusable_rows_follow_the_figure_with_the_gap_before_the_references():
    options = stage_options(builders.ladder(), "ladder")
    assert [option["value"] for option in options][-4:] == ["wmma", "", "cublas-fp32", "cublas-tf32"]
    assert len(options) == 14


def test_what_is_shown_and_alone_is_no_choice_and_the_newest_is_marked():
    assert choices([("1024", "1024³")], "1024", "1024") == []
    assert choices([("1024", "1024³")], "4096", "1024") == [{"label": "1024³, newest", "value": "1024"}]
    assert choices([("1024", "1024³"), ("4096", "4096³")], "1024", "4096") == [
        {"label": "1024³", "value": "1024"},
        {"label": "4096³, newest", "value": "4096"},
    ]


def test_runs_that_no_ladder_shows_are_counted_with_what_lists_them():
    assert words.others_line(0, "ncu-lab runs") == ""
    assert words.others_line(1, "ncu-lab runs --example") == (
        "Not on this page: 1 run that is imported, failed or of another program. See ncu-lab runs --example"
    )
    assert "3 runs that are imported" in words.others_line(3, "ncu-lab runs")
