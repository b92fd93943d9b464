"""From what a user names (a file, a run, a revision, a stage) to the run meant."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ncu_lab.collect.failures import find_cause
from ncu_lab.collect.revisions import repository_of
from ncu_lab.errors import InputError, NothingExportedError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import CORRUPT_RUN, LOSSES, TIMING_COLUMNS, Notice, ParsedReport, Run, RunMeta, table
from ncu_lab.parse.files import read_any, refuse_special
from ncu_lab.parse.redaction import redact
from ncu_lab.store import Store
from ncu_lab.store.directory import passed_over
from ncu_lab.store.stored_run import META, read_directory
from ncu_lab.workflows.indexing import list_runs

_OUTRIGHT = ("file", "run", "rev", "stage")
_LAST = re.compile(r"@last(?:~(\d+))?")
_LEAST_HASH = 4
_NEAR_STAGE = 0.5
"""Likeness (0 to 1) of a name to the stage it may mean: names of stages are short, so ``2c`` is near to ``2d``."""


def read_file(path: Path) -> Run:
    """Read a report, an export or a run directory that is in no store.

    Raises:
        InputError: When it is none of these.
    """
    if path.is_dir():
        return read_directory(path)
    created = datetime.fromtimestamp(path.stat().st_mtime, UTC) if path.exists() else datetime.now(UTC)
    with complaints_explained():
        parsed = read_any(path)
    return run_of(parsed, path.name, created, name=path.name)


@contextmanager
def complaints_explained() -> Iterator[None]:
    """Say of an export that holds only what ncu complained of what that means, and what to do.

    Raises:
        InputError: With the cause that :mod:`ncu_lab.collect.causes` knows.
    """
    try:
        yield
    except NothingExportedError as error:
        failure = find_cause(error.said)
        if failure is not None and failure.code != "unknown":
            message = f"{error.message.partition('; ncu said')[0]}: {failure.error.message}"
            raise InputError(message, failure.error.hint) from error
        raise


def run_of(parsed: ParsedReport, run_id: str, created: datetime, *, name: str | None) -> Run:
    """Make a run of what a file holds; its stages are those that NVTX ranges name, its session is redacted.

    It is partial where a part of the file is lost.
    """
    meta = RunMeta(
        id=run_id,
        status="partial" if any(notice.code in LOSSES for notice in parsed.notices) else "complete",
        created=created.isoformat(timespec="seconds"),
        source="import",
        stages=tuple(dict.fromkeys(stage for stage in parsed.launches["stage"] if stage)),
        name=name,
        device=parsed.device,
        environment=parsed.environment,
        warnings=parsed.notices,
        session=None if parsed.session is None else redact(parsed.session),
    )
    timings = table(TIMING_COLUMNS)
    return Run(meta, parsed.launches, parsed.metrics, parsed.instances, parsed.rules, timings, sources=parsed.sources)


@dataclass(frozen=True)
class Found:
    """What a reference means.

    Attributes:
        run: The run.
        stage: The stage that it was found by, None when something else was named.
        passed_over: The runs that may have been meant and cannot be read.
    """

    run: Run
    stage: str | None = None
    passed_over: tuple[Notice, ...] = ()


def open_run(reference: str, store: Path) -> Run:
    """Return the run that a reference means; see :func:`find_run`."""
    return find_run(reference, store).run


def find_run(reference: str, store: Path, where: str = "") -> Found:
    """Return what a reference means.

    Args:
        reference: A path (report, export, run directory); a run's id or the beginning of it; ``@last``, ``@last~n``;
            a git revision; or a stage: tried in this order, or said outright as ``file:``, ``run:``, ``rev:``,
            ``stage:``. A revision or a stage means its newest complete run. Those and ``@last`` pass over runs that
            cannot be read.
        store: The folder of runs.
        where: The options that name the store (`` --example``), for commands that are told to be typed.

    Raises:
        InputError: When nothing, or more than one run, is meant; the message tells what there is.
    """
    kind, _, rest = reference.partition(":")
    if kind == "file":
        return Found(read_file(Path(rest)))
    path = Path(reference)
    if kind not in _OUTRIGHT and (os.path.isfile(path) or os.path.isfile(path / META)):
        return Found(read_file(path))
    search = _Search(store, where)
    if kind in _OUTRIGHT:
        find = {"run": search.by_id, "rev": search.by_revision, "stage": search.by_stage}[kind]
        return find(rest) or search.fail(rest, f"no {'revision' if kind == 'rev' else kind}", only=kind)
    found = search.by_id(reference) or search.by_revision(reference) or search.by_stage(reference)
    if found is None and reference and os.path.lexists(path):
        refuse_special(path)  # a folder, a pipe, a broken link: a path was meant
    return found or search.fail(reference, "no file, run, revision or stage with a run")


def find_run_of(stages: Sequence[str], store: Path, where: str = "") -> Found:
    """Return the newest complete run that has all of some stages.

    Args:
        stages: At least one stage.
        store: The folder of runs.
        where: As in :func:`find_run`.

    Raises:
        InputError: When there is none; the message tells what there is.
    """
    search = _Search(store, where)
    if found := search.by_stages(stages):
        return found
    for stage in stages:
        search.by_stage(stage) or search.fail(stage, "no stage", only="stage")
    raise InputError(f"no complete run in {store} has all of {', '.join(stages)}", "Ask for one of them.")


def revision_runs(reference: str, store: Path, where: str = "") -> list[RunMeta]:
    """Return the complete runs of the commit that a reference means, as listings have them.

    Those of a clean tree come first, then the newest; none where the reference means something else (see
    :func:`find_run`).

    Raises:
        InputError: When the commit has no complete run.
    """
    kind, _, rest = reference.partition(":")
    if kind in _OUTRIGHT:
        return _Search(store, where).of_revision(rest) if kind == "rev" else []
    search = _Search(store, where)
    if os.path.isfile(reference) or os.path.isfile(Path(reference) / META) or search.by_id(reference):
        return []
    return search.of_revision(reference)


class _Search:
    """The runs of a store, and the ways to name one."""

    def __init__(self, store: Path, where: str) -> None:
        self._store = Store(store)
        self._where = where
        self._metas, notices = list_runs(store)
        self._notices = [notice for notice in notices if notice.code == CORRUPT_RUN]

    def by_id(self, text: str) -> Found | None:
        """Find by id, by a beginning of an id that only one has, or by place (``@last~n``)."""
        if last := _LAST.fullmatch(text):
            newest = self._newest(self._metas, before=int(last[1] or 0))
            if newest is None:
                raise InputError(f"there is no {text}: {self._what_there_is()}", self._what_to_do())
            return newest
        found = [meta for meta in self._metas if text and meta.id.startswith(text)]
        exact = [meta for meta in found if meta.id == text]
        if len(found) > 1 and not exact:
            ids = ", ".join(meta.id for meta in found[:3]) + (", …" if len(found) > 3 else "")
            raise InputError(f'"{text}" begins the ids of {len(found)} runs: {ids}', "Give more of it.")
        if not found and text and os.path.isfile(self._store.path / text / META):
            self._store.read(text)  # listed runs exclude it: its own error says why
        return next((Found(self._store.read(meta.id)) for meta in exact or found), None)

    def by_revision(self, text: str) -> Found | None:
        """Find the newest complete run of a commit, one of a clean tree before one of an edited tree."""
        return self._newest(self.of_revision(text))

    def of_revision(self, text: str) -> list[RunMeta]:
        """List the complete runs of a commit, those of a clean tree first, then the newest.

        Raises:
            InputError: When git knows the commit, and it has none.
        """
        commit = _commit_of(text)
        runs = [meta for meta in self._metas if meta.git.commit and _matches(meta.git.commit, commit, text)]
        complete = [meta for meta in runs if meta.status == "complete"]
        if commit is not None and not complete and not self._has_stage(text):
            state = "no complete run" if runs else "no run"
            if self._notices:
                state += f", but {len(self._notices)} of any commit that cannot be read (ncu-lab store check)"
            raise InputError(
                f'"{text}" is commit {commit[:7]}, of which {self._store.path} has {state}',
                f"Make one: ncu-lab profile --rev {commit[:7]}{self._where_to_write}; ncu-lab runs{self._where} lists "
                "what there is.",
            )
        return sorted(complete, key=lambda meta: meta.git.dirty)

    def by_stage(self, text: str) -> Found | None:
        """Find the newest complete run that has a stage."""
        return self.by_stages([text])

    def by_stages(self, stages: Sequence[str]) -> Found | None:
        """Find the newest complete run that has all of some stages; it is said to be found by the first."""
        having = [meta for meta in self._of_stage(stages[0]) if set(stages) <= set(meta.stages)]
        return self._newest(having, stage=stages[0])

    def fail(self, text: str, what: str, only: str | None = None) -> Found:
        """Say that nothing is meant, and what may have been.

        Args:
            text: What was named.
            what: What it is not.
            only: The kind of reference where it was said outright.

        Raises:
            InputError: Always.
        """
        stages = load_stages()
        if only in (None, "stage") and text in stages and not self._of_stage(text):
            raise InputError(
                f'there is no complete run of stage "{text}": {self._what_there_is()}',
                f"Make one: ncu-lab profile --stage {text}{self._where_to_write}",
            )
        near = []
        if only in (None, "run"):
            near += difflib.get_close_matches(text, [meta.id for meta in self._metas], n=1)
        if only in (None, "stage"):
            known = [stage for meta in self._metas for stage in meta.stages if self._of_stage(stage)]
            near += difflib.get_close_matches(text, dict.fromkeys(known), n=1, cutoff=_NEAR_STAGE)
        meant = f"Did you mean {near[0]}? " if near else ""
        if only in (None, "rev") and not near and (repository := repository_of(Path.cwd())) and repository.is_shallow:
            meant = "This clone is shallow: if it is a commit, git fetch --unshallow brings it. "
        raise InputError(f'there is {what} "{text}": {self._what_there_is()}', meant + self._what_to_do())

    def _newest(self, metas: Sequence[RunMeta], *, before: int = 0, stage: str | None = None) -> Found | None:
        """Return the first run, or the one so many before it, of those that can be read; None when there is none.

        Raises:
            InputError: When there would be one if all could be read.
        """
        errors: list[InputError] = []
        for meta in metas:
            try:
                run = self._store.read_whole(meta.id)
            except InputError as error:
                errors.append(error)
                continue
            if not before:
                return Found(run, stage, (*self._notices, *map(passed_over, errors)))
            before -= 1
        if before < len(errors):
            raise errors[0]
        return None

    def _of_stage(self, stage: str) -> list[RunMeta]:
        return [meta for meta in self._metas if stage in meta.stages and meta.status == "complete"]

    def _has_stage(self, text: str) -> bool:
        return any(text in meta.stages for meta in self._metas)

    def _what_there_is(self) -> str:
        count = len(self._metas)
        runs = "no runs" if not count else "1 run" if count == 1 else f"{count} runs"
        unreadable = f" and {len(self._notices)} that cannot be read" if self._notices else ""
        return f"{self._store.path} holds {runs}{unreadable}"

    def _what_to_do(self) -> str:
        if self._metas:
            return f"ncu-lab runs{self._where} lists all."
        where = self._where_to_write
        return (
            f"Make one: ncu-lab profile --stage 2d{where}, or ncu-lab import FILE{where}; or look at the bundled ones: "
            "ncu-lab show --example"
        )

    @property
    def _where_to_write(self) -> str:
        """The options that name the store to a command that writes; the bundled runs are read only."""
        return "" if self._where == " --example" else self._where


def commits_of(revision: str, metas: Iterable[RunMeta]) -> frozenset[str]:
    """Return those commits of runs that a revision, a range of them (``A..B``) or the beginning of a hash means.

    Raises:
        InputError: When git knows no such revision, and no run is of a commit that begins so.
    """
    commits = {meta.git.commit for meta in metas if meta.git.commit}
    if ".." in revision:
        listed = _git_on(revision, "rev-list")
        meant = None if listed is None else commits & set(listed.split())
    else:
        commit = _commit_of(revision)
        found = {one for one in commits if _matches(one, commit, revision)}
        meant = found if found or commit else None
    if meant is None:
        raise InputError(
            f'git knows no revision "{revision}" here, and no run is of a commit that begins so',
            "git log lists the commits, ncu-lab runs those of runs.",
        )
    return frozenset(meant)


def _commit_of(revision: str) -> str | None:
    """Ask git for the commit of a revision; None where git, the repository or the revision is missing."""
    return (_git_on(f"{revision}^{{commit}}", "rev-parse", "--verify", "--quiet") or "").strip() or None


def _git_on(revision: str, *command: str) -> str | None:
    """Ask git about a revision; None where git, the repository or the revision is missing."""
    if revision.startswith(("-", "^")):
        return None  # an option; nothing
    try:
        answer = subprocess.run(["git", *command, revision], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return answer.stdout if answer.returncode == 0 else None


def _matches(run_commit: str, commit: str | None, text: str) -> bool:
    """Whether a run is of a commit; where git does not know it, of one whose hash begins with the text."""
    if commit is not None:
        return run_commit == commit
    return len(text) >= _LEAST_HASH and run_commit.startswith(text.lower())
