from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import history_repo
import pytest

from ncu_lab.collect.commits import commits_in, first_parents
from ncu_lab.collect.revisions import Repository
from ncu_lab.collect.worktrees import worktree
from ncu_lab.errors import InputError

pytestmark = pytest.mark.git

HOLDER = """
import sys, time
from pathlib import Path
from ncu_lab.collect.revisions import Repository
from ncu_lab.collect.worktrees import worktree
with worktree(Repository(Path(sys.argv[1])), sys.argv[2]) as folder:
    print(folder, flush=True)
    time.sleep(60)
"""
SLOW_GIT = """#!/bin/sh
case " $* " in *" worktree add "*) touch "$STARTED"; sleep 1;; esac
exec {git} "$@"
"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, dict[str, str]]:
    folder = tmp_path_factory.mktemp("history")
    return Repository(folder), history_repo.make(folder)


def worktrees(repository: Repository) -> list[str]:
    listed = subprocess.run(
        ["git", "-C", str(repository.root), "worktree", "list", "--porcelain"], capture_output=True, text=True
    ).stdout
    return [line for line in listed.splitlines() if line.startswith("worktree ")][1:]


def test_a_worktree_holds_the_commit_and_goes(history: tuple[Repository, dict[str, str]]) -> None:
    repository, commits = history
    with worktree(repository, commits["conflict"]) as folder:
        assert "bs[BK][BN];" in (folder / "kernels" / "gram.cu").read_text()
        assert len(worktrees(repository)) == 1
    assert (folder.parent.exists(), worktrees(repository)) == (False, [])


def test_a_folder_that_someone_removed_is_forgotten_too(history: tuple[Repository, dict[str, str]]) -> None:
    repository, commits = history
    with worktree(repository, commits["padded"]) as folder:
        subprocess.run(["rm", "-rf", str(folder.parent)], check=True)
    assert worktrees(repository) == []


def test_worktrees_of_the_user_stay_even_where_they_are_out_of_reach(
    history: tuple[Repository, dict[str, str]], tmp_path: Path
) -> None:
    repository, commits = history
    theirs = tmp_path / "theirs"
    add = ["git", "-C", str(repository.root), "worktree", "add", "-q", "--detach", str(theirs), commits["padded"]]
    subprocess.run(add, check=True)
    theirs.rename(tmp_path / "unplugged")
    with worktree(repository, commits["padded"]):
        pass
    assert worktrees(repository) == [f"worktree {theirs}"]
    (tmp_path / "unplugged").rename(theirs)
    subprocess.run(["git", "-C", str(repository.root), "worktree", "remove", str(theirs)], check=True)


def test_a_commit_that_is_not_there_is_named(history: tuple[Repository, dict[str, str]]) -> None:
    with (
        pytest.raises(InputError, match="commit 1234567 cannot be checked out"),
        worktree(history[0], "1234567" + "0" * 33),
    ):
        pass
    assert worktrees(history[0]) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("while_adding", [False, True])
def test_a_signal_to_the_whole_group_leaves_no_worktree(
    history: tuple[Repository, dict[str, str]], tmp_path: Path, number: signal.Signals, while_adding: bool
) -> None:
    repository, commits = history
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    slow.write_text(SLOW_GIT.format(git=real))
    slow.chmod(0o755)
    started = tmp_path / "started"
    path = f"{slow.parent}{os.pathsep}{os.environ['PATH']}" if while_adding else os.environ["PATH"]
    # As the command line does: SIGTERM ends like an error.
    holder = f"import signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n{HOLDER}"
    (tmp_path / "tmp").mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", holder, str(repository.root), commits["tile"]],
        env={**os.environ, "PATH": path, "STARTED": str(started), "TMPDIR": str(tmp_path / "tmp")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    if while_adding:
        deadline = time.monotonic() + 30
        while not started.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
    else:
        assert process.stdout.readline()
    os.killpg(process.pid, number)
    process.wait(30)
    assert (worktrees(repository), list((tmp_path / "tmp").iterdir())) == ([], [])


def test_a_range_is_gits_along_first_parents(history: tuple[Repository, dict[str, str]]) -> None:
    repository, commits = history
    line = [commits[name] for name in history_repo.main_line()]
    assert [one.hash for one in commits_in(repository, "begin..")] == line[1:]
    assert [one.hash for one in first_parents(repository)] == line
    [one] = commits_in(repository, "begin")
    assert (one.hash, one.subject, one.time) == (commits["begin"], "Begin", "2026-10-01T09:00:00+00:00")


def test_a_range_that_a_shallow_clone_cuts_is_refused(
    history: tuple[Repository, dict[str, str]], tmp_path: Path
) -> None:
    repository, commits = history
    clone = ["git", "clone", "-q", "--depth", "2", f"file://{repository.root}", str(tmp_path / "part")]
    subprocess.run(clone, check=True)
    part = Repository(tmp_path / "part")
    subprocess.run(["git", "-C", str(part.root), "fetch", "-q", "--depth", "1", "origin", "tag", "begin"], check=True)
    with pytest.raises(InputError, match=r"this clone is shallow: it ends before begin"):
        commits_in(part, "begin..main")
    assert len(commits_in(part, "main~1..main")) == 1
    assert commits["comment"] == commits_in(part, "main~1..main")[0].hash
