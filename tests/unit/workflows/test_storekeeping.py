"""A store that is looked after: what is wrong is named, what goes is shown first, what stays stays."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from golden_runs import golden_run

from ncu_lab.errors import EnvironmentLacksError, InputError, UsageError
from ncu_lab.model import PrunePolicy
from ncu_lab.store import Store
from ncu_lab.workflows.storekeeping import check_store, plan_prune, prune

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three runs of one stage, the first two with a report of 400 bytes."""
    folder, report = tmp_path / "reports", tmp_path / "x.ncu-rep"
    report.write_bytes(b"NVR\0" * 100)
    for day in (1, 2, 3):
        run = golden_run(["2d"], run_id=f"2026110{day}T000000-2d-nogit-000{day}", created=f"2026-11-0{day}T00:00:00Z")
        Store(folder).write(run, report if day < 3 else None)
    return folder


def ids(store: Path) -> list[str]:
    return [meta.id[7] for meta in Store(store).metas()[0]]


def doomed(store: Path, policy: PrunePolicy) -> list[str]:
    plan, _ = plan_prune(store, policy, NOW)
    return [fate.run[7] for fate in plan.doomed]


def test_a_plan_deletes_nothing_and_tells_sizes(store: Path) -> None:
    plan, notices = plan_prune(store, PrunePolicy(keep_last=1), NOW)
    assert notices == []
    assert [fate.run[7] for fate in plan.doomed] == ["2", "1"]
    second = store / plan.doomed[0].run
    assert plan.doomed[0].bytes == sum(file.stat().st_size for file in second.iterdir())
    assert plan.fates[0].kept_by == "one of the last 1 of 2d"
    assert ids(store) == ["3", "2", "1"]


def test_pruning_deletes_what_was_shown(store: Path) -> None:
    plan, _ = plan_prune(store, PrunePolicy(keep_last=1), NOW)
    (store / plan.doomed[0].run).rename(store.parent / "moved")  # by somebody else, meanwhile
    prune(store, plan)
    assert ids(store) == ["3"]
    assert check_store(store).damages == ()
    assert [entry.name for entry in store.iterdir()] == ["20261103T000000-2d-nogit-0003"]


def test_only_reports_go(store: Path) -> None:
    plan, _ = plan_prune(store, PrunePolicy(drop_reports=True), NOW)
    assert [(fate.run[7], fate.kept_by, fate.bytes) for fate in plan.fates] == [
        ("3", "no report", 0), ("2", None, 400), ("1", None, 400),
    ]  # fmt: skip
    assert doomed(store, PrunePolicy(keep_days=28, drop_reports=True)) == ["1"]
    prune(store, plan)
    assert ids(store) == ["3", "2", "1"]
    assert list(store.glob("*/report.ncu-rep")) == []
    assert check_store(store).damages == ()


def test_what_cannot_be_read_or_is_elsewhere_stays(store: Path, tmp_path: Path) -> None:
    elsewhere = Store(tmp_path / "elsewhere").write(
        golden_run(["2d"], run_id="20260101T000000-2d-nogit-0009", created="2026-01-01T00:00:00Z")
    )
    (store / elsewhere.name).symlink_to(elsewhere)
    (store / "20261101T000000-2d-nogit-0001" / "run.json").write_text("{")
    (store / "examples").mkdir()
    (store / "notes.txt").write_text("mine")
    plan, [notice] = plan_prune(store, PrunePolicy(keep_last=1), NOW)
    assert "0001 is corrupt" in notice.message
    assert [fate.run[7] for fate in plan.doomed] == ["2"]
    assert plan.fates[-1].kept_by == "a link to elsewhere"
    prune(store, plan)
    assert {entry.name for entry in store.iterdir()} == {
        "20261103T000000-2d-nogit-0003", "20261101T000000-2d-nogit-0001", elsewhere.name, "examples", "notes.txt",
    }  # fmt: skip
    assert check_store(elsewhere.parent).damages == ()


def test_a_policy_that_keeps_nothing_is_refused(store: Path) -> None:
    with pytest.raises(UsageError, match="nothing says which runs to keep"):
        plan_prune(store, PrunePolicy(keep=("2026",)), NOW)


@pytest.mark.parametrize("folder", ["reports/examples", "link"])
def test_the_bundled_runs_stay(folder: str, tmp_path: Path) -> None:
    examples = tmp_path / "reports" / "examples"
    Store(examples).write(golden_run(["2d"]))
    (tmp_path / "link").symlink_to(examples)
    with pytest.raises(UsageError, match="bundled runs, which stay"):
        plan_prune(tmp_path / folder, PrunePolicy(keep_days=0), NOW)


def test_what_killed_writers_left_is_named_and_goes(store: Path) -> None:
    for name in (".writing-1", ".removed-1", ".probe-1"):
        (store / name).mkdir()
        os.utime(store / name, (0, 0))
    (store / ".writing-young").mkdir()
    with Store(store).writing() as writer:
        writer.append({"timings": golden_run().timings})
        [living] = [entry for entry in store.glob(".writing-*") if entry.name != ".writing-young"]
        os.utime(living, (0, 0))
        for name in (".writing-1", ".removed-1", ".probe-1"):
            (store / name).mkdir(exist_ok=True)  # another writer has removed them
            os.utime(store / name, (0, 0))
        names = [".probe-1", ".removed-1", ".writing-1"]
        assert [(one.run, one.kind) for one in check_store(store).damages] == [(name, "leftover") for name in names]
        plan, _ = plan_prune(store, PrunePolicy(keep_days=999), NOW)
        assert plan.leftovers == tuple(names)
        prune(store, plan)
        assert {entry.name for entry in store.glob(".*")} == {".writing-young", living.name}


def test_an_interrupted_deletion_is_out_of_the_listings(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("shutil.rmtree", full)
    plan, _ = plan_prune(store, PrunePolicy(keep_last=1), NOW)
    with pytest.raises(EnvironmentLacksError, match="Input/output error"):
        prune(store, plan)
    assert ids(store) == ["3", "1"]


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    return subprocess.run(
        ["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.git
def test_tags_mark_baselines(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    commits = []
    for tag in (["v1"], ["-m", "two", "-a", "v2"], ["nightly"]):
        git(repository, "commit", "-q", "--allow-empty", "-m", "x" * len(commits) + "x")
        git(repository, "tag", *tag)
        commits.append(git(repository, "rev-parse", "HEAD").strip())
    _set_commits(store, commits)
    policy = PrunePolicy(keep_days=0, keep_tagged="*")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="--keep-tagged needs a git repository"):
        plan_prune(store, policy, NOW)
    monkeypatch.chdir(repository)
    assert doomed(store, policy) == []
    assert doomed(store, PrunePolicy(keep_days=0, keep_tagged="v*")) == ["3"]
    assert doomed(store, PrunePolicy(keep_days=0)) == ["3", "2", "1"]


def _set_commits(store: Path, commits: Sequence[str]) -> None:
    for folder, commit in zip(sorted(store.iterdir()), commits, strict=True):
        file = folder / "run.json"
        file.write_text(file.read_text().replace('"commit": null', f'"commit": "{commit}"'))
