"""History of made stores: what stands in the line, what is marked, and across what nothing is compared."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import ENVIRONMENT, H200, golden_run

from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import Device, GitState, Problem, RunFilter
from ncu_lab.model.history import History
from ncu_lab.render.history import history_document, history_markdown
from ncu_lab.store import Store
from ncu_lab.workflows.history import HistoryRequest, history

pytestmark = pytest.mark.git
STAGE = "2d"


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    return tmp_path


def commit(repository: Path, subject: str) -> str:
    git(repository, "commit", "--quiet", "--allow-empty", "--message", subject)
    return git(repository, "rev-parse", "HEAD").strip()


class Runs:
    """A store that grows by a run a day."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.count = 0

    def put(self, commit: str | None, ns: float, *, dirty: bool = False, **options: object) -> str:
        self.count += 1
        run_id = f"202611{self.count:02d}T000000-2d-{(commit or 'nogit')[:7]}-{self.count:04x}"
        samples = {STAGE: [ns * (1.0 + 0.0001 * i) for i in range(10)]}
        created = f"2026-11-{self.count:02d}T00:00:00+00:00"
        run = golden_run([STAGE], run_id=run_id, created=created, samples=samples, **options)  # type: ignore[arg-type]
        state = GitState(commit=commit, dirty=dirty, subject=None)
        Store(self.folder).write(replace(run, meta=replace(run.meta, git=state)))
        return run_id


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path / "reports")


def of(runs: Runs, folder: Path, key: str = "time_ns", **request: object) -> History:
    return history(HistoryRequest(key, **request), runs.folder, folder)  # type: ignore[arg-type]


def test_commits_stand_in_the_order_of_git_whenever_they_were_run(repository: Path, runs: Runs) -> None:
    a, b, c = (commit(repository, subject) for subject in "ABC")
    for one, ns in ((c, 2e6), (a, 1e6), (b, 1e6)):
        runs.put(one, ns)
    (only,) = of(runs, repository).kernels
    assert [(one.commit and one.commit.subject) for one in only.points] == ["A", "B", "C"]
    assert [(one.first.commit and one.first.commit.subject, one.change.verdict) for one in only.changes] == [
        ("C", "slower")
    ]


def test_the_newest_complete_run_speaks_for_a_commit(repository: Path, runs: Runs) -> None:
    one = commit(repository, "A")
    runs.put(one, 1e6)
    newest = runs.put(one, 1.1e6)
    runs.put(one, 9e6, status="partial")
    (only,) = of(runs, repository).kernels
    (point,) = only.points
    assert (point.meta.id, point.runs, only.changes) == (newest, 3, ())


def test_an_edited_tree_is_marked_and_not_judged(repository: Path, runs: Runs) -> None:
    a, b = (commit(repository, subject) for subject in "AB")
    runs.put(a, 1e6)
    runs.put(a, 5e6, dirty=True)
    runs.put(b, 1e6)
    (only,) = of(runs, repository).kernels
    assert [one.is_dirty for one in only.points] == [False, True, False]
    assert only.changes == ()
    (by_time,) = of(runs, repository.parent).kernels
    assert [one.change.verdict for one in by_time.changes] == ["slower", "faster"]


def test_across_another_driver_times_are_not_compared_and_registers_are(repository: Path, runs: Runs) -> None:
    a, b, c = (commit(repository, subject) for subject in "ABC")
    runs.put(a, 1e6)
    runs.put(b, 2e6, environment=replace(ENVIRONMENT, driver="590.1"))
    runs.put(c, 3e6, environment=replace(ENVIRONMENT, driver="590.1"))
    (only,) = of(runs, repository).kernels
    (found,) = only.breaks
    assert found.why == "another driver (580.159 and 590.1)"
    assert [one.first.meta.git.commit for one in only.changes] == [c]
    (registers,) = of(runs, repository, "registers_per_thread").kernels
    assert (registers.breaks, registers.changes) == ((), ())


