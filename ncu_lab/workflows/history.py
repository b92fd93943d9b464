"""One quantity of every kernel over commits, and where it changed."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from ncu_lab.analyze.change_points import candidates
from ncu_lab.analyze.histories import arrange, segments, typical, with_breaks
from ncu_lab.analyze.metric_changes import quantity_class
from ncu_lab.collect.commits import commits_in, first_parents
from ncu_lab.collect.revisions import Repository, repository_of
from ncu_lab.errors import InputError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.metrics import METRICS
from ncu_lab.model import SHARE_KEY, TIME_KEY, Notice, Reporter, RunFilter, RunNotice, SeriesPoint, Status, silent
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.comparison import QuantityClass
from ncu_lab.model.history import ChangePoint, History, HistoryGap, HistoryPoint, KernelHistory, Order
from ncu_lab.model.noise import NoiseTable
from ncu_lab.store.directory import passed_over
from ncu_lab.store.stored_run import DamagedRunError, read_description
from ncu_lab.workflows.indexing import list_runs, refuse_unknown, series
from ncu_lab.workflows.judging_changes import is_change, judge
from ncu_lab.workflows.measuring_noise import read_noise_table

NOT_THE_LINE = "not_the_line"
"""Code of the notice that runs of other commits are left out, or that none is of this repository."""

NOT_JUDGED = "not_judged"
"""Code of the notice that a quantity has no verdicts."""

_FAILED: tuple[Status, ...] = ("build_failed", "check_failed", "profile_failed")


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """What is asked of a store.

    Attributes:
        key: Of the catalogue, ``time_ns`` or ``pct_of_reference``.
        wanted: Which runs are meant.
        revisions: A range ``A..B``, or the commit in which the line ends; None for HEAD, as far as git knows the runs.
    """

    key: str = TIME_KEY
    wanted: RunFilter = field(default_factory=RunFilter)
    revisions: str | None = None


def history(request: HistoryRequest, store: Path, folder: Path, where: str = "", report: Reporter = silent) -> History:
    """Return one quantity of every kernel over commits, with gaps, change points and what is not compared.

    Args:
        request: What is asked.
        store: The folder of runs.
        folder: Where git is asked.
        where: The options that name the store, for commands that are told to be typed.
        report: Told of progress where many runs are read for the first time.

    Raises:
        UsageError: When there is no such key.
        InputError: When a revision is unknown, or no run tells the quantity.
    """
    refuse_unknown(request.key)
    points, notices = series(store, request.key, request.wanted, report)
    gaps = [*_failed(request, store), *_damaged(request, store, notices)] if points else []
    commits, told = _line(request, points, folder, where)
    # References are timed beside a stage, and not profiled: they are told of when asked for.
    points = [one for one in points if one.kernel.kernel is not None or one.kernel.stage in request.wanted.stages]
    kernels = arrange(points, gaps, commits)
    if not kernels:
        raise _nothing(request, store, where, points)
    if request.key == SHARE_KEY:
        told.append(
            Notice(NOT_JUDGED, f"{SHARE_KEY} moves with the reference, too, and has no verdicts: ask for {TIME_KEY}")
        )
    else:
        table, unread = read_noise_table(store)
        notices = [*notices, *unread]
        judge = _Judge(request.key, store, table, commits or ())
        kernels, damaged = _judged_readable(judge, kernels, points, gaps, commits)
        notices += damaged
    order: Order = "time" if commits is None else "commits"
    return History(request.key, unit_of(request.key), order, tuple(kernels), (*notices, *told))


def _failed(request: HistoryRequest, store: Path) -> list[HistoryGap]:
    """Return a gap for every run that ended badly."""
    metas = list_runs(store, replace(request.wanted, statuses=_FAILED))[0]
    return [HistoryGap(meta, meta.status, (meta.error or "").partition("\n")[0]) for meta in metas]


def _damaged(request: HistoryRequest, store: Path, notices: Iterable[Notice]) -> list[HistoryGap]:
    """Return a gap for every run that cannot be read, as far as it still tells which it is."""
    gaps = []
    for one in notices:
        if isinstance(one, RunNotice):
            with contextlib.suppress(InputError):  # told of as a whole already
                meta = read_description(store / one.run)
                if request.wanted.fits(meta):
                    gaps.append(HistoryGap(meta, "damaged", one.what))
    return gaps


def _judged_readable(
    judge: _Judge,
    kernels: Sequence[KernelHistory],
    points: Sequence[SeriesPoint],
    gaps: Sequence[HistoryGap],
    commits: Sequence[CommitInfo] | None,
) -> tuple[list[KernelHistory], list[Notice]]:
    """Judge every line; a run that the index knows and that was damaged since becomes a gap.

    Raises:
        InputError: When no run is left.
    """
    notices: list[Notice] = []
    while True:
        try:
            return [judge.judged(one) for one in kernels], notices
        except DamagedRunError as error:
            lost = next((one.meta for one in points if one.meta.id == error.run), None)
            points = [one for one in points if one.meta.id != error.run]
            if lost is None or not points:
                raise
            gaps = [*gaps, HistoryGap(lost, "damaged", error.what)]
            kernels = arrange(points, gaps, commits)
            notices.append(passed_over(error))


def unit_of(key: str) -> str:
    """Return the unit of a key that :func:`ncu_lab.workflows.indexing.refuse_unknown` knows."""
    return {TIME_KEY: "ns", SHARE_KEY: "%"}.get(key) or METRICS[key].unit


def _line(
    request: HistoryRequest, points: Sequence[SeriesPoint], folder: Path, where: str
) -> tuple[list[CommitInfo] | None, list[Notice]]:
    """Return the commits to order by, and what is to be said of runs that they leave out.

    Raises:
        InputError: When a revision was named and is unknown, or there is no git to ask.
    """
    repository = repository_of(folder)
    if repository is None:
        if request.revisions is not None:
            raise InputError(
                f"there is no git repository around {folder}, or no git, to ask for {request.revisions}",
                "Go into one; without --rev, history goes by time.",
            )
        return None, []
    commits = _commits(repository, request.revisions)
    known = {one.hash for one in commits}
    left = {one.meta.id: one.meta.git.commit for one in points if one.meta.git.commit not in known}
    if not left or (request.revisions is not None and ".." in request.revisions):
        return commits, []
    shallow = " This clone is shallow: git fetch --unshallow brings the others." if repository.is_shallow else ""
    if len(left) == len({one.meta.id for one in points}) and request.revisions is None:
        return None, [
            Notice(NOT_THE_LINE, f"no run is of a commit that leads to HEAD: they are in the order of time.{shallow}")
        ] if any(left.values()) else []
    runs = "1 run is" if len(left) == 1 else f"{len(left)} runs are"
    end = request.revisions or "HEAD"
    return commits, [
        Notice(NOT_THE_LINE, f"{runs} of no commit on the line that ends in {end}, and left out.{shallow}")
    ]


def _commits(repository: Repository, revisions: str | None) -> list[CommitInfo]:
    if revisions is not None and ".." in revisions:
        return commits_in(repository, revisions)
    if revisions is None and not repository.has_commits:
        return []
    return first_parents(repository, revisions or "HEAD")


def _nothing(request: HistoryRequest, store: Path, where: str, points: Sequence[SeriesPoint]) -> InputError:
    """Return the error for a history without a point: it says how to make one."""
    stages = " ".join(f"--stage {one}" for one in request.wanted.stages)
    where = "" if where == " --example" else where
    make = f"ncu-lab profile --rev {request.revisions or 'HEAD~5..HEAD'} {stages}".rstrip() + where
    if points:
        return InputError(f"{store} has no run of a commit of {request.revisions}", f"Make some: {make}")
    of = f" of {', '.join(request.wanted.stages)}" if request.wanted.stages else ""
    meant = "".join(likely_stage(one, store) for one in request.wanted.stages)
    hint = f"{meant}Make some: {make}; ncu-lab runs{where} lists all."
    return InputError(f"no run in {store}{of} tells {request.key}", hint)


def likely_stage(name: str, store: Path) -> str:
    """Return ``Did you mean gram? `` for a stage of no run; empty where it is one of a run, or like none."""
    known = {stage for meta in list_runs(store)[0] for stage in meta.stages}
    near = [] if name in known else difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {near[0]}? " if near else ""


class _Judge:
    """Finds where a quantity changed; the verdict is that of ``diff``."""

    def __init__(self, key: str, store: Path, noise: NoiseTable, commits: Sequence[CommitInfo]) -> None:
        self._key, self._store, self._noise = key, store, noise
        self._place = {one.hash: number for number, one in enumerate(commits)}
        self._stages = load_stages()

    def judged(self, one: KernelHistory) -> KernelHistory:
        """Find what is not compared, then what changed."""
        found = with_breaks(one, quantity_of(self._key), self._stages)
        changes = [change for part in segments(found) for change in self._changes(found, part)]
        return replace(found, changes=tuple(changes))

    def _changes(self, one: KernelHistory, points: Sequence[HistoryPoint]) -> list[ChangePoint]:
        metric = METRICS.get(self._key)
        values = [point.estimate.value for point in points]
        samples = [point.estimate.n for point in points]
        places = candidates(values, samples, self._noise.of(self._key, one.device, one.name), metric)
        is_exact = metric is not None and metric.kind == "exact"
        level, changes = points[: places[0]] if places else points, []
        for place, end in pairwise([*places, len(points)]):
            after = points[place:end]
            change = self._confirmed(points[place - 1], level, after, is_exact=is_exact)
            if change is not None:
                changes.append(change)
                level = after
        return changes

    def _confirmed(
        self, last: HistoryPoint, level: Sequence[HistoryPoint], after: Sequence[HistoryPoint], *, is_exact: bool
    ) -> ChangePoint | None:
        """Compare the neighbours; where they hardly differ, what is typical of the level since the last change."""
        found = judge(self._store, last, after[0], self._key, self._noise)
        if is_change(found.change):
            between = self._between(last, after[0])
            return ChangePoint(last, after[0], found.change, after[0], cause=found.cause, between=between)
        low, high = typical(level), typical(after)
        if is_exact or (low is last and high is after[0]):
            return None
        found = judge(self._store, low, high, self._key, self._noise)
        if not is_change(found.change):
            return None
        return ChangePoint(low, high, found.change, after[0], is_gradual=True, cause=found.cause)

    def _between(self, before: HistoryPoint, after: HistoryPoint) -> int:
        """Count the commits between two neighbours, which have no value."""
        places = [self._place[one.commit.hash] for one in (before, after) if one.commit is not None]
        return places[1] - places[0] - 1 if len(places) == 2 else 0


def quantity_of(key: str) -> QuantityClass:
    """Return the class of a key."""
    return quantity_class(METRICS[key]) if key in METRICS else "time"
