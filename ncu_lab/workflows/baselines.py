"""Stored baselines of a gate: runs kept in one file, compared with as if they were those of a commit."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import LaunchSummary, Notice, Run, RunMeta
from ncu_lab.store import Store
from ncu_lab.store.baseline import unpack_baseline, write_baseline
from ncu_lab.workflows.gating import Reference
from ncu_lab.workflows.reading import Found, find_run, revision_runs
from ncu_lab.workflows.sides import StoreShelf


class BaselineShelf:
    """A baseline beside the store: its name means all of its runs, every other reference what it means in the store."""

    def __init__(self, name: str, unpacked: Path, store: Path, where: str = "") -> None:
        """Look in both.

        Args:
            name: The reference that means the baseline.
            unpacked: The folder of its runs.
            store: The folder of runs.
            where: The options that name the store, for commands that are told to be typed.
        """
        self._name, self._baseline, self._rest = name, Store(unpacked), StoreShelf(store, where)
        self._metas, self.notices = self._baseline.metas()

    def of_revision(self, reference: str) -> list[RunMeta]:
        """List the runs of the baseline, the newest first, or those of a commit."""
        return self._metas if reference == self._name else self._rest.of_revision(reference)

    def find(self, reference: str) -> Found:
        """Return a run of the store.

        Raises:
            InputError: When there is none.
        """
        return self._rest.find(reference)

    def read(self, run: str) -> Run:
        """Read a run of either.

        Raises:
            InputError: When it cannot be read.
        """
        own = any(meta.id == run for meta in self._metas)
        return self._baseline.read_whole(run) if own else self._rest.read(run)

    def summarize(self, run: Run) -> list[LaunchSummary]:
        """Return the launches of a run by the catalogue."""
        return self._rest.summarize(run)

    def unreadable(self, commit: str | None) -> list[Notice]:
        """Return which runs of the store are damaged; a baseline with damage is refused as a whole."""
        return self._rest.unreadable(commit)


@contextmanager
def baseline_side(file: Path, store: Path, where: str = "") -> Iterator[Reference]:
    """Unpack a baseline for as long as the block lasts.

    Raises:
        InputError: When it is none, or one of its runs cannot be read.
    """
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as work:
        name = f"baseline {file.name}"
        shelf = BaselineShelf(name, unpack_baseline(file, Path(work)), store, where)
        if shelf.notices:
            raise InputError(f"{file}: {shelf.notices[0].message}")
        yield Reference(name, name, shelf)


def save_baseline(b: Reference, store: Path, file: Path, where: str = "") -> list[RunMeta]:
    """Write the runs that a reference means to a file: of a commit the newest of each stage, problem and model of GPU.

    Raises:
        InputError: When it means none.
    """
    metas = _newest_per_stage(revision_runs(b.text, store, where))
    runs = [Store(store).read_whole(meta.id) for meta in metas] or [find_run(b.text, store, where).run]
    write_baseline(file, runs)
    return [run.meta for run in runs]


def _newest_per_stage(metas: Iterable[RunMeta]) -> list[RunMeta]:
    covered: set[object] = set()
    found = []
    for meta in metas:
        own = {(stage, meta.problem, meta.device and meta.device.name) for stage in meta.stages}
        if not own or not own <= covered:
            found.append(meta)
        covered |= own
    return found
