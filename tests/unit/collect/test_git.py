from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ncu_lab.collect.git import read_state
from ncu_lab.model import GitState

pytestmark = pytest.mark.git


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def kernels(tmp_path: Path) -> Path:
    kernels = tmp_path / "kernels"
    kernels.mkdir()
    (kernels / "a.cu").write_text("one\n")
    (tmp_path / "notes").write_text("x\n")
    git(tmp_path, "init", "-q", "-b", "topic")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Pad the tile\n\nLong story.")
    return kernels


def test_a_clean_tree(kernels: Path) -> None:
    state, notices = read_state(kernels, [kernels / "a.cu"])
    assert state == GitState(git(kernels, "rev-parse", "HEAD"), "topic", False, "Pad the tile")
    assert notices == ()


def test_an_edited_kernel_keeps_its_text_and_diff(kernels: Path) -> None:
    (kernels / "a.cu").write_text("two\n")
    state, _ = read_state(kernels, [kernels / "a.cu"])
    assert state.dirty
    assert "-one\n+two\n" in state.diff
    assert state.sources == {"a.cu": "two\n"}


def test_a_new_kernel_makes_the_tree_dirty_and_a_stray_file_elsewhere_does_not(kernels: Path) -> None:
    (kernels.parent / "scratch").write_text("?")
    assert not read_state(kernels)[0].dirty
    (kernels / "b.cu").write_text("new\n")
    state, _ = read_state(kernels, [kernels / "b.cu"])
    assert (state.dirty, state.diff, dict(state.sources)) == (True, "", {"b.cu": "new\n"})


def test_an_edit_outside_the_kernels_makes_the_tree_dirty_without_a_diff_of_kernels(kernels: Path) -> None:
    (kernels.parent / "notes").write_text("y\n")
    state, _ = read_state(kernels)
    assert (state.dirty, state.diff) == (True, "")


def test_a_detached_head_has_no_branch(kernels: Path) -> None:
    git(kernels, "checkout", "-q", "--detach")
    state, _ = read_state(kernels)
    assert state.branch is None
    assert state.commit == git(kernels, "rev-parse", "HEAD")


def test_outside_a_repository_the_sources_alone_are_kept(tmp_path: Path) -> None:
    (tmp_path / "a.cu").write_text("one\n")
    assert read_state(tmp_path, [tmp_path / "a.cu"]) == (GitState(sources={"a.cu": "one\n"}), ())


def test_an_installation_below_someone_elses_repository_has_no_commit(kernels: Path) -> None:
    installed = kernels.parent / "venv" / "kernels"
    installed.mkdir(parents=True)
    (installed / "a.cu").write_text("one\n")
    assert read_state(installed)[0] == GitState()


def test_without_git_there_is_no_state_and_no_complaint(kernels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert read_state(kernels) == (GitState(), ())


def test_a_repository_that_git_refuses_is_told(kernels: Path) -> None:
    (kernels.parent / ".git" / "config").write_text("[broken")
    state, notices = read_state(kernels)
    assert state == GitState()
    assert notices[0].code == "git"
    assert "config" in notices[0].message
