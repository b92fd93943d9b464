"""Commits, merge bases and the files of a commit, on a repository of known history."""

from __future__ import annotations

import subprocess
from pathlib import Path

import history_repo
import pytest

from ncu_lab.collect.revisions import Commit, Repository, repository_of
from ncu_lab.errors import InputError

pytestmark = pytest.mark.git


@pytest.fixture
def history(tmp_path: Path) -> dict[str, str]:
    return history_repo.make(tmp_path / "repo")


@pytest.fixture
def repository(tmp_path: Path, history: dict[str, str]) -> Repository:
    found = repository_of(tmp_path / "repo" / "kernels")
    assert found is not None
    return found


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_a_commit_by_any_of_its_names(repository: Repository, history: dict[str, str]) -> None:
    for name in ("main", "HEAD", history["comment"], history["comment"][:8]):
        assert repository.commit(name).hash == history["comment"]
    assert repository.commit("main~1").hash == history["unpadded"]
    assert repository.commit("begin").words == f"begin ({history['begin'][:7]})"
    assert repository.commit(history["begin"]).words == history["begin"][:7]


@pytest.mark.parametrize("name", ["nope", "", "--all", "main..HEAD"])
def test_no_commit(repository: Repository, name: str) -> None:
    with pytest.raises(InputError, match="knows no revision"):
        repository.commit(name)


def test_where_a_branch_left_the_default_one(repository: Repository, history: dict[str, str]) -> None:
    git(repository.root, "checkout", "-q", "-b", "work", history["tile"])
    assert repository.default_branch() == "main"
    assert repository.merge_base() == Commit(history["tile"], "merge base with main")


def test_without_a_default_branch_one_must_be_named(repository: Repository) -> None:
    git(repository.root, "branch", "-m", "main", "trunk")
    with pytest.raises(InputError, match="no branch main or master") as caught:
        repository.merge_base()
    assert "--against REV" in caught.value.hint


def test_what_the_remote_calls_its_default_wins(tmp_path: Path, repository: Repository) -> None:
    git(repository.root, "branch", "-m", "main", "trunk")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(repository.root), str(clone))
    found = repository_of(clone)
    assert found is not None
    assert found.default_branch() == "origin/trunk"


def test_a_shallow_clone_says_so(tmp_path: Path, repository: Repository, history: dict[str, str]) -> None:
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository.root}", str(shallow))
    found = repository_of(shallow)
    assert found is not None
    with pytest.raises(InputError, match="not in this shallow clone") as caught:
        found.commit(history["tile"])
    assert "fetch-depth: 0" in caught.value.hint


def test_the_files_of_a_commit_and_an_untouched_checkout(
    tmp_path: Path, repository: Repository, history: dict[str, str]
) -> None:
    (repository.root / "kernels" / "gram.cu").write_text("edited")
    folder = repository.export(repository.commit(history["conflict"]), "kernels", tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == ["gram.cu", "product.cu", "stages.toml"]
    assert "float bs[BK][BN];" in (folder / "gram.cu").read_text()
    assert (repository.root / "kernels" / "gram.cu").read_text() == "edited"


def test_a_commit_without_the_folder(tmp_path: Path, repository: Repository, history: dict[str, str]) -> None:
    with pytest.raises(InputError, match=r"begin \(.*\) has no kernels/"):
        repository.export(repository.commit("begin"), "kernels", tmp_path / "out")


def test_no_repository(tmp_path: Path) -> None:
    assert repository_of(tmp_path) is None
