"""The ladder: every stage with its time, its counters, its reference and what the step bought."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median, median_low
from typing import Literal

from ncu_lab.analyze.attribution import attribute, longest_chain
from ncu_lab.analyze.expectations import judge
from ncu_lab.analyze.roofline import LaunchRoofline, charts, launch_roofline
from ncu_lab.analyze.summary import counters, summarize
from ncu_lab.analyze.timings import Timing, share_of_reference, timing, timing_samples
from ncu_lab.analyze.verdict import verdict_of
from ncu_lab.model import (
    Attribution,
    Chain,
    Device,
    Environment,
    Ladder,
    LadderRow,
    LaunchSummary,
    Notice,
    Problem,
    Run,
    Stage,
    StageBuild,
    Unattributed,
)

Source = Literal["timings", "profiler"]
SOURCES: tuple[Source, ...] = ("timings", "profiler")


@dataclass(frozen=True)
class Measured:
    """What one run knows of one stage.

    Attributes:
        timing: What its unprofiled samples say; None when it was not timed.
        profiled_ns: Duration under the profiler of all the kernels of one call; None without one.
        summary: The main kernel's launch of (lower) median duration; None when it was not profiled.
        roofline: The roofs of that launch, and where it stands below them.
        counters: Nsight Compute name -> value of that launch.
    """

    run: Run
    stage: Stage
    timing: Timing | None
    profiled_ns: float | None
    summary: LaunchSummary | None
    roofline: LaunchRoofline
    build: StageBuild | None
    counters: Mapping[str, float]

    @property
    def source(self) -> Source | None:
        """The better source of its time, None without any."""
        return next((source for source in SOURCES if self.time_ns(source) is not None), None)

    def time_ns(self, source: Source) -> float | None:
        """Return its time by one source only."""
        if source == "profiler":
            return self.profiled_ns
        return self.timing.median_ns if self.timing else None

    def flop_per_s(self, problem: Problem, source: Source) -> float | None:
        """Return the FLOP/s of its operation: 2·m·n·k over its time by one source only."""
        time = self.time_ns(source)
        return self.stage.flop(problem) / time * 1e9 if time else None


def build_ladder(runs: Sequence[Run], stages: Mapping[str, Stage], problem: Problem) -> Ladder:
    """Put the stages of one or more runs of one problem on one device in a row.

    The newest run decides the device. Each stage comes from the newest run that profiled it, else from the newest that
    timed it (a reference, beside a single stage); its reference from that same
    run and by the same source of time (unprofiled samples, else the profiler's durations), so that nothing is compared
    with what was measured otherwise.

    Args:
        runs: Runs, in any order; those of another problem or device are left out and said so.
        stages: The registry, in ladder order.
        problem: The problem that all rows are of.
    """
    usable, omitted = _usable(runs, problem)
    measured: dict[str, Measured] = {}
    within: dict[tuple[str, str], Measured] = {}
    for run in usable:
        for stage_id, found in measure(run, stages).items():
            within[run.meta.id, stage_id] = found
            newer = measured.get(stage_id)
            if newer is None or (newer.summary is None and found.summary is not None):
                measured[stage_id] = found
    ordered = [measured[stage_id] for stage_id in stages if stage_id in measured]
    used = list({found.run.meta.id: found.run for found in ordered}.values())
    omitted += [notice for run in used for notice in _without_stage(run, stages)]
    absent = [stage_id for stage_id in stages if stage_id not in measured]
    if absent:
        omitted.append(Notice("not_measured", f"not measured: {', '.join(absent)}"))
    found_rows = {found.stage.id: _row(found, within, measured, problem, stages) for found in ordered}
    rows = [replace(row, findings=judge(row, found_rows)) for row in found_rows.values()]
    peaks = next((run.meta.peaks for run in usable if run.meta.peaks), ())
    newest = usable[0].meta if usable else None
    return Ladder(
        device=newest.device if newest else None,
        environment=newest.environment if newest else Environment(),
        problem=problem,
        rows=tuple(row for row in rows if not row.stage.is_reference),
        references=tuple(row for row in rows if row.stage.is_reference),
        rooflines=charts((found.roofline for found in ordered), peaks),
        measured=peaks,
        omitted=tuple(omitted),
        warnings=tuple(_mixed(used)),
        chain=_chain(rows),
    )


def measure(run: Run, stages: Mapping[str, Stage]) -> dict[str, Measured]:
    """Return what a run knows of each registered stage: stage id -> measurement; stages without any are absent."""
    values = counters(run.metrics)
    summaries: dict[str, list[LaunchSummary]] = {}
    for summary in summarize(run):
        if summary.stage is not None:
            summaries.setdefault(summary.stage, []).append(summary)
    samples = timing_samples(run.timings)
    builds = {build.stage: build for build in run.builds if build.variant == "fast"}
    found: dict[str, Measured] = {}
    for stage_id, stage in stages.items():
        launches = summaries.get(stage_id, [])
        timed = timing(samples, stage_id, stage.reference)
        if not launches and timed is None:
            continue
        chosen = typical_launch(launches)
        own = values.get(chosen.launch, {}) if chosen else {}
        placed = launch_roofline(chosen, own) if chosen else LaunchRoofline()
        found[stage_id] = Measured(run, stage, timed, call_ns(launches), chosen, placed, builds.get(stage_id), own)
    return found


def call_ns(launches: Iterable[LaunchSummary]) -> float | None:
    """Return the profiled duration of one call of a stage, which may launch several kernels.

    Each kernel counts with the median of its launches, as many times as one call launches it: a kernel launched 20
    times where the rarest was launched 10 times counts twice.

    Returns:
        Nanoseconds; None without launches, or when one of them has no duration.
    """
    durations: dict[str, list[float]] = {}
    for launch in launches:
        duration = launch.value("duration_ns")
        if duration is None:
            return None
        durations.setdefault(launch.kernel, []).append(duration)
    if not durations:
        return None
    calls = min(len(same) for same in durations.values())
    return sum(median(same) * len(same) / calls for same in durations.values())


def typical_launch(launches: Sequence[LaunchSummary]) -> LaunchSummary | None:
    """Return the launch of (lower) median duration among those of main kernels; None without any."""
    main = [launch for launch in launches if launch.role == "main"]
    if not main:
        return None
    timed = {launch.launch: launch.value("duration_ns") or 0.0 for launch in main}
    middle = median_low(timed.values())
    return next(launch for launch in main if timed[launch.launch] == middle)


def _usable(runs: Sequence[Run], problem: Problem) -> tuple[list[Run], list[Notice]]:
    """Keep runs of the problem on the newest one's device, newest first, and say what was left out."""
    newest_first = sorted(runs, key=lambda run: (run.meta.created, run.meta.id), reverse=True)
    usable: list[Run] = []
    omitted: list[Notice] = []
    for run in newest_first:
        if run.meta.problem != problem:
            label = run.meta.problem.label if run.meta.problem else "no matrix multiply of the ladder"
            omitted.append(Notice("other_problem", f"run {run.meta.id} is left out: it is of {label}"))
        elif usable and not same_device(run.meta.device, usable[0].meta.device):
            name = run.meta.device.name if run.meta.device else "an unknown GPU"
            omitted.append(Notice("other_device", f"run {run.meta.id} is left out: it was made on {name}"))
        else:
            usable.append(run)
    return usable, omitted


def same_device(a: Device | None, b: Device | None) -> bool:
    """Whether two runs were made on GPUs of one model; two unknown ones are not the same."""
    return (
        a is not None
        and b is not None
        and (a.name, a.compute_capability, a.sm_count) == (b.name, b.compute_capability, b.sm_count)
    )


def _without_stage(run: Run, stages: Mapping[str, Stage]) -> list[Notice]:
    """Tell the launches of a run that belong to no registered stage."""
    foreign = [
        str(row["stage"] or row["function"])
        for row in run.launches[["stage", "function"]].to_dict("records")
        if row["stage"] not in stages
    ]
    if not foreign:
        return []
    names = ", ".join(dict.fromkeys(foreign))
    count = f"{len(foreign)} launch" + ("es" if len(foreign) > 1 else "")
    return [Notice("no_stage", f"{count} of run {run.meta.id} of no registered stage: {names}")]


def _mixed(runs: Sequence[Run]) -> list[Notice]:
    """Warn when rows come from runs whose surroundings differ: their steps compare more than the kernels."""
    kinds = {"driver": "drivers", "ncu": "versions of ncu", "clock_control": "clock controls"}
    notices = []
    for field, plural in kinds.items():
        values = {getattr(run.meta.environment, field) for run in runs} - {None}
        if len(values) > 1:
            text = ", ".join(sorted(str(value) for value in values))
            notices.append(Notice("mixed_environment", f"rows come from runs with different {plural}: {text}"))
    return notices


def _row(
    found: Measured,
    within: Mapping[tuple[str, str], Measured],
    measured: Mapping[str, Measured],
    problem: Problem,
    stages: Mapping[str, Stage],
) -> LadderRow:
    stage, run, source = found.stage, found.run.meta.id, found.source
    reference = within.get((run, stage.reference or ""))
    before = within.get((run, stage.predecessor or "")) or measured.get(stage.predecessor or "")
    summary = found.summary
    return LadderRow(
        stage=stage,
        run=run,
        problem=stage.shape(problem),
        samples_ns=found.timing.samples_ns if found.timing else (),
        median_ns=found.time_ns(source) if source else None,
        spread_ns=found.timing.spread_ns if found.timing else None,
        time_source=source or "none",
        flop_per_s=found.flop_per_s(problem, source) if source else None,
        share_of_reference=share_of_reference(stage, problem, _time_ratio(found, reference), stages),
        step=_step(found, before, problem),
        summary=summary,
        load_sectors_ideal=summary.value("global_load_sectors_ideal") if summary else None,
        store_sectors_ideal=summary.value("global_store_sectors_ideal") if summary else None,
        build=found.build,
        verdict=verdict_of(summary) if summary else None,
        attribution=_attribution(found, before, problem),
        counters=found.counters,
    )


def _time_ratio(found: Measured, reference: Measured | None) -> float | None:
    """Return the reference's time over the stage's, both by the stage's source of time.

    Of timings, interleaved and alone, it is the smaller of the two ratios; of profiled durations there is one.
    """
    if found.source == "timings":
        return found.timing.time_ratio if found.timing else None
    if reference is None or not reference.profiled_ns or not found.profiled_ns:
        return None
    return reference.profiled_ns / found.profiled_ns


def _step(found: Measured, before: Measured | None, problem: Problem) -> float | None:
    """Return how many times faster a stage is than its predecessor: same source, same amount and type of work."""
    source = found.source
    if before is None or source is None or not _same_work(found, before, problem):
        return None
    earlier, own = before.time_ns(source), found.time_ns(source)
    return earlier / own if earlier and own else None


def _same_work(found: Measured, before: Measured, problem: Problem) -> bool:
    same_shape = before.stage.shape(problem) == found.stage.shape(problem)
    return same_shape and before.stage.dtype == found.stage.dtype


def _attribution(found: Measured, before: Measured | None, problem: Problem) -> Attribution | Unattributed | None:
    """Return why a stage's main kernel takes longer or shorter than its predecessor's; None without both."""
    if before is None or before.summary is None or found.summary is None or not _same_work(found, before, problem):
        return None
    return attribute(before.summary.launch, before.counters, found.summary.launch, found.counters)


def attribute_rows(a: LadderRow, b: LadderRow) -> Attribution | Unattributed | None:
    """Return why the main kernel of one stage takes longer or shorter than that of any other, whatever work they do.

    Returns:
        The split from A's profiled duration to B's, or why there is none; None unless both were profiled.
    """
    if a.summary is None or b.summary is None:
        return None
    return attribute(a.summary.launch, a.counters, b.summary.launch, b.counters)


def _chain(rows: Iterable[LadderRow]) -> Chain | None:
    return longest_chain(
        {
            row.stage.id: (row.stage.predecessor, row.attribution)
            for row in rows
            if row.stage.predecessor and isinstance(row.attribution, Attribution)
        }
    )
