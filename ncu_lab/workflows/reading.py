"""From what a user names (a file, a run, a revision, a stage) to the run meant."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ncu_lab.collect.failures import find_cause
from ncu_lab.errors import InputError, NothingExportedError
from ncu_lab.model import TIMING_COLUMNS, Notice, ParsedReport, Run, RunMeta, table
from ncu_lab.parse.files import read_any, refuse_special
from ncu_lab.parse.redaction import redact
from ncu_lab.store import Store
from ncu_lab.store.directory import META, read_directory

_OUTRIGHT = ("file", "run", "rev", "stage")
_LAST = re.compile(r"@last(?:~(\d+))?")
_LEAST_HASH = 4


def list_runs(store: Path) -> tuple[list[RunMeta], list[Notice]]:
    """List the runs of a store, newest first, and what of it cannot be read."""
    return Store(store).metas()


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
    """Make a run of what a file holds; its stages are those that NVTX ranges name, its session is redacted."""
    meta = RunMeta(
        id=run_id,
        status="complete",
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
    return Run(meta, parsed.launches, parsed.metrics, parsed.instances, parsed.rules, timings)


def open_run(reference: str, store: Path) -> Run:
    """Return the run that a reference means.

    Args:
        reference: A path (report, export, run directory); a run's id or the beginning of it; ``@last``, ``@last~n``;
            a git revision; or a stage: tried in this order, or said outright as ``file:``, ``run:``, ``rev:``,
            ``stage:``. A revision or a stage means its newest complete run.
        store: The folder of runs.

    Raises:
        InputError: When nothing, or more than one run, is meant; the message tells what there is.
    """
    kind, _, rest = reference.partition(":")
    if kind == "file":
        return read_file(Path(rest))
    path = Path(reference)
    if kind not in _OUTRIGHT and (path.is_file() or (path / META).is_file()):
        return read_file(path)
    metas, notices = list_runs(store)
    search = _Search(store, metas, notices)
    if kind in _OUTRIGHT:
        meta = {"run": search.by_id, "rev": search.by_revision, "stage": search.by_stage}[kind](rest)
        found = meta or search.fail(rest, f"no {'revision' if kind == 'rev' else kind}")
    else:
        meta = search.by_id(reference) or search.by_revision(reference) or search.by_stage(reference)
        if meta is None and reference and os.path.lexists(path):
            refuse_special(path)  # a folder, a pipe, a broken link: a path was meant
        found = meta or search.fail(reference, "no file, run, revision or stage with a run")
    return Store(store).read(found.id)


class _Search:
    """The runs of a store, and the ways to name one."""

    def __init__(self, store: Path, metas: Sequence[RunMeta], notices: Sequence[Notice]) -> None:
        self._store = store
        self._metas = metas
        self._notices = notices

    def by_id(self, text: str) -> RunMeta | None:
        """Find by id, by a beginning of an id that only one has, or by place (``@last~n``)."""
        if last := _LAST.fullmatch(text):
            back = int(last[1] or 0)
            if back >= len(self._metas):
                raise InputError(f"there is no {text}: {self._what_there_is()}", "ncu-lab runs lists all.")
            return self._metas[back]
        found = [meta for meta in self._metas if text and meta.id.startswith(text)]
        exact = [meta for meta in found if meta.id == text]
        if len(found) > 1 and not exact:
            ids = ", ".join(meta.id for meta in found[:3]) + (", …" if len(found) > 3 else "")
            raise InputError(f'"{text}" begins the ids of {len(found)} runs: {ids}', "Give more of it.")
        corrupt = self._store / text / META
        if not found and text and corrupt.is_file():
            Store(self._store).read(text)  # listed runs exclude it: its own error says why
        return next(iter(exact or found), None)

    def by_revision(self, text: str) -> RunMeta | None:
        """Find the newest complete run of a commit, one of a clean tree before one of an edited tree."""
        commit = _commit_of(text)
        runs = [meta for meta in self._metas if meta.git.commit and _matches(meta.git.commit, commit, text)]
        complete = [meta for meta in runs if meta.status == "complete"]
        if commit is not None and not complete and not self._has_stage(text):
            state = "no complete run" if runs else "no run"
            raise InputError(
                f'"{text}" is commit {commit[:7]}, of which {self._store} has {state}',
                "Profile it, or choose another: ncu-lab runs lists all.",
            )
        return next(iter(sorted(complete, key=lambda meta: meta.git.dirty)), None)

    def by_stage(self, text: str) -> RunMeta | None:
        """Find the newest complete run that has a stage."""
        return next((meta for meta in self._metas if text in meta.stages and meta.status == "complete"), None)

    def fail(self, text: str, what: str) -> RunMeta:
        """Say that nothing is meant, and what may have been.

        Raises:
            InputError: Always.
        """
        names = [*(meta.id for meta in self._metas), *dict.fromkeys(id for meta in self._metas for id in meta.stages)]
        near = difflib.get_close_matches(text, names, n=1, cutoff=0.6)
        hint = f"Did you mean {near[0]}? " if near else ""
        raise InputError(f'there is {what} "{text}": {self._what_there_is()}', f"{hint}ncu-lab runs lists all.")

    def _has_stage(self, text: str) -> bool:
        return any(text in meta.stages for meta in self._metas)

    def _what_there_is(self) -> str:
        count = len(self._metas)
        runs = "no runs" if not count else "1 run" if count == 1 else f"{count} runs"
        unreadable = f" and {len(self._notices)} that cannot be read" if self._notices else ""
        return f"{self._store} holds {runs}{unreadable}"


def _commit_of(revision: str) -> str | None:
    """Ask git for the commit of a revision; None where git, the repository or the revision is missing."""
    if not revision or revision.startswith("-"):
        return None
    command = ["git", "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return answer.stdout.strip() or None if answer.returncode == 0 else None


def _matches(run_commit: str, commit: str | None, text: str) -> bool:
    """Whether a run is of a commit; where git does not know it, of one whose hash begins with the text."""
    if commit is not None:
        return run_commit == commit
    return len(text) >= _LEAST_HASH and run_commit.startswith(text.lower())
