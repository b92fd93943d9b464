"""``history`` for people and programs: the line of commits of each kernel, its gaps, and where it changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ncu_lab.model import Json
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.comparison import TimeChange
from ncu_lab.model.history import Change, ChangePoint, History, HistoryBreak, HistoryGap, HistoryPoint, KernelHistory
from ncu_lab.render.cause_words import cause_document, time_sentence
from ncu_lab.render.change_words import SIGNS
from ncu_lab.render.documents import notices_document
from ncu_lab.render.history_words import (
    amount,
    chance_words,
    commit_words,
    gap_words,
    kernel_title,
    point_amount,
    quantity_name,
    step_words,
)
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.tables import CAPTION, Column, Row, escaped, markdown_table
from ncu_lab.render.terminal import BAD, GOOD, MUTED, Terminal, note_dropped

_BAR = 12
_STYLES = {"faster": GOOD, "better": GOOD, "slower": BAD, "worse": BAD}
_MEANING = (
    "Times are medians of samples ± half their 99 % interval. A change is against the row before, as ncu-lab diff "
    "judges the two."
)

FLAT_COLUMNS = tuple(
    Column(key, key)
    for key in (
        "commit", "time", "subject", "stage", "kernel", "m", "n_columns", "k", "device", "run", "status", "dirty",
        "runs", "value", "low", "high", "n", "verdict", "delta_pct", "low_pct", "high_pct", "p", "error",
    )
)  # fmt: skip
"""``n`` counts samples, so that the N of the problem is ``n_columns``; ``verdict`` to ``p`` are of a change point."""


def print_history(history: History, terminal: Terminal, where: str = "") -> None:
    """Print the line of every kernel, and what to type for the largest change.

    Args:
        history: What to print.
        terminal: Where.
        where: The options that name the store, for commands that are told to be typed.
    """
    for number, one in enumerate(history.kernels):
        if number:
            terminal.line()
        terminal.paragraph(f"{kernel_title(one)} · {quantity_name(history.key)}", "bold")
        rows = _table_rows(one, history)
        note_dropped(terminal, terminal.table(rows, _columns(history)))
        for words in _tally(one, history):
            terminal.paragraph(words)
    terminal.line()
    terminal.paragraph(_MEANING, MUTED)
    terminal.command(_next_command(history, where), lead="Next: ")


def history_markdown(history: History) -> str:
    """Write a history for a pull request or a page."""
    blocks = []
    for one in history.kernels:
        blocks.append(f"### {escaped(f'{kernel_title(one)} · {quantity_name(history.key)}')}\n")
        rows = [row for row in _table_rows(one, history) if CAPTION not in row]
        blocks.append(markdown_table(rows, _columns(history)))
        blocks.append("".join(f"- {escaped(words)}\n" for words in _tally(one, history)))
    return "\n".join(blocks)


def _columns(history: History) -> list[Column]:
    by_time = history.order == "time"
    return [
        *([Column("when", "when (UTC)", align="left", priority=3)] if by_time else []),
        Column("commit", "commit", align="left"),
        Column("subject", "subject", align="left", priority=1, least=14),
        Column("value", quantity_name(history.key), style=lambda row: row["style"]),
        Column("n", "n", align="right", priority=4),
        Column("bar", "from 0", lambda row: row["bar"], "left", priority=2),
        Column("change", "change", lambda row: row["change"], "left", style=lambda row: row["style"]),
        Column("chance", "by chance", lambda row: row["chance"], "left", priority=3),
    ]


def _table_rows(one: KernelHistory, history: History) -> list[Row]:
    largest = max((point.estimate.value for point in one.points), default=0.0)
    changes = {change.first.meta.id: change for change in one.changes}
    breaks = {found.after.meta.id: found for found in one.breaks}
    rows: list[Row] = []
    for row in one.rows:
        if row.meta.id in breaks:
            rows.append({CAPTION: f"{breaks[row.meta.id].why}: not compared across this line"})
        if isinstance(row, HistoryPoint):
            rows.append(_point_row(row, changes.get(row.meta.id), history, largest))
        else:
            rows.append(_gap_row(row))
    return rows


def _point_row(point: HistoryPoint, change: ChangePoint | None, history: History, largest: float) -> Row:
    words = step_words(change.change) if change else ""
    return {
        "when": point.meta.created[:16].replace("T", " "),
        "commit": commit_words(point),
        "subject": _subject(point),
        "value": point_amount(history.key, point, history.unit),
        "n": f"{point.estimate.n}" + (f" ({point.runs} runs)" if point.runs > 1 else ""),
        "bar": _bar(point.estimate.value, largest),
        "change": f"{words}, gradually" if change and change.is_gradual else words,
        "chance": chance_words(change.change) if change else "",
        "style": _STYLES.get(change.change.verdict, "") if change else "",
    }


def _bar(value: float, largest: float) -> str:
    return "━" * round(_BAR * max(value, 0.0) / largest) if value > 0.0 and largest > 0.0 else ""


def _gap_row(gap: HistoryGap) -> Row:
    return {
        "when": gap.meta.created[:16].replace("T", " "),
        "commit": gap.commit.short if gap.commit else (gap.meta.git.commit or MISSING)[:7],
        "subject": (gap.commit.subject if gap.commit else gap.meta.git.subject) or MISSING,
        "value": MISSING,
        "n": MISSING,
        "bar": "",
        "change": f"✗ {gap_words(gap).partition(':')[0]}",
        "chance": "",
        "style": MUTED,
    }


def _subject(point: HistoryPoint) -> str:
    subject = (point.commit.subject if point.commit else point.meta.git.subject) or point.meta.name or MISSING
    return f"{subject} (edited)" if point.is_dirty else subject


def _tally(one: KernelHistory, history: History) -> list[str]:
    """Say in words what changed where, what failed, and what has no run."""
    words = []
    words += [_change_words(change, one, history) for change in one.changes]
    if not one.changes:
        count = len(one.points)
        what = "run" if history.order == "time" else "commit"
        words.append(f"One {what}: nothing to compare it with." if count == 1 else f"No change in {count} {what}s.")
    for gap in one.gaps:
        words.append(f"– {gap.commit.short if gap.commit else gap.meta.id} {gap_words(gap)}")
    words += _commits_words(one.not_profiled, "between them", "no run")
    words += _commits_words(one.only_edited, "", "only a run of an edited (dirty) tree")
    return words


def _commits_words(commits: Sequence[CommitInfo], which: str, what: str) -> list[str]:
    """``2 commits between them have no run: 4f2c9ab, 91be004``; nothing without any."""
    if not commits:
        return []
    noun, verb = ("commit", "has") if len(commits) == 1 else ("commits", "have")
    named = ", ".join(commit.short for commit in commits[:3]) + (", …" if len(commits) > 3 else "")
    return [f"{' '.join(filter(None, (str(len(commits)), noun, which, verb, what)))}: {named}"]


def _change_words(change: ChangePoint, one: KernelHistory, history: History) -> str:
    """Say what changed where: of a time in the sentence of ``diff``."""
    where = f'{commit_words(change.first)} "{_subject(change.first)}"'
    if isinstance(change.change, TimeChange) and not change.is_gradual:
        skipped = " or a commit before it that was not measured" if change.between else ""
        sentence = time_sentence(one.name, change.change, change.cause, f"since {commit_words(change.first)}{skipped}")
        return f"{SIGNS[change.change.verdict]} {sentence}"
    before, after = (amount(history.key, side.estimate.value, history.unit) for side in (change.before, change.after))
    chance = chance_words(change.change)
    level = "gradually, until" if change.is_gradual else "at"
    return f"{step_words(change.change)} {level} {where}: {before} → {after}" + (f", {chance}" if chance else "")


def _next_command(history: History, where: str) -> str:
    changes = [change for one in history.kernels for change in one.changes]
    if not changes:
        meta = history.kernels[0].points[-1].meta
        return f"ncu-lab show {meta.id}{where}"
    last = changes[-1]
    stage = f" --stage {last.after.kernel.stage}" if last.after.kernel.stage else ""
    return f"ncu-lab diff {reference(last.before)} {reference(last.after)}{stage}{where}"


def reference(point: HistoryPoint) -> str:
    """Return how to name a point's run on the command line: its commit where that means it, else the run."""
    return point.commit.short if point.commit and not point.is_dirty and point.runs == 1 else point.meta.id


