"""The main job: build, check, time, profile, parse and store stages; or profile any program.

What went well is kept when a later part fails: a kernel that was built, checked and timed on a machine whose counters
are locked is still worth having.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from ncu_lab.analyze.timings import timings_table
from ncu_lab.collect.command import Collection, Selection
from ncu_lab.collect.failures import COUNTER_CODES
from ncu_lab.collect.ncu import Ncu, find_ncu
from ncu_lab.errors import CheckFailedError, InputError, NcuLabError, ProgramError, UsageError
from ncu_lab.gpu.devices import current_device, environment
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of, write
from ncu_lab.gpu.supervisor import told_error
from ncu_lab.gpu.target import argv as target_argv
from ncu_lab.model import (
    CheckCase,
    Notice,
    ParsedReport,
    Problem,
    ProgressEvent,
    Reporter,
    Run,
    Stage,
    TileChoice,
    silent,
)
from ncu_lab.store import Store
from ncu_lab.workflows.benching import time_stages
from ncu_lab.workflows.best_tiles import best_tiles
from ncu_lab.workflows.building import build_stages, with_references
from ncu_lab.workflows.checking import check_stages
from ncu_lab.workflows.collecting import Collected, CollectionError, Job, check_collection, collect
from ncu_lab.workflows.recording import Draft

DEFAULT_TIMEOUT_S = 1800.0


@dataclass(frozen=True, slots=True)
class Settings:
    """What profiling a stage and profiling a program have in common.

    Attributes:
        collection: What ncu collects.
        keep_report: Whether the raw report is kept in the run.
        timeout_s: Seconds that ncu may take.
        command: Command line to record.
    """

    collection: Collection = field(default_factory=Collection)
    keep_report: bool = True
    timeout_s: float = DEFAULT_TIMEOUT_S
    command: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _at_least_one("timeout", self.timeout_s)


@dataclass(frozen=True, slots=True)
class ProfileRequest:
    """What to profile of the ladder.

    Attributes:
        stages: Stage ids, in any order.
        problem: What every stage computes.
        samples: Unprofiled timings of each stage in each process.
        processes: Processes that take them; from five on each counts as one sample where runs are compared.
        launches: Profiled launches of each stage.
        references: Whether the library references of the stages are profiled too.
        settings: How.
    """

    stages: tuple[str, ...]
    problem: Problem
    samples: int = 10
    launches: int = 1
    references: bool = True
    settings: Settings = field(default_factory=Settings)
    processes: int = 1

    def __post_init__(self) -> None:
        _at_least_one("samples", self.samples)
        _at_least_one("processes", self.processes)
        _at_least_one("launches", self.launches)


@dataclass(frozen=True, slots=True)
class ProgramRequest:
    """Any program to profile.

    Attributes:
        name: What the run is called.
        target: The program and its arguments.
        selection: Which of its launches.
        settings: How.
    """

    name: str
    target: tuple[str, ...]
    selection: Selection = field(default_factory=Selection)
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        if not self.target:
            raise UsageError("no program was named", "Put it after two dashes: ncu-lab profile --name NAME -- COMMAND")
        _at_least_one("launches", self.selection.launches)
        if self.selection.kernel is not None:
            try:
                re.compile(self.selection.kernel)
            except re.error as error:
                raise UsageError(f"-k {self.selection.kernel} is no regular expression: {error}") from error


def _at_least_one(option: str, value: float | None) -> None:
    if value is not None and value < 1:
        raise UsageError(f"--{option} {value:g} is too small", "It must be at least 1.")


def profile_stages(request: ProfileRequest, store_dir: Path, report: Reporter = silent) -> Run:
    """Build, check, time and profile stages, and store the run.

    All stages are profiled in one process under one ncu. What the machine lacks is found out before anything is built;
    a wrong result stops before profiling.

    Args:
        request: What to profile.
        store_dir: Folder of runs.
        report: Told of every step.

    Returns:
        The stored run, status ``complete``.

    Raises:
        UsageError: When a stage, a size, a section or a metric is unknown or impossible.
        EnvironmentLacksError: When ncu, a GPU, the permission to read counters or a writable store is missing.
        CheckFailedError: When a kernel gives a wrong result; the run is stored without a profile.
        ProgramError: When a kernel or ncu failed; what was done until then is stored.
    """
    with best_tiles(request.stages, request.problem, store_dir, report) as tiles:
        return _profile_stages(request, tiles, store_dir, report)


def _profile_stages(request: ProfileRequest, tiles: Mapping[str, TileChoice], store_dir: Path, report: Reporter) -> Run:
    stages = resolve_stages(request)
    store, ncu = _ready(store_dir, request.settings.collection)
    draft = Draft(
        ncu,
        request.settings.collection,
        tiles=tiles,
        command=request.settings.command,
        stages=stages,
        problem=request.problem,
        device=current_device(),
        cuda=environment().cuda,
    )
    chosen = [stage.id for stage in stages if stage.id in request.stages]
    try:
        draft.status = "build_failed"
        draft.builds = build_stages([stage.id for stage in stages if stage.is_compiled], report=report)
        draft.status = "check_failed"
        draft.checks = check_stages(chosen, request.problem, quick=True, report=report)
        _refuse_wrong_results(draft.checks)
        draft.status = "partial"
        bench = time_stages(chosen, request.problem, request.samples, processes=request.processes, report=report)
        draft.timings = timings_table(bench.samples)
        draft.peaks = bench.peaks
        draft.notices += bench.notices
        draft.status = "profile_failed"
        return _profile_and_store(request, draft, store, report)
    except NcuLabError as error:
        _keep(draft, store, error, report)
        raise


def plan(request: ProfileRequest | ProgramRequest) -> list[str]:
    """Return ncu's command line for a request, without running anything; file names stand as ``…``."""
    ncu = find_ncu()
    if isinstance(request, ProgramRequest):
        return _program_job(request, ncu).argv()
    return _stages_job(request, resolve_stages(request), ncu, Path("….json")).argv()


