import io
import json
from dataclasses import replace

import pytest
from builders import STAGES, summary
from golden_runs import golden_run

from ncu_lab.analyze.ladder import build_ladder
from ncu_lab.analyze.roofline import launch_roofline
from ncu_lab.analyze.summary import counters, summarize
from ncu_lab.model import Evidence, Explanation, RunView, Verdict
from ncu_lab.render.documents import show_document
from ncu_lab.render.summary import _folded, launch_title, print_launch, print_launches
from ncu_lab.render.tables import json_text
from ncu_lab.render.terminal import Terminal


def view(run):
    values = counters(run.metrics)
    launches = summarize(run)
    placed = {one.launch: launch_roofline(one, values.get(one.launch, {})) for one in launches}
    roofs = {launch: one.roofs for launch, one in placed.items()}
    points = {launch: one.points for launch, one in placed.items()}
    rows = {}
    if run.meta.problem is not None:
        whole = build_ladder([run], STAGES, run.meta.problem)
        rows = {row.stage.id: row for row in (*whole.rows, *whole.references)}
    return RunView(run, tuple(launches), roofs, points, rows)


def printed(seen, launch, width=80):
    stream = io.StringIO()
    print_launch(seen, launch, Terminal(stream, width))
    return stream.getvalue().splitlines()


def of_stage(seen, stage):
    return next(one for one in seen.summaries if one.stage == stage)


def test_one_stage_in_full():
    seen = view(golden_run(["1d", "2d", "cublas-fp32"], samples={"2d": [190e3, 191e3, 192e3, 195e3],
                                                                "cublas-fp32": [60e3]}))  # fmt: skip
    assert printed(seen, of_stage(seen, "2d")) == [
        "2d · 1024³ FP32 · NVIDIA H200 · ncu 2025.3.1 · clocks not locked",
        "  timed             192 µs ± 1 (n = 4)  11.2 TFLOP/s  31 % of cublas-fp32",
        "  duration          198 µs       SM 19 %   memory 25 %   DRAM 1.3 %",
        "  waits             long scoreboard 31 %   dispatch 14 %   not selected 13 %",
        "  occupancy         12.5 % of 12.5 % possible",
        "  global sectors    loads 5.65   stores 32.0",
        "  bank conflicts    loads 1.67× ✗   stores 1.13× ✓",
        "  roofline          10.9 TFLOP/s, 25 % of the L1 / shared roof, 16 % of peak",
        "  of each roof      L1 25 %   shared 21 %   L2 3.2 %   DRAM 1.3 %   FP32 16 %",
        "  launch            8×8 blocks of 256, 0.485 waves, 130 regs, 9.22 kB shared",
    ]


def test_ideals_limits_and_spills_where_they_are_known():
    seen = view(golden_run(["2d"]))
    plain = seen.summaries[0]
    ideal = {"global_load_sectors_ideal": 4.0, "global_store_sectors_ideal": 13.6}
    readings = dict(plain.readings)
    for key, value in {**ideal, "local_spill_requests": 1024.0}.items():
        readings[key] = replace(readings[key], value=value)
    told = replace(plain, readings=readings, occupancy_limits={"registers": 1, "shared memory": 1, "warps": 8})
    lines = printed(seen, told)
    assert "  global sectors    loads 5.65 of 4 ideal ✗   stores 32.0 of 13.6 ideal ✗" in lines
    assert "  occupancy         12.5 % of 12.5 % possible   limit: registers, shared memory" in lines
    assert "  spills            1.02 k requests to local memory ✗" in lines


@pytest.mark.parametrize(("driver", "shared"), [(1024.0, "8.19 kB"), (0.0, "9.22 kB"), (None, "9.22 kB")])
def test_shared_memory_is_the_kernels_own_where_the_drivers_share_is_told(driver, shared):
    seen = view(golden_run(["2d"]))  # its tiles take 8192 bytes, the report counts 9216
    told = replace(seen.summaries[0], driver_shared_bytes=driver)
    assert printed(seen, told)[-1] == f"  launch            8×8 blocks of 256, 0.485 waves, 130 regs, {shared} shared"


