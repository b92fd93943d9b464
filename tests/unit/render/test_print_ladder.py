import io
import json
from dataclasses import replace

from builders import ladder, row
from golden_runs import golden_run

from ncu_lab.analyze.ladder import build_ladder
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Notice
from ncu_lab.render.documents import ladder_document
from ncu_lab.render.ladder import ladder_columns, ladder_rows, print_ladder
from ncu_lab.render.tables import json_text
from ncu_lab.render.terminal import Terminal, emit

SMALL = ladder(rows=[row("naive"), row("coalesced"), row("smem-conflict"), row("2d")], references=[row("cublas-fp32")])
WHOLE = ladder()


def printed(shown, width=80):
    stream = io.StringIO()
    print_ladder(shown, Terminal(stream, width))
    return stream.getvalue().splitlines()


def test_the_whole_table_at_80_columns():
    assert printed(SMALL) == [
        "1024³ · NVIDIA H200 · ncu 2025.3.1 · clocks not locked · profiled durations",
        "stage             time  of ref  waits mostly        sect/req   confl.     step",
        "naive          4.42 ms   1.4 %  lg throttle 91 %      16.5          –        –",
        "coalesced       355 µs    17 %  lg throttle 35 %      2.50          –  ▼ 12.5×",
        "smem-conflict   434 µs    14 %  mio throttle 59 %     4.00    16.7× ✗  ▲ 1.76×",
        "2d              198 µs    31 %  long scoreb. 31 %     5.65    1.67× ✗  ▲ 1.56×",
        "",
        "cublas-fp32    61.4 µs       –  long scoreb. 7.5 %    4.00    1.00× ✓        –",
        "no room for: TFLOP/s, bound, regs, occup., roof (widen the terminal, or --format",
        "csv)",
        "Next: ncu-lab show 20261130T011207-ladder-4f2c9ab-91c3 --stage 2d",
        "      ncu-lab dashboard",
    ]


def test_no_line_of_the_whole_ladder_is_wider_than_80():
    lines = printed(WHOLE)
    assert len(lines) == 20
    assert max(len(line) for line in lines) <= 80


def test_wide_terminals_get_every_column():
    lines = printed(SMALL, 120)
    assert lines[1].split("  ")[-1].strip() == "roof"
    assert not any(line.startswith("no room") for line in lines)
    assert [line.split("  ")[-1] for line in lines[2:6]] == ["L1 96 %", "L1 72 %", "L1 92 %", "L1 25 %"]


def test_the_bound_stands_where_there_is_room():
    lines = printed(SMALL, 110)
    start = lines[1].index("bound")
    bounds = [line[start:].split()[0] for line in lines[2:6]]
    assert bounds == ["memory", "memory", "shared", "launch"]


def test_times_of_two_sources_are_marked():
    mixed = ladder(rows=[row("1d", samples_ns=(100e3, 101e3, 102e3)), row("2d")], references=[])
    lines = printed(mixed)
    assert lines[0].endswith("medians of 3")
    assert " 101 µs " in lines[2]
    assert " 198 µs*" in lines[3]
    assert "* under the profiler" in " ".join(lines)


def test_what_is_left_out_is_told():
    lines = printed(replace(SMALL, omitted=(Notice("not_measured", "not measured: wmma"),)))
    assert "not measured: wmma" in lines


def test_rows_of_several_runs_name_theirs():
    several = replace(SMALL, rows=(replace(SMALL.rows[0], run="another"), *SMALL.rows[1:]))
    assert printed(several, 200)[2].endswith("  another")


def test_a_stage_that_was_only_timed_has_no_counters():
    timed = ladder(rows=[row("2d", samples_ns=(5e3,) * 3, profiled=False)], references=[])
    cells = printed(timed, 120)[2].split()
    assert cells[:3] == ["2d", "5.00", "µs"]
    assert cells.count("–") == 7  # bound, waits, sectors, conflicts, registers, occupancy, roof


def test_json_has_the_documented_shape():
    document = json.loads(json_text(ladder_document(SMALL)))
    assert document["schema"] == 1
    assert {"device", "problem", "stages"} <= set(document)
    stage = document["stages"][3]
    documented = {
        "stage", "run", "median_ns", "gflops", "pct_of_reference", "reference", "metrics", "stalls", "verdict",
    }  # fmt: skip
    assert documented <= set(stage)
    assert stage["stage"] == "2d"
    assert stage["median_ns"] == 197_984.0
    assert stage["gflops"] == 2 * 1024**3 / 197_984.0
    assert stage["reference"] == "cublas-fp32"
    assert stage["verdict"]["bound"] == "launch"
    assert stage["verdict"]["because"] == ["64 blocks for 132 SMs", "no unit is above 25 % of its peak (L1)"]
    assert 0 < stage["pct_of_reference"] < 100
    assert stage["metrics"]["registers_per_thread"] == {
        "value": 130.0, "unit": "register/thread", "metric": "launch__registers_per_thread",
    }  # fmt: skip
    assert abs(sum(stage["stalls"].values()) - 1.0) < 1e-9
    assert [one["stage"] for one in document["references"]] == ["cublas-fp32"]
    assert document["references"][0]["pct_of_reference"] is None


def test_csv_and_markdown_hold_the_same_rows():
    rows = ladder_rows(SMALL)
    stream = io.StringIO()
    emit(rows, ladder_columns(), "markdown", stream)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2 + 5
    assert lines[2].startswith("| naive | 4.42 ms | 0.485 | 1.4 % | memory | lg throttle 91 % |")


def test_the_real_registry_fits():
    stages = load_stages()
    built = build_ladder([golden_run()], stages, WHOLE.problem)
    assert [shown.stage.id for shown in built.rows] == [shown.stage.id for shown in WHOLE.rows]