def history_document(history: History) -> Json:
    """Build the document of ``history``."""
    kernels = history.kernels
    return {
        "key": history.key,
        "unit": history.unit,
        "order": history.order,
        "points": [_point(point, one) for one in kernels for point in one.points],
        "changes": [_change(change, one) for one in kernels for change in one.changes],
        "gaps": [_gap(gap, one) for one in kernels for gap in one.gaps],
        "breaks": [_break(found, one) for one in kernels for found in one.breaks],
        "not_profiled": [_commit(commit, one) for one in kernels for commit in one.not_profiled],
        "only_edited": [_commit(commit, one) for one in kernels for commit in one.only_edited],
        "warnings": notices_document(history.notices),
    }


def _commit(commit: CommitInfo, one: KernelHistory) -> Json:
    return {"stage": one.stage, "commit": commit.hash, "time": commit.time, "subject": commit.subject}


def _whose(one: KernelHistory) -> Mapping[str, Any]:
    return {"stage": one.stage, "problem": asdict(one.problem) if one.problem else None, "device": one.device}


def _where(row: HistoryPoint | HistoryGap) -> Mapping[str, Any]:
    commit = row.commit
    return {
        "commit": commit.hash if commit else row.meta.git.commit,
        "time": commit.time if commit else row.meta.created,
        "subject": commit.subject if commit else row.meta.git.subject,
        "run": row.meta.id,
        "status": row.meta.status,
        "dirty": row.meta.git.dirty,
    }


