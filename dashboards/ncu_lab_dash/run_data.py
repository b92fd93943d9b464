"""Runs behind the Kernel and Runs pages: listed by the store's index, read once, launches taken apart once."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from ncu_lab.analyze.comparability import compare_fingerprints, fingerprint
from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.model import USABLE, Inspection, Notice, Run, RunMeta
from ncu_lab.model.comparison import Comparability
from ncu_lab.workflows import importing, indexing, inspecting, reading
from ncu_lab.workflows.inspecting import LaunchEntry

T = TypeVar("T")

_RUNS_KEPT = 4
_LAUNCHES_KEPT = 48
_OUTLINES_KEPT = 512

_LAST = re.compile(r"@last(?:~(\d{1,6}))?")
_KINDS = ("run", "rev", "stage")
_LEAST_HASH = 4

FindOpened = Callable[[str], Run | None]
"""Finds a file that was opened without storing it, by its key."""


class Recent:
    """The results used last, by key; the oldest goes when there are too many."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of a key, made where it is not kept; an error is not kept."""
        if key not in self._kept:
            self._kept[key] = make()
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        found: T = self._kept[key]
        return found

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()


@dataclass
class RunData:
    """Runs of one folder, and files that were opened.

    Attributes:
        store: The folder.
        version: Tells the state of the folder.
        find_opened: Finds opened files.
    """

    store: Path
    version: Callable[[], str]
    find_opened: FindOpened = lambda key: None
    _lock: RLock = field(default_factory=RLock, repr=False)
    _version: str | None = None
    _listed: tuple[list[RunMeta], list[Notice]] = field(default=([], []), repr=False)
    _runs: Recent = field(default_factory=lambda: Recent(_RUNS_KEPT), repr=False)
    _entries: Recent = field(default_factory=lambda: Recent(_RUNS_KEPT), repr=False)
    _launches: Recent = field(default_factory=lambda: Recent(_LAUNCHES_KEPT), repr=False)
    _outlines: Recent = field(default_factory=lambda: Recent(_OUTLINES_KEPT), repr=False)

    def listed(self) -> tuple[list[RunMeta], list[Notice]]:
        """Return the runs of the store, newest first, and what of it cannot be read.

        Raises:
            NcuLabError: When the store cannot be listed.
        """
        with self._lock:
            version = self.version()
            if version != self._version:
                self._listed = indexing.list_runs(self.store)
                self._runs.clear()
                self._entries.clear()
                self._launches.clear()
                self._version = version
            return self._listed

    def shown(self) -> list[RunMeta]:
        """Return the runs of the store that have launches to show, newest first."""
        return [meta for meta in self.listed()[0] if meta.status in USABLE]

    def key_of(self, reference: str) -> str | None:
        """Return the id of a run or the key of an opened file that is meant; None where there is none.

        Args:
            reference: It whole, the beginning of an id, or ``@last~n``: the newest run, or the n-th before it.

        Raises:
            InputError: When several runs are meant, or the store cannot be listed.
        """
        if self.find_opened(reference) is not None:
            return reference
        metas = self.shown()
        if last := _LAST.fullmatch(reference):
            place = int(last[1] or 0)
            return metas[place].id if place < len(metas) else None
        found = [meta.id for meta in metas if reference and meta.id.startswith(reference)]
        if len(found) > 1 and reference not in found:
            raise InputError(f'"{reference}" begins the ids of {len(found)} runs', "Choose one of them.")
        return reference if reference in found else next(iter(found), None)

    def of_revision(self, text: str) -> list[RunMeta]:
        """List the complete runs of a commit that runs know: the beginning of its hash, or the branch it was on.

        Those of a clean tree come first, then the newest.

        Raises:
            NcuLabError: When the store cannot be listed.
        """
        complete = [meta for meta in self.shown() if meta.status == "complete" and meta.git.commit]
        commit = next((meta.git.commit for meta in complete if meta.git.branch == text), None)
        found = [meta for meta in complete if meta.git.commit and _is_of(meta.git.commit, commit, text)]
        return sorted(found, key=lambda meta: meta.git.dirty)

    def run(self, key: str) -> Run:
        """Return a run by its id, or an opened file by its key.

        Raises:
            InputError: When there is none such, or it cannot be read.
        """
        with self._lock:
            opened = self.find_opened(key)
            if opened is not None:
                return opened
            metas, _ = self.listed()
            if key not in {meta.id for meta in metas}:
                raise InputError(f'there is no run "{key}" here', "The page Runs lists those there are.")
            return self._runs.get(key, lambda: reading.open_run(f"run:{key}", self.store))

    def opened_name(self, key: str | None) -> str | None:
        """Return what an opened file was called; None for anything else."""
        opened = self.find_opened(key) if key else None
        return opened.meta.name if opened else None

    def launches(self, key: str) -> list[LaunchEntry]:
        """Return the launches of a run, to choose from.

        Raises:
            InputError: When the run cannot be read.
        """
        with self._lock:
            run = self.run(key)
            return self._entries.get(key, lambda: inspecting.list_launches(run))

    def outline(self, key: str) -> list[LaunchEntry]:
        """Return the launches of a run of the store without keeping its tables: for a list of many runs.

        Raises:
            InputError: When the run cannot be read.
        """
        with self._lock:
            self.listed()
            stamp = self._stamp(key)
            return self._outlines.get(
                (key, stamp), lambda: inspecting.list_launches(reading.open_run(f"run:{key}", self.store))
            )

    def size(self, key: str) -> int:
        """Return the bytes that a run takes in the store, by its files."""
        with self._lock:
            return self._outlines.get((key, self._stamp(key), "size"), lambda: _bytes_in(self.store / key))

    def _stamp(self, key: str) -> int:
        """Return when a run was last described; 0 where it is gone."""
        try:
            return (self.store / key / "run.json").stat().st_mtime_ns
        except OSError:
            return 0

    def comparability(self, a: str, b: str) -> Comparability:
        """Return what of two runs can be compared.

        Raises:
            InputError: When one of them cannot be read.
        """
        return compare_fingerprints(fingerprint(self.run(a)), fingerprint(self.run(b)))

    def keep(self, run: Run) -> str:
        """Store what was read of an opened file; return the id it has now.

        Raises:
            EnvironmentLacksError: When the store cannot be written.
        """
        return importing.keep_run(run, self.store).meta.id

    def inspection(self, key: str, launch: int) -> Inspection:
        """Return one launch of a run, taken apart.

        Raises:
            InputError: When the run cannot be read, or has no such launch.
        """
        with self._lock:
            run = self.run(key)

            def take_apart() -> Inspection:
                try:
                    return inspecting.inspect(run, launch)
                except KeyError as error:
                    raise InputError(
                        f"run {key} has no launch {launch}", f"It has {len(run.launches)} launches, from 0."
                    ) from error

            return self._launches.get((key, launch), take_apart)

    def find(self, key: str | None, launch: int | None) -> Inspection | None:
        """Return the launch as :meth:`inspection` does, None when there is none."""
        if key is None or launch is None:
            return None
        try:
            return self.inspection(key, launch)
        except NcuLabError:
            # The page's words say why, by the same call.
            return None


def said_outright(reference: str) -> tuple[str, str]:
    """Return what a reference is said to be, as in ``rev:main``, and the rest; ``""`` and all of it where it is not."""
    kind, colon, rest = reference.partition(":")
    return (kind, rest) if colon and kind in _KINDS else ("", reference)


def _is_of(run_commit: str, commit: str | None, text: str) -> bool:
    return run_commit == commit if commit else len(text) >= _LEAST_HASH and run_commit.startswith(text.lower())


def _bytes_in(folder: Path) -> int:
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat().st_size for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError:
        return 0  # just being removed: the next list has it no more


def default_launch(entries: list[LaunchEntry], stage: str | None) -> int | None:
    """Return the launch a page opens with: the stage's main one, else the longest; None without any."""
    of_stage = [one for one in entries if stage and one.stage == stage]
    main = [one for one in of_stage or entries if one.role == "main"] or of_stage or entries
    longest = max(main, key=lambda one: one.duration_ns or 0.0, default=None)
    return None if longest is None else longest.launch


def names(entries: list[LaunchEntry]) -> Mapping[int, str]:
    """Return launch -> what to call it in a list: its stage, else its short name."""
    return {one.launch: one.stage or one.function or f"launch {one.launch}" for one in entries}
