"""The runs of a store as a table: filtered, sorted, and what two of them have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ncu_lab.model import Json, RunMeta
from ncu_lab.render import numbers
from ncu_lab.render.visible import visible
from ncu_lab.workflows.inspecting import LaunchEntry
from ncu_lab_dash import ids
from ncu_lab_dash.kernel_view import kernel_address
from ncu_lab_dash.parts import unbroken
from ncu_lab_dash.runs_view import RunSort, RunsView

MOST_ROWS = 200
"""Rows that are drawn; how many more match is said."""

_MOST_BARS = 32
_STATES: Mapping[str, tuple[str, str]] = {
    "complete": ("better", "✓ complete"),
    "partial": ("unsure", "! in part"),
    "build_failed": ("worse", "✗ build failed"),
    "check_failed": ("worse", "✗ check failed"),
    "profile_failed": ("worse", "✗ profile failed"),
}


def name_of(meta: RunMeta) -> str:
    """Name a run: as its user did, else by its stages."""
    if meta.name:
        return visible(meta.name)
    return "ladder" if len(meta.stages) > 1 else meta.stages[0] if meta.stages else "program"


def holds(meta: RunMeta) -> str:
    """Say what a run holds by its description alone."""
    if not meta.stages:
        return "launches of a program" if meta.source == "profile" else "an imported file"
    return f"{len(meta.stages)} stages" if len(meta.stages) > 1 else f"stage {meta.stages[0]}"


def matching(metas: Sequence[RunMeta], words: str) -> list[RunMeta]:
    """Return the runs that have every word somewhere, in any case."""
    wanted = words.casefold().split()
    return [meta for meta in metas if all(word in _text(meta) for word in wanted)]


def _text(meta: RunMeta) -> str:
    parts = [meta.id, meta.name or "", " ".join(meta.stages), meta.problem.label if meta.problem else ""]
    parts += [meta.device.name if meta.device else "", meta.git.commit or "", meta.git.subject or "", meta.status]
    return " ".join([*parts, name_of(meta), meta.source]).casefold()


def ordered(metas: Sequence[RunMeta], sort: RunSort, size: Callable[[str], int]) -> list[RunMeta]:
    """Return runs in an order; those that tie stay newest first."""
    keys: Mapping[RunSort, Callable[[RunMeta], Any]] = {
        "name": name_of,
        "problem": lambda meta: (meta.problem.m * meta.problem.n * meta.problem.k) if meta.problem else 0,
        "device": lambda meta: meta.device.name if meta.device else "",
        "size": lambda meta: -size(meta.id),
        "state": lambda meta: meta.status,
    }
    if sort == "newest":
        return list(metas)
    return list(reversed(metas)) if sort == "oldest" else sorted(metas, key=keys[sort])


def runs_table(metas: Sequence[RunMeta], view: RunsView, size: Callable[[str], int]) -> Json:
    """Return the table for ``assets/tables.js`` to draw; strips of durations are filled in later."""
    found = ordered(matching(metas, view.filter), view.sort, size)
    several = len({meta.device.name for meta in metas if meta.device}) > 1
    columns = [
        ("", "text"), ("made (UTC)", "text"), ("run", "text"), ("problem", "text"), ("holds", "text"),
        ("durations, log", "text"), *([("GPU", "text")] if several else []), ("sections", "text"), ("size", "number"),
        ("commit", "text"), ("state", "text"),
    ]  # fmt: skip
    shown = found[:MOST_ROWS]
    left = len(found) - len(shown)
    return {
        "columns": [{"title": title, "kind": kind} for title, kind in columns],
        "rows": [
            {"key": meta.id, "chosen": meta.id in view.picked, "cells": _cells(meta, view, several, size)}
            for meta in shown
        ],
        "note": f"{numbers.integer(left)} more match: a word in the filter narrows them" if left else "",
        "shown": [meta.id for meta in shown],
    }


def _cells(meta: RunMeta, view: RunsView, several: bool, size: Callable[[str], int]) -> list[Any]:
    kind, words = _STATES[meta.status]
    sections = meta.environment.sections
    commit = meta.git.commit[:7] + (" edited" if meta.git.dirty else "") if meta.git.commit else "none"
    cells: list[Any] = [
        {"tick": meta.id in view.picked, "into": ids.RUNS_TICKED, "label": f"Tick {name_of(meta)} {meta.id}"},
        meta.created[:16].replace("T", " "),
        {"link": kernel_address(meta.id), "text": name_of(meta), "title": meta.id},
        f"{meta.problem.label}" if meta.problem else numbers.MISSING,
        {"text": holds(meta), "into": f"holds-{meta.id}"},
        {"text": "", "into": f"strip-{meta.id}"},
    ]
    if several:
        cells.append(meta.device.name if meta.device else numbers.MISSING)
    told = f"{len(sections)} sections" if len(sections) > 1 else sections[0] if sections else numbers.MISSING
    bytes_ = size(meta.id)
    return [
        *cells,
        {"text": told, "title": ", ".join(sections)},
        {"text": unbroken(numbers.byte_count(bytes_)), "value": bytes_},
        {"text": commit, "title": visible(meta.git.subject or "")},
        {"chip": kind, "text": words, "title": visible(meta.error or "")},
    ]


def strip(entries: Sequence[LaunchEntry]) -> Json:
    """Return a run's durations as heights (0 to 1) on a log scale over its own, its launches in order."""
    known = [(one, one.duration_ns) for one in entries if one.duration_ns]
    shown = known[:_MOST_BARS]
    count = "1 launch" if len(entries) == 1 else f"{numbers.integer(len(entries))} launches"
    if not shown:
        return {"heights": [], "title": "no durations", "holds": count}
    logs = [math.log10(ns) for _, ns in shown]
    low, high = min(logs), max(logs)
    heights = [round(0.15 + 0.85 * ((one - low) / (high - low) if high > low else 0.5), 3) for one in logs]
    shortest, longest = min(ns for _, ns in known), max(ns for _, ns in known)
    title = f"{count}, {numbers.duration(shortest)} to {numbers.duration(longest)}"
    more = f"; the first {_MOST_BARS} are drawn" if len(known) > _MOST_BARS else ""
    return {"heights": heights, "title": unbroken(title + more), "holds": count}
