"""The commands stages, build, check and bench, without a GPU."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ncu_lab.advice import COMMANDS
from ncu_lab.cli.app import app
from ncu_lab.cli.options import chosen_stages, stages_here
from ncu_lab.errors import CheckFailedError, UsageError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import CheckCase, Problem

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_stages_fits_80_columns_with_one_row_a_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("stages").splitlines()
    ids = list(load_stages())
    assert [line.split()[0] for line in lines[1 : 1 + len(ids)]] == ids
    assert max(len(line) for line in lines[: 1 + len(ids)]) <= 80


def test_stages_as_json_and_csv() -> None:
    document = json.loads(run("stages", "--format", "json"))
    assert document["schema"] == 1
    two = next(row for row in document["stages"] if row["id"] == "2d")
    assert two["predecessor"] == "1d"
    assert two["tile"]["BM"] == load_stages()["2d"].tile["BM"]
    rows = list(csv.DictReader(io.StringIO(run("stages", "--format", "csv"))))
    assert [row["id"] for row in rows] == list(load_stages())


@needs_nvcc
def test_build_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    document = json.loads(run("build", "--stage", "naive", "--arch", "sm_80", "--arch", "sm_90", "--format", "json"))
    assert [(row["stage"], row["arch"]) for row in document["builds"]] == [("naive", "sm_80"), ("naive", "sm_90")]
    assert document["builds"][0]["registers"] > 0
    assert document["builds"][0]["spill_store_bytes"] == 0


def test_all_says_which_stages_an_architecture_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncu_lab.workflows.building.build_stages", lambda ids, arch, report: [])
    architectures = ("--arch", "sm_75", "--arch", "sm_80", "--arch", "sm_90")
    result = CliRunner().invoke(app, ["build", "--all", *architectures, "--format", "json"])
    assert result.exit_code == 0
    hopper = "sgemm-hopper, wgmma, wgmma-fp16 (need sm_90a)"
    assert result.stderr.splitlines() == [
        "note: left out for sm_75: double-buffered, warptiled, splitk, wmma-tiled, mma-sync (need sm_80), " + hopper,
        "note: left out for sm_80: " + hopper,
    ]
    left_out = json.loads(result.stdout)["left_out"]
    assert [one["stage"] for one in left_out if one["arch"] == "sm_80"] == ["sgemm-hopper", "wgmma", "wgmma-fp16"]
    assert {one["needs"] for one in left_out if one["arch"] == "sm_80"} == {"sm_90a"}
    named = run("build", "--stage", "2d", "--arch", "sm_80", "--format", "json")
    assert json.loads(named)["left_out"] == []  # of what was asked for


def test_all_of_an_architecture_that_no_stage_runs_on_is_refused() -> None:
    with pytest.raises(UsageError, match="no stage runs on sm_70: each needs sm_75 or newer"):
        run("build", "--all", "--arch", "sm_70")


def test_stage_and_all_exclude_each_other() -> None:
    assert chosen_stages(["2d", "naive", "2d"], False, []) == ["2d", "naive"]
    assert chosen_stages(None, True, ["a", "b"]) == ["a", "b"]
    with pytest.raises(UsageError, match="exclude each other"):
        chosen_stages(["2d"], True, [])
    with pytest.raises(UsageError, match="no stage was named"):
        chosen_stages(None, False, [])
    with pytest.raises(UsageError, match="Did you mean 2d"):
        chosen_stages(["2dd"], False, [])


def test_all_leaves_out_what_the_gpu_cannot_run_and_says_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ncu_lab.gpu.devices.present_arch", lambda: "sm_80")
    ids = stages_here()
    assert "warptiled" in ids
    assert "sgemm-hopper" not in ids
    assert "note: sgemm-hopper is skipped: it needs sm_90a, the GPU here is sm_80" in capsys.readouterr().err
    monkeypatch.setattr("ncu_lab.gpu.devices.present_arch", lambda: None)
    assert stages_here() == list(load_stages())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
def test_every_stage_runs_here_or_is_skipped_with_what_it_needs(
    arch: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ncu_lab.gpu.devices.present_arch", lambda: arch)
    monkeypatch.setattr("ncu_lab.gpu.cutlass_build.lacking", lambda stage, arch: None)
    able = stages_here()
    skipped = re.findall(
        rf"note: (\S+) is skipped: it needs (sm_\w+), the GPU here is {arch}$", capsys.readouterr().err, re.M
    )
    assert sorted([*able, *(id for id, _ in skipped)]) == sorted(load_stages())
    listed = {row["id"]: row["needs"] for row in json.loads(run("stages", "--format", "json"))["stages"]}
    assert all(listed[id] == needs for id, needs in skipped)
    assert ("wgmma" in able) == (arch == "sm_90")  # code for sm_90a runs on it alone


def test_cutlass_is_skipped_with_its_reason_where_its_headers_are_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("ncu_lab.gpu.devices.present_arch", lambda: "sm_90")
    monkeypatch.setattr("ncu_lab.gpu.cutlass_build.cutlass_headers", lambda: None)
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    assert not {"cutlass-fp32", "cutlass-bf16"} & set(stages_here())
    told = capsys.readouterr().err
    assert "note: cutlass-fp32 is skipped: CUTLASS's headers are not installed" in told


def cases(wrong: bool) -> list[CheckCase]:
    return [
        CheckCase("2d", "fast", Problem(128, 128, 128), "as asked", 1e-7, 1e-8, 2e-6, True),
        CheckCase("2d", "guarded", Problem(1, 1, 1), "one element", 1.0, 1.0, 2e-7, not wrong, "C[0, 0] is off"),
    ]


def check(monkeypatch: pytest.MonkeyPatch, wrong: bool, *arguments: str) -> str:
    seen: dict[str, Any] = {}

    def fake(ids: list[str], problem: Problem, *, quick: bool, repeat: int | None, report: object) -> list[CheckCase]:
        seen.update(ids=ids, problem=problem, quick=quick)
        return cases(wrong)

    monkeypatch.setattr("ncu_lab.workflows.checking.check_stages", fake)
    out = run("check", "--stage", "2d", "-m", "128", "--size", "64", "--quick", *arguments)
    assert seen == {"ids": ["2d"], "problem": Problem(128, 64, 64), "quick": True}
    return out


def test_check_passes_its_options_on_and_sums_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "All 2 cases are right" in check(monkeypatch, False)
    document = json.loads(check(monkeypatch, False, "--format", "json"))
    assert [case["passed"] for case in document["cases"]] == [True, True]


def test_a_wrong_result_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CheckFailedError, match="1 of 2 cases are wrong, in 2d"):
        check(monkeypatch, True)


@needs_nvcc
def test_a_library_reference_is_said_to_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    result = CliRunner().invoke(app, ["build", "--stage", "naive", "--stage", "cublas-tf32", "--format", "json"])
    assert [row["stage"] for row in json.loads(result.stdout)["builds"]] == ["naive"]
    assert "note: not built, as the library brings them: cublas-tf32" in result.stderr
    with pytest.raises(UsageError, match="cublas-fp32, cublas-tf32 are library references: there is nothing to build"):
        run("build", "--stage", "cublas-fp32", "--stage", "cublas-tf32")


def test_what_is_to_be_typed_next_is_spelled_as_the_program_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCU_LAB_PROGRAM", "./lab")
    assert "Next: ./lab build --stage 2d, or on a machine with a GPU ./lab profile" in run("stages")
    assert "Next: ./lab bench --stage 2d" in check(monkeypatch, False)


@pytest.mark.parametrize("command", COMMANDS)
def test_no_option_shows_the_type_it_has_in_the_code(command: str) -> None:
    assert re.findall(r"^  -.*<(?:list|int|str|path|float).*", run(command, "--help"), re.MULTILINE) == []
