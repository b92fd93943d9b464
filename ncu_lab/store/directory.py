"""A folder of runs: one directory each, written beside its place and renamed into it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError, UsageError
from ncu_lab.model import CORRUPT_RUN, SCHEMA, Json, Notice, Run, RunMeta, RunNotice
from ncu_lab.store.encoding import encode
from ncu_lab.store.stored_run import (
    BUILDS,
    CHECKS,
    META,
    REPORT,
    SEAL,
    SOURCES,
    TABLES,
    DamagedRunError,
    read_directory,
    read_meta,
)

if TYPE_CHECKING:
    import pandas as pd

    from ncu_lab.store.tables import TableFile

_UNFINISHED = ".writing-"
_PROBE = ".probe-"
_REMOVED = ".removed-"
_LEFT = (_UNFINISHED, _PROBE, _REMOVED)
"""How folders begin that are on their way: into the store, or out of it."""

_LOCKED_WITHIN_S = 60.0
"""A folder so old has been locked, if its writer lives."""

_RUN_ID = re.compile(r"\d{8}T\d{6}-.+-[0-9a-f]{4}")


def run_label(stages: Sequence[str], name: str | None = None) -> str:
    """Return what a run's id calls it: its name, its only stage, or ``ladder`` for several."""
    if name:
        return name
    return stages[0] if len(stages) == 1 else "ladder" if stages else "program"


