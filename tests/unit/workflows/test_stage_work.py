"""Building, checking and timing: what the workflows make of what the layers below give."""

from __future__ import annotations

import dataclasses
import math
import os
import time
from pathlib import Path
from typing import Any

import pytest

from ncu_lab.analyze.timings import timing
from ncu_lab.errors import EnvironmentLacksError, UsageError
from ncu_lab.gpu.compile import Nvcc
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import TargetRequest
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import CheckCase, Device, Problem, ProgressEvent, TimingSample
from ncu_lab.workflows import benching, building, checking

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")


def case(error: float = 1e-7, passed: bool = True, limit: float = 2e-6) -> CheckCase:
    return CheckCase("2d", "fast", Problem(64, 64, 64), "as asked", error, 1e-8, limit, passed, "")


@needs_nvcc
def test_builds_both_variants_and_skips_references(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    events: list[ProgressEvent] = []
    builds = building.build_stages(["2d", "cublas-fp32", "naive"], "sm_90", report=events.append)
    assert [(build.stage, build.variant) for build in builds] == [("2d", "fast"), ("2d", "guarded"), ("naive", "fast")]
    assert [(event.subject, event.state) for event in events] == [
        ("2d", "start"),
        ("2d", "done"),
        ("naive", "start"),
        ("naive", "done"),
    ]
    assert "registers" in events[1].detail


@needs_nvcc
def test_a_fallback_is_built_under_the_name_and_type_of_the_stage_it_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    fast, guarded = building.build_stages(["wgmma"], "sm_90")
    assert [(build.stage, build.variant, build.arch) for build in (fast, guarded)] == [
        ("wgmma", "fast", "sm_90a"),
        ("wgmma", "guarded", "sm_90"),
    ]
    assert "-DBF16=1" in guarded.flags
    assert fast.shared_bytes == load_stages()["wgmma"].shared_bytes  # all of it is dynamic
    assert (fast.spill_store_bytes, fast.warnings) == (0, ())


@needs_nvcc
def test_a_stage_that_does_not_fit_is_reported_and_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    events: list[ProgressEvent] = []
    with pytest.raises(UsageError, match="needs sm_80"):
        building.build_stages(["warptiled"], "sm_75", report=events.append)
    assert events[-1].state == "failed"


def test_ctrl_c_ends_the_compilers_and_starts_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(f"#!/bin/sh\necho $$ >> {started}\nsleep 120\n")
    nvcc.chmod(0o755)
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("ncu_lab.gpu.compile.find_nvcc", lambda: Nvcc(nvcc, "13.0.88"))
    monkeypatch.setattr("os.cpu_count", lambda: 2)

    def interrupt(event: ProgressEvent) -> None:
        while not started.exists() or len(started.read_text().splitlines()) < 2:
            time.sleep(0.01)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        building.build_stages(building.kernel_ids("sm_90"), "sm_90", report=interrupt)
    pids = [int(line) for line in started.read_text().splitlines()]
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_kernel_ids_are_what_an_architecture_can_run() -> None:
    assert "cublas-fp32" not in building.kernel_ids()
    assert "warptiled" in building.kernel_ids("sm_90")
    assert "warptiled" not in building.kernel_ids("sm_75")
    assert "sgemm-hopper" in building.kernel_ids("sm_90")
    assert "sgemm-hopper" not in building.kernel_ids("sm_80")
    assert "sgemm-hopper" not in building.kernel_ids("sm_120")  # sm_90a code runs on sm_90 alone
    with pytest.raises(UsageError):
        building.kernel_ids("hopper")


def test_unknown_stages_are_refused_before_anything_runs() -> None:
    for work in (building.build_stages, lambda ids: benching.time_stages(ids, Problem(8, 8, 8))):
        with pytest.raises(UsageError, match="Did you mean 2d"):
            work(["2dd"])


def test_without_a_gpu_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_gpu() -> Device:
        raise EnvironmentLacksError("no GPU")

    monkeypatch.setattr(checking, "current_device", no_gpu)
    monkeypatch.setattr(checking, "build_stages", lambda ids: pytest.fail("built"))
    with pytest.raises(EnvironmentLacksError):
        checking.check_stages(["2d"], Problem(8, 8, 8))


def test_a_case_survives_json_with_null_for_nan() -> None:
    document: dict[str, Any] = {
        "stage": "2d",
        "variant": "fast",
        "problem": {"m": 3, "n": 4, "k": 5, "alpha": 1.0, "beta": 0.5},
        "case": "odd",
        "max_rel_error": None,
        "norm_error": 0.5,
        "limit": 1e-6,
        "passed": False,
        "detail": "not written",
    }
    found = checking.case_of(document)
    assert math.isnan(found.max_rel_error)
    assert found.norm_error == 0.5
    assert found.problem == Problem(3, 4, 5, beta=0.5)


def test_cases_in_one_line() -> None:
    assert checking.describe_cases([case(), case(3.2e-7)]) == ("64³ + 1 shapes   max error 3.2e-07 (limit 2.0e-06)  ✓")
    assert "✗ 1 wrong" in checking.describe_cases([case(), case(math.nan, passed=False)])


def samples(stage: str, ns: float, n: int, mode: str = "alone", order: int = 0) -> list[TimingSample]:
    return [
        TimingSample(0, index, order + index, stage, mode, ns, 1980.0, 650.0, 50.0)  # type: ignore[arg-type]  # modes
        for index in range(n)
    ]


def test_timing_in_one_line() -> None:
    stages, problem = load_stages(), Problem(2048, 2048, 2048)
    taken = samples("2d", 767_000.0, 10) + samples("cublas-fp32", 345_150.0, 10)
    words = benching.describe_timing(stages["2d"], problem, timing(taken, "2d", "cublas-fp32"), stages)
    assert words.replace("\u2009", " ") == "767 µs ± 0 (n = 10)  22.4 TFLOP/s  45 % of cuBLAS FP32"
    alone = benching.describe_timing(stages["2d"], problem, timing(taken, "2d"), stages)
    assert "cuBLAS" not in alone
    assert benching.describe_timing(stages["2d"], problem, None, stages) == "no samples"


def test_summary_rows_follow_the_bench_and_know_the_peak() -> None:
    problem = Problem(1024, 1024, 1024)
    taken = samples("2d", 2 * 1024**3 / 33450.0, 5) + samples("cublas-fp32", 1024**3 / 33450.0, 5, order=5)
    timings = {id: timing(taken, id, load_stages()[id].reference) for id in ("2d", "cublas-fp32")}
    bench = benching.Bench(
        tuple(taken),
        {id: found for id, found in timings.items() if found is not None},
        problem,
        Device("NVIDIA H200", (9, 0), 132, max_sm_clock_hz=1.98e9),
    )
    two, library = benching.summarise(bench)
    assert (two["stage"], library["stage"]) == ("2d", "cublas-fp32")
    assert two["pct_of_reference"] == pytest.approx(50.0)
    assert two["pct_of_peak"] == pytest.approx(50.0, rel=1e-3)
    assert (two["sm_clock_hz"], two["power_w"], two["samples"]) == (1.98e9, 650.0, 5)
    assert library["pct_of_reference"] is None


def test_what_nvml_does_not_tell_is_missing() -> None:
    taken = tuple(TimingSample(0, index, index, "2d", "alone", 100.0, None, None, None) for index in range(5))
    found = timing(taken, "2d")
    assert found is not None
    [row] = benching.summarise(benching.Bench(taken, {"2d": found}, Problem(8, 8, 8), Device("unknown")))
    assert (row["sm_clock_hz"], row["power_w"], row["pct_of_peak"]) == (None, None, None)


def test_every_process_of_a_bench_is_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes: their samples and trials are told apart, and the lower ratio is claimed."""
    asked: list[TargetRequest] = []
    reference_ns = iter((50.0, 40.0))

    def run_target(request: TargetRequest, *, describe: Any, **_: object) -> dict[str, Any]:
        asked.append(request)
        ns = next(reference_ns)
        for id, took in (("cublas-fp32", ns), ("2d", 100.0)):
            describe(id, {"samples": [dataclasses.asdict(one) for one in samples(id, took, 5)]})
        trial = {
            "reference": "cublas-fp32",
            "way": "w",
            "kernels": ["k"],
            "median_ns": ns,
            "refused": "",
            "chosen": True,
        }
        proof = {"verified": False, "why": "an old driver"}
        launches = [{"subject": "2d", "variant": "fast"}]
        return {"references": {"cublas-fp32": proof}, "trials": [trial], "launches": launches}

    monkeypatch.setattr(benching, "current_device", lambda: Device("NVIDIA H200"))
    monkeypatch.setattr(benching, "build_stages", lambda ids: [])
    monkeypatch.setattr(benching, "measure_peaks", lambda report: ((), ()))
    monkeypatch.setattr(benching, "run_target", run_target)
    bench = benching.time_stages(["2d"], Problem(8, 8, 8), 5, processes=2, fastest_reference=True)
    assert [request.fastest_reference for request in asked] == [True, True]
    assert [(one.process, one.median_ns, one.kernels) for one in bench.trials] == [(0, 50.0, ("k",)), (1, 40.0, ("k",))]
    assert [sample.process for sample in bench.samples] == [0] * 10 + [1] * 10
    assert bench.timings["2d"].time_ratio == pytest.approx(0.4)
    assert [notice.code for notice in bench.notices] == ["reference_unverified"]  # once, not once a process
    [two] = [row for row in benching.summarise(bench) if row["stage"] == "2d"]
    assert (two["processes"], two["reference_way"], two["timed"]) == (2, "w", "alone")
    with pytest.raises(UsageError, match="--processes 0 is too small"):
        benching.time_stages(["2d"], Problem(8, 8, 8), processes=0)
