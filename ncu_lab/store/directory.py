"""Run directories: written beside their place and renamed into it, read lazily, checked against their checksums."""

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError, UsageError
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    SCHEMA,
    TIMING_COLUMNS,
    CheckCase,
    Json,
    Notice,
    Run,
    RunMeta,
    StageBuild,
)
from ncu_lab.store.encoding import decode, encode

if TYPE_CHECKING:
    import pandas as pd

    from ncu_lab.store.tables import TableFile

META = "run.json"
BUILDS = "build.json"
CHECKS = "checks.json"
REPORT = "report.ncu-rep"
TABLES: Mapping[str, Mapping[str, str]] = {
    "launches": LAUNCH_COLUMNS,
    "metrics": METRIC_COLUMNS,
    "instances": INSTANCE_COLUMNS,
    "rules": RULE_COLUMNS,
    "timings": TIMING_COLUMNS,
}

_UNFINISHED = ".writing-"
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
            probe = self.path / f".probe-{secrets.token_hex(4)}"
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
        self._remove_abandoned()
        temporary = self.path / f"{_UNFINISHED}{secrets.token_hex(8)}"
        writer = RunWriter(self.path, temporary)
        try:
            with self._writing():
                yield writer
        finally:
            writer.close()
            shutil.rmtree(temporary, ignore_errors=True)

    def _remove_abandoned(self) -> None:
        """Remove what writers left that were killed: those that live hold a lock on their folder."""
        for folder in self.path.glob(f"{_UNFINISHED}*"):
            # Without permission, or on a file system without locks, nobody can tell: it stays.
            with contextlib.suppress(OSError), _opened(folder) as handle:
                if time.time() - folder.stat().st_mtime > _LOCKED_WITHIN_S:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(folder, ignore_errors=True)

    def read(self, run_id: str) -> Run:
        """Read a run; its tables are loaded when first asked for.

        Raises:
            InputError: When there is no such run, it is corrupt, or a newer ncu-lab wrote it.
        """
        return read_directory(self.path / run_id)

    def report(self, run_id: str) -> Path | None:
        """Return the raw report kept with a run, None when it has none."""
        file = self.path / run_id / REPORT
        return file if file.is_file() else None

    def metas(self) -> tuple[list[RunMeta], list[Notice]]:
        """List all runs, newest first, and tell which directories cannot be read and why."""
        metas, notices = [], []
        for folder in self._folders():
            try:
                meta = read_meta(folder)
                if meta.id != folder.name:
                    raise InputError(f"{folder} holds run {meta.id}", "Rename the folder to the run's id.")
                metas.append(meta)
            except NcuLabError as error:
                notices.append(Notice("corrupt_run", f"{error.message}; skipped. {error.hint}".strip()))
        return sorted(metas, key=lambda meta: (meta.created, meta.id), reverse=True), notices

    def _folders(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        return sorted(
            entry
            for entry in self.path.iterdir()
            if entry.is_dir() and (_RUN_ID.fullmatch(entry.name) or (entry / META).exists()) and entry.name[0] != "."
        )


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
        if report_file is not None:
            shutil.copyfile(report_file, self._folder / REPORT)
        checksums = {file.name: _sha256(file) for file in sorted(self._folder.iterdir())}
        _write_json(self._folder / META, encode(replace(run.meta, checksums=checksums)))
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


class _StoredRun(Run):
    """A run whose tables are read when they are first asked for: the instances may be large and are rarely needed."""

    def __getattr__(self, name: str) -> Any:
        if name not in TABLES or "_folder" not in self.__dict__:
            raise AttributeError(name)
        frame = _read_frame(self.__dict__["_folder"], self.meta, name)
        object.__setattr__(self, name, frame)
        return frame


def read_directory(folder: Path) -> Run:
    """Read a run directory, wherever it is; its tables are loaded when first asked for.

    Raises:
        InputError: When it is no run directory, is corrupt, or a newer ncu-lab wrote it.
    """
    meta = read_meta(folder)
    run = _StoredRun.__new__(_StoredRun)
    contents = {
        "meta": meta,
        "builds": _read_listed(folder, meta, BUILDS, "builds", tuple[StageBuild, ...]),
        "checks": _read_listed(folder, meta, CHECKS, "checks", tuple[CheckCase, ...]),
        "_folder": folder,
    }
    for name, value in contents.items():
        object.__setattr__(run, name, value)
    return run


def read_meta(folder: Path) -> RunMeta:
    """Read ``run.json`` of a run directory, and see that the files it names are there.

    Raises:
        InputError: When the directory is no run, is corrupt, or a newer ncu-lab wrote it.
    """
    file = folder / META
    data = _read_json(file, folder)
    schema = data.get("schema")
    if not isinstance(schema, int):
        raise _corrupt(folder, f"{META} has no schema version")
    if schema > SCHEMA:
        raise InputError(
            f"run {folder.name} has schema {schema}, this ncu-lab reads up to {SCHEMA}",
            "A newer ncu-lab wrote it: pip install --upgrade ncu-lab",
        )
    try:
        meta = decode(RunMeta, data)
    except (ValueError, NcuLabError) as error:
        raise _corrupt(folder, f"{META}: {error}") from error
    if lost := [name for name in meta.checksums if name != REPORT and not (folder / name).is_file()]:
        raise _corrupt(folder, f"{', '.join(lost)} missing")
    assert isinstance(meta, RunMeta)
    return meta


def _read_listed(folder: Path, meta: RunMeta, name: str, key: str, kind: Any) -> Any:
    if name not in meta.checksums:
        return ()
    try:
        return decode(kind, json.loads(_read_checked(folder, meta, name)).get(key, []), key)
    except (ValueError, AttributeError) as error:
        raise _corrupt(folder, f"{name}: {error}") from error


def _read_frame(folder: Path, meta: RunMeta, name: str) -> pd.DataFrame:
    from ncu_lab.store.tables import read_table

    file = f"{name}.parquet"
    try:
        return read_table(_read_checked(folder, meta, file), TABLES[name])
    except ValueError as error:
        raise _corrupt(folder, f"{file}: {error}") from error


def _read_checked(folder: Path, meta: RunMeta, name: str) -> bytes:
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise _corrupt(folder, f"{name}: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != meta.checksums.get(name):
        raise _corrupt(folder, f"{name} does not match its checksum")
    return data


def _read_json(file: Path, folder: Path) -> Json:
    try:
        data = json.loads(file.read_bytes())
    except OSError as error:
        raise _corrupt(folder, f"{file.name}: {error.strerror}") from error
    except ValueError as error:
        raise _corrupt(folder, f"{file.name} is not JSON ({error})") from error
    if not isinstance(data, dict):
        raise _corrupt(folder, f"{file.name} is not a JSON object")
    return data


def _corrupt(folder: Path, what: str) -> InputError:
    return InputError(f"run {folder.name} is corrupt: {what}", f"Restore or delete {folder}.")


def _write_json(file: Path, data: Json) -> None:
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + os.linesep, encoding="utf-8")


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
