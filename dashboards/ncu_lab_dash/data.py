"""The runs behind the page: listed cheaply, read once per state of the folder, never written.

A state is the names and modification times of all ``run.json`` files. Callbacks ask for a ladder and get the cached
one until a run appears or goes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.model import CORRUPT_RUN, USABLE, Ladder, Notice, Problem, RunMeta
from ncu_lab.workflows import climbing, indexing

ReadLadder = Callable[..., Ladder]
ListRuns = Callable[[Path], tuple[list[RunMeta], list[Notice]]]


def problem_key(problem: Problem) -> str:
    """Write a problem for an address: ``4096``, ``4096x1024x512``, with ``a2b1`` where alpha, beta are not 1, 0."""
    cube = problem.m == problem.n == problem.k
    size = str(problem.m) if cube else f"{problem.m}x{problem.n}x{problem.k}"
    scaled = (problem.alpha, problem.beta) != (1.0, 0.0)
    return f"{size}a{problem.alpha:g}b{problem.beta:g}" if scaled else size


def ladder_key(problem: str, device: str) -> str:
    """Write a problem's key and a GPU as one: ``4096@NVIDIA H200``."""
    return f"{problem}@{device}"


@dataclass(frozen=True, slots=True)
class Overview:
    """What the folder holds.

    Attributes:
        problems: Key -> problem of the runs of stages, smallest first.
        devices: GPUs of these runs, the newest run's first.
        newest_problem: Key of the newest of these runs; None without any.
        newest_device: Its GPU.
        ladders: Pairs of a problem's key and a GPU that there are runs of, in the order of the problems.
        others: How many runs no ladder can show: imported, of other programs, or failed.
        notices: What could not be read.
    """

    problems: dict[str, Problem]
    devices: tuple[str, ...]
    newest_problem: str | None
    newest_device: str | None
    ladders: tuple[tuple[str, str], ...]
    others: int
    notices: tuple[Notice, ...]


@dataclass
class LadderData:
    """Ladders of one folder of runs.

    Attributes:
        store: The folder.
        read_ladder: Builds a ladder from the store.
        list_runs: Lists the store's runs.
    """

    store: Path
    read_ladder: ReadLadder = climbing.ladder
    list_runs: ListRuns = indexing.list_runs
    _lock: Lock = field(default_factory=Lock, repr=False)
    _version: str = ""
    _overview: Overview | None = None
    _ladders: dict[tuple[str | None, str | None], Ladder] = field(default_factory=dict, repr=False)

    def version(self) -> str:
        """Return the state of the folder as a short hash; reads no run."""
        seen = hashlib.sha256()
        for name, modified in sorted(self._marks()):
            seen.update(f"{name}\0{modified}\0".encode())
        return seen.hexdigest()[:16]

    def overview(self) -> Overview:
        """Return what the folder holds.

        Raises:
            NcuLabError: When the folder cannot be read at all.
        """
        with self._lock:
            return self._fresh_overview()

    def ladder(self, problem: str | None, device: str | None) -> Ladder:
        """Return the ladder of a problem and a device; None leaves the choice to the workflow.

        Raises:
            NcuLabError: When the folder holds no such ladder.
        """
        with self._lock:
            overview = self._fresh_overview()
            key = (problem, device)
            if key not in self._ladders:
                wanted = _find(overview, problem) if problem else None
                self._ladders[key] = self.read_ladder(self.store, problem=wanted, device=device)
            return self._ladders[key]

    def find(self, problem: str | None, device: str | None) -> Ladder | None:
        """Return the ladder as :meth:`ladder` does, None when there is none."""
        try:
            return self.ladder(problem, device)
        except NcuLabError:
            return None

    def find_beside(self, key: str) -> Ladder | None:
        """Return the ladder of a key of :func:`ladder_key`, None when there is none."""
        problem, _, device = key.partition("@")
        return self.find(problem, device) if device else None

    def notices(self, problem: str | None, device: str | None) -> list[Notice]:
        """Return what to tell beside a ladder: what could not be read, and what weakens it.

        Whatever ladder is shown, a run that was passed over when the page chose what to open with is told: it may be
        the newest, and of another problem than the one that took its place.
        """
        first, shown = self.find(None, None), self.find(problem, device)
        passed = [notice for notice in (first.warnings if first else ()) if notice.code == CORRUPT_RUN]
        return [*self.overview().notices, *passed, *(shown.warnings if shown else ())]

    def _fresh_overview(self) -> Overview:
        version = self.version()
        if self._overview is None or version != self._version:
            self._ladders.clear()
            self._overview = _overview(*self.list_runs(self.store))
            self._version = version
        return self._overview

    def _marks(self) -> list[tuple[str, int]]:
        if not self.store.is_dir():
            return []
        marks = []
        with os.scandir(self.store) as entries:
            for entry in entries:
                try:
                    marks.append((entry.name, (Path(entry.path) / "run.json").stat().st_mtime_ns))
                except OSError:
                    # Not a run, or one that is just being removed: it does not count.
                    continue
        return marks


def _find(overview: Overview, problem: str) -> Problem:
    """Return the problem of a key.

    Raises:
        InputError: When no run is of it; names those there are.
    """
    if problem not in overview.problems:
        there = ", ".join(overview.problems) or "none"
        raise InputError(f"no runs of problem {problem}", f"There are runs of: {there}.")
    return overview.problems[problem]


def _overview(metas: Sequence[RunMeta], notices: Sequence[Notice]) -> Overview:
    ladders = [meta for meta in metas if meta.stages and meta.problem and meta.status in USABLE]
    problems = {problem_key(meta.problem): meta.problem for meta in ladders if meta.problem}
    devices = dict.fromkeys(meta.device.name for meta in ladders if meta.device)
    by_size = sorted(problems.items(), key=lambda item: (item[1].m * item[1].n * item[1].k, item[0]))
    pairs = dict.fromkeys(
        (problem_key(meta.problem), meta.device.name) for meta in ladders if meta.problem and meta.device
    )
    newest = ladders[0].device if ladders else None
    return Overview(
        problems=dict(by_size),
        devices=tuple(devices),
        newest_problem=next(iter(problems), None),
        newest_device=newest.name if newest else None,
        ladders=tuple(sorted(pairs, key=lambda pair: list(dict(by_size)).index(pair[0]))),
        others=len(metas) - len(ladders),
        notices=tuple(notices),
    )
