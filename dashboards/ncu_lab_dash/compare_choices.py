"""What the Compare page lets choose, and what it chooses by itself where the address leaves it open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import RunMeta
from ncu_lab.render import numbers
from ncu_lab.render.visible import visible
from ncu_lab.workflows.inspecting import LaunchEntry
from ncu_lab_dash.compare_view import CompareView
from ncu_lab_dash.pages import kernel
from ncu_lab_dash.parts import in_list, searched

MOST_LAUNCHES = 300
"""Launches to choose from; one beyond them is compared by its number in the address."""

EVERYTHING = "all"
_STAGE, _LAUNCH = "stage:", "launch:"

Option = dict[str, str]


def settle(view: CompareView, metas: Sequence[RunMeta]) -> CompareView:
    """Choose what the address leaves open.

    Without A and B: the newest two runs of one problem and GPU that share a stage, else a stage of the newest run and
    the one before it on the ladder, else the newest two runs. With one of them: its like in the other.

    Args:
        view: What the address says.
        metas: Runs that can be shown, newest first.
    """
    by_id = {meta.id: meta for meta in metas}
    if view.a is None and view.b:
        other = _before(by_id.get(view.b[0]), metas)
        return replace(view, a=other.id) if other else view
    if view.a is not None and not view.b:
        other = next((one for one in metas if one.id != view.a and _alike(by_id.get(view.a), one)), None)
        other = other or next((one for one in metas if one.id != view.a), None)
        return replace(view, b=(other.id,)) if other else view
    if view.a is not None:
        return view
    for at, newer in enumerate(metas):
        older = next((one for one in metas[at + 1 :] if _alike(newer, one)), None)
        if older is not None:
            return replace(view, a=older.id, b=(newer.id,))
    return _step(view, metas) or (replace(view, a=metas[1].id, b=(metas[0].id,)) if len(metas) > 1 else view)


def _before(meta: RunMeta | None, metas: Sequence[RunMeta]) -> RunMeta | None:
    """Return the run before one that is like it, else any other; the newest for what is no run of the store."""
    others = [one for one in metas if meta is None or one.id != meta.id]
    older = [one for one in others if meta is not None and one.created <= meta.created]
    alike = [one for one in (*older, *others) if _alike(meta, one)]
    return next(iter([*alike, *older, *others]), None)


def _alike(a: RunMeta | None, b: RunMeta) -> bool:
    """Whether two runs are of one problem and GPU, and share a stage or a name."""
    if a is None or a.problem != b.problem or not a.device or not b.device or a.device.name != b.device.name:
        return False
    return bool(set(a.stages) & set(b.stages)) or (not a.stages and not b.stages and a.name == b.name)


def _step(view: CompareView, metas: Sequence[RunMeta]) -> CompareView | None:
    """Return the last step of the ladder that the newest run with both its stages has."""
    registered = load_stages()
    for meta in metas:
        for stage in reversed(meta.stages):
            before = registered[stage].predecessor if stage in registered else None
            if before in meta.stages:
                return replace(view, a=meta.id, sa=before, b=(meta.id,), sb=stage)
    return None


def swapped(view: CompareView) -> CompareView:
    """Return the view the other way round; of several B the shown one changes places with A."""
    shown = view.shown_b
    b = tuple(view.a if one == shown and view.a is not None else one for one in view.b)
    kept = tuple(dict.fromkeys(b))
    at = kept.index(view.a) if view.a in kept else 0
    return replace(view, a=shown, sa=view.sb, la=view.lb, b=kept, sb=view.sa, lb=view.la, at=at)


def run_label(meta: RunMeta) -> str:
    """Name a run in a list: what it holds, its problem, when it was made, its commit."""
    commit = meta.git.commit[:7] + (" edited" if meta.git.dirty else "") if meta.git.commit else ""
    return " · ".join(part for part in (kernel.run_label(meta), commit) if part)


def run_options(metas: Sequence[RunMeta], chosen: Iterable[str], opened: dict[str, str]) -> list[Option]:
    """Return what can be compared: opened files and other references that are chosen, runs, then commits.

    Args:
        metas: Runs that can be shown, newest first.
        chosen: References that must be among the options.
        opened: Key -> name of those of them that are opened files.
    """
    options = [
        {"value": meta.id, "label": in_list(run_label(meta)), "search": searched(_search(meta))} for meta in metas
    ]
    commits = {meta.git.commit: meta for meta in reversed(metas) if meta.git.commit and meta.status == "complete"}
    if len(commits) > 1:
        for commit, meta in reversed(commits.items()):
            label = f"commit {commit[:7]} {visible(meta.git.subject or '')}".strip()
            words = searched(f"{commit} {label}")
            options.append({"value": f"rev:{commit}", "label": in_list(label), "search": words})
    there = {one["value"] for one in options}
    for reference in dict.fromkeys(chosen):
        if reference not in there:
            label = f"{opened[reference]}, not stored" if reference in opened else visible(reference)
            options.insert(0, {"value": reference, "label": in_list(label), "search": searched(label)})
    return options


def _search(meta: RunMeta) -> str:
    return f"{run_label(meta)} {meta.id} {' '.join(meta.stages)} {visible(meta.git.subject or '')}"


def part_value(stage: str | None, launch: int | None) -> str:
    """Write what of a run is compared, as the value of its control."""
    return f"{_LAUNCH}{launch}" if launch is not None else f"{_STAGE}{stage}" if stage else EVERYTHING


def read_part(value: Any) -> tuple[str | None, int | None]:
    """Read stage and launch of a control's value; neither where everything is compared."""
    text = value if isinstance(value, str) else ""
    if text.startswith(_STAGE):
        return text.removeprefix(_STAGE) or None, None
    number = text.removeprefix(_LAUNCH)
    return None, int(number) if text != number and number.isascii() and number.isdigit() and len(number) < 10 else None


def part_options(entries: Sequence[LaunchEntry], chosen: str) -> list[Option]:
    """Return everything, the stages of a run, and its launches where they are of no stage."""
    stages = dict.fromkeys(one.stage for one in entries if one.stage)
    options = [{"value": EVERYTHING, "label": "everything"}]
    options += [{"value": f"{_STAGE}{stage}", "label": in_list(visible(stage))} for stage in stages]
    loose = [one for one in entries if not one.stage][:MOST_LAUNCHES]
    options += [
        {
            "value": f"{_LAUNCH}{one.launch}",
            "label": f"launch {one.launch}  {in_list(visible(one.function))}  {numbers.duration(one.duration_ns)}",
        }
        for one in loose
    ]
    if chosen not in {one["value"] for one in options}:
        stage, launch = read_part(chosen)
        options.append({"value": chosen, "label": in_list(visible(stage)) if stage else f"launch {launch}"})
    return options


def keep_part(stage: str | None, entries: Sequence[LaunchEntry]) -> str | None:
    """Return the stage where the launches have it, so that another run shows the same stage; else None."""
    return stage if any(one.stage == stage for one in entries) else None
