"""From what a user compares to the runs meant: one for a file or a run, one for each stage of a revision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ncu_lab.analyze.summary import summarize
from ncu_lab.errors import InputError
from ncu_lab.model import CORRUPT_RUN, LaunchSummary, Notice, Problem, Run, RunMeta, RunNotice
from ncu_lab.store import Store
from ncu_lab.store.directory import passed_over
from ncu_lab.store.stored_run import read_description
from ncu_lab.workflows.indexing import list_runs
from ncu_lab.workflows.reading import Found, find_run, revision_runs

Context = tuple[Problem | None, str | None, str | None]
"""What runs must agree in to stand for one: problem, model of GPU, and the name of a foreign program."""


class Shelf(Protocol):
    """Where references are looked up: a store and the files beside it, or only what a page may show."""

    def of_revision(self, reference: str) -> list[RunMeta]:
        """List the complete runs of a commit, the best first; none where the reference means something else."""

    def find(self, reference: str) -> Found:
        """Return the run that a reference means which is no commit.

        Raises:
            InputError: When there is none.
        """

    def read(self, run: str) -> Run:
        """Read a run by its id.

        Raises:
            InputError: When it cannot be read.
        """

    def summarize(self, run: Run) -> list[LaunchSummary]:
        """Return the launches of a run by the catalogue."""

    def unreadable(self, commit: str | None) -> list[Notice]:
        """Return which runs, of a commit or of none that can be told, were passed over as damaged."""


class StoreShelf:
    """A store, and whatever files a user names: what the commands look in."""

    def __init__(self, store: Path, where: str = "") -> None:
        """Look in a store.

        Args:
            store: The folder of runs.
            where: The options that name it, for commands that are told to be typed.
        """
        self._path, self._where, self._store = store, where, Store(store)

    def of_revision(self, reference: str) -> list[RunMeta]:
        """See :func:`ncu_lab.workflows.reading.revision_runs`."""
        return revision_runs(reference, self._path, self._where)

    def find(self, reference: str) -> Found:
        """See :func:`ncu_lab.workflows.reading.find_run`."""
        return find_run(reference, self._path, self._where)

    def read(self, run: str) -> Run:
        """Read a run whole."""
        return self._store.read_whole(run)

    def summarize(self, run: Run) -> list[LaunchSummary]:
        """See :func:`ncu_lab.analyze.summary.summarize`."""
        return summarize(run)

    def unreadable(self, commit: str | None) -> list[Notice]:
        """Return which runs of a commit are damaged, and those whose commit cannot be told."""
        return [one for one in list_runs(self._path)[1] if one.code == CORRUPT_RUN and self._may_be_of(one, commit)]

    def _may_be_of(self, notice: Notice, commit: str | None) -> bool:
        if not isinstance(notice, RunNotice):
            return True
        try:
            return read_description(self._path / notice.run).git.commit == commit
        except InputError:
            return True


@dataclass
class Side:
    """One of two sides: its runs, and those of their launches that are compared.

    Attributes:
        reference: What the user called it.
        runs: The newest first.
        stage: The only stage that is meant, if one is.
        all: Launches of all runs, each as far as no newer run has their stage.
        launches: Those of them that are compared.
        notices: Of runs that were passed over or left out.
        summarize: Returns the launches of a run.
    """

    reference: str
    runs: list[Run]
    stage: str | None = None
    notices: list[Notice] = field(default_factory=list)
    summarize: Callable[[Run], list[LaunchSummary]] = summarize
    all: list[LaunchSummary] = field(init=False)
    launches: list[LaunchSummary] = field(init=False)

    def __post_init__(self) -> None:
        self._run_of: dict[int, Run] = {}
        self.all = []
        covered: set[str | None] = set()
        for run in self.runs:
            own = [one for one in self.summarize(run) if one.stage is None or one.stage not in covered]
            covered |= {one.stage for one in own}
            self._run_of |= {id(one): run for one in own}
            self.all += own
        self.launches = self.all

    def run_of(self, launch: LaunchSummary) -> Run:
        """Return the run that one of the launches is of; numbers of launches begin anew in each run."""
        return self._run_of[id(launch)]

    @property
    def name(self) -> str:
        """What to call it in a message."""
        return self.runs[0].meta.id if len(self.runs) == 1 else self.reference


def find_sides(a: str, b: str, shelf: Shelf) -> list[tuple[Side, Side]]:
    """Return the runs that two references mean, and which are to be compared with which.

    A revision means its newest complete run per stage, problem and model of GPU. Runs of the problems and GPUs that
    both sides have are compared; where there are none, the newest of each.

    Args:
        a: Reference of A (see :func:`ncu_lab.workflows.reading.find_run`).
        b: Reference of B.
        shelf: Where they are looked up.

    Raises:
        InputError: When a reference means nothing, or its run cannot be read.
    """
    found_a, found_b = _Candidates(a, shelf), _Candidates(b, shelf)
    common = [context for context in found_b.contexts if context in found_a.contexts]
    if not common:
        return [(found_a.side(found_a.contexts[0]), found_b.side(found_b.contexts[0]))]
    pairs = [(found_a.side(context), found_b.side(context)) for context in common]
    for side, found, letter in ((pairs[0][0], found_a, "A"), (pairs[0][1], found_b, "B")):
        left = [context for context in found.contexts if context not in common]
        if left:
            words = ", ".join(_words(context) for context in left)
            side.notices.append(Notice("only_one_side", f"only {letter} ({found.reference}) has runs of {words}"))
    return pairs


class _Candidates:
    """The runs that one reference may mean, by what they can be compared with."""

    def __init__(self, reference: str, shelf: Shelf) -> None:
        self.reference = reference
        self._shelf = shelf
        self._metas = shelf.of_revision(reference)
        self._found = None if self._metas else shelf.find(reference)
        metas = self._metas if self._found is None else [self._found.run.meta]
        self.contexts = list(dict.fromkeys(_context(meta) for meta in metas))

    def side(self, context: Context) -> Side:
        """Read the runs of one context."""
        if self._found is not None:
            passed = list(self._found.passed_over)
            return Side(self.reference, [self._found.run], self._found.stage, passed, self._shelf.summarize)
        runs, notices = self._newest_per_stage([meta for meta in self._metas if _context(meta) == context])
        notices += self._shelf.unreadable(runs[0].meta.git.commit)
        return Side(self.reference, runs, notices=notices, summarize=self._shelf.summarize)

    def _newest_per_stage(self, metas: Sequence[RunMeta]) -> tuple[list[Run], list[Notice]]:
        """Read, the best first, the runs that bring a stage which none before them has.

        Raises:
            InputError: When none can be read.
        """
        runs: list[Run] = []
        covered: set[str] = set()
        errors: list[InputError] = []
        for meta in metas:
            if runs and set(meta.stages) <= covered:
                continue
            try:
                runs.append(self._shelf.read(meta.id))
            except InputError as error:
                errors.append(error)
            else:
                covered |= set(meta.stages)
        if not runs:
            raise errors[0]
        return runs, [passed_over(error) for error in errors]


def _context(meta: RunMeta) -> Context:
    return meta.problem, meta.device.name if meta.device else None, None if meta.stages else meta.name


def _words(context: Context) -> str:
    problem, device, name = context
    return " on ".join(words for words in (problem.label if problem else name or "a program", device) if words)
