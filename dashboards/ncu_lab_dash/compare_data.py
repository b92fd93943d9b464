"""Comparisons behind the Compare page: made once of runs that were read once, never of a path that an address names."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock

from ncu_lab.analyze.attribution import largest_contributions
from ncu_lab.analyze.ideal_changes import against_ideal
from ncu_lab.analyze.summary import summarize
from ncu_lab.errors import InputError, NcuLabError, UsageError
from ncu_lab.model import Attribution, Contribution, LaunchSummary, Notice, Roofline, Run, RunMeta
from ncu_lab.model.comparison import Comparison, MetricChange, MovedLine, Pair
from ncu_lab.model.noise import NoiseTable
from ncu_lab.render.compare_tables import pair_keys
from ncu_lab.workflows.comparing import compare, find_lines, is_itself
from ncu_lab.workflows.inspecting import LaunchEntry
from ncu_lab.workflows.measuring_noise import read_noise_table
from ncu_lab.workflows.placing import place_pair
from ncu_lab.workflows.reading import Found
from ncu_lab.workflows.succession import placed_in_git
from ncu_lab_dash.compare_view import CompareView
from ncu_lab_dash.history_data import git_folder
from ncu_lab_dash.run_data import Recent, RunData, said_outright

_KEPT = 12


@dataclass(frozen=True)
class ServedShelf:
    """What an address may name: runs of the served store, their commits and stages, and opened files. No paths."""

    runs: RunData
    summaries: Callable[[Run], list[LaunchSummary]] = summarize

    def summarize(self, run: Run) -> list[LaunchSummary]:
        """Return the launches of a run."""
        return self.summaries(run)

    def of_revision(self, reference: str) -> list[RunMeta]:
        """List the complete runs of a commit that runs know, as :meth:`RunData.of_revision` does.

        None where the reference is a run or an opened file.
        """
        outright, wanted = said_outright(reference)
        if outright in ("run", "stage") or (not outright and self.runs.key_of(reference) is not None):
            return []
        return self.runs.of_revision(wanted)

    def find(self, reference: str) -> Found:
        """Return the run, opened file or stage that a reference means.

        Raises:
            InputError: When there is none, or it cannot be read.
        """
        outright, wanted = said_outright(reference)
        if outright in ("", "run") and (run := self.runs.key_of(wanted)) is not None:
            return Found(self.runs.run(run))
        if outright in ("", "stage"):
            metas = self.runs.shown()
            having = [meta.id for meta in metas if meta.status == "complete" and wanted in meta.stages]
            if having:
                return Found(self.runs.run(having[0]), wanted)
        raise InputError(
            f'there is no run, commit or stage "{reference}" here',
            "Choose among those there are; a file is opened on the page Runs.",
        )

    def read(self, run: str) -> Run:
        """Read a run by its id, or take it as it is kept."""
        return self.runs.run(run)

    def unreadable(self, commit: str | None) -> list[Notice]:
        """Return none: the page of the runs tells which are damaged."""
        return []


@dataclass(frozen=True)
class ShownPair:
    """One pair of kernels, with what a page tells of it.

    Attributes:
        key: Names it in addresses.
        pair: What is known of it.
        metrics: Its quantities, global sectors against their ideal.
        contributions: What changed its duration most.
        rooflines: The charts of both launches; None where one could not be placed, or they share no chart.
        itself: Whether launches are compared with themselves.
    """

    key: str
    pair: Pair
    metrics: tuple[MetricChange, ...]
    contributions: tuple[Contribution, ...]
    rooflines: tuple[Roofline, Roofline] | None
    itself: bool


@dataclass
class CompareData:
    """Comparisons of what one dashboard serves.

    Attributes:
        runs: The runs.
    """

    runs: RunData
    _lock: RLock = field(default_factory=RLock, repr=False)
    _comparisons: Recent = field(default_factory=lambda: Recent(_KEPT), repr=False)
    _lines_lock: RLock = field(default_factory=RLock, repr=False)
    _lines: Recent = field(default_factory=lambda: Recent(4 * _KEPT), repr=False)
    _launches: Recent = field(default_factory=lambda: Recent(_KEPT), repr=False)
    _pairs: Recent = field(default_factory=lambda: Recent(4 * _KEPT), repr=False)

    def comparison(self, view: CompareView) -> Comparison:
        """Return what a view compares, judged once.

        Raises:
            InputError: When a side means nothing, or cannot be read.
            UsageError: When there is nothing to compare, or a side has no such stage or launch.
        """
        a, b = view.a, view.shown_b
        if a is None or b is None:
            raise UsageError("two runs are needed for a comparison", "Choose A and B above.")
        with self._lock:
            return self._comparisons.get(self._key(view), lambda: self._compare(a, b, view))

    def _compare(self, a: str, b: str, view: CompareView) -> Comparison:
        found = compare(
            a,
            b,
            self.runs.store,
            stage_a=view.sa,
            stage_b=view.sb,
            launch_a=view.la,
            launch_b=view.lb,
            noise=self._noise(),
            shelf=ServedShelf(self.runs, self._summaries),
            lines=False,
        )
        try:
            return placed_in_git(found, git_folder(self.runs.store))
        except InputError:
            return found  # git refuses the repository: what is compared needs none, and the page History says so

    def _summaries(self, run: Run) -> list[LaunchSummary]:
        return self._launches.get((self.runs.version(), run.meta.id), lambda: summarize(run))

    def lines(self, shown: ShownPair) -> tuple[MovedLine, ...]:
        """Return the lines of source whose samples moved; found when they are asked for, as that takes longest.

        Raises:
            InputError: When a run cannot be read any more.
        """
        pair = shown.pair
        if pair.run_a is None or pair.run_b is None or pair.chosen_a is None or pair.chosen_b is None:
            return ()
        a, b = self.runs.run(pair.run_a.id), self.runs.run(pair.run_b.id)
        key = (self.runs.version(), a.meta.id, b.meta.id, pair.chosen_a.launch, pair.chosen_b.launch)
        with self._lines_lock:
            return self._lines.get(key, lambda: find_lines(pair, a, b))

    def _noise(self) -> NoiseTable:
        table, _ = read_noise_table(self.runs.store)
        return table

    def _key(self, view: CompareView) -> tuple[object, ...]:
        return self.runs.version(), view.a, view.sa, view.la, view.shown_b, view.sb, view.lb

    def pair(self, view: CompareView) -> ShownPair | None:
        """Return the chosen pair, else the one that says most; None where nothing is compared.

        Raises:
            InputError: As :meth:`comparison` does.
            UsageError: Likewise.
        """
        with self._lock:
            comparison = self.comparison(view)
            keys = pair_keys(comparison.pairs)
            if not keys:
                return None
            at = keys.index(view.pair) if view.pair in keys else _most_telling(comparison.pairs)
            return self._pairs.get((*self._key(view), at), lambda: self._shown(keys[at], comparison.pairs[at]))

    def find(self, view: CompareView) -> ShownPair | None:
        """Return the pair as :meth:`pair` does, None where there is none or it cannot be told."""
        try:
            return self.pair(view)
        except NcuLabError:
            # The page's words say why, by the same call.
            return None

    def _shown(self, key: str, pair: Pair) -> ShownPair:
        split = pair.attribution
        return ShownPair(
            key,
            pair,
            against_ideal(pair.metrics),
            largest_contributions(split) if isinstance(split, Attribution) else (),
            place_pair(pair, self.runs.run),
            is_itself(pair),
        )

    def launches(self, reference: str | None) -> list[LaunchEntry]:
        """Return the launches that a side can be narrowed to; none where its run is not one, or not known."""
        try:
            return self.runs.launches(reference) if reference else []
        except NcuLabError:
            return []  # a commit or a stage, or what the page's words say


def _most_telling(pairs: Sequence[Pair]) -> int:
    """Return the place of the pair whose time surely changed most, else of the first on both sides, else the first."""
    changed = [
        (abs(math.log(pair.duration.ratio)), -place)
        for place, pair in enumerate(pairs)
        if pair.duration and pair.duration.ratio and pair.duration.verdict in ("faster", "slower")
    ]
    if changed:
        return -max(changed)[1]
    return next((place for place, pair in enumerate(pairs) if pair.is_on_both_sides), 0)
