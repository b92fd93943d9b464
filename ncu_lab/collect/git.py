"""Which commit a run belongs to, and what differs from it: read through git's own command, absent without complaint."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from ncu_lab.model import GitState, Notice

_TIMEOUT_S = 30.0
_OF_ONE_REPOSITORY = frozenset(
    {
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_PREFIX",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    }
)
"""Of the variables that ``git rev-parse --local-env-vars`` lists, those that say where the repository is."""


class GitRefusedError(Exception):
    """Git is absent, or would not answer; carries its words."""


def read_state(folder: Path, sources: Iterable[Path] = ()) -> tuple[GitState, tuple[Notice, ...]]:
    """Return the state of the working tree that tracks files of ``folder``.

    Args:
        folder: A folder inside the tree, the kernels' own.
        sources: Files whose text is kept when it differs from the commit, or when no commit is known; below
            ``folder``.

    Returns:
        The state, with everything empty where ``folder`` is in no repository; and what could not be found out.
    """
    texts = {path.relative_to(folder).as_posix(): path for path in sources}
    try:
        if not git(folder, "ls-files", "--", ".").strip():
            # Not ours: an installed package below someone's repository, say.
            return GitState(sources=_read(texts)), ()
        commit = git(folder, "rev-parse", "HEAD").strip()
        branch = git(folder, "rev-parse", "--abbrev-ref", "HEAD").strip()
        subject = git(folder, "log", "-1", "--format=%s").strip()
        tracked = git(folder, "status", "--porcelain", "--untracked-files=no").strip()
        untracked = git(folder, "ls-files", "--others", "--exclude-standard", "--", ".").split("\n")
        diff = git(folder, "diff", "--no-ext-diff", "--no-color", "HEAD", "--", ".") if tracked else ""
    except GitRefusedError as refused:
        words = str(refused)
        notices = (
            () if not words or "not a git repository" in words else (Notice("git", f"no commit recorded: {words}"),)
        )
        return GitState(sources=_read(texts)), notices
    dirty = bool(tracked) or any(untracked)
    kept = _read(texts) if dirty else {}
    state = GitState(commit, None if branch == "HEAD" else branch, dirty, subject or None, diff, kept)
    return state, ()


def read_committed(folder: Path, commit: str, name: str) -> str | None:
    """Return the text that a file below ``folder`` has in a commit.

    Args:
        folder: A folder inside the repository.
        commit: Full hash.
        name: Path relative to the folder.

    Returns:
        None where git, the repository, the commit or the file is missing.
    """
    try:
        return git(folder, "show", f"{commit}:./{name}")
    except GitRefusedError:
        return None


def tagged_commits(folder: Path, pattern: str) -> dict[str, str] | None:
    """Return commit -> tag, for every tag of a pattern (``v*``) in the repository around a folder; None without one."""
    form = "--format=%(objectname) %(*objectname) %(refname:short)"
    try:
        lines = git(folder, "for-each-ref", form, f"refs/tags/{pattern}").splitlines()
    except GitRefusedError:
        return None
    # Of an annotated tag the second name is the commit; a plain one has none.
    return {peeled or own: tag for own, peeled, tag in (line.split(" ", 2) for line in lines)}


def git(folder: Path, *arguments: str) -> str:
    """Run git in ``folder``, taking no locks, and return what it prints.

    Raises:
        GitRefusedError: When git is absent, fails or does not answer.
    """
    command = ["git", "--no-optional-locks", "-c", "core.quotePath=false", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command,
            env=environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise GitRefusedError("") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitRefusedError(f"git did not answer ({error})") from error
    if done.returncode:
        raise GitRefusedError(next(iter(done.stderr.strip().splitlines()), f"git exited with {done.returncode}"))
    return done.stdout


def environment() -> dict[str, str]:
    """Return the environment of a git that speaks English and takes the repository from its folder alone.

    Within a hook, and wherever else git starts us, variables name a repository and an index of its own.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _OF_ONE_REPOSITORY}
    return {**kept, "LC_ALL": "C"}


def _read(texts: dict[str, Path]) -> dict[str, str]:
    return {name: path.read_text(encoding="utf-8", errors="replace") for name, path in texts.items() if path.is_file()}
