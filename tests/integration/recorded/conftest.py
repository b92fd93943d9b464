"""The repository that the recorded runs are of, made again."""

from __future__ import annotations

import shutil
from pathlib import Path

import history_repo
import pytest
from recorded_history import STORE, run_of

from ncu_lab.store.index import is_kept
from ncu_lab.workflows.indexing import series


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("gram")
    commits = history_repo.make(folder)
    (folder / ".git" / "info" / "exclude").write_text("tmp/\n")
    return folder, commits


@pytest.fixture
def repository(made: tuple[Path, dict[str, str]]) -> Path:
    return made[0]


@pytest.fixture
def commits(made: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return made[1]


@pytest.fixture
def damaged(tmp_path: Path, commits: dict[str, str]) -> tuple[Path, Path]:
    """A store whose index knows all runs, and a table of the run of "renamed" that is about to be damaged."""
    store = tmp_path / "store"
    shutil.copytree(STORE, store)
    series(store, "time_ns")
    assert is_kept(store)
    return store, store / run_of(commits["renamed"]) / "metrics.parquet"
