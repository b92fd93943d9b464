"""``ncu-lab bisect`` where commits have to be profiled: real git, what a GPU does is stood in for."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import history_repo
import pytest
from fake_machine import DEVICE, REPORT, Machine
from lab_command import Done, leftovers, ncu_lab, stored_runs

from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.model import Problem, StageBuild, TimingSample
from ncu_lab.resources import kernels_folder
from ncu_lab.workflows import profiling_commits
from ncu_lab.workflows.benching import Bench

pytestmark = pytest.mark.git


class TimedMachine(Machine):
    """Times by what the kernel's source says: the unpadded tile takes a fifth longer, and a line misses a semicolon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        self.profiles("gram", functions={"sgemm_2d": "gram"})
        monkeypatch.setattr(profiling_commits, "current_device", lambda: DEVICE)
        monkeypatch.setattr(profiling_commits, "present_arch", lambda: "sm_90")
        monkeypatch.setattr(profiling_commits, "build_stages", self._build_stages)

    def _build_stages(self, ids: Sequence[str], report: object = None) -> list[StageBuild]:
        if "ROW = BN + 1\n" in self._source:
            raise InputError("stage gram does not compile: kernels/gram.cu:6: expected a ;")
        return super()._build_stages(ids, report)

    def _time_stages(
        self, ids: Sequence[str], problem: Problem, samples: int, report: object, processes: int = 1
    ) -> Bench:
        self.done.append(f"bench {' '.join(ids)} {samples}")
        ns = 2.57e6 if "ROW = BN;" in self._source else 2.17e6
        taken = [TimingSample(0, n, n, "gram", "interleaved", ns + n, None, None, None) for n in range(samples)]
        return Bench(tuple(taken), {}, problem, DEVICE)

    @property
    def _source(self) -> str:
        return (kernels_folder() / "gram.cu").read_text()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> TimedMachine:
    return TimedMachine(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("gram")
    commits = history_repo.make(folder)
    (folder / ".git" / "info" / "exclude").write_text("tmp/\nstore/\n")
    return folder, commits


@pytest.fixture
def commits(made: tuple[Path, dict[str, str]], tmp_path: Path) -> dict[str, str]:
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    return made[1]


def bisect(folder: Path, *options: str) -> Done:
    options = ("bisect", "--stage", "gram", "--size", "512", *options)
    return ncu_lab(folder, *options, FAKE_NCU_REPORT=str(REPORT), FAKE_NCU_SAYS="ladder-full")


def runs(folder: Path) -> list[str]:
    return [one.name for one in stored_runs(folder) if not one.name.startswith(".")]


def test_it_profiles_what_it_needs_and_skips_what_does_not_build(
    tmp_path: Path, machine: TimedMachine, commits: dict[str, str]
) -> None:
    search = ("--good", commits["tile"], "--bad", "main", "--format", "json")
    done = bisect(tmp_path, *search)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["commit"] == commits["unpadded"]
    assert (found["before"]["commit"], found["change"]["verdict"]) == (commits["renamed"], "slower")
    assert found["share_of_whole"] == pytest.approx(1.0, rel=0.01)
    measured = [one for one in found["probes"] if one["side"] != "skipped"]
    # A commit that was profiled now has no reason any more why it told nothing.
    assert [(one["new"], one["why"]) for one in measured] == [(True, None)] * len(measured)
    assert leftovers(tmp_path) == []
    status = subprocess.run(["git", "status", "--porcelain"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert status.stdout == ""
    profiled = runs(tmp_path)
    assert len(profiled) == 5  # the ends and three of the four between them
    again = json.loads(bisect(tmp_path, *search).stdout)
    assert again["commit"] == commits["unpadded"]
    assert runs(tmp_path) == profiled
    assert not any(one["new"] for one in again["probes"])


def test_skipped_commits_before_the_change_are_suspects_too(
    tmp_path: Path, machine: TimedMachine, commits: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = lambda self: "ROW = BN;" if "ROW = BN + 1;" in (text := self.text()) else text  # noqa: E731  # fixed is slow
    monkeypatch.setattr(TimedMachine, "text", lambda self: (kernels_folder() / "gram.cu").read_text(), raising=False)
    monkeypatch.setattr(TimedMachine, "_source", property(slow))
    done = bisect(tmp_path, "--good", commits["tile"], "--bad", commits["fixed"], "--format", "json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["commit"] is None
    assert [one["commit"] for one in found["suspects"]] == [commits["broken"], commits["fixed"]]
    assert [(one["side"], one["why"]) for one in found["probes"]] == [
        ("skipped", "stage gram does not compile: kernels/gram.cu:6: expected a ;")
    ]
    shown = bisect(tmp_path, "--good", commits["tile"], "--bad", commits["fixed"]).stdout
    assert shown.startswith("one of 8ab08b8, 8688f56 moved time of gram: all but the last were skipped")


def test_what_the_machine_lacks_stops_git_bisect(
    tmp_path: Path, machine: TimedMachine, commits: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking() -> None:
        raise EnvironmentLacksError("no NVIDIA GPU is visible")

    monkeypatch.setattr(profiling_commits, "current_device", lacking)
    assert bisect(tmp_path, "--good", commits["tile"]).returncode == 4
    assert bisect(tmp_path, "--step", "--good", commits["tile"]).returncode == 132