class Store:
    """A folder of runs, one directory each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def new_run_id(self, created: datetime, label: str, commit: str | None) -> str:
        """Return an id that is not taken: ``UTC time-label-commit-4 hex digits``.

        Args:
            created: When the run was begun; brought to UTC.
            label: See :func:`run_label`; anything but letters, digits, dots and underscores becomes a dash.
            commit: Full or short hash; None outside git.
        """
        slug = re.sub(r"[^\w.]+", "-", label, flags=re.ASCII).strip("-.")[:40] or "run"
        stem = f"{created.astimezone(UTC):%Y%m%dT%H%M%S}-{slug}-{commit[:7] if commit else 'nogit'}"
        while True:
            run_id = f"{stem}-{secrets.token_hex(2)}"
            if not (self.path / run_id).exists():
                return run_id

    def check_writable(self) -> None:
        """Make sure, by doing it, that runs can be written here.

        Raises:
            EnvironmentLacksError: When they cannot.
        """
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            probe = self.path / f"{_PROBE}{secrets.token_hex(4)}"
            probe.mkdir()
            probe.rmdir()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise EnvironmentLacksError(
                f"the store {self.path} cannot be written: {error.strerror or error}",
                "Choose another with --store DIR or NCU_LAB_STORE, or make it writable.",
            ) from error

    def write(self, run: Run, report_file: Path | None = None) -> Path:
        """Write a run into its directory; see :meth:`RunWriter.finish`."""
        with self.writing() as writer:
            return writer.finish(run, report_file)

    @contextmanager
    def writing(self) -> Iterator[RunWriter]:
        """Write a run part by part; unless it is finished, nothing is left of it.

        Raises:
            EnvironmentLacksError: When the store cannot be written.
        """
        self.check_writable()
        self.remove_abandoned()
        temporary = self.path / f"{_UNFINISHED}{secrets.token_hex(8)}"
        writer = RunWriter(self.path, temporary)
        try:
            with self._writing():
                yield writer
        finally:
            writer.close()
            shutil.rmtree(temporary, ignore_errors=True)

    def abandoned(self) -> list[str]:
        """Return the names of folders that writers left that were killed."""
        return [folder.name for folder in self._left() if _unless_used(folder, lambda _: None)]

    def remove_abandoned(self) -> None:
        """Remove them: writers that live hold a lock on their folder."""
        for folder in self._left():
            _unless_used(folder, lambda unused: shutil.rmtree(unused, ignore_errors=True))

    def _left(self) -> list[Path]:
        return sorted(folder for folder in self.path.glob(".*") if folder.name.startswith(_LEFT))

    def remove(self, run_id: str) -> None:
        """Delete a run: out of the listings at once, then file by file; a link goes, what it links to stays.

        Raises:
            EnvironmentLacksError: When it cannot be deleted.
        """
        target = self.path / f"{_REMOVED}{secrets.token_hex(8)}"
        with self._writing():
            (self.path / run_id).rename(target)
            if target.is_symlink():
                target.unlink()
            else:
                shutil.rmtree(target)

    def remove_report(self, run_id: str) -> None:
        """Delete the raw report of a run, which stays whole without it.

        Raises:
            EnvironmentLacksError: When it cannot be deleted.
        """
        with self._writing():
            (self.path / run_id / REPORT).unlink(missing_ok=True)

    def read(self, run_id: str) -> Run:
        """Read a run; its tables are loaded when first asked for.

        Raises:
            InputError: When there is no such run, it is corrupt, or a newer ncu-lab wrote it.
        """
        return read_directory(self.path / run_id)

    def read_whole(self, run_id: str) -> Run:
        """Read a run with all of its tables, so that what is corrupt shows here and not when a table is asked for.

        Raises:
            InputError: As :meth:`read` does, and when a table is corrupt.
        """
        run = self.read(run_id)
        for name in TABLES:
            getattr(run, name)
        return run

    def check_readable(self) -> None:
        """Make sure that there is a folder whose runs can be listed.

        Raises:
            InputError: When there is none.
        """
        try:
            next(self.path.iterdir(), None)
        except FileNotFoundError:
            hint = (
                "Check the path, of --store or NCU_LAB_STORE. ncu-lab profile and ncu-lab import make a store where "
                "there is none."
            )
            raise InputError(f"the store {self.path} does not exist", hint) from None
        except OSError as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: OSError) -> InputError:
        if self.path.exists() and not self.path.is_dir():
            return InputError(f"the store {self.path} is a file, not a folder", "Give the folder that holds the runs.")
        return InputError(
            f"the store {self.path} cannot be read: {error.strerror}",
            "Choose another with --store DIR or NCU_LAB_STORE, or make it readable.",
        )

    def short_id(self, run_id: str) -> str:
        """Return the shortest beginning of a run's id, up to a dash, that no other run here shares; all else all."""
        others = [name for name in self.folder_names() if name != run_id]
        ends = [match.start() for match in re.finditer("-", run_id)]
        return next((run_id[:end] for end in ends if not any(one.startswith(run_id[:end]) for one in others)), run_id)

    def report(self, run_id: str) -> Path | None:
        """Return the raw report kept with a run, None when it has none."""
        file = self.path / run_id / REPORT
        return file if file.is_file() else None

    def metas(self) -> tuple[list[RunMeta], list[Notice]]:
        """List all runs, newest first, and tell which directories cannot be read and why.

        A store that is not there has none.

        Raises:
            InputError: When the store is no folder, or cannot be listed.
        """
        metas, notices = [], []
        for name in self.folder_names():
            try:
                metas.append(read_listed(self.path / name))
            except NcuLabError as error:
                notices.append(passed_over(error))
        return sorted(metas, key=lambda meta: (meta.created, meta.id), reverse=True), notices

    def folder_names(self) -> list[str]:
        """Return the names of the directories that are runs, or should be, in order.

        A store that is not there has none.

        Raises:
            InputError: When the store is no folder, or cannot be listed.
        """
        try:
            with os.scandir(self.path) as entries:
                names = sorted(entry.name for entry in entries if entry.name[0] != "." and _is_folder(entry))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._unreadable(error) from error
        # os.path: a folder that may not be looked into holds no run, unless its name says so.
        return [name for name in names if _RUN_ID.fullmatch(name) or os.path.exists(self.path / name / META)]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link to itself


def read_listed(folder: Path) -> RunMeta:
    """Read ``run.json`` of a run in a store, where the folder has the run's name.

    Raises:
        InputError: As :func:`read_meta` does, and when the folder has another name.
    """
    meta = read_meta(folder)
    if meta.id != folder.name:
        raise InputError(f"{folder} holds run {meta.id}", "Rename the folder to the run's id.")
    return meta


