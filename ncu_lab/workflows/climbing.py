"""The ladder from the store, and the summaries of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_lab.analyze.ladder import build_ladder, same_device
from ncu_lab.analyze.roofline import read_roofs, roofline_points
from ncu_lab.analyze.summary import counters, summarize
from ncu_lab.errors import InputError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Ladder, LadderRow, LaunchSummary, Notice, Problem, Run, RunMeta, RunView, Stage
from ncu_lab.store import Store
from ncu_lab.workflows.reading import open_run

USABLE = ("complete", "partial")
"""The states of runs whose measurements count; a failed run may hold half of them."""


def summaries(run: Run) -> list[LaunchSummary]:
    """Read every quantity of the catalogue from every launch of a run."""
    return summarize(run)


def view(run: Run) -> RunView:
    """Read all that a run shows."""
    launches = summarize(run)
    values = counters(run.metrics)
    roofs = {one.launch: read_roofs(values.get(one.launch, {}).get) for one in launches}
    points = {one.launch: roofline_points(one, roofs[one.launch]) for one in launches}
    rows: dict[str, LadderRow] = {}
    if run.meta.problem is not None:
        whole = build_ladder([run], load_stages(), run.meta.problem)
        rows = {row.stage.id: row for row in (*whole.rows, *whole.references)}
    return RunView(run, tuple(launches), roofs, points, rows)


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
        opened = [open_run(reference, store) for reference in runs]
        newest = max(opened, key=lambda run: run.meta.created)
        return build_ladder(opened, stages, wanted or _problem_of(newest.meta, store))
    metas, notices = Store(store).metas()
    candidates = [meta for meta in metas if meta.status in USABLE and meta.problem is not None and meta.stages]
    if device is not None:
        candidates = [meta for meta in candidates if meta.device is not None and meta.device.name == device]
    fitting = [meta for meta in candidates if wanted is None or meta.problem == wanted]
    if not fitting:
        raise _nothing(store, candidates, wanted)
    found = _problem_of(fitting[0], store)
    chosen, superseded = _newest_per_stage([meta for meta in fitting if meta.problem == found], stages)
    whole = build_ladder([Store(store).read(meta.id) for meta in chosen], stages, found)
    return replace(whole, omitted=(*whole.omitted, *superseded), warnings=(*whole.warnings, *notices))


def _problem_of(meta: RunMeta, store: Path) -> Problem:
    if meta.problem is None:
        raise InputError(
            f"run {meta.id} in {store} is of no matrix multiply of the ladder", f"ncu-lab show {meta.id} shows it."
        )
    return meta.problem


def _newest_per_stage(metas: Sequence[RunMeta], stages: Mapping[str, Stage]) -> tuple[list[RunMeta], list[Notice]]:
    """Choose, newest first, the runs that bring a stage no newer one has; only these need to be read.

    Runs on another GPU than the newest are never mixed in, and said so.
    """
    chosen: list[RunMeta] = []
    covered: set[str] = set()
    notices: list[Notice] = []
    for meta in metas:
        if not same_device(meta.device, metas[0].device) and meta is not metas[0]:
            name = meta.device.name if meta.device else "an unknown GPU"
            notices.append(Notice("other_device", f"run {meta.id} is left out: it was made on {name}"))
            continue
        brings = set(meta.stages) & set(stages) - covered
        if brings or not chosen:
            chosen.append(meta)
            covered |= brings
    return chosen, notices


def _nothing(store: Path, candidates: Sequence[RunMeta], wanted: Problem | None) -> InputError:
    if wanted is None or not candidates:
        return InputError(
            f"no runs of the ladder in {store}",
            "Make one: ncu-lab profile --all --size 2048, or see the bundled ones: ncu-lab ladder --example",
        )
    there = ", ".join(dict.fromkeys(meta.problem.label for meta in candidates if meta.problem))
    return InputError(f"no runs of {wanted.label} in {store}", f"There are runs of {there}.")
