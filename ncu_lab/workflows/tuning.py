"""Searches the tile that suits the GPU at hand: compile all, check each, then time them in rungs that thin out.

What is found is stored after every step, so that a search that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ncu_lab.analyze.halving import next_rung, survivors
from ncu_lab.errors import CheckFailedError, ProgramError
from ncu_lab.gpu.compile import build_key
from ncu_lab.gpu.devices import current_device, driver_version
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import Subject, TargetRequest, subjects_of
from ncu_lab.gpu.search_space import label_of, with_tile
from ncu_lab.gpu.supervisor import run_target
from ncu_lab.model import (
    Candidate,
    CheckCase,
    Device,
    Problem,
    ProgressEvent,
    Reporter,
    Rung,
    StageBuild,
    TimingSample,
    TuningRecord,
    shape_class,
    silent,
)
from ncu_lab.render.numbers import duration
from ncu_lab.store import Store
from ncu_lab.store.tuning_files import new_tuning_file, read_tuning, write_tuning
from ncu_lab.workflows.building import build_variants
from ncu_lab.workflows.checking import case_of, describe_cases
from ncu_lab.workflows.compiling_tiles import Listed, buildable, compile_tiles, list_tiles, searchable

TIMEOUT_S = 600.0
"""Of one process: the check of all tiles, or one rung."""


@dataclass(frozen=True, slots=True)
class Tuned:
    """A finished search, and the file that it was written to."""

    record: TuningRecord
    file: Path


def tune(
    id: str,
    problem: Problem,
    store: Path,
    *,
    budget: int | None = None,
    fresh: bool = False,
    report: Reporter = silent,
) -> Tuned:
    """Search the best tile of a stage for one problem on the GPU of this machine, and store the whole search.

    Args:
        id: A stage with a search space.
        problem: What is computed.
        store: The folder of runs, whose folder ``tuning`` gets the record.
        budget: Tiles to try at most; None for all.
        fresh: Begin anew where an interrupted search of the same could go on.
        report: Told of every step.

    Raises:
        UsageError: When the stage has no search space, or no tile fits the problem.
        EnvironmentLacksError: When there is no GPU, cupy, compiler or writable store.
        CheckFailedError: When no tile gives a right result.
        ProgramError: When kernels crash or hang in a rung; what was found until then is stored.
    """
    searchable(id, budget)  # what is wrong on any GPU is told first
    device = current_device()
    Store(store).check_writable()
    major, minor = device.compute_capability or (0, 0)
    listed = list_tiles(id, problem, f"sm_{major}{minor}", budget)
    found, builds = compile_tiles(listed, report)
    record = _begun(listed, found, device, budget, next(iter(builds.values()), None))
    interrupted = None if fresh else _interrupted(store, record.key)
    file, record = (new_tuning_file(store, record), record) if interrupted is None else interrupted
    search = _Search(listed, builds, record, file, report)
    if interrupted is None:
        search.save()
    else:
        report(ProgressEvent("tune", id, "done", f"goes on after {len(record.rungs)} rungs: {file.name}"))
    search.check_all()
    search.climb()
    return Tuned(search.record, file)


def preview(
    id: str,
    problem: Problem,
    arch: str,
    *,
    budget: int | None = None,
    compiled: bool = False,
    report: Reporter = silent,
) -> TuningRecord:
    """Return what a search would try, as a record of which nothing was run or stored; needs no GPU.

    Args:
        id: A stage with a search space.
        problem: What would be computed.
        arch: What is compiled for, ``sm_90``.
        budget: Tiles to try at most; None for all.
        compiled: Whether the tiles are compiled.
        report: Told of progress.

    Raises:
        UsageError: When the stage has no search space, or no tile fits.
        EnvironmentLacksError: When the compiler is needed and missing.
    """
    listed = list_tiles(id, problem, arch, budget)
    found = compile_tiles(listed, report)[0] if compiled else listed.candidates
    return TuningRecord(
        stage=id,
        device=arch,
        problem=listed.problem,
        shape_class=shape_class(listed.problem),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        key="",
        default=label_of(listed.stage.tile),
        candidates=tuple(found),
        left_out=listed.left_out,
        budget=budget,
    )


def _begun(
    listed: Listed, found: Sequence[Candidate], device: Device, budget: int | None, build: StageBuild | None
) -> TuningRecord:
    driver = driver_version()
    labels = [one.label for one in found]
    decides = (
        build_key(listed.stage, listed.arch),
        driver,
        device.name,
        device.uuid_hash,
        labels,
        asdict(listed.problem),
    )
    return TuningRecord(
        stage=listed.stage.id,
        device=device.name,
        problem=listed.problem,
        shape_class=shape_class(listed.problem),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        key=hashlib.sha256(json.dumps(decides).encode()).hexdigest()[:32],
        default=label_of(listed.stage.tile),
        candidates=tuple(found),
        left_out=listed.left_out,
        budget=budget,
        driver=driver,
        nvcc=None if build is None else build.nvcc,
    )


def _interrupted(store: Path, key: str) -> tuple[Path, TuningRecord] | None:
    """Return the newest search of the same that has no result yet."""
    records, _ = read_tuning(store)
    return next(((file, one) for file, one in records if one.key == key and one.best is None), None)


class _Search:
    """A search under way: its record grows, and is written after every step."""

    def __init__(
        self, listed: Listed, builds: Mapping[str, StageBuild], record: TuningRecord, file: Path, report: Reporter
    ) -> None:
        self._listed = listed
        self._builds = builds
        self._report = report
        self._file = file
        self.record = record

    def save(self) -> None:
        write_tuning(self._file, self.record)

    def _change(self, label: str, **fields: Any) -> None:
        changed = [replace(one, **fields) if one.label == label else one for one in self.record.candidates]
        self.record = replace(self.record, candidates=tuple(changed))

    def _subject(self, label: str) -> Subject:
        """Return a candidate as the target takes it, named by its tile."""
        stage = with_tile(self._listed.stage, self.record.candidate(label).tile)
        return Subject(replace(stage, id=label), str(self._builds[label].cubin))

    # --- Checking

    def check_all(self) -> None:
        """Compare every tile with float64 at shapes of its fast path; what crashes or hangs is left behind.

        Raises:
            CheckFailedError: When none is right.
        """
        if self.record.rungs:
            return  # of an interrupted search: who was timed had been checked
        begin = time.monotonic()
        left = [one.label for one in buildable(self.record.candidates) if one.outcome == "untried"]
        self._report(ProgressEvent("check", self._listed.stage.id, "start"))
        right = 0
        while left:
            done, culprit = self._check(left)
            for label, cases in done.items():
                wrong = [case for case in cases if not case.passed]
                right += not wrong
                if wrong:
                    self._change(label, outcome="wrong", why=_what_is_wrong(wrong[0]))
            if culprit is not None:
                self._change(culprit[0], outcome="crashed", why=culprit[1])
            left = [label for label in left if label not in done and (culprit is None or label != culprit[0])]
            self.save()
        total = len(buildable(self.record.candidates))
        seconds = time.monotonic() - begin
        words = f"{right} of {total} tiles are right"
        self._report(ProgressEvent("check", self._listed.stage.id, "done", words, seconds=seconds))
        if not right:
            raise CheckFailedError(
                f"no tile of {self._listed.stage.id} gives a right result at {self._listed.problem.label}",
                f"ncu-lab check --stage {self._listed.stage.id} shows every case; the search is kept in {self._file}.",
            )

    def _check(self, labels: Sequence[str]) -> tuple[dict[str, list[CheckCase]], tuple[str, str] | None]:
        """Check tiles in one process; return the cases of those that got through, and who ended it, and how."""
        subjects = tuple(self._subject(label) for label in labels)
        request = TargetRequest("check", self._listed.problem, subjects, quick=True, fast_only=True)
        done: dict[str, list[CheckCase]] = {}
        under_way = ""

        def describe(label: str, data: dict[str, Any]) -> str:
            done[label] = [case_of(document) for document in data["cases"]]
            return describe_cases(done[label])

        def relay(event: ProgressEvent) -> None:
            nonlocal under_way
            under_way = event.subject
            if event.state == "done":
                share = len(done) / len(labels)
                self._report(ProgressEvent("check", self._listed.stage.id, "update", event.subject, share))

        try:
            run_target(request, timeout_s=TIMEOUT_S, report=relay, describe=describe)
        except ProgramError as error:
            if not under_way or under_way in done:
                raise  # it was no tile
            return done, (under_way, error.message)
        return done, None

    # --- Timing

    def climb(self) -> None:
        """Time the tiles rung by rung until one is left, check that one at every shape, and keep it."""
        while True:
            entrants = self._entrants()
            control = self.record.default if self._is_right(self.record.default) else None
            rung = next_rung(entrants, control, len(self.record.rungs))
            times = self._time(rung)
            for label, found in times.items():
                self._change(label, samples_ns=(*self.record.candidate(label).samples_ns, tuple(found)))
            self.record = replace(self.record, rungs=(*self.record.rungs, rung))
            going_on = survivors(rung, times)
            if rung.survivors == 1:
                self._finish(rung, times)
                return
            for label in set(rung.entrants) - set(going_on) - {control}:
                self._change(label, outcome="outpaced", why=f"rung {len(self.record.rungs)}")
            self.save()

    def _is_right(self, label: str) -> bool:
        """Whether a tile was compiled and found right."""
        one = self.record.candidate(label)
        return bool(one.blocks_per_sm) and one.outcome not in ("rejected", "not_compiled", "wrong", "crashed")

    def _entrants(self) -> list[str]:
        """Return who takes part in the next rung; the control only where its time lets it."""
        if not self.record.rungs:
            return [one.label for one in buildable(self.record.candidates) if one.outcome == "untried"]
        last = self.record.rungs[-1]
        times = {label: self.record.candidate(label).samples_ns[-1] for label in last.entrants}
        return list(survivors(last, times))

    def _time(self, rung: Rung) -> dict[str, list[float]]:
        number = len(self.record.rungs) + 1
        subject = f"rung {number}"
        begin = time.monotonic()
        self._report(ProgressEvent("bench", subject, "start"))

        def relay(event: ProgressEvent) -> None:
            self._report(replace(event, subject=subject))

        request = TargetRequest(
            "contest",
            self._listed.problem,
            tuple(self._subject(label) for label in rung.entrants),
            samples=rung.samples,
        )
        result = run_target(request, timeout_s=TIMEOUT_S, report=relay)
        times: dict[str, list[float]] = {label: [] for label in rung.entrants}
        for document in result["samples"]:
            sample = TimingSample(**document)
            times[sample.subject].append(sample.ns)
        fastest = duration(min(statistics.median(found) for found in times.values()))
        words = f"{len(times)} tiles × {rung.samples} samples; the best takes {fastest}"
        self._report(ProgressEvent("bench", subject, "done", words, seconds=time.monotonic() - begin))
        return times

    def _finish(self, rung: Rung, times: Mapping[str, Sequence[float]]) -> None:
        """Crown the fastest finalist that is right at every shape, guarded path and repetitions included."""
        order = sorted(rung.entrants, key=lambda label: statistics.median(times[label]))
        for label in order:
            self._change(label, outcome="finalist", why="")
        for label in order:
            wrong = self._check_whole(label)
            if wrong is None:
                self._change(label, outcome="best")
                self.record = replace(self.record, best=label)
                self.save()
                return
            self._change(label, outcome="wrong", why=wrong)
            self.save()
        raise CheckFailedError(
            f"no finalist of {self._listed.stage.id} is right at every shape: {wrong}",
            f"The search is kept in {self._file}; ncu-lab check --stage {self._listed.stage.id} shows every case.",
        )

    def _check_whole(self, label: str) -> str | None:
        """Check a finalist at all cases; return what is wrong, None when nothing is."""
        stage = with_tile(self._listed.stage, self.record.candidate(label).tile)
        registry = load_stages()
        builds = build_variants(stage, registry, self._listed.arch)
        [subject] = subjects_of([stage], builds, registry)
        request = TargetRequest("check", self._listed.problem, (subject,))
        cases: list[CheckCase] = []

        def describe(_: str, data: dict[str, Any]) -> str:
            cases.extend(case_of(document) for document in data["cases"])
            return f"{label}   {describe_cases(cases)}"

        try:
            run_target(request, timeout_s=TIMEOUT_S, report=self._report, describe=describe)
        except ProgramError as error:
            return error.message
        failed = [case for case in cases if not case.passed]
        return _what_is_wrong(failed[0]) if failed else None


def _what_is_wrong(case: CheckCase) -> str:
    return f"{case.problem.label} {case.case}: {case.detail}"
