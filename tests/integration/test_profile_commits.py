"""``ncu-lab profile --rev``, with a real git and a repository made for it; what a GPU does is stood in for."""

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
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Problem, Run, StageBuild
from ncu_lab.resources import data_dir, kernels_folder
from ncu_lab.store import Store
from ncu_lab.workflows import profiling_commits
from ncu_lab.workflows.benching import Bench

pytestmark = pytest.mark.git

FUNCTIONS = {"sgemm_2d": "gram", "sgemm_naive": "product"}


class CommitMachine(Machine):
    """Builds what is whole, as the compiler would: commit ``broken`` lacks a semicolon."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(monkeypatch)
        self.entries: list[str] = []
        self.interrupt_at: str | None = None
        self.profiles("gram", functions=FUNCTIONS)
        monkeypatch.setattr(profiling_commits, "current_device", lambda: DEVICE)
        monkeypatch.setattr(profiling_commits, "present_arch", lambda: "sm_90")
        monkeypatch.setattr(profiling_commits, "build_stages", self._try)

    def _build_stages(self, ids: Sequence[str], report: object = None) -> list[StageBuild]:
        self._try(ids)
        self.entries += [load_stages()[id].entry or "" for id in ids]
        return super()._build_stages(ids, report)

    def _try(self, ids: Sequence[str]) -> None:
        if "gram" in ids and "ROW = BN + 1\n" in (kernels_folder() / "gram.cu").read_text():
            raise InputError("stage gram does not compile: kernels/gram.cu:6: expected a ;")

    def _time_stages(
        self, ids: Sequence[str], problem: Problem, samples: int, report: object, processes: int = 1
    ) -> Bench:
        if self.interrupt_at and self.interrupt_at in self.entries:
            raise KeyboardInterrupt
        return super()._time_stages(ids, problem, samples, report)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> CommitMachine:
    return CommitMachine(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The history, with everything that a user may have under way: edits, staged and not, a stash, a file aside."""
    folder = tmp_path_factory.mktemp("gram")
    commits = history_repo.make(folder)
    (folder / ".git" / "info" / "exclude").write_text("tmp/\nstore/\n")
    kernel = folder / history_repo.KERNEL
    kernel.write_text(kernel.read_text() + "// stashed\n")
    git(folder, "stash")
    (folder / "README.md").write_text("staged\n")
    git(folder, "add", "README.md")
    (folder / "README.md").write_text("not staged\n")
    (folder / "aside.txt").write_text("mine\n")
    return folder, commits


@pytest.fixture
def commits(made: tuple[Path, dict[str, str]], tmp_path: Path) -> dict[str, str]:
    """A copy of that repository in the folder of the test."""
    shutil.copytree(made[0], tmp_path, dirs_exist_ok=True)
    return made[1]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


def state(folder: Path) -> list[str]:
    """All of the user's that must stay: where HEAD is, index, edits, stash, refs, worktrees."""
    asked = ("rev-parse --abbrev-ref HEAD", "status --porcelain", "diff", "diff --cached", "stash list -p",
             "for-each-ref", "worktree list --porcelain", "fsck")  # fmt: skip
    return [git(folder, *words.split()) for words in asked]


def profile(folder: Path, *options: str, stages: Sequence[str] = ("gram",), **variables: str) -> Done:
    named = [word for stage in stages for word in ("--stage", stage)]
    options = ("--rev", *options, *named, "--no-reference", "--size", "512", "--drop-report")
    return ncu_lab(folder, "profile", *options, FAKE_NCU_REPORT=str(REPORT), FAKE_NCU_SAYS="ladder-full", **variables)


def runs(folder: Path) -> list[Run]:
    return [Store(run.parent).read(run.name) for run in stored_runs(folder) if run.name[0] != "."]


def of_commit(folder: Path) -> dict[str, str]:
    return {str(run.meta.git.commit): run.meta.status for run in runs(folder)}


