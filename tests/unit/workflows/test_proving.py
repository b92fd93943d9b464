"""The proof of stages: what is run, and that one failure does not hide the rest. Programs are stood in for."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from ncu_lab.errors import CheckFailedError, EnvironmentLacksError, ProgramError
from ncu_lab.gpu.request import TargetRequest
from ncu_lab.model import CheckCase, Device, Problem, ProgressEvent
from ncu_lab.model.proof import SANITIZER_TOOLS, SanitizerFinding, SanitizerTool
from ncu_lab.workflows import proving


def case(stage: str, *, passed: bool = True, repetitions: int = 1) -> CheckCase:
    return CheckCase(stage, "fast", Problem(64, 64, 64), "as asked", 1e-7, 1e-8, 2e-6, passed, "", repetitions)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine on which naive races, wmma hangs in its check, and all else is right; tells what was run."""
    done: list[str] = []

    def check(ids: list[str], problem: Problem, *, repeat: int, **_: Any) -> list[CheckCase]:
        [id] = ids
        done.append(f"check {id} {problem.label} {repeat}")
        if id == "wmma":
            raise ProgramError("the target process did not end within 240 s and was killed during check of wmma")
        return [case(id, repetitions=repeat), case(id)]

    def watch(
        path: Path, tool: SanitizerTool, request: TargetRequest, *, stop: threading.Event, timeout_s: float
    ) -> SanitizerFinding:
        [subject] = request.subjects
        done.append(f"{tool} {subject.stage.id} {len(request.shapes) + 1}")
        races = (subject.stage.id, tool) == ("naive", "racecheck")
        return SanitizerFinding(subject.stage.id, tool, not races, int(races), "Race reported" if races else "", 1.0)

    monkeypatch.setattr(proving, "current_device", lambda: Device("NVIDIA H200"))
    monkeypatch.setattr(proving, "find_sanitizer", lambda: Path("compute-sanitizer"))
    monkeypatch.setattr(proving, "build_stages", lambda ids, report: [])
    monkeypatch.setattr(proving, "check_stages", check)
    monkeypatch.setattr(proving, "sanitize", watch)
    return done


def test_each_stage_meets_its_cases_and_every_tool(machine: list[str]) -> None:
    events: list[ProgressEvent] = []
    ids = ["naive", "2d", "wmma", "cublas-fp32"]
    proofs = proving.prove_stages(ids, Problem(512, 512, 512), repeat=20, report=events.append)
    assert [proof.stage for proof in proofs] == ids
    assert [proof.passed for proof in proofs] == [False, True, False, True]
    assert [proof.repetitions for proof in proofs] == [20, 20, 0, 20]
    naive, _, wmma, library = proofs
    assert [(one.tool, one.passed) for one in naive.findings] == [
        ("memcheck", True),
        ("racecheck", False),
        ("initcheck", True),
        ("synccheck", True),
    ]
    assert "killed during check of wmma" in wmma.failure
    assert len(wmma.findings) == 4  # its tools ran nevertheless
    assert library.findings == ()  # its kernels are not ours
    assert sorted(machine) == sorted(
        [f"check {id} 512³ 20" for id in ids]
        + [f"{tool} {id} 10" for tool in SANITIZER_TOOLS for id in ("naive", "2d", "wmma")]
    )
    failed = [(event.step, event.subject, event.detail) for event in events if event.state == "failed"]
    assert ("sanitize", "naive", "racecheck: Race reported") in failed
    assert [event.fraction for event in events if event.state == "update"][-1] == 1.0


def test_a_refusal_is_no_finding(machine: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> SanitizerFinding:
        raise EnvironmentLacksError("compute-sanitizer cannot be started")

    monkeypatch.setattr(proving, "sanitize", refuse)
    with pytest.raises(EnvironmentLacksError, match="cannot be started"):
        proving.prove_stages(["2d"], Problem(512, 512, 512), repeat=20)


def test_programs_at_a_time_are_bounded_by_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from ncu_lab.gpu.registry import load_stages

    monkeypatch.setattr("os.cpu_count", lambda: 64)
    stages = [load_stages()["2d"]]
    assert proving._programs(stages, Problem(512, 512, 512)) == 8
    assert proving._programs(stages, Problem(16384, 16384, 16384)) == 1


def test_the_command_shows_a_row_a_stage_and_fails(machine: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from typer.testing import CliRunner

    from ncu_lab.cli.app import app

    monkeypatch.setenv("COLUMNS", "100")
    chosen = [word for id in ("naive", "2d", "wmma", "cublas-fp32") for word in ("--stage", id)]
    result = CliRunner().invoke(app, ["check", "--sanitize", "--size", "512", *chosen])
    assert isinstance(result.exception, CheckFailedError)
    assert result.exception.message == "2 of 4 stages failed their proof: naive, wmma"
    lines = result.stdout.splitlines()
    assert lines[0].split() == [
        *("stage", "cases", "max", "error", "limit", "bit-equal", "memcheck", "racecheck", "initcheck", "synccheck"),
    ]
    assert lines[1].split() == ["naive", "2", "1.0e-07", "2.0e-06", "20×", "✓", "✗", "1", "✓", "✓", "✗"]
    assert lines[3].split() == ["wmma", "–", "–", "–", "–", "✓", "✓", "✓", "✓", "✗"]
    assert lines[4].split()[4:] == ["20×", "–", "–", "–", "–", "✓"]
    assert "naive: racecheck: Race reported" in result.stdout
    right = CliRunner().invoke(app, ["check", "--sanitize", "--size", "512", "--stage", "2d"])
    assert right.exit_code == 0
    assert "Stage 2d is proven: right at every shape" in right.stdout
    rows = CliRunner().invoke(app, ["check", "--sanitize", "--stage", "2d", "--format", "csv"]).stdout.splitlines()
    assert rows[1].startswith("2d,True,2,0,1e-07,2e-06,20,")
