"""The ladder from the store, and the summaries of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_lab.analyze.explanation import explain_ladder, explain_launch, explain_run, fastest, main_functions
from ncu_lab.analyze.judging import judge_accesses
from ncu_lab.analyze.ladder import attribute_rows, build_ladder, same_device
from ncu_lab.analyze.roofline import datasheet_roofs, launch_roofline
from ncu_lab.analyze.summary import counters, summarize
from ncu_lab.analyze.verdict import verdict_of
from ncu_lab.errors import InputError
from ncu_lab.gpu.datasheets import datasheet_of
from ncu_lab.gpu.published import load_published
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import (
    USABLE,
    Attribution,
    Device,
    Explanation,
    Ladder,
    LadderRow,
    LaunchSummary,
    Notice,
    Problem,
    Roof,
    Run,
    RunMeta,
    RunView,
    Stage,
    Unattributed,
)
from ncu_lab.store import Store
from ncu_lab.store.directory import passed_over
from ncu_lab.workflows.indexing import list_runs
from ncu_lab.workflows.reading import open_run


def summaries(run: Run) -> list[LaunchSummary]:
    """Read every quantity of the catalogue from every launch of a run."""
    return summarize(run)


def view(run: Run) -> RunView:
    """Read all that a run shows."""
    launches = summarize(run)
    values = counters(run.metrics)
    placed = {one.launch: launch_roofline(one, values.get(one.launch, {})) for one in launches}
    rows: dict[str, LadderRow] = {}
    stages = load_stages()
    if run.meta.problem is not None:
        whole = build_ladder([run], stages, run.meta.problem)
        rows = {row.stage.id: row for row in (*whole.rows, *whole.references)}
    seen = RunView(
        run,
        tuple(launches),
        roofs={launch: one.roofs for launch, one in placed.items()},
        points={launch: one.points for launch, one in placed.items()},
        rows=rows,
        verdicts={one.launch: verdict_of(one) for one in launches},
        accesses=judge_accesses(run.instances, launches, values),
        datasheet=_datasheet_roofs(run.meta.device),
    )
    return replace(seen, explanations=explain_run(seen, stages))


def _datasheet_roofs(device: Device | None) -> tuple[Roof, ...]:
    sheet = datasheet_of(device.name) if device is not None else None
    return datasheet_roofs(sheet) if sheet is not None else ()


def ladder(
    store: Path,
    *,
    problem: Problem | None = None,
    size: int | None = None,
    device: str | None = None,
    runs: Sequence[str] | None = None,
) -> Ladder:
    """Build the ladder of one problem on one device from the newest run of each stage.

    Args:
        store: The folder of runs.
        problem: The problem; by default that of ``size``, else of the newest run.
        size: M = N = K, for problems with alpha = 1 and beta = 0.
        device: Name of the GPU; by default that of the newest run.
        runs: References of the only runs to use (see ``workflows.reading.open_run``); by default all of the store.

    Raises:
        InputError: When no run of that problem is there.
    """
    stages = load_stages()
    wanted = problem or (Problem(size, size, size) if size is not None else None)
    if runs is not None:
        return ladder_of([open_run(reference, store) for reference in runs], wanted)
    metas, notices = list_runs(store)
    candidates = [meta for meta in metas if meta.status in USABLE and meta.problem is not None and meta.stages]
    if device is not None:
        candidates = [meta for meta in candidates if meta.device is not None and meta.device.name == device]
    fitting = [meta for meta in candidates if wanted is None or meta.problem == wanted]
    if not fitting:
        raise _nothing(store, candidates, wanted)
    chosen, superseded, corrupt = _newest_per_stage(fitting, stages, Store(store))
    whole = build_ladder(chosen, stages, _problem_of(chosen[0].meta))
    return replace(
        _completed(whole, chosen, stages),
        omitted=(*whole.omitted, *superseded),
        warnings=(*whole.warnings, *notices, *corrupt),
    )


def attribute_stages(ladder: Ladder, a: str | None, b: str | None) -> Attribution | Unattributed | None:
    """Split the difference of the profiled durations of any two stages of a ladder, references included.

    Args:
        ladder: The ladder.
        a: Stage it begins with.
        b: Stage it leads to.

    Returns:
        The split, or what it lacks; None unless both stages are on the ladder and were profiled.
    """
    row_a, row_b = ladder.row(a), ladder.row(b)
    return attribute_rows(row_a, row_b) if row_a is not None and row_b is not None else None


def ladder_of(runs: Sequence[Run], problem: Problem | None = None) -> Ladder:
    """Build the ladder of given runs, by default of the problem of the newest of them.

    Raises:
        InputError: When it is of no matrix multiply.
    """
    stages = load_stages()
    newest = max(runs, key=lambda run: run.meta.created)
    return _completed(build_ladder(runs, stages, problem or _problem_of(newest.meta)), runs, stages)


def _completed(ladder: Ladder, runs: Sequence[Run], stages: Mapping[str, Stage]) -> Ladder:
    """Add what does not come from the runs, and what is said of it in plain words."""
    return replace(
        ladder,
        published=load_published(stages),
        datasheet=_datasheet_roofs(ladder.device),
        explanation=explain_ladder(ladder, _explained(ladder, runs, stages)),
    )


def _explained(ladder: Ladder, runs: Sequence[Run], stages: Mapping[str, Stage]) -> dict[str, Explanation]:
    """Explain the fastest stage, from the counters of its run; nothing where it was not profiled."""
    row = fastest(ladder)
    if row is None or row.summary is None or row.verdict is None:
        return {}
    run = next(run for run in runs if run.meta.id == row.run)
    launch = row.summary.launch
    values = counters(run.metrics[run.metrics["launch"] == launch])
    accesses = judge_accesses(run.instances[run.instances["launch"] == launch], [row.summary], values)
    explanation = explain_launch(
        row.summary,
        row.verdict,
        access=accesses[launch],
        points=launch_roofline(row.summary, values.get(launch, {})).points,
        row=row,
        device=run.meta.device,
        stages=stages,
        measured=run.meta.peaks,
        functions=main_functions(one.summary for one in ladder.rows if one.summary),
    )
    return {row.stage.id: explanation}


def _problem_of(meta: RunMeta) -> Problem:
    if meta.problem is None:
        raise InputError(f"run {meta.id} is of no matrix multiply of the ladder", f"ncu-lab show {meta.id} shows it.")
    return meta.problem


def _newest_per_stage(
    metas: Sequence[RunMeta], stages: Mapping[str, Stage], store: Store
) -> tuple[list[Run], list[Notice], list[Notice]]:
    """Choose, newest first, the runs that bring a stage no newer one has; only these are read.

    The newest one that can be read decides the problem and the GPU.

    Returns:
        The runs; which were left out as they were made on another GPU; and which cannot be read.

    Raises:
        InputError: When none can be read.
    """
    chosen: list[Run] = []
    covered: set[str] = set()
    elsewhere: list[Notice] = []
    errors: list[InputError] = []
    for meta in metas:
        brings = set(meta.stages) & set(stages) - covered
        if chosen:
            newest = chosen[0].meta
            if meta.problem != newest.problem:
                continue
            if not same_device(meta.device, newest.device):
                name = meta.device.name if meta.device else "an unknown GPU"
                elsewhere.append(Notice("other_device", f"run {meta.id} is left out: it was made on {name}"))
                continue
            if not brings:
                continue
        try:
            chosen.append(store.read_whole(meta.id))
        except InputError as error:
            errors.append(error)
        else:
            covered |= brings
    if not chosen:
        raise errors[0]
    return chosen, elsewhere, [passed_over(error) for error in errors]


def _nothing(store: Path, candidates: Sequence[RunMeta], wanted: Problem | None) -> InputError:
    if wanted is None or not candidates:
        return InputError(
            f"no runs of the ladder in {store}",
            "Make one: ncu-lab profile --all --size 2048, or see the bundled ones: ncu-lab ladder --example",
        )
    there = ", ".join(dict.fromkeys(meta.problem.label for meta in candidates if meta.problem))
    return InputError(f"no runs of {wanted.label} in {store}", f"There are runs of {there}.")
