"""Runs as documents and tables for people and programs that have no ncu-lab."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import USABLE, Inspection, Ladder, Notice, Problem, ProgressEvent, Reporter, Roofline, Run
from ncu_lab.model.comparison import Comparison
from ncu_lab.model.exhibit import Exhibit, ExhibitedRun
from ncu_lab.model.progress import silent
from ncu_lab.store.stored_run import TABLES
from ncu_lab.store.tables import write_table
from ncu_lab.workflows.climbing import ladder_of
from ncu_lab.workflows.comparing import compare
from ncu_lab.workflows.indexing import list_runs
from ncu_lab.workflows.inspecting import LaunchEntry, inspect, list_launches, only_launches
from ncu_lab.workflows.placing import place_pair
from ncu_lab.workflows.reading import Found, find_run
from ncu_lab.workflows.succession import placed_in_git

NEWEST = "@last"

MOST_LAUNCHES = 40
"""Launches of one run that a page shows in full unless the user names them: the longest; the others are counted."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What of the runs to export; without either, all.

    Attributes:
        stages: Only these stages.
        launches: Only these rows of the launches table.
    """

    stages: tuple[str, ...] = ()
    launches: tuple[int, ...] = ()


def find_runs(references: Sequence[str], store: Path, where: str = "", *, size: int | None = None) -> list[Found]:
    """Return the runs that references mean, in their order; without any, the newest.

    Args:
        references: As :func:`ncu_lab.workflows.reading.find_run` takes them.
        store: The folder of runs.
        where: The options that name the store, for commands that are told to be typed.
        size: Without references: the newest of this M = N = K, where there is one.

    Raises:
        InputError: When a reference means nothing, or its run cannot be read.
    """
    if references:
        return [find_run(reference, store, where) for reference in references]
    if size is not None:
        wanted = Problem(size, size, size)
        metas, _ = list_runs(store)
        newest = next((meta.id for meta in metas if meta.problem == wanted and meta.status in USABLE), NEWEST)
        return [find_run(newest, store, where)]
    return [find_run(NEWEST, store, where)]


def gather(
    references: Sequence[str],
    store: Path,
    where: str = "",
    chosen: Chosen = Chosen(),
    *,
    size: int | None = None,
    in_full: bool = True,
    report: Reporter = silent,
) -> Exhibit:
    """Read what a document shows of runs; two are compared, from the first to the second.

    Args:
        references: The runs, as :func:`find_runs` takes them.
        store: The folder of runs.
        where: The options that name the store, for commands that are told to be typed.
        chosen: What of the runs to show.
        size: As in :func:`find_runs`.
        in_full: Whether to take launches apart where a ladder, or a comparison, tells of them too.
        report: Is told how many launches were taken apart.

    Raises:
        InputError: When a run is not there, cannot be read, or has no launch.
        UsageError: When a stage or a launch asked for is not there.
    """
    found = find_runs(references, store, where, size=size)
    two = len(references) == 2
    runs = tuple(_exhibited(one, chosen, report, unless_told=not in_full, compared=two) for one in found)
    comparison = None
    rooflines: tuple[tuple[Roofline, Roofline] | None, ...] = ()
    if two:
        comparison = placed_in_git(_compared(references[0], references[1], store, where, chosen), Path.cwd())
        rooflines = _placed(comparison, found, store) if in_full else ()
    notices = [notice for one in found for notice in one.passed_over]
    notices += comparison.warnings if comparison else ()
    return Exhibit(runs, comparison, rooflines, tuple(dict.fromkeys(notices)))


def _compared(a: str, b: str, store: Path, where: str, chosen: Chosen) -> Comparison:
    """Compare two runs, of their launches those asked for: one of each is a pair whatever it is called."""
    if len(set(chosen.launches)) == 1:
        launch = chosen.launches[0]
        return compare(a, b, store, where, launch_a=launch, launch_b=launch)
    whole = compare(a, b, store, where, stages=() if chosen.launches else chosen.stages)
    if not chosen.launches:
        return whole
    kept = [
        pair
        for pair in whole.pairs
        if any(one.launch in chosen.launches for one in (*pair.launches_a, *pair.launches_b))
    ]
    return replace(whole, pairs=tuple(kept))


def _placed(
    comparison: Comparison, found: Sequence[Found], store: Path
) -> tuple[tuple[Roofline, Roofline] | None, ...]:
    runs = {one.run.meta.id: one.run for one in found}

    def read(run: str) -> Run:
        if run not in runs:
            runs[run] = find_run(run, store).run
        return runs[run]

    return tuple(place_pair(pair, read) for pair in comparison.pairs)


def limit(found: Found, chosen: Chosen) -> Run:
    """Return a run with the tables of the launches and stages asked for alone; whole where neither was.

    Raises:
        InputError: When the run has no launches.
        UsageError: When a stage or a launch asked for is not there.
    """
    run, stages = found.run, chosen.stages or ((found.stage,) if found.stage else ())
    if not stages and not chosen.launches:
        return run
    entries = list_launches(run)
    choose_launches(run, entries, Chosen(stages, chosen.launches))  # refuses what is not there
    kept = [one for one in entries if (one.launch in chosen.launches if chosen.launches else one.stage in stages)]
    limited = only_launches(run, [one.launch for one in kept])
    timings = run.timings
    return replace(limited, timings=timings[timings["subject"].isin([one.stage for one in kept])])


def _exhibited(found: Found, chosen: Chosen, report: Reporter, *, unless_told: bool, compared: bool) -> ExhibitedRun:
    run, stages = found.run, chosen.stages or ((found.stage,) if found.stage else ())
    entries = list_launches(run)
    shown = choose_launches(run, entries, Chosen(stages, chosen.launches))
    ladder = None if chosen.launches or found.stage else _ladder(run, chosen.stages)
    launches: list[Inspection] = []
    if unless_told and (compared or ladder is not None):
        shown = []
    for at, one in enumerate(shown):
        report(ProgressEvent("export", run.meta.id, "update", f"launch {at + 1} of {len(shown)}", at / len(shown)))
        launches.append(inspect(run, one.launch))
    left = 0 if stages or chosen.launches else len(entries) - len(launches)
    return ExhibitedRun(run, ladder, tuple(launches), left)


def choose_launches(run: Run, entries: Sequence[LaunchEntry], chosen: Chosen) -> list[LaunchEntry]:
    """Return the launches to show in full, in launch order: those asked for, else the longest.

    Of a stage that launches several kernels, or was launched several times, the longest main one speaks for all.

    Raises:
        InputError: When the run has no launches.
        UsageError: When a stage or a launch asked for is not there.
    """
    if not entries:
        why = f": {run.meta.error}" if run.meta.error else ""
        raise InputError(
            f"run {run.meta.id} has no profiled launch{why}", f"ncu-lab show {run.meta.id} tells what it has."
        )
    if chosen.launches:
        known = {one.launch: one for one in entries}
        if missing := [launch for launch in chosen.launches if launch not in known]:
            raise UsageError(
                f"run {run.meta.id} has no launch {missing[0]}", f"It has launches {min(known)} to {max(known)}."
            )
        return [known[launch] for launch in sorted(set(chosen.launches))]
    stages = dict.fromkeys(one.stage for one in entries if one.stage)
    if missing_stages := [stage for stage in chosen.stages if stage not in stages]:
        there = f"It has {', '.join(stages)}." if stages else "Its launches belong to no stage."
        raise UsageError(f'run {run.meta.id} has no profiled stage "{missing_stages[0]}"', there)
    wanted = [one for one in entries if not chosen.stages or one.stage in chosen.stages]
    speaking: dict[object, LaunchEntry] = {}
    for one in wanted:
        key = one.stage or ("launch", one.launch)
        if key not in speaking or _rank(one) > _rank(speaking[key]):
            speaking[key] = one
    longest = sorted(speaking.values(), key=_rank, reverse=True)
    return sorted(longest if chosen.stages else longest[:MOST_LAUNCHES], key=lambda one: one.launch)


def _rank(one: LaunchEntry) -> tuple[bool, float]:
    return one.role == "main", one.duration_ns or 0.0


def _ladder(run: Run, stages: Sequence[str]) -> Ladder | None:
    """Return the ladder of a run; None where it is of no stage that the registry knows."""
    if run.meta.problem is None or not run.meta.stages:
        return None
    whole = ladder_of([run])
    if not whole.rows and not whole.references:
        return None
    if not stages:
        return whole
    rows = tuple(row for row in whole.rows if row.stage.id in stages)
    references = {row.stage.reference for row in rows}
    kept = tuple(row for row in whole.references if row.stage.id in references or row.stage.id in stages)
    return replace(whole, rows=rows, references=kept)


def notices_of(exhibit: Exhibit) -> tuple[Notice, ...]:
    """Return what to tell whoever exports: of runs that were passed over, and what weakens those that are shown."""
    own = [notice for one in exhibit.runs for notice in one.run.meta.warnings if notice.code not in ("ncu", "git")]
    return tuple(dict.fromkeys([*exhibit.notices, *own]))


def parquet_table(run: Run, name: str) -> bytes:
    """Return one of the tables of a run as Parquet, as the store writes it."""
    return write_table(getattr(run, name), TABLES[name])
