"""What listings and histories need of every run, kept in one file, so that no run has to be opened for them.

The index is derived: it lies in ``.index/`` of the store, may be deleted at any time, and is brought up to date from
the run directories whenever it is opened. A directory counts as unchanged while the stamps of its ``run.json`` and its
own are; when they differ it is read again, and what was read from its tables stays if ``run.json`` has the same bytes,
since those hold the checksums of all tables.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ncu_lab import __version__
from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.metrics import CATALOGUE
from ncu_lab.model import (
    SCHEMA,
    Device,
    Environment,
    Estimate,
    GitState,
    KernelIdentity,
    KernelReadings,
    Notice,
    Problem,
    RunMeta,
    SeriesPoint,
)
from ncu_lab.resources import is_bundled
from ncu_lab.store.directory import Store, passed_over, read_listed
from ncu_lab.store.encoding import decode, encode
from ncu_lab.store.index_file import in_memory, load, save
from ncu_lab.store.stored_run import META

FOLDER = ".index"
WORTH_SAVING = 32
"""Changed runs that are not worth a file: reading so few takes less time than a person notices."""

_LAYOUT = 1
"""Version of the tables below and of what ``analyze.series`` reads: count it up when either changes."""

_RACY_NS = 2_000_000_000
"""A file changed again so soon may keep its stamp: clocks of file systems tick in up to two seconds."""

_TABLES = """
CREATE TABLE words (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE runs (
  id TEXT PRIMARY KEY, stamp TEXT NOT NULL, checksum TEXT NOT NULL, has_readings INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL, created TEXT NOT NULL, source TEXT NOT NULL, name TEXT, error TEXT, schema INTEGER NOT NULL,
  git_commit TEXT, branch TEXT, dirty INTEGER NOT NULL, subject TEXT,
  stages INTEGER NOT NULL, problem INTEGER NOT NULL, device INTEGER NOT NULL, environment INTEGER NOT NULL
);
CREATE TABLE kernels (id INTEGER PRIMARY KEY, run TEXT NOT NULL, identity INTEGER NOT NULL);
CREATE INDEX kernels_of_run ON kernels (run);
CREATE TABLE readings (
  key INTEGER NOT NULL, kernel INTEGER NOT NULL, value REAL NOT NULL, n INTEGER NOT NULL, low REAL, high REAL,
  PRIMARY KEY (key, kernel)
) WITHOUT ROWID;
"""
# What repeats from run to run (a device has 6 kB of attributes) is a word: JSON, once.

_COLUMNS = (
    "id", "status", "created", "source", "name", "error", "schema", "git_commit", "branch", "dirty", "subject",
    "stages", "problem", "device", "environment",
)  # fmt: skip
_KINDS = (tuple[str, ...], Problem | None, Device | None, Environment)
"""Types of the last columns."""


def is_kept(store: Path) -> bool:
    """Whether a store has an index that this version reads: without one all runs are read first."""
    return (store / FOLDER / f"{_fingerprint()}.sqlite").is_file()


class RunIndex:
    """The index of one store, in memory; :meth:`refresh` first, :meth:`save` last."""

    def __init__(self, store: Path) -> None:
        self._store = Store(store)
        self._file = store / FOLDER / f"{_fingerprint()}.sqlite"
        known = load(self._file)
        self._db = known or in_memory()
        if known is None:
            self._db.executescript(_TABLES)
        self._words: dict[str, int] = {text: id for id, text in self._db.execute("SELECT id, text FROM words")}
        self._unsaved = 0

    def refresh(self, progress: Callable[[int, int], None] = lambda done, all: None) -> list[Notice]:
        """Bring the index up to the state of the folder.

        Args:
            progress: Told how many of the changed runs have been read, and of how many.

        Returns:
            Which directories cannot be read, and why; they are tried again every time.

        Raises:
            InputError: When the store is no folder, or cannot be listed.
        """
        names = self._store.folder_names()
        stamps = {name: _stamp(self._store.path, name) for name in names}
        known = dict(self._db.execute("SELECT id, stamp FROM runs"))
        changed = [name for name, stamp in stamps.items() if stamp is None or known.get(name) != stamp]
        notices = []
        gone = known.keys() - stamps.keys()
        for count, name in enumerate(changed):
            progress(count, len(changed))
            try:
                self._put(name)
            except NcuLabError as error:
                if os.path.lexists(self._store.path / name):  # else it was removed meanwhile
                    notices.append(passed_over(error))
                gone |= {name} & known.keys()
        self._forget(gone)
        if changed or gone:
            # Once, for all, as it looks at every reading; no kernel has been added that may have got a freed number.
            self._db.execute("DELETE FROM readings WHERE kernel NOT IN (SELECT id FROM kernels)")
        self._unsaved += len(gone) + len(changed) - len(notices)
        return notices

    def _put(self, name: str) -> None:
        folder = self._store.path / name
        # The stamp comes first: what changes while the run is read is then read again.
        stamp = _stamp(self._store.path, name) or ""
        meta = read_listed(folder)
        checksum = _checksum(folder)
        [before] = self._db.execute("SELECT checksum FROM runs WHERE id = ?", (name,)).fetchone() or [None]
        if before != checksum:
            self._forget({name})
        git = meta.git
        values = (
            meta.id, meta.status, meta.created, meta.source, meta.name, meta.error, meta.schema, git.commit, git.branch,
            git.dirty, git.subject, *map(self._word, (meta.stages, meta.problem, meta.device, meta.environment)),
        )  # fmt: skip
        columns = (*_COLUMNS, "stamp", "checksum")
        settled = stamp if _is_settled(stamp) else ""
        settings = ", ".join(f"{column} = excluded.{column}" for column in columns)
        self._db.execute(
            f"INSERT INTO runs ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))}) "
            f"ON CONFLICT (id) DO UPDATE SET {settings}",
            (*values, settled, checksum),
        )

    def _word(self, value: Any) -> int:
        text = json.dumps(encode(value))
        if text not in self._words:
            self._words[text] = len(self._words) + 1
            self._db.execute("INSERT INTO words (id, text) VALUES (?, ?)", (self._words[text], text))
        return self._words[text]

    def _forget(self, names: Collection[str]) -> None:
        for name in names:
            self._db.execute("DELETE FROM kernels WHERE run = ?", (name,))
            self._db.execute("DELETE FROM runs WHERE id = ?", (name,))

    def metas(self) -> list[RunMeta]:
        """List all runs, newest first.

        They come without what only the run itself needs: command, session, warnings, peaks, checksums, and the diff
        and sources of an edited tree.
        """
        texts = self._texts()
        decoded: dict[tuple[int, int], Any] = {}

        def words(ids: Sequence[int]) -> Iterator[Any]:
            for place in enumerate(ids):
                if place not in decoded:
                    decoded[place] = decode(_KINDS[place[0]], json.loads(texts[place[1]]))
                yield decoded[place]

        metas = []
        for row in self._db.execute(f"SELECT {', '.join(_COLUMNS)} FROM runs ORDER BY created DESC, id DESC"):
            id, status, created, source, name, error, schema, commit, branch, dirty, subject, *ids = row
            stages, problem, device, environment = words(ids)
            git = GitState(commit, branch, bool(dirty), subject)
            metas.append(
                RunMeta(
                    id, status, created, source, stages, name, problem, device, environment, git, error, schema=schema
                )
            )
        return metas

    def _texts(self) -> dict[int, str]:
        return {id: text for text, id in self._words.items()}

    def without_readings(self, runs: Iterable[str]) -> list[str]:
        """Return those of the runs whose tables have not been read yet."""
        known = {id for (id,) in self._db.execute("SELECT id FROM runs WHERE has_readings")}
        return [run for run in runs if run not in known]

    def put_readings(self, run: str, found: KernelReadings) -> None:
        """Keep what the tables of a run tell."""
        self._db.execute("BEGIN")
        for identity, values in found.items():
            kernel = self._db.execute(
                "INSERT INTO kernels (run, identity) VALUES (?, ?)", (run, self._word(identity))
            ).lastrowid
            rows = [(self._word(key), kernel, one.value, one.n, one.low, one.high) for key, one in values.items()]
            self._db.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._db.execute("UPDATE runs SET has_readings = 1 WHERE id = ?", (run,))
        self._db.execute("COMMIT")
        self._unsaved += WORTH_SAVING

    def series(self, key: str, runs: Iterable[RunMeta]) -> list[SeriesPoint]:
        """Return one quantity of every kernel of some runs, in their order, as far as their tables have been read."""
        query = (
            "SELECT kernels.run, kernels.identity, value, n, low, high FROM readings "
            "JOIN kernels ON kernels.id = readings.kernel WHERE readings.key = ? ORDER BY kernels.id"
        )
        found: dict[str, list[tuple[int, Estimate]]] = {}
        for run, identity, *numbers in self._db.execute(query, (self._words.get(json.dumps(key), 0),)):
            found.setdefault(run, []).append((identity, Estimate(*numbers)))
        texts = self._texts()
        used = {identity for one in found.values() for identity, _ in one}
        kernels = {id: decode(KernelIdentity, json.loads(texts[id])) for id in used}
        return [
            SeriesPoint(meta, kernels[identity], key, estimate)
            for meta in runs
            for identity, estimate in found.get(meta.id, ())
        ]

    def save(self) -> str | None:
        """Write what is new to the file, if it is worth that; the bundled runs stay as they came.

        Returns:
            Why it cannot be written, None when it could or need not be.
        """
        if self._unsaved < WORTH_SAVING or is_bundled(self._store.path):
            return None
        try:
            save(self._db, self._file)
        except OSError as error:
            return error.strerror or str(error)
        self._unsaved = 0
        return None


def _fingerprint() -> str:
    """Return what names the file: an ncu-lab that reads other things from runs has an index of its own beside it."""
    read = [
        (one.key, one.expression, one.counters, [(way.expression, way.counters) for way in one.others])
        for one in CATALOGUE
    ]
    return hashlib.sha256(repr((_LAYOUT, SCHEMA, __version__, read)).encode()).hexdigest()[:16]


def _stamp(store: Path, name: str) -> str | None:
    """Return what changes with a run directory: its files come and go, or ``run.json`` is edited; None without one."""
    folder = f"{store}{os.sep}{name}"
    try:
        inside, outside = os.stat(f"{folder}{os.sep}{META}"), os.stat(folder)
    except OSError:
        return None
    return f"{inside.st_size} {inside.st_mtime_ns} {inside.st_ctime_ns} {outside.st_mtime_ns}"


def _is_settled(stamp: str) -> bool:
    return bool(stamp) and time.time_ns() - max(int(moment) for moment in stamp.split()[1:]) > _RACY_NS


def _checksum(folder: Path) -> str:
    try:
        return hashlib.sha256((folder / META).read_bytes()).hexdigest()
    except OSError as error:  # removed since it was read
        raise InputError(f"run {folder.name} cannot be read: {META}: {error.strerror}") from error
