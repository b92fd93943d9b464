"""The stages on a real GPU: right at every shape, timed beside their references, with their precision proven."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

from ncu_lab.errors import UsageError
from ncu_lab.gpu.devices import current_device, environment
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.supervisor import run_target
from ncu_lab.model import Problem
from ncu_lab.workflows.benching import summarise, time_stages
from ncu_lab.workflows.building import build_stages
from ncu_lab.workflows.checking import check_stages

pytestmark = pytest.mark.gpu


def supported() -> list[str]:
    major, minor = current_device().compute_capability or (0, 0)
    return [stage.id for stage in load_stages().values() if stage.runs_on(10 * major + minor)]


def test_every_stage_is_right_at_every_shape() -> None:
    cases = check_stages(supported(), Problem(512, 768, 256))
    wrong = [f"{c.stage} {c.variant} {c.problem.label} {c.case}: {c.detail}" for c in cases if not c.passed]
    assert wrong == []
    assert {case.stage for case in cases} == set(supported())


def test_a_large_problem_is_checked_against_the_gpus_own_float64() -> None:
    cases = check_stages(["2d", "cublas-fp32"], Problem(2048, 2048, 2048), quick=True)
    assert all(case.passed for case in cases)
    assert cases[0].max_rel_error > 0


def test_timings_are_complete_and_the_references_proven() -> None:
    problem = Problem(1024, 1024, 1024)
    timed = time_stages(["2d", "vectorized", "wmma"], problem, samples=6)
    assert timed.notices == ()
    counts = Counter((sample.subject, sample.mode) for sample in timed.samples)
    assert counts["2d", "interleaved"] == counts["2d", "alone"] == counts["cublas-fp32", "alone"] == 6
    # Beside each of the two stages, and beside CUTLASS too where its wheel is installed.
    stages = load_stages()
    beside = {one for one, mode in counts if mode == "interleaved" and stages[one].reference == "cublas-fp32"}
    assert beside >= {"2d", "vectorized"}
    assert counts["cublas-fp32", "interleaved"] == 6 * len(beside)
    rows = {row["stage"]: row for row in summarise(timed)}
    assert 0 < rows["2d"]["pct_of_reference"] < 150
    assert 0 < rows["2d"]["pct_of_peak"] < 100


def test_profile_mode_runs_without_a_profiler() -> None:
    stages = [load_stages()[id] for id in ("2d", "cublas-tf32")]
    subjects = subjects_of(stages, build_stages(["2d"]), load_stages())
    result = run_target(TargetRequest("profile", Problem(256, 256, 256), subjects), timeout_s=120)
    assert [launch["variant"] for launch in result["launches"]] == ["fast", "library"]
    assert result["launches"][0]["kernels"][0]["grid"] == [2, 2, 1]


def test_probe_launches_one_kernel() -> None:
    assert run_target(TargetRequest("probe", Problem(1, 1, 1), ()), timeout_s=120)["ok"]


def test_a_problem_beyond_memory_is_refused_before_it_is_tried() -> None:
    with pytest.raises(UsageError, match="GiB of GPU memory"):
        check_stages(["naive"], Problem(46000, 46000, 46000), quick=True)


def test_the_environment_is_known() -> None:
    assert environment().driver
    assert environment().cuda
    assert current_device().uuid_hash


def test_the_commands_print_json() -> None:
    command = [sys.executable, "-m", "ncu_lab.cli.app", "check", "--stage", "naive", "--size", "96", "--quick"]
    done = subprocess.run([*command, "--format", "json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["cases"]) == 15