def test_each_commit_is_profiled_as_it_was(tmp_path: Path, machine: CommitMachine, commits: dict[str, str]) -> None:
    before = state(tmp_path)
    done = profile(tmp_path, f"{commits['merge']}..{commits['unpadded']}", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert (state(tmp_path), leftovers(tmp_path)) == (before, [])
    line = ["tile", "broken", "fixed", "renamed", "unpadded"]
    assert of_commit(tmp_path) == {commits[name]: "build_failed" if name == "broken" else "complete" for name in line}
    for run in runs(tmp_path):
        assert (run.meta.git.dirty, run.meta.git.branch, run.meta.git.diff, run.meta.git.sources) == (
            False,
            None,
            "",
            {},
        )
    fixed = next(run for run in runs(tmp_path) if run.meta.git.commit == commits["fixed"])
    assert fixed.meta.git.subject == "Add the semicolon"
    assert machine.entries == ["gram", "gram", "times_transpose", "times_transpose"]
    rows = json.loads(done.stdout)["commits"]
    assert [(row["commit"], row["ending"]) for row in rows] == [
        (commits[name], "build_failed" if name == "broken" else "profiled") for name in line
    ]
    assert rows[0]["time_ns"] == 57_001.0
    assert rows[1]["why"] == "stage gram does not compile: kernels/gram.cu:6: expected a ;"


def test_what_is_in_the_store_is_not_done_again(
    tmp_path: Path, machine: CommitMachine, commits: dict[str, str]
) -> None:
    assert profile(tmp_path, "tile").returncode == 3  # no revision is called so
    assert profile(tmp_path, f"{commits['merge']}..{commits['broken']}").returncode == 0
    count = len(runs(tmp_path))
    machine.done.clear()
    done = profile(tmp_path, f"{commits['merge']}..{commits['fixed']}")
    assert done.returncode == 0, done.stderr
    assert machine.done == ["build gram", "check gram", "bench gram 10"]
    assert len(runs(tmp_path)) == count + 1
    assert f"{commits['tile'][:7]}  is in the store already" in done.stderr
    assert f"{commits['broken'][:7]}  ✗ build failed: stage gram does not compile: kernels/gram.cu:6" in done.stderr
    assert done.stdout.rstrip().endswith("Next: ncu-lab history --stage gram")
    assert profile(tmp_path, commits["fixed"], "--again").returncode == 0
    assert len(runs(tmp_path)) == count + 2


def test_a_broken_stage_keeps_no_other_from_being_profiled(
    tmp_path: Path, machine: CommitMachine, commits: dict[str, str]
) -> None:
    machine.profiles("product", functions=FUNCTIONS)
    done = profile(tmp_path, commits["broken"], stages=("gram", "product"))
    assert done.returncode == 0, done.stderr
    assert sorted((run.meta.status, run.meta.stages) for run in runs(tmp_path)) == [
        ("build_failed", ("gram",)),
        ("complete", ("product",)),
    ]


def test_a_merge_follows_its_first_parent(tmp_path: Path, machine: CommitMachine, commits: dict[str, str]) -> None:
    assert profile(tmp_path, f"{commits['conflict']}..{commits['merge']}").returncode == 0
    assert set(of_commit(tmp_path)) == {commits["padded"], commits["merge"]}


def test_an_interrupt_leaves_what_was_done_and_nothing_else(
    tmp_path: Path, machine: CommitMachine, commits: dict[str, str]
) -> None:
    before = state(tmp_path)
    machine.interrupt_at = "times_transpose"
    done = profile(tmp_path, f"{commits['broken']}..main")
    assert done.returncode == 130
    assert "stopped after 1 commit; the same command goes on with the others" in done.stderr
    assert (state(tmp_path), leftovers(tmp_path)) == (before, [])
    assert commits["fixed"] in of_commit(tmp_path)
    assert commits["renamed"] not in of_commit(tmp_path)
    assert kernels_folder() == data_dir("kernels")


def test_what_the_machine_lacks_ends_the_walk(tmp_path: Path, machine: CommitMachine, commits: dict[str, str]) -> None:
    before = state(tmp_path)
    done = ncu_lab(
        tmp_path, "profile", "--rev", "begin..main", "--stage", "gram", "--size", "512", FAKE_NCU_SAYS="no-permission"
    )
    assert done.returncode == 4
    assert "ERR_NVGPUCTRPERM" in done.stderr
    assert (state(tmp_path), leftovers(tmp_path)) == (before, [])
    assert of_commit(tmp_path) == {commits["conflict"]: "partial"}


def test_hooks_of_the_user_do_not_run(tmp_path: Path, machine: CommitMachine, commits: dict[str, str]) -> None:
    hook = tmp_path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path / 'tmp' / 'hooked'}\n")
    hook.chmod(0o755)
    assert profile(tmp_path, commits["padded"]).returncode == 0
    assert leftovers(tmp_path) == []


