"""Checks a commit out beside the user's checkout: a git worktree in a temporary folder, which goes however it ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ncu_lab.collect.git import environment
from ncu_lab.collect.revisions import Repository
from ncu_lab.errors import InputError

_QUIET = ("-c", f"core.hooksPath={os.devnull}", "-c", "gc.auto=0", "-c", "advice.detachedHead=false")
"""Hooks of the user's repository are for the user's checkouts; they run none of ours."""


@contextmanager
def worktree(repository: Repository, commit: str) -> Iterator[Path]:
    """Give a folder that holds a commit's files until the block ends.

    The user's checkout, index and stash stay as they are; what git notes of the worktree goes with it. Files are those
    of the commit exactly, so its state is never dirty, but submodules are not fetched.

    Args:
        repository: The repository.
        commit: Full hash.

    Raises:
        InputError: When git cannot check the commit out.
    """
    # Its real path: git notes that, and answers to no other.
    parent = Path(tempfile.mkdtemp(prefix="ncu-lab-worktree-")).resolve()
    folder = parent / commit[:12]
    try:
        done = _git(repository, "worktree", "add", "--quiet", "--detach", "--force", str(folder), commit)
        if done.returncode:
            words = (done.stderr.strip().splitlines() or [f"git exited with {done.returncode}"])[-1]
            raise InputError(f"commit {commit[:7]} cannot be checked out: {words}", "Nothing of yours was touched.")
        yield folder
    finally:
        # By its path, since git worktree prune would also drop those of the user that are out of reach just now.
        _git(repository, "worktree", "remove", "--force", "--force", str(folder))
        with suppress(FileNotFoundError):
            shutil.rmtree(parent)


def _git(repository: Repository, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run git to its end in a session of its own, so that a Ctrl-C meant for us does not stop it half-way."""
    with subprocess.Popen(
        ["git", *_QUIET, "-C", str(repository.root), *arguments],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            stdout, stderr = process.communicate()
        except BaseException:
            process.communicate()  # a Ctrl-C ends what we do, not what git is in the middle of
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)
