"""Which launch the Kernel page shows: what its address leaves open, and what it asks for that is not there."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.model import Inspection, RunMeta
from ncu_lab.workflows.inspecting import LaunchEntry
from ncu_lab_dash import ids
from ncu_lab_dash.kernel_view import KernelView
from ncu_lab_dash.no_match import nearest_words
from ncu_lab_dash.run_data import RunData, default_launch, said_outright


def entries_of(view: KernelView, runs: RunData) -> list[LaunchEntry]:
    """Return the launches of the run that is shown; none where it cannot be read, of which the page's words tell."""
    try:
        return runs.launches(view.run) if view.run else []
    except NcuLabError:
        return []  # see above


def settle(view: KernelView, runs: RunData) -> KernelView:
    """Choose what the address leaves open: the newest run, its longest launch or that of the stage.

    A run may be named by the beginning of its id, its place or its commit, as on the page Compare. What is not there
    stays as it was asked for, and :func:`find_shown` says so.
    """
    try:
        run = _settled_run(view, runs)
        if run is None:
            return view
        view = replace(view, run=run)
        entries = runs.launches(run)
    except NcuLabError:
        # The page's words tell why there is nothing to show.
        return view
    if view.launch is not None:
        return replace(view, stage=None)
    if view.stage and not has_stage(view.stage, entries):
        return view
    return replace(view, launch=default_launch(entries, view.stage), stage=None)


def _settled_run(view: KernelView, runs: RunData) -> str | None:
    if view.run is None:
        return _having(runs.shown(), view.stage)
    outright, wanted = said_outright(view.run)
    run = runs.key_of(wanted) if outright in ("", "run") else None
    if run is None and outright in ("", "rev"):
        of_commit = runs.of_revision(wanted)
        run = _having(of_commit, view.stage) or _having(of_commit, None)
    return run or view.run


def _having(metas: Sequence[RunMeta], stage: str | None) -> str | None:
    """Return the first run that has a stage, the first of all for no stage; None where there is none."""
    return next((meta.id for meta in metas if stage is None or stage in meta.stages), None)


def has_stage(stage: str, entries: Sequence[LaunchEntry]) -> bool:
    """Return whether one of the launches is of a stage."""
    return any(one.stage == stage for one in entries)


def move(view: KernelView, triggers: Set[str], shown: Any, runs: RunData) -> KernelView:
    """Return the view after controls changed: another run shows the same stage, another launch no chosen line."""
    if ids.KERNEL_RUN not in triggers:
        return replace(view, line=None) if ids.KERNEL_LAUNCH in triggers else view
    stage = shown.get("stage") if isinstance(shown, dict) else None
    entries = entries_of(view, runs)
    kept = stage if isinstance(stage, str) and has_stage(stage, entries) else None
    return settle(replace(view, launch=None, line=None, stage=kept), runs)


def find_shown(view: KernelView, runs: RunData) -> Inspection:
    """Return the launch of a settled view.

    Raises:
        InputError: When the run cannot be read, or has no such stage or launch; names what it has.
    """
    run = view.run or ""
    if view.run:
        runs.key_of(view.run)  # says so where several are meant
    elif view.stage:
        known = list(dict.fromkeys(stage for meta in runs.shown() for stage in meta.stages))
        raise InputError(f'no run here has a stage "{view.stage}"', nearest_words(view.stage, known, "There are"))
    entries = runs.launches(run)
    if isinstance(view.launch, int):
        return runs.inspection(run, view.launch)
    if view.launch is not None:
        raise InputError(f'run {run} has no launch "{view.launch}"', _launches_there(entries))
    if view.stage:
        there = list(dict.fromkeys(one.stage for one in entries if one.stage))
        raise InputError(f'run {run} has no stage "{view.stage}"', nearest_words(view.stage, there, "It has"))
    raise InputError(f"run {run} has no launch", _launches_there(entries))


def _launches_there(entries: Sequence[LaunchEntry]) -> str:
    numbers = [one.launch for one in entries]
    return f"It has launches {min(numbers)} to {max(numbers)}." if numbers else "Nothing of it was profiled."
