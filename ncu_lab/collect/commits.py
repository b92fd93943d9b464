"""The commits of a range, in the order that git has them, along first parents."""

from __future__ import annotations

import re

from ncu_lab.collect.git import GitRefusedError, git
from ncu_lab.collect.revisions import Repository
from ncu_lab.errors import InputError, UsageError
from ncu_lab.model.commits import CommitInfo

_FORMAT = "%H%x00%cI%x00%s"
_RANGE = re.compile(r"(?P<from>.*?)\.\.(?P<to>.*)")


def commits_in(repository: Repository, revisions: str) -> list[CommitInfo]:
    """Return the commits that a revision or a range means, oldest first.

    A range ``A..B`` means what it means to git: what B has and A has not; of a merge only the first parent is followed.
    An empty end stands for HEAD. A single revision means that commit alone.

    Raises:
        InputError: When a revision is unknown, the range is empty, or a shallow clone ends within it.
        UsageError: When it is a symmetric difference (``A...B``).
    """
    if "..." in revisions:
        raise UsageError(f"{revisions} means the commits of either side", "Write A..B: what B has and A has not.")
    match = _RANGE.fullmatch(revisions)
    if match is None:
        return _log(repository, "--no-walk", repository.commit(revisions).hash)
    start, end = (repository.commit(name or "HEAD") for name in match.groups())
    found = _log(repository, "--first-parent", "--reverse", end.hash, f"^{start.hash}")
    if not found:
        turned = f"Did you mean {end.name}..{start.name}?" if start.hash != end.hash else "A is no part of A..B."
        raise InputError(f"{revisions} is empty: {end.words} has no commit that {start.words} has not", turned)
    if repository.is_shallow and not _is_ancestor(repository, start.hash, end.hash):
        raise InputError(
            f"this clone is shallow: it ends before {start.words}, so {revisions} is not known as a whole",
            "Fetch it: git fetch --unshallow (actions/checkout: fetch-depth: 0).",
        )
    return found


def first_parents(repository: Repository, end: str = "HEAD") -> list[CommitInfo]:
    """Return the line of first parents that ends in a revision, oldest first.

    Raises:
        InputError: When the revision is unknown, as HEAD is before the first commit.
    """
    return _log(repository, "--first-parent", "--reverse", repository.commit(end).hash)


def follows(repository: Repository, commit: str, earlier: str) -> bool:
    """Whether a commit's first parent is an earlier one; not where git does not know them."""
    try:
        return git(repository.root, "rev-parse", "--verify", f"{commit}^1").strip() == earlier
    except GitRefusedError:
        return False


def _log(repository: Repository, *arguments: str) -> list[CommitInfo]:
    try:
        listed = git(repository.root, "log", f"--format={_FORMAT}", "--no-show-signature", *arguments, "--")
    except GitRefusedError as refused:
        raise InputError(f"git does not list the commits of {repository.root}: {refused}") from refused
    return [CommitInfo(*line.split("\0", 2)) for line in listed.splitlines() if line]


def _is_ancestor(repository: Repository, start: str, end: str) -> bool:
    try:
        git(repository.root, "merge-base", "--is-ancestor", start, end)
    except GitRefusedError:
        return False
    return True
