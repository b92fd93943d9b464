"""The commit that moved a quantity, by halving the range between a good one and a bad one.

A commit is good or bad by which of the two ends its value is nearer to, by ratio where all are positive. Where several
commits moved the quantity this finds the one that carried it past the middle; the verdict on that step, and how much of
the whole it is, tell whether there are others. Commits with a run in the store are asked first: each halving takes the
one nearest to the middle, and only where none is left between good and bad is one profiled.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from ncu_lab.analyze.histories import arrange
from ncu_lab.collect.commits import commits_in
from ncu_lab.collect.revisions import Repository
from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import SHARE_KEY, Problem, ProgressEvent, Reporter, RunFilter, RunNotice, silent
from ncu_lab.model.bisection import Bisection, Probe, Side
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.history import HistoryPoint
from ncu_lab.model.noise import NoiseTable
from ncu_lab.store.stored_run import read_description
from ncu_lab.workflows.history import likely_stage, unit_of
from ncu_lab.workflows.indexing import list_runs, refuse_unknown, series
from ncu_lab.workflows.judging_changes import is_change, judge
from ncu_lab.workflows.measuring_noise import read_noise_table
from ncu_lab.workflows.profiling import ProfileRequest
from ncu_lab.workflows.profiling_commits import CommitsRequest, profile_commits

_Context = tuple[Problem | None, str | None]
"""Problem and model of GPU: those of the good commit's run are meant throughout."""


@dataclass(frozen=True, slots=True)
class BisectRequest:
    """What is searched, and between which commits.

    Attributes:
        good: A revision.
        bad: A later one.
        key: Of the catalogue, or ``time_ns``.
        stage: Of which stage; None for the only one in which the runs of both ends differ.
        wanted: Which runs are meant beside that: problem, GPU.
        profile: How to profile commits that have no run; None to go by the store alone.
    """

    good: str
    bad: str
    key: str
    stage: str | None = None
    wanted: RunFilter = field(default_factory=RunFilter)
    profile: ProfileRequest | None = None


def bisect(
    request: BisectRequest, repository: Repository, store: Path, where: str = "", report: Reporter = silent
) -> Bisection:
    """Find the commit that moved a quantity.

    Args:
        request: What is searched.
        repository: Whose commits they are.
        store: The folder of runs.
        where: The options that name the store, for commands that are told to be typed.
        report: Told of every step.

    Raises:
        UsageError: When there is no such key, it has no verdict, or no stage is named and there is not just one that
            may be meant.
        InputError: When a revision is unknown, the range is empty, an end has no run, the ends do not differ, or a
            commit that is needed has no run and none is to be made.
    """
    return _search(request, repository, store, where, report).found()


def step(
    request: BisectRequest, repository: Repository, store: Path, where: str = "", report: Reporter = silent
) -> Probe:
    """Say of HEAD alone whether it is good or bad, for ``git bisect run``.

    Raises:
        UsageError: As :func:`bisect`.
        InputError: Likewise.
    """
    return _search(request, repository, store, where, report).probe_of("HEAD")


def _search(request: BisectRequest, repository: Repository, store: Path, where: str, report: Reporter) -> _Search:
    """Return the search of the stage that is meant: the only one in which the ends differ, if none is named.

    Raises:
        UsageError: When none or several may be meant.
        InputError: As :func:`bisect`.
    """
    if request.stage is not None:
        return _Search(request, request.stage, repository, store, where, report)
    refuse_unknown(request.key)
    known = _known_at_both(request, repository, store)
    between = f"{request.good} and {request.bad}"
    if not known:
        raise UsageError(
            f"which stage is meant? No run of {between} in {store} tells the {request.key} of one at both ends",
            f"Name it: --stage ID; ncu-lab runs{where} lists which stages there are runs of.",
        )
    differing = []
    for stage in known:
        with contextlib.suppress(_NoDifferenceError):
            differing.append(_Search(request, stage, repository, store, where, report))
    if not differing:
        raise InputError(
            f"{request.key} differs between {between} in no stage of which both have runs ({', '.join(known)})",
            f"See both: ncu-lab diff {request.good} {request.bad}{where}",
        )
    if len(differing) > 1:
        names = [one.stage for one in differing]
        raise UsageError(
            f"{request.key} differs between {between} in {len(names)} stages: {', '.join(names)}",
            f"Name the one that is meant: --stage {names[0]}.",
        )
    return differing[0]