def test_full_occupancy_has_no_limit_to_tell():
    seen = view(golden_run(["naive"]))
    told = replace(seen.summaries[0], occupancy_limits={"registers": 2, "warps": 2})
    assert "  occupancy         92.8 % of 100 % possible" in printed(seen, told)


def test_where_much_was_not_collected_the_sections_are_named_once():
    seen = view(golden_run(["2d"]))
    bare = summary("2d", without=(
        "stalls", "global_load_sectors_per_request", "global_store_sectors_per_request", "flop_per_s",
        "shared_load_wavefronts_over_ideal", "shared_store_wavefronts_over_ideal",
        "achieved_occupancy_pct", "theoretical_occupancy_pct", "warp_cycles_per_instruction",
    ))  # fmt: skip
    lines = printed(seen, bare)
    assert lines[2:7] == [
        "  waits             not collected",
        "  occupancy         not collected",
        "  global sectors    not collected",
        "  bank conflicts    not collected",
        "  roofline          not collected",
    ]
    collect = next(place for place, line in enumerate(lines) if line.startswith("  collect "))
    assert lines[collect : collect + 3] == [
        "  collect           --section WarpStateStats   --section Occupancy",
        "                    --section MemoryWorkloadAnalysis_Tables",
        "                    --section SpeedOfLight_HierarchicalSingleRooflineChart",
    ]
    assert "\n".join(lines).count("--section") == 4


def test_what_the_verdict_lacks_is_collected_by_the_same_line():
    seen = view(golden_run(["2d"]))
    bare = summary("2d", without=("stalls", "warp_cycles_per_instruction", "achieved_occupancy_pct"))
    lacks = Evidence("missing", "achieved_occupancy_pct", None, "%", subject="Occupancy")
    told = replace(seen, explanations={bare.launch: Explanation(Verdict("latency", (lacks,)))})
    lines = printed(told, bare)
    assert lines[1] == "Bound by latency: not collected: occupancy."
    assert "  collect           --section Occupancy   --section WarpStateStats" in lines
    known = printed(told, summary("2d"))  # nothing but the verdict lacks anything: it says itself what would tell
    assert known[1] == "Bound by latency: not collected: occupancy (--section Occupancy)."
    assert not any(line.startswith("  collect") for line in known)


@pytest.mark.parametrize(
    ("without", "line"),
    [
        (
            ["global_load_sectors_per_request"],
            "                    loads not collected: --section MemoryWorkloadAnalysis_Tables",
        ),
        (
            ["shared_store_wavefronts_over_ideal"],
            "                    stores not collected: --section MemoryWorkloadAnalysis_Tables",
        ),
        (
            ["achieved_occupancy_pct"],
            "  occupancy         12.5 % possible   achieved not collected: --section Occupancy",
        ),
        (
            ["theoretical_occupancy_pct"],
            "  occupancy         12.5 %   possible not collected: --section Occupancy",
        ),
        (
            ["sm_throughput_pct", "memory_throughput_pct", "dram_throughput_pct"],
            "  duration          198 µs       throughput not collected: --section SpeedOfLight",
        ),
    ],
)
def test_what_is_known_is_shown_beside_what_is_not(without, line):
    seen, launch = view(golden_run(["2d"])), summary("2d", without=without)
    assert line in printed(seen, launch, width=120)
    assert max(map(len, printed(seen, launch))) <= 80


def test_a_long_line_goes_on_with_its_last_item():
    line = ["L1 52 %   FP16 45 %   FP16 HMMA 68 %"]
    assert _folded(line, 36) == [line]
    assert _folded(line, 35) == [[("L1 52 %   FP16 45 %", "")], [("FP16 HMMA 68 %", "")]]


def test_one_block_is_no_blocks():
    lines = printed(view(golden_run(["2d"])), replace(summary("2d"), grid=(1, 1, 1)))
    assert any(line.startswith("  launch            1 block of 256, ") for line in lines)


