"""``ncu-lab profile --stage``, end to end but for the GPU: what runs on it is stood in for, ncu and its report are real
recordings. tests/gpu runs the same on a GPU.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pandas as pd
import pytest
from fake_machine import REPORT, Machine
from lab_command import Done, leftovers, ncu_lab, stored_runs

from ncu_lab.gpu.devices import gpu_problem
from ncu_lab.gpu.request import read as read_request
from ncu_lab.metrics import TARGETED_SECTIONS
from ncu_lab.model import ParsedReport, Problem
from ncu_lab.store import Store
from ncu_lab.workflows import collecting, profiling


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def profile(folder: Path, *options: str, **variables: str) -> Done:
    options = (*options, "--no-reference", "--size", "512")
    return ncu_lab(folder, "profile", *options, FAKE_NCU_REPORT=str(REPORT), FAKE_NCU_SAYS="ladder-full", **variables)


def stored(folder: Path) -> list[tuple[str, str]]:
    return [(run.name, Store(run.parent).read(run.name).meta.status) for run in stored_runs(folder)]


def test_timings_of_several_processes(tmp_path: Path, machine: Machine) -> None:
    assert profile(tmp_path, "--stage", "2d", "--processes", "10").returncode == 0
    assert machine.done[-1] == "bench 2d 10 x 10"
    wrong = profile(tmp_path, "--stage", "2d", "--processes", "0")
    assert (wrong.returncode, "--processes 0 is too small" in wrong.stderr) == (2, True)


def test_one_stage_from_build_to_summary(tmp_path: Path, machine: Machine) -> None:
    done = profile(tmp_path, "--stage", "2d", "--samples", "20")
    assert done.returncode == 0, done.stderr
    assert machine.done == ["build 2d", "check 2d", "bench 2d 20"]
    [folder] = stored_runs(tmp_path)
    run = Store(folder.parent).read(folder.name)
    meta = run.meta
    assert (meta.status, meta.stages, meta.problem) == ("complete", ("2d",), Problem(512, 512, 512))
    assert folder.name.split("-")[1] == "2d"
    assert meta.device is not None
    assert (meta.device.name, meta.device.uuid_hash) == ("NVIDIA H200", "abc")
    # What only the report knows and what only the driver knows of the GPU are both there.
    assert {"threads_per_sm", "multiprocessor_count"} <= set(meta.device.attributes)
    environment = meta.environment
    assert (environment.ncu, environment.nvcc, environment.cuda) == ("2025.3.1", "13.0.88", "13.0")
    assert environment.sections == TARGETED_SECTIONS
    assert environment.nvcc_flags == ("-O3", "-lineinfo", "-DNAME=2d")
    assert (environment.clock_control, environment.cache_control) == ("none", "all")
    assert [build.stage for build in run.builds] == ["2d"]
    assert [case.stage for case in run.checks] == ["2d"]
    assert set(run.timings["subject"]) == {"2d", "cublas-fp32"}
    assert list(run.launches["function"]) == ["sgemm_2d"]
    assert "2d" in done.stdout
    assert done.stdout.rstrip().endswith("Next: ncu-lab ladder\n      ncu-lab dashboard")


def test_several_stages_end_with_their_ladder(tmp_path: Path, machine: Machine) -> None:
    machine.profiles("naive", "coalesced", "2d")
    done = profile(tmp_path, "--stage", "2d", "--stage", "naive", "--stage", "coalesced")
    assert done.returncode == 0, done.stderr
    assert machine.done[0] == "build naive coalesced 2d"
    [folder] = stored_runs(tmp_path)
    assert folder.name.split("-")[1] == "ladder"
    rows = [
        line.split()[0] for line in done.stdout.splitlines() if line.split()[:1] and line.split()[0] in ("naive", "2d")
    ]
    assert rows == ["naive", "2d"]
    assert f"ncu-lab show {folder.name.split('-')[0]} --stage " in done.stdout


def test_the_target_is_profiled_between_its_own_start_and_stop(tmp_path: Path, machine: Machine) -> None:
    argv = tmp_path / "argv"
    kept = tmp_path / "request.json"
    # The fake "program" keeps the request that the target would get.
    profiling_argv = profiling.target_argv
    machine._monkeypatch.setattr(profiling, "target_argv", lambda path: ["cp", str(path), str(kept)])
    done = profile(tmp_path, "--stage", "2d", "--launches", "3", FAKE_NCU_ARGV=str(argv), FAKE_NCU_RUN="1")
    assert done.returncode == 0, done.stderr
    words = argv.read_text().splitlines()
    assert words[words.index("--profile-from-start") + 1] == "off"
    assert "--kernel-name" not in words
    assert "--nvtx-include" not in words
    request = read_request(kept)
    assert (request.mode, request.launches, request.problem) == ("profile", 3, Problem(512, 512, 512))
    assert [(subject.stage.id, subject.cubin) for subject in request.subjects] == [("2d", "kernel.cubin")]
    assert profiling_argv(kept)[1:] == ["-P", "-m", "ncu_lab.gpu.target", str(kept)]


def test_references_join_unless_they_are_not_wanted(machine: Machine) -> None:
    request = profiling.ProfileRequest(("2d", "wmma", "naive"), Problem(64, 64, 64))
    assert [stage.id for stage in profiling.resolve_stages(request)][:3] == ["naive", "2d", "wmma"]
    references = [stage.id for stage in profiling.resolve_stages(request) if stage.is_reference]
    assert "cublas-fp32" in references
    assert "cublas-fp16" in references
    alone = dataclasses.replace(request, references=False)
    assert [stage.id for stage in profiling.resolve_stages(alone)] == ["naive", "2d", "wmma"]


def test_a_stage_the_report_lacks_is_named_and_the_others_are_kept(tmp_path: Path, machine: Machine) -> None:
    done = profile(tmp_path, "--stage", "2d", "--stage", "warptiled")
    assert done.returncode == 5
    assert "error: ncu's report holds no launch of: warptiled" in done.stderr
    assert [status for _, status in stored(tmp_path)] == ["partial"]


def test_a_wrong_result_stops_before_timing_and_profiling(tmp_path: Path, machine: Machine) -> None:
    machine.wrong = "2d"
    argv = tmp_path / "argv"
    done = profile(tmp_path, "--stage", "2d", FAKE_NCU_ARGV=str(argv))
    assert done.returncode == 1
    assert (
        "error: stage 2d gives a wrong result at 512³ (as asked, fast path): error 3.2e-07, limit 1.1e-05"
        in done.stderr
    )
    assert machine.done == ["build 2d", "check 2d"]
    assert not argv.exists()
    [(name, status)] = stored(tmp_path)
    assert status == "check_failed"
    assert f"What was done is stored as {name} (check_failed)." in done.stderr
    assert done.stdout == ""


def test_a_stage_that_does_not_compile_is_recorded(tmp_path: Path, machine: Machine) -> None:
    machine.broken = "2d"
    done = profile(tmp_path, "--stage", "2d")
    assert done.returncode == 3
    assert "error: stage 2d does not compile: kernels/gemm/07_2d.cu(3): error: expected a ;" in done.stderr
    assert [status for _, status in stored(tmp_path)] == ["build_failed"]


def test_without_permission_what_was_built_checked_and_timed_is_kept(tmp_path: Path, machine: Machine) -> None:
    one = ("profile", "--stage", "2d", "--no-reference", "--size", "512")
    done = ncu_lab(tmp_path, *one, FAKE_NCU_SAYS="no-permission")
    assert done.returncode == 4
    assert "ERR_NVGPUCTRPERM: this user may not read GPU performance counters" in done.stderr
    [folder] = stored_runs(tmp_path)
    run = Store(folder.parent).read(folder.name)
    assert run.meta.status == "partial"
    assert run.meta.error is not None
    assert run.meta.error.startswith("ERR_NVGPUCTRPERM")
    assert (len(run.builds), len(run.checks), len(run.timings), len(run.launches)) == (1, 1, 6, 0)
    assert leftovers(tmp_path) == []


def test_a_crash_under_ncu_tells_what_the_target_said(tmp_path: Path, machine: Machine) -> None:
    said = json.dumps({"error": "UsageError", "message": "512³ does not fit", "hint": "Choose a smaller size."})
    machine._monkeypatch.setattr(profiling, "target_argv", lambda path: ["echo", said])
    one = ("profile", "--stage", "2d", "--no-reference", "--size", "512")
    done = ncu_lab(tmp_path, *one, FAKE_NCU_SAYS="app-exit3", FAKE_NCU_RUN="1")
    assert done.returncode == 2
    assert "error: 512³ does not fit" in done.stderr
    assert [status for _, status in stored(tmp_path)] == ["profile_failed"]


def test_busy_counters_are_tried_again(tmp_path: Path, machine: Machine) -> None:
    machine._monkeypatch.setattr(collecting, "RETRY_DELAY_S", 0.0)
    argv = tmp_path / "argv"
    one = ("profile", "--stage", "2d", "--no-reference", "--size", "512")
    done = ncu_lab(tmp_path, *one, FAKE_NCU_SAYS="counters-busy", FAKE_NCU_ARGV=str(argv))
    assert done.returncode == 4
    assert "dcgmi profile --pause" in done.stderr
    attempts = [word for word in argv.read_text().splitlines() if word.endswith("report.ncu-rep")]
    assert [Path(word).parent.name for word in attempts] == [str(collecting.RETRIES)]


@pytest.mark.skipif(gpu_problem() is None, reason="there is a GPU")
def test_without_a_gpu_nothing_is_built(tmp_path: Path) -> None:
    done = ncu_lab(tmp_path, "profile", "--stage", "2d")
    assert done.returncode == 4
    assert len(done.stderr.splitlines()) == 2
    assert stored_runs(tmp_path) == []


def test_a_reference_whose_name_proves_nothing_is_noticed() -> None:
    launches = pd.DataFrame(
        {"stage": ["cublas-fp32"], "role": ["main"], "kernel": ["nvjet_hss"], "function": ["nvjet_hss"]}
    )
    empty = pd.DataFrame()
    stages = profiling.resolve_stages(profiling.ProfileRequest(("cublas-fp32",), Problem(8, 8, 8)))
    [notice] = profiling.unproven_references(ParsedReport(launches, empty, empty, empty), stages)
    assert notice.message == "cublas-fp32 ran nvjet_hss: its name does not prove its precision."
    proven = launches.assign(kernel="sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_ffma", function="sm80_xmma_gemm_ffma")
    assert profiling.unproven_references(ParsedReport(proven, empty, empty, empty), stages) == []