def _known_at_both(request: BisectRequest, repository: Repository, store: Path) -> list[str]:
    """Return the stages of which runs of both ends tell the quantity, without references that are only timed beside."""
    ends = [repository.commit(revision).hash for revision in (request.good, request.bad)]
    points = [
        one
        for one in series(store, request.key, replace(request.wanted, commits=frozenset(ends)))[0]
        if not one.meta.git.dirty and one.kernel.kernel is not None
    ]
    good, bad = ({one.kernel.stage: None for one in points if one.meta.git.commit == end} for end in ends)
    return [stage for stage in good if stage is not None and stage in bad]


class _NoDifferenceError(InputError):
    """The ends of a range do not differ."""


class _Search:
    def __init__(
        self, request: BisectRequest, stage: str, repository: Repository, store: Path, where: str, report: Reporter
    ) -> None:
        refuse_unknown(request.key)
        if request.key == SHARE_KEY:
            raise UsageError(f"{SHARE_KEY} moves with the reference, too", "Search for time_ns.")
        self._request, self._repository, self._store = request, repository, store
        self.stage = stage
        self._where, self._report = where, report
        self._noise: NoiseTable = read_noise_table(store)[0]
        self._context: _Context | None = None
        self._good_commit, self._bad_commit = (self._commit(one) for one in (request.good, request.bad))
        self._good = self._end(self._good_commit, "good")
        self._context = _context(self._good)
        self._bad = self._end(self._bad_commit, "bad")
        self._whole = judge(store, self._good, self._bad, request.key, self._noise).change
        if not is_change(self._whole):
            raise self._no_difference()

    def found(self) -> Bisection:
        """Halve the range until no commit is left between good and bad."""
        request = self._request
        line = [self._good_commit, *commits_in(self._repository, f"{request.good}..{request.bad}")]
        probes: list[Probe] = []
        low, high = 0, len(line) - 1
        points = {low: self._good, high: self._bad}
        skipped: set[int] = set()
        while left := [i for i in range(low + 1, high) if i not in skipped]:
            stored = [i for i in left if self._stored(line[i]) is not None]
            middle = min(stored or left, key=lambda i: abs(2 * i - low - high))
            probe = self._probe(line[middle])
            probes.append(probe)
            if probe.point is None:
                skipped.add(middle)
                continue
            points[middle] = probe.point
            low, high = (middle, high) if probe.side == "good" else (low, middle)
        judgement = judge(self._store, points[low], points[high], request.key, self._noise)
        return Bisection(
            request.key, unit_of(request.key), self.stage, self._good, self._bad, self._whole, tuple(probes),
            points[low], points[high], judgement.change, tuple(line[low + 1 : high + 1]), len(line) - 1,
            judgement.cause,
        )  # fmt: skip

    def probe_of(self, revision: str) -> Probe:
        """Look at one commit."""
        return self._probe(self._commit(revision))

    def _commit(self, revision: str) -> CommitInfo:
        return commits_in(self._repository, self._repository.commit(revision).hash)[0]

    def _end(self, commit: CommitInfo, letter: str) -> HistoryPoint:
        point, why = self._measured(commit)
        if point is None:
            raise InputError(f"the {letter} commit {commit.short} tells no {self._request.key}: {why}", "Name another.")
        return point

    def _probe(self, commit: CommitInfo) -> Probe:
        known = self._stored(commit) is not None
        point, why = self._measured(commit)
        side: Side = "skipped" if point is None else self._side(point)
        value = f"skipped: {why}" if point is None else side
        self._report(ProgressEvent("bisect", commit.short, "done", f"{value}: {commit.subject}"))
        return Probe(commit, side, point, why, is_new=not known and point is not None)

    def _side(self, point: HistoryPoint) -> Side:
        good, bad, value = (one.estimate.value for one in (self._good, self._bad, point))
        if min(good, bad, value) > 0.0:
            good, bad, value = math.log(good), math.log(bad), math.log(value)
        return "good" if abs(value - good) <= abs(value - bad) else "bad"

    def _measured(self, commit: CommitInfo) -> tuple[HistoryPoint | None, str]:
        """Return what a commit's run tells, made now if need be; else why there is none.

        Raises:
            InputError: When it has no run, and none is to be made.
        """
        point = self._stored(commit)
        if point is not None:
            return point, ""
        if self._failed(commit):
            return None, self._why(commit)
        if self._request.profile is None:
            meant = likely_stage(self.stage, self._store)
            raise InputError(
                f'{commit.short} "{commit.subject}" is needed, and {self._why(commit)}',
                f"{meant}Make one: {self._make(commit)}; then the same command goes on.",
            )
        problem = self._problem or self._request.profile.problem
        profile = replace(self._request.profile, stages=(self.stage,), problem=problem)
        try:
            outcomes = list(
                profile_commits(CommitsRequest(commit.hash, profile), self._repository, self._store, self._report)
            )
        except InputError as error:  # the commit has no such stage, or does not build
            return None, error.message
        point = self._stored(commit)
        why = "; ".join(one for outcome in outcomes for one in outcome.why.values())
        return point, "" if point is not None else why or self._why(commit)

    def _stored(self, commit: CommitInfo) -> HistoryPoint | None:
        """Return what the newest complete run of a commit's clean tree tells; on the model of GPU of the good end."""
        request = self._request
        wanted = replace(request.wanted, stages=(self.stage,), commits=frozenset({commit.hash}))
        points = [one for one in series(self._store, request.key, wanted)[0] if not one.meta.git.dirty]
        lines = arrange(points, (), [commit])
        if self._context is not None:
            lines = [one for one in lines if _context(one.points[0]) == self._context]
        # The newest line where runs are of several problems or GPUs.
        return max((one.points[0] for one in lines), key=lambda one: one.meta.created, default=None)

    def _failed(self, commit: CommitInfo) -> str:
        """Return why the build or the check of a commit failed; empty where neither did."""
        request = self._request
        wanted = replace(
            request.wanted, stages=(self.stage,), commits=frozenset({commit.hash}),
            statuses=("build_failed", "check_failed"),
        )  # fmt: skip
        found = [meta for meta in list_runs(self._store, wanted)[0] if not meta.git.dirty]
        return (found[0].error or found[0].status).partition("\n")[0] if found else ""

    def _why(self, commit: CommitInfo) -> str:
        told = f"{self._request.key} of {self.stage}"
        wanted = replace(self._request.wanted, stages=(self.stage,), commits=frozenset({commit.hash}))
        edited = any(meta.git.dirty for meta in list_runs(self._store, wanted)[0])
        only = ", only one of an edited (dirty) tree" if edited else ""
        lacking = f"no complete run in {self._store} tells its {told}{only}"
        return self._failed(commit) or "; ".join([lacking, *self._damaged(commit)])

    def _damaged(self, commit: CommitInfo) -> list[str]:
        """Say which runs of a commit cannot be read: by their description, by their id where that is damaged."""
        told = []
        for one in series(self._store, self._request.key)[1]:
            if isinstance(one, RunNotice):
                try:
                    is_of_commit = read_description(self._store / one.run).git.commit == commit.hash
                except InputError:
                    is_of_commit = f"-{commit.short}-" in one.run
                told += [f"run {one.run} is corrupt: {one.what}"] if is_of_commit else []
        return told

    def _make(self, commit: CommitInfo) -> str:
        problem = self._problem
        size = f" -m {problem.m} -n {problem.n} -k {problem.k}" if problem else ""
        if problem and problem.m == problem.n == problem.k:
            size = f" --size {problem.m}"
        return f"ncu-lab profile --rev {commit.short} --stage {self.stage}{size}{self._where}"

    @property
    def _problem(self) -> Problem | None:
        return self._context[0] if self._context else self._request.wanted.problem

    def _no_difference(self) -> InputError:
        good, bad = self._good_commit.short, self._bad_commit.short
        verdict = self._whole.verdict.replace("_", " ")
        reason = f" ({self._whole.reason})" if self._whole.reason else ""
        return _NoDifferenceError(
            f"{self._request.key} of {self.stage} does not differ between {good} and {bad}: {verdict}{reason}",
            f"See both: ncu-lab diff {good} {bad} --stage {self.stage}{self._where}",
        )


def _context(point: HistoryPoint) -> _Context:
    return point.meta.problem, point.meta.device.name if point.meta.device else None