def test_sampled_stalls_are_said_to_be():
    bare = replace(summary("2d", without=["stalls"]), stall_samples={"selected": 10, "wait": 30, "barrier": 60})
    assert "  waits             barrier 60 %   wait 30 %   by samples" in printed(view(golden_run(["2d"])), bare)


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        ("naive", "  bank conflicts    no shared memory"),
        ("cublas-tf32", "  global sectors    none by plain loads or stores"),
        (
            "cublas-tf32",
            "  roofline          tensor work not collected: --section SpeedOfLight_HierarchicalTensorRooflineChart",
        ),
        (
            "wmma",
            "  roofline          tensor work not collected: --section SpeedOfLight_HierarchicalTensorRooflineChart",
        ),
    ],
)
def test_what_a_kernel_does_not_do_is_said_in_words(stage, line):
    seen = view(golden_run([stage]))
    assert line in printed(seen, seen.summaries[0], width=120)
    assert max(map(len, printed(seen, seen.summaries[0]))) <= 80


def test_foreign_launches_go_by_number_and_function():
    seen = view(golden_run([], problem=None, extra=[{"kernel": "saxpy", "metrics": {}}]))
    assert launch_title(seen, seen.summaries[0], context=False) == "launch 0 · saxpy"


def test_auxiliary_kernels_say_so():
    extra = {"stage": "2d", "kernel": "transpose", "role": "auxiliary", "metrics": {}}
    seen = view(golden_run(["2d"], extra=[extra]))
    assert "auxiliary kernel transpose" in launch_title(seen, seen.summaries[1])


def test_the_table_of_launches_fits_and_hides_nothing_silently():
    stream = io.StringIO()
    seen = view(golden_run())
    print_launches(seen, seen.summaries, Terminal(stream, 80))
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("20261130T011207-ladder-4f2c9ab-91c3 · 1024³ · NVIDIA H200")
    assert max(len(line) for line in lines) <= 80
    assert len([line for line in lines if " µs " in line or " ms " in line]) == 13
    assert any(line.startswith("no room for: ") for line in lines)


def test_columns_without_any_value_are_named_once():
    stream = io.StringIO()
    run = golden_run([], extra=[{"kernel": "saxpy", "metrics": {"gpu__time_duration.sum": 5000.0}}] * 2, problem=None)
    seen = view(run)
    print_launches(seen, seen.summaries, Terminal(stream, 120))
    assert stream.getvalue().splitlines()[2:] == [
        "#  kernel     time  grid  block",
        "0  saxpy   5.00 µs     1     32",
        "1  saxpy   5.00 µs     1     32",
        "not in this report: SM, memory, DRAM, waits mostly, sect/req, confl., occup., regs",
    ]


def test_json_names_the_section_of_what_was_not_collected():
    seen = view(golden_run(["2d"]))
    bare = summary("2d", without=["dram_bytes", "stalls"])
    launch = json.loads(json_text(show_document(seen, [bare])))["launches"][0]
    assert launch["metrics"]["dram_bytes"] == {
        "value": None, "unit": "byte", "metric": "dram__bytes_read.sum + dram__bytes_write.sum",
        "section": "MemoryWorkloadAnalysis_Tables",
    }  # fmt: skip
    assert "section" not in launch["metrics"]["duration_ns"]
    assert (launch["stalls"], launch["stalls_from"]) == ({}, None)


def test_json_has_the_documented_shape():
    seen = view(golden_run(["2d"]))
    document = json.loads(json_text(show_document(seen, seen.summaries)))
    assert set(document) == {
        "schema", "source", "device", "environment", "session", "peaks", "tiles", "launches", "warnings",
    }  # fmt: skip
    launch = document["launches"][0]
    assert {"launch", "stage", "kernel", "function", "grid", "block", "workload", "nvtx", "metrics", "stalls"} <= set(
        launch
    )
    assert launch["grid"] == [8, 8, 1]
    assert launch["metrics"]["duration_ns"] == {"value": 197_984.0, "unit": "ns", "metric": "gpu__time_duration.sum"}
    assert launch["metrics"]["global_load_sectors_ideal"]["value"] is None
    assert "raw" not in launch


def test_raw_adds_everything_of_the_report():
    run = golden_run(["2d"])
    seen = view(run)
    launch = show_document(seen, seen.summaries, raw=True)["launches"][0]
    assert len(launch["raw"]) == len(run.metrics)
    assert launch["raw"]["gpu__time_duration.sum"] == {"value": 197_984.0, "unit": ""}