def test_from_within_a_hook_the_index_of_the_commit_under_way_stays(
    tmp_path: Path, machine: CommitMachine, commits: dict[str, str]
) -> None:
    before = state(tmp_path)
    own = {"GIT_DIR": str(tmp_path / ".git"), "GIT_INDEX_FILE": str(tmp_path / ".git" / "index"), "GIT_PREFIX": ""}
    done = profile(tmp_path, commits["padded"], **own)
    assert done.returncode == 0, done.stderr
    assert state(tmp_path) == before
    assert of_commit(tmp_path) == {commits["padded"]: "complete"}


@pytest.mark.parametrize(
    ("revisions", "stage", "exit_code", "message", "hint"),
    [
        ("nowhere..main", "gram", 3, 'git knows no revision "nowhere"', "git log"),
        ("main..begin", "gram", 3, "main..begin is empty: begin (", "Did you mean begin..main?"),
        ("main..main", "gram", 3, "main..main is empty", "A is no part of A..B"),
        ("begin...main", "gram", 2, "begin...main means the commits of either side", "Write A..B"),
        ("--all", "gram", 3, 'git knows no revision "--all"', ""),
        ("begin", "gram", 3, 'no commit of begin has a stage "gram"', ""),
        ("main~1..main", "grem", 3, 'no commit of main~1..main has a stage "grem"', "Did you mean gram?"),
    ],
)  # fmt: skip
def test_bad_ranges_and_stages_are_named(
    tmp_path: Path, machine: CommitMachine, commits: dict[str, str], revisions: str, stage: str, exit_code: int,
    message: str, hint: str,
) -> None:  # fmt: skip
    done = profile(tmp_path, revisions, stages=(stage,))
    assert done.returncode == exit_code, done.stderr
    assert message in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert runs(tmp_path) == []


def test_a_shallow_clone_is_named(tmp_path: Path, machine: CommitMachine, made: tuple[Path, dict[str, str]]) -> None:
    whole, commits = made
    git(tmp_path, "clone", "--quiet", "--depth", "3", f"file://{whole}", "part")
    done = profile(tmp_path / "part", f"{commits['tile']}..main")
    assert done.returncode == 3
    assert "is not in this shallow clone" in done.stderr
    assert "git fetch --unshallow" in done.stderr


def test_without_a_repository_it_says_where_to_go(
    tmp_path: Path, machine: CommitMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = profile(tmp_path, "main~1..main")
    assert done.returncode == 3
    assert "there is no git repository around" in done.stderr
    assert "kernels/stages.toml" in done.stderr


def test_a_machine_without_a_gpu_ends_before_anything_is_checked_out(
    tmp_path: Path, machine: CommitMachine, commits: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking() -> None:
        raise EnvironmentLacksError("no NVIDIA GPU is visible")

    monkeypatch.setattr(profiling_commits, "current_device", lacking)
    done = profile(tmp_path, "begin..main")
    assert (done.returncode, runs(tmp_path), leftovers(tmp_path)) == (4, [], [])
