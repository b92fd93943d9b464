"""What git knows of revisions: which commit one is, where branches parted, and the files a commit holds.

Nothing here touches the working tree, the index or a stash: files of a commit are read with ``git archive``.
"""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ncu_lab.collect.git import GitRefusedError, git
from ncu_lab.errors import InputError

_DEFAULT_BRANCHES = ("origin/main", "origin/master", "main", "master")
_DEEPEN = "Fetch it: git fetch --unshallow (actions/checkout: fetch-depth: 0), or name a commit that is here."


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit: its full hash, and the name by which it was asked for."""

    hash: str
    name: str

    @property
    def words(self) -> str:
        """``main (4f2c9ab)``; the hash alone where that was its name."""
        short = self.hash[:7]
        return short if self.hash.startswith(self.name) else f"{self.name} ({short})"


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository with a working tree; ``root`` is the top of it."""

    root: Path

    def commit(self, revision: str) -> Commit:
        """Return the commit that a revision means.

        Raises:
            InputError: When git knows no such revision; says so of a shallow clone.
        """
        found = (
            None
            if revision.startswith("-") or not revision
            else self._ask("rev-parse", "--verify", f"{revision}^{{commit}}")
        )
        if found:
            return Commit(found, revision)
        if self.is_shallow:
            raise InputError(f'"{revision}" is not in this shallow clone', _DEEPEN)
        raise InputError(f'git knows no revision "{revision}" in {self.root}', "git log --oneline lists commits.")

    @property
    def is_shallow(self) -> bool:
        """Whether the clone lacks a part of the history."""
        return self._ask("rev-parse", "--is-shallow-repository") == "true"

    @property
    def is_edited(self) -> bool:
        """Whether tracked files are not as in HEAD."""
        return bool(self._ask("status", "--porcelain", "--untracked-files=no"))

    @property
    def has_commits(self) -> bool:
        """Whether HEAD is a commit: a new repository has none."""
        return self._ask("rev-parse", "--verify", "HEAD^{commit}") is not None

    def default_branch(self) -> str:
        """Return the branch that others merge into: what the remote says, else main or master.

        Raises:
            InputError: When there is none of these.
        """
        remote = self._ask("symbolic-ref", "--short", "refs/remotes/origin/HEAD")
        for name in (remote, *_DEFAULT_BRANCHES):
            if name and self._ask("rev-parse", f"{name}^{{commit}}"):
                return name
        deepen = " This clone is shallow: git fetch origin main." if self.is_shallow else ""
        raise InputError(
            f"{self.root} has no branch main or master to compare with", f"Name one: --against REV.{deepen}"
        )

    def merge_base(self) -> Commit:
        """Return where HEAD and the default branch parted; the newest commit they share.

        Raises:
            InputError: When there is no default branch, or no shared commit is here.
        """
        branch = self.default_branch()
        found = self._ask("merge-base", "HEAD", branch)
        if found:
            return Commit(found, f"merge base with {branch}")
        if self.is_shallow:
            raise InputError(f"where HEAD and {branch} parted is not in this shallow clone", _DEEPEN)
        raise InputError(f"HEAD and {branch} share no commit", "Name what to compare with: --against REV.")

    def export(self, commit: Commit, folder: str, into: Path) -> Path:
        """Write a folder as it is in a commit below ``into``, and return it.

        Raises:
            InputError: When the commit has no such folder, or git cannot read it.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="ncu-lab-") as work:
                archive = Path(work, "folder.tar")
                git(self.root, "archive", "--format=tar", f"--output={archive}", commit.hash, "--", folder)
                with tarfile.open(archive) as tar:
                    tar.extractall(into, filter="data")
        except GitRefusedError as refused:
            raise InputError(
                f"{commit.words} has no {folder}/: {refused}", "Name another commit: --against REV."
            ) from refused
        return into / folder

    def _ask(self, *arguments: str) -> str | None:
        """Return git's answer; None where it has none."""
        try:
            return git(self.root, *arguments).strip() or None
        except GitRefusedError:
            return None


def repository_of(folder: Path) -> Repository | None:
    """Return the repository whose working tree holds a folder; None where git or a repository is missing.

    Raises:
        InputError: When there is one that git refuses to read, such as another user's.
    """
    try:
        return Repository(Path(git(folder, "rev-parse", "--show-toplevel").strip()))
    except GitRefusedError as refused:
        words = str(refused)
        if not words or "not a git repository" in words:
            return None
        raise InputError(f"git does not read {folder}: {words}") from refused