def _point(point: HistoryPoint, one: KernelHistory) -> Json:
    estimate = point.estimate
    return {
        **_where(point),
        **_whose(one),
        "kernel": point.kernel.kernel,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "n": estimate.n,
        "runs": point.runs,
    }


def _change(change: ChangePoint, one: KernelHistory) -> Json:
    return {
        **{key: value for key, value in _where(change.first).items() if key in ("commit", "time", "subject")},
        **_whose(one),
        "run_a": change.before.meta.id,
        "run_b": change.after.meta.id,
        "gradual": change.is_gradual,
        "between": change.between,
        "cause": cause_document(change.cause),
        "before": change.before.estimate.value,
        "after": change.after.estimate.value,
        **change_document(change.change),
    }


def change_document(change: Change) -> Json:
    """Return the verdict of ``diff`` on two runs."""
    ends = {"low_pct": change.low, "high_pct": change.high}
    return {
        "verdict": change.verdict,
        "delta_pct": (change.ratio - 1.0) * 100.0
        if isinstance(change, TimeChange) and change.ratio is not None
        else change.delta_pct,
        **{key: None if ratio is None else (ratio - 1.0) * 100.0 for key, ratio in ends.items()},
        "p": change.p,
        "reason": change.reason,
    }


def _gap(gap: HistoryGap, one: KernelHistory) -> Json:
    return {**_where(gap), "status": gap.status, **_whose(one), "error": gap.why or None}


def _break(found: HistoryBreak, one: KernelHistory) -> Json:
    return {**_whose(one), "run_a": found.before.meta.id, "run_b": found.after.meta.id, "reason": found.why}


def history_rows(history: History) -> list[Row]:
    """Return flat rows for CSV: points and gaps in order."""
    rows: list[Row] = []
    for one in history.kernels:
        changes = {change.first.meta.id: change_document(change.change) for change in one.changes}
        problem = one.problem
        size = {"m": problem.m, "n_columns": problem.n, "k": problem.k} if problem else {}
        for row in one.rows:
            if isinstance(row, HistoryPoint):
                rows.append({**_point(row, one), **size, **changes.get(row.meta.id, {})})
            else:
                rows.append({**_gap(row, one), **size})
    return rows