def test_another_gpu_and_another_problem_are_other_lines(repository: Path, runs: Runs) -> None:
    a, b = (commit(repository, subject) for subject in "AB")
    runs.put(a, 1e6)
    runs.put(b, 2e6, device=Device("NVIDIA L4", (8, 9), 58))
    runs.put(b, 3e6, problem=Problem(512, 512, 512))
    found = of(runs, repository)
    assert [(one.device, one.problem and one.problem.m, len(one.points)) for one in found.kernels] == [
        (H200.name, 1024, 1),
        ("NVIDIA L4", 1024, 1),
        (H200.name, 512, 1),
    ]
    assert [one.changes for one in found.kernels] == [(), (), ()]
    assert len(of(runs, repository, wanted=RunFilter(device="l4")).kernels) == 1


def test_a_commit_without_a_run_is_told_and_a_failed_one_named(repository: Path, runs: Runs) -> None:
    a, b, c, d = (commit(repository, subject) for subject in "ABCD")
    runs.put(a, 1e6)
    failed = runs.put(b, 1e6, status="build_failed")
    runs.put(d, 1e6)
    (only,) = of(runs, repository).kernels
    assert [(one.meta.id, one.status) for one in only.gaps] == [(failed, "build_failed")]
    assert [one.subject for one in only.not_profiled] == ["C"]
    runs.put(b, 1e6)  # built after all
    (only,) = of(runs, repository).kernels
    assert (only.gaps, len(only.points)) == ((), 3)
    assert c not in {one.meta.git.commit for one in only.points}


def test_a_commit_with_only_an_edited_tree_is_not_said_to_have_no_run(repository: Path, runs: Runs) -> None:
    a, b, _, d = (commit(repository, subject) for subject in "ABCD")
    runs.put(a, 1e6)
    runs.put(b, 1e6, dirty=True)
    runs.put(d, 1e6, dirty=True)
    found = of(runs, repository)
    (only,) = found.kernels
    assert [one.subject for one in only.only_edited] == ["B", "D"]
    assert [one.subject for one in only.not_profiled] == ["C"]
    text = history_markdown(found)
    assert f"- 2 commits have only a run of an edited (dirty) tree: {b[:7]}, {d[:7]}\n" in text
    assert "- 1 commit between them has no run: " in text
    assert [one["commit"] for one in history_document(found)["only_edited"]] == [b, d]


def test_a_slow_drift_is_told_as_gradual(repository: Path, runs: Runs) -> None:
    for number in range(12):
        runs.put(commit(repository, f"{number}"), 1e6 * 1.002**number)
    (only,) = of(runs, repository).kernels
    assert only.changes
    assert all(one.is_gradual and one.change.verdict == "slower" for one in only.changes)


def test_runs_of_other_repositories_stand_in_time(repository: Path, runs: Runs) -> None:
    commit(repository, "A")
    runs.put("f" * 40, 1e6)
    runs.put("e" * 40, 2e6)
    found = of(runs, repository)
    assert (found.order, [one.code for one in found.notices]) == ("time", ["not_the_line"])
    with pytest.raises(InputError, match="no run of a commit of main"):
        of(runs, repository, revisions="main")


def test_runs_of_side_branches_are_left_out_and_counted(repository: Path, runs: Runs) -> None:
    runs.put(commit(repository, "A"), 1e6)
    runs.put("f" * 40, 2e6)
    found = of(runs, repository)
    assert [len(one.points) for one in found.kernels] == [1]
    assert "1 run is of no commit on the line that ends in HEAD" in found.notices[0].message


def test_a_repository_without_commits_goes_by_time(repository: Path, runs: Runs) -> None:
    runs.put(None, 1e6)
    assert of(runs, repository).order == "time"


def test_bad_input_is_named(repository: Path, runs: Runs) -> None:
    with pytest.raises(UsageError, match="there is no metric"):
        of(runs, repository, "time")
    with pytest.raises(InputError, match=r"no run in .* tells time_ns"):
        of(runs, repository)
    runs.put(commit(repository, "A"), float("nan"))
    with pytest.raises(InputError, match="tells time_ns"):
        of(runs, repository)
    assert of(runs, repository, "duration_ns").kernels[0].points[0].estimate.n == 1


def test_the_share_of_the_reference_has_no_verdict(repository: Path, runs: Runs) -> None:
    runs.put(commit(repository, "A"), 1e6, extra=[])
    with pytest.raises(InputError):
        of(runs, repository, "pct_of_reference")