def resolve_stages(request: ProfileRequest) -> tuple[Stage, ...]:
    """Return the stages asked for and, where wanted, their references, in the registry's order.

    Raises:
        UsageError: When a stage is unknown or none is named.
    """
    registry = load_stages()
    if not request.stages:
        raise UsageError(
            "no stage was named", "Name some with --stage ID, or all with --all (ncu-lab stages lists them)."
        )
    chosen = {find_stage(registry, name).id for name in request.stages}
    if request.references:
        chosen = with_references(chosen, registry)
    return tuple(stage for stage in registry.values() if stage.id in chosen)


def profile_program(request: ProgramRequest, store_dir: Path, report: Reporter = silent) -> Run:
    """Profile any program and store what ncu saw; nothing is built, checked or timed.

    Returns:
        The stored run, status ``complete``.

    Raises:
        UsageError: When the program does not exist, a filter matches nothing, or a section or metric is unknown.
        EnvironmentLacksError: When ncu, the permission to read counters or a writable store is missing.
        ProgramError: When the program or ncu failed; results until then are stored.
    """
    store, ncu = _ready(store_dir, request.settings.collection)
    draft = Draft(ncu, request.settings.collection, command=request.settings.command, name=request.name)
    try:
        return _collect_and_store(_program_job(request, ncu), draft, store, report, request.settings.keep_report)
    except NcuLabError as error:
        _keep(draft, store, error, report)
        raise


def _ready(store_dir: Path, collection: Collection) -> tuple[Store, Ncu]:
    """Find out first what would make long work vain at its end."""
    store = Store(store_dir)
    store.check_writable()
    ncu = find_ncu()
    check_collection(ncu, collection)
    return store, ncu


def _refuse_wrong_results(checks: Sequence[CheckCase]) -> None:
    wrong = [case for case in checks if not case.passed]
    if not wrong:
        return
    first = wrong[0]
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    raise CheckFailedError(
        f"stage {first.stage} gives a wrong result at {first.problem.label} ({first.case}, {first.variant} path): "
        f"error {first.max_rel_error:.2g}, limit {first.limit:.2g}{more}",
        f"Nothing was profiled. ncu-lab check --stage {first.stage} shows every case.",
    )


def _profile_and_store(request: ProfileRequest, draft: Draft, store: Store, report: Reporter) -> Run:
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        path = Path(folder, "request.json")
        subjects = subjects_of(draft.stages, draft.builds, load_stages())
        write(
            TargetRequest(
                "profile", request.problem, subjects, launches=request.launches, result=str(Path(folder, "result.json"))
            ),
            path,
        )
        job = _stages_job(request, draft.stages, draft.ncu, path)
        return _collect_and_store(job, draft, store, report, request.settings.keep_report)


def _stages_job(request: ProfileRequest, stages: Sequence[Stage], ncu: Ncu, path: Path) -> Job:
    return Job(
        ncu=ncu,
        target=tuple(target_argv(path)),
        collection=request.settings.collection,
        selection=Selection(from_start=False),
        timeout_s=request.settings.timeout_s,
        subject=stages[0].id if len(stages) == 1 else f"{len(stages)} stages",
        expected_kernels=sum(1 + len(stage.auxiliary) for stage in stages) * request.launches,
    )


