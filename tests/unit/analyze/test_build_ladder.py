from dataclasses import replace

import pytest
from builders import PROBLEM, STAGES, golden_counters
from golden_runs import ENVIRONMENT, H200, golden_run

from ncu_lab.analyze.ladder import build_ladder
from ncu_lab.model import Device, Problem

FLOP = 2 * 1024**3


def profiled(stage):
    return golden_counters()[stage]["metrics"]["gpu__time_duration.sum"]


def rows(ladder):
    return {row.stage.id: row for row in (*ladder.rows, *ladder.references)}


def test_rows_are_in_registry_order_and_references_apart():
    ladder = build_ladder([golden_run()], STAGES, PROBLEM)
    assert [row.stage.id for row in ladder.rows] == [id for id, stage in STAGES.items() if not stage.is_reference]
    assert [row.stage.id for row in ladder.references] == ["cublas-fp32", "cublas-tf32"]
    assert ladder.device == H200
    assert {roof.level for roof in ladder.roofline("fp32").roofs} == {"l1", "shared", "l2", "dram", "fp32"}
    assert ladder.omitted == ()
    assert ladder.warnings == ()


def test_profiler_durations_where_nothing_else_is_there():
    row = rows(build_ladder([golden_run()], STAGES, PROBLEM))["2d"]
    assert row.time_source == "profiler"
    assert row.median_ns == 197_984
    assert row.flop_per_s == pytest.approx(FLOP / 197_984e-9)
    assert row.share_of_reference == pytest.approx(profiled("cublas-fp32") / 197_984)
    assert row.step == pytest.approx(profiled("1d") / 197_984)


def test_samples_win_and_the_share_is_of_the_same_source():
    samples = {"2d": [100.0, 300.0, 200.0], "cublas-fp32": [50.0, 60.0, 70.0]}
    found = rows(build_ladder([golden_run(samples=samples)], STAGES, PROBLEM))
    assert found["2d"].time_source == "timings"
    assert found["2d"].median_ns == 200.0
    assert found["2d"].share_of_reference == pytest.approx(60.0 / 200.0)
    assert found["2d"].step is None  # 1d was not timed, and profiled times are not compared with samples
    assert found["1d"].time_source == "profiler"
    assert found["1d"].share_of_reference == pytest.approx(profiled("cublas-fp32") / profiled("1d"))
    assert found["vectorized"].step == pytest.approx(profiled("2d") / profiled("vectorized"))


def test_no_share_without_the_reference_by_the_same_source():
    samples = {"2d": [100.0]}
    found = rows(build_ladder([golden_run(samples=samples)], STAGES, PROBLEM))
    assert found["2d"].share_of_reference is None


def test_a_reference_nobody_was_timed_beside_has_its_samples_alone():
    run = golden_run(["cublas-tf32"], samples={"cublas-tf32": [100.0, 102.0, 104.0]})
    run.timings["mode"] = "alone"
    found = rows(build_ladder([run], STAGES, PROBLEM))["cublas-tf32"]
    assert (found.time_source, found.median_ns, found.spread_ns) == ("timings", 102.0, None)


def test_steps_compare_the_same_type_of_work_only():
    found = rows(build_ladder([golden_run()], STAGES, PROBLEM))
    assert found["naive"].step is None
    assert found["1d"].step == pytest.approx(profiled("smem") / profiled("1d"))  # the predecessor, not the row above
    stages = dict(STAGES, wmma=replace(STAGES["wmma"], predecessor="warptiled"))
    assert rows(build_ladder([golden_run()], stages, PROBLEM))["wmma"].step is None


def test_each_stage_comes_from_the_newest_run():
    older = golden_run(run_id="old", created="2026-11-29T00:00:00+00:00")
    newer = golden_run(["2d"], run_id="new", samples={"2d": [150e3], "cublas-fp32": [60e3]})
    ladder = build_ladder([older, newer], STAGES, PROBLEM)
    found = rows(ladder)
    assert found["2d"].run == "new"
    assert found["2d"].share_of_reference == pytest.approx(0.4)  # its own run's reference
    assert found["1d"].run == "old"
    assert found["cublas-fp32"].run == "old"  # profiled there; the newer run only timed it
    assert found["cublas-fp32"].summary is not None


def test_other_devices_and_problems_are_left_out_and_said():
    other = golden_run(run_id="h100", created="2026-11-01T00:00:00+00:00", device=Device("NVIDIA H100", (9, 0), 132))
    larger = golden_run(run_id="larger", problem=Problem(2048, 2048, 2048))
    foreign = golden_run(run_id="foreign", problem=None)
    ladder = build_ladder([other, golden_run(["2d"]), larger, foreign], STAGES, PROBLEM)
    assert [row.stage.id for row in ladder.rows] == ["2d"]
    codes = {notice.code: notice.message for notice in ladder.omitted}
    assert "h100" in codes["other_device"]
    assert codes["not_measured"].startswith("not measured: naive, coalesced")
    assert {notice.message for notice in ladder.omitted if notice.code == "other_problem"} == {
        "run larger is left out: it is of 2048³",
        "run foreign is left out: it is of no matrix multiply of the ladder",
    }


def test_differing_surroundings_are_warned_of():
    older = golden_run(["1d"], run_id="old", created="2026-11-29T00:00:00+00:00",
                       environment=replace(ENVIRONMENT, driver="570.1"))  # fmt: skip
    ladder = build_ladder([older, golden_run(["2d"])], STAGES, PROBLEM)
    assert [notice.message for notice in ladder.warnings] == [
        "rows come from runs with different drivers: 570.1, 580.159"
    ]


def test_launches_of_no_stage_are_told():
    run = golden_run(["2d"], extra=[{"kernel": "warmup", "metrics": {}}, {"kernel": "warmup", "metrics": {}}])
    omitted = build_ladder([run], STAGES, PROBLEM).omitted
    assert omitted[0].message == f"2 launches of run {run.meta.id} of no registered stage: warmup"


def test_a_stage_of_several_kernels_takes_the_sum_of_their_medians():
    def helper(ns):
        return {"stage": "2d", "kernel": "transpose", "role": "auxiliary", "metrics": {"gpu__time_duration.sum": ns}}

    main = dict(golden_counters()["2d"], stage="2d")
    run = golden_run(["2d"], extra=[helper(10.0), main, helper(20.0), helper(30.0), helper(40.0)])
    row = rows(build_ladder([run], STAGES, PROBLEM))["2d"]
    assert row.median_ns == 197_984 + 2 * 25.0  # two launches of the main kernel, two transposes for each
    assert row.summary is not None
    assert row.summary.role == "main"


def test_runs_of_one_unknown_device_each_are_not_mixed():
    unknown = golden_run(["1d"], run_id="b", device=None)
    ladder = build_ladder([unknown, golden_run(["2d"], run_id="a", device=None)], STAGES, PROBLEM)
    assert len(ladder.rows) == 1


def test_nothing_usable_gives_an_empty_ladder():
    ladder = build_ladder([], STAGES, PROBLEM)
    assert ladder.rows == ladder.references == ladder.rooflines == ()