def _unless_used(folder: Path, act: Callable[[Path], None]) -> bool:
    """Do something with a folder that no living writer uses, holding its lock; return whether it is such a one."""
    # Without permission, or on a file system without locks, nobody can tell: it stays.
    with contextlib.suppress(OSError), _opened(folder) as handle:
        if time.time() - folder.stat().st_mtime > _LOCKED_WITHIN_S:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            act(folder)
            return True
    return False


def passed_over(error: NcuLabError) -> Notice:
    """Return the notice that a run which cannot be read is left out."""
    words = f"{error.message}; skipped. {error.hint}".strip()
    if isinstance(error, DamagedRunError):
        return RunNotice(CORRUPT_RUN, words, error.run, error.what)
    return Notice(CORRUPT_RUN, words)


class RunWriter:
    """A run being written beside its place: rows of its tables first, then everything else, then the renaming."""

    def __init__(self, store: Path, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._files: dict[str, TableFile] = {}
        self._lock = contextlib.ExitStack()

    def append(self, tables: Mapping[str, pd.DataFrame]) -> None:
        """Write rows of some tables, by their names in :data:`TABLES`."""
        from ncu_lab.store.tables import TableFile

        self._make_folder()
        for name, frame in tables.items():
            if name not in self._files:
                self._files[name] = TableFile(self._folder / f"{name}.parquet", TABLES[name])
            self._files[name].append(frame)

    def finish(self, run: Run, report_file: Path | None = None) -> Path:
        """Write the rest of a run and put it into its place; an interrupted write leaves nothing like a run.

        Args:
            run: The run; ``meta.id`` names its directory, its tables hold the rows not yet appended, and its checksums
                are computed here.
            report_file: The raw report to keep beside the tables; None keeps none.

        Returns:
            The directory.

        Raises:
            UsageError: When the id is taken or is no name for a directory.
        """
        target = self._store / run.meta.id
        if not run.meta.id or Path(run.meta.id).name != run.meta.id or run.meta.id.startswith("."):
            raise UsageError(f"{run.meta.id!r} is no name for a run", "Use letters, digits, dots and dashes.")
        if target.exists():
            raise UsageError(f"run {run.meta.id} exists in {self._store}", "Runs are never overwritten.")
        rows = {name: getattr(run, name) for name in TABLES}
        self.append({name: frame for name, frame in rows.items() if len(frame) or name not in self._files})
        self._close_tables()
        # Where a cubin was cached means nothing elsewhere; its name does.
        builds = [replace(build, cubin=Path(build.cubin.name)) for build in run.builds]
        _write_json(self._folder / BUILDS, {"schema": SCHEMA, "builds": encode(builds)})
        _write_json(self._folder / CHECKS, {"schema": SCHEMA, "checks": encode(run.checks)})
        if run.sources:
            _write_json(self._folder / SOURCES, {"schema": SCHEMA, "sources": encode(run.sources)})
        if report_file is not None:
            shutil.copyfile(report_file, self._folder / REPORT)
        checksums = {file.name: _sha256(file) for file in sorted(self._folder.iterdir())}
        _write_json(self._folder / META, encode(replace(run.meta, checksums=checksums)))
        (self._folder / SEAL).write_text(f"{_sha256(self._folder / META)}  {META}\n", encoding="ascii")
        self._folder.rename(target)
        return target

    def _make_folder(self) -> None:
        """Make the folder once there is something to write, and lock it as long as this process lives."""
        if self._folder.exists():
            return
        self._folder.mkdir()
        handle = self._lock.enter_context(_opened(self._folder))
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)

    def close(self) -> None:
        """Close what is open, and let go of the folder."""
        self._close_tables()
        self._lock.close()

    def _close_tables(self) -> None:
        while self._files:
            self._files.popitem()[1].close()


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def _write_json(file: Path, data: Json) -> None:
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + os.linesep
    # A name of a file that is no UTF-8 holds lone surrogates: written as JSON's escapes, they are read back alike.
    file.write_text(text, encoding="utf-8", errors="backslashreplace")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