def _program_job(request: ProgramRequest, ncu: Ncu) -> Job:
    return Job(
        ncu=ncu,
        target=request.target,
        collection=request.settings.collection,
        selection=request.selection,
        timeout_s=request.settings.timeout_s,
        subject=request.name,
        expected_kernels=request.selection.launches,
    )


def _collect_and_store(job: Job, draft: Draft, store: Store, report: Reporter, keep_report: bool) -> Run:
    """Profile, look at what came, and store the run.

    Raises:
        NcuLabError: When ncu gave nothing usable (then nothing is stored), or less than was asked for (then it is).
    """
    report(ProgressEvent("profile", job.subject, "start"))
    try:
        with collect(job, report) as collected:
            draft.parsed = with_declared_roles(collected.parsed, draft.stages)
            draft.notices += [*collected.notices, *unproven_references(draft.parsed, draft.stages)]
            shortfall = collected.shortfall or missing_stages(draft.parsed, draft.stages)
            draft.status = "complete" if shortfall is None else "partial"
            state: Literal["done", "failed"] = "done" if shortfall is None else "failed"
            report(ProgressEvent("profile", job.subject, state, _extent(collected), seconds=collected.seconds))
            kept_file = collected.report if keep_report else None
            run = draft.store(store, error=shortfall, report_file=kept_file, report=report)
            if shortfall is not None:
                raise shortfall
            return run
    except CollectionError as error:
        report(ProgressEvent("profile", job.subject, "failed"))
        if error.failure.code in COUNTER_CODES:
            # Nothing is wrong with the kernels: the rest of the run stands for itself.
            draft.status = "partial"
        told = [found for line in error.output.splitlines() if (found := told_error(line)) is not None]
        raise (told[0] if told and draft.stages else error.failure.error) from error


def _extent(collected: Collected) -> str:
    count = len(collected.parsed.launches)
    passes = f", {collected.passes} passes" if collected.passes else ""
    return f"{count} kernel{'s' if count != 1 else ''}{passes}"


def with_declared_roles(parsed: ParsedReport, stages: Sequence[Stage]) -> ParsedReport:
    """Mark the kernels that a stage declares as auxiliary, whatever time they took; the reader goes by time alone."""
    launches = parsed.launches
    roles = launches["role"].copy()
    for stage in stages:
        if stage.auxiliary:
            own = launches["stage"] == stage.id
            helps = launches["function"].isin(stage.auxiliary)
            roles[own] = "main"
            roles[own & helps] = "auxiliary"
    return replace(parsed, launches=launches.assign(role=roles))


def missing_stages(parsed: ParsedReport, stages: Sequence[Stage]) -> NcuLabError | None:
    """Return an error that names the stages without a profiled launch; None when each has one."""
    seen = set(parsed.launches["stage"])
    missing = [stage.id for stage in stages if stage.id not in seen]
    if not missing:
        return None
    return ProgramError(f"ncu's report holds no launch of: {', '.join(missing)}", "Profile them again, one by one.")


def unproven_references(parsed: ParsedReport, stages: Sequence[Stage]) -> list[Notice]:
    """Notice library references whose kernel's name does not show the precision they stand for."""
    notices = []
    main = parsed.launches[parsed.launches["role"] == "main"]
    for stage in stages:
        names = main.loc[main["stage"] == stage.id, ["kernel", "function"]].drop_duplicates()
        shown = [re.search(stage.kernel_pattern, f"{row.kernel} {row.function}") for row in names.itertuples()]
        if stage.kernel_pattern and not all(shown):
            ran = ", ".join(names["function"])
            notices.append(
                Notice("reference_precision", f"{stage.id} ran {ran}: its name does not prove its precision.")
            )
    return notices


def _keep(draft: Draft, store: Store, error: NcuLabError, report: Reporter) -> None:
    """Store what there is of a run that failed, and add a word about it to the error."""
    does_not_compile = draft.status == "build_failed" and isinstance(error, InputError)
    if draft.status == "complete" or (draft.is_empty and not does_not_compile):
        return  # nothing to keep, or storing it was what failed
    try:
        run_id = draft.stored_as or draft.store(store, error=error, report=report).meta.id
        told = f"What was done is stored as {run_id} ({draft.status})."
    except NcuLabError as second:
        told = f"What was done could not be stored: {second.message}."
    error.hint = "\n  ".join(part for part in (error.hint, told) if part)
