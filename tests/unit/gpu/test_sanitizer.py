"""compute-sanitizer: what its logs say, and what becomes of a program that ends otherwise. The tool is stood in for."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from ncu_lab.errors import EnvironmentLacksError, Exit
from ncu_lab.gpu import sanitizer
from ncu_lab.gpu.launch_plan import plan
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import Subject, TargetRequest
from ncu_lab.gpu.sanitizer import read_log, sanitize, small_problems
from ncu_lab.model import Problem
from ncu_lab.model.proof import SanitizerFinding

CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
STRAY = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at sgemm_2d+0x1b0 in 07_2d.cu:88
=========     by thread (3,0,0) in block (1,0,0)
=========     Address 0x7f0 is out of bounds
=========
========= ERROR SUMMARY: 12 errors
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sgemm_smem+0x310 in 03_smem.cu:71
=========     and Read access at sgemm_smem+0x480 in 03_smem.cu:80 [4096 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_logs_are_read_to_a_count_and_the_first_finding() -> None:
    assert read_log(CLEAN) == (0, "")
    assert read_log(STRAY) == (12, "Invalid __global__ read of size 4 bytes at sgemm_2d+0x1b0 in 07_2d.cu:88")
    count, words = read_log(RACE)
    assert count == 1
    assert words.startswith("Error: Race reported between Write access at sgemm_smem+0x310 in 03_smem.cu:71 and Read")
    clean = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
    assert read_log(clean) == (0, "")
    assert read_log("") == (None, "")


def run(tmp_path: Path, log: str, then: str = "exit 0", timeout_s: float = 20.0) -> SanitizerFinding:
    """Sanitize with a tool that writes a log where it is told to, and ends as given."""
    (tmp_path / "log").write_text(log)
    tool = tmp_path / "compute-sanitizer"
    tool.write_text(
        '#!/bin/sh\nwhile [ "$1" != --log-file ]; do shift; done\n'
        f'cp {tmp_path / "log"} "$2"\nshift 2; echo "$@" > {tmp_path / "program"}\n{then}\n'
    )
    tool.chmod(0o755)
    request = TargetRequest("launch", Problem(8, 8, 8), (Subject(load_stages()["smem"], "/cubin"),))
    return sanitize(tool, "racecheck", request, stop=threading.Event(), timeout_s=timeout_s)


def test_a_clean_run_passes(tmp_path: Path) -> None:
    found = run(tmp_path, CLEAN)
    assert (found.stage, found.tool, found.passed, found.errors, found.detail) == ("smem", "racecheck", True, 0, "")
    assert "-m ncu_lab.gpu.target" in (tmp_path / "program").read_text()


def test_what_it_finds_is_told(tmp_path: Path) -> None:
    found = run(tmp_path, RACE, "exit 9")
    assert (found.passed, found.errors) == (False, 1)
    assert "03_smem.cu:71" in found.detail


@pytest.mark.parametrize(("log", "then"), [("", "exit 0"), (CLEAN, "exit 3"), (STRAY, "exit 0")])
def test_only_a_clean_end_with_a_count_of_none_passes(tmp_path: Path, log: str, then: str) -> None:
    assert not run(tmp_path, log, then).passed


def test_a_hang_is_a_finding(tmp_path: Path) -> None:
    found = run(tmp_path, "", "sleep 60", timeout_s=0.5)
    assert (found.passed, found.errors) == (False, None)
    assert "did not end within 0.5 s and was killed: a kernel hangs" in found.detail


def test_the_programs_own_error_is_told(tmp_path: Path) -> None:
    error = json.dumps({"error": "ProgramError", "message": "stage smem crashed on 8³", "hint": ""})
    assert run(tmp_path, "", f"echo '{error}'; exit 5").detail == "stage smem crashed on 8³"
    assert run(tmp_path, "", "echo lost >&2; exit 5").detail == "ended with exit code 5 and no summary | lost"


def test_without_the_tool_the_machine_lacks_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sanitizer, "find_tool", lambda _: None)
    with pytest.raises(EnvironmentLacksError, match="compute-sanitizer was not found") as error:
        sanitizer.find_sanitizer()
    assert "CUDA toolkit" in error.value.hint
    assert error.value.exit_code == Exit.ENVIRONMENT


def test_small_problems_take_both_paths_and_leave_c_unread_once() -> None:
    stages = load_stages()
    for stage in stages.values():
        if stage.is_reference:
            continue
        problems = [stage.shape(one) for one in small_problems(stage)]
        assert {one.beta for one in problems} == {-0.5, 0.0}
        fallback = stages[stage.fallback] if stage.fallback else None
        gpu = {"sm_count": 132, "capability": 90}
        taken = {
            plan(stage, one, Layout(one.k, one.n, one.n, 256, 512, 1024), **gpu, fallback=fallback).variant
            for one in problems
        }
        assert taken == ({"fast", "guarded"} if stage.is_complete else {"fast"}), stage.id
        assert max(one.m * one.n * one.k for one in problems) < 2**29, stage.id
