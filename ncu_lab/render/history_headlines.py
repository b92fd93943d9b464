"""Sentences with the number in them: what one quantity did over commits, for titles of the History page."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from ncu_lab.metrics import METRICS
from ncu_lab.model import SHARE_KEY, TIME_KEY
from ncu_lab.model.history import ChangePoint, History, HistoryGap, HistoryPoint, KernelHistory, Order
from ncu_lab.render import numbers
from ncu_lab.render.headlines import count_word
from ncu_lab.render.history_words import STATUS_WORDS, amount, chance_words, commit_words, quantity_name, step_words
from ncu_lab.render.launch_tables import Cell, Row, Table
from ncu_lab.render.numbers import MISSING

_MOST_NAMED = 3
_MEANINGS = {
    TIME_KEY: "Time: median of unprofiled runs of the stage, timed with events.",
    SHARE_KEY: "FLOP/s of the stage over those of its reference, timed beside it.",
}


def subject_of(row: HistoryPoint | HistoryGap) -> str:
    """Return the message of a row's commit, as git or the run itself tells it; the run's name where neither does."""
    return (row.commit.subject if row.commit else row.meta.git.subject) or row.meta.name or MISSING


def banner(one: KernelHistory, history: History) -> tuple[str, str]:
    """Return the page's heading: the last change, or that there is none; and the evidence."""
    now = _amount(one.points[-1], history)
    if len(one.points) == 1:
        what = "commit" if history.order == "commits" else "run"
        evidence = f"A change needs two: another {what} shows here as soon as it is profiled."
        return f"One {what} so far: {now}", evidence
    if not one.changes:
        return f"No change in {_counted(one.points, history.order)}: {now}", _steadiness(one)
    last = one.changes[-1]
    level = "gradually, until" if last.is_gradual else "since"
    head = f"{step_words(last.change)} {level} {row_name(last.first)}: {last.change.verdict}, now {now}"
    chance = chance_words(last.change)
    values = f"{_amount(last.before, history)} → {_amount(last.after, history)}"
    return head, f"“{subject_of(last.first)}”: {values}{f', {chance}' if chance else ''}. {_tally(one, history.order)}"


def title(one: KernelHistory, history: History) -> str:
    """Return the figure's title: how often the quantity rose and fell in what is shown."""
    name = quantity_name(history.key)
    name = name[:1].upper() + name[1:]
    if not one.points:
        return f"{name}: no value in the rows shown"
    where = f"in {_counted(one.points, history.order)}"
    rises = sum(change.after.estimate.value > change.before.estimate.value for change in one.changes)
    ways = [("down", len(one.changes) - rises), ("up", rises)]
    told = [f"{way} {_times(count)}" for way, count in ways if count]
    if told:
        return f"{name}: {', '.join(told)} {where}"
    return f"{name}: {'not judged' if history.key == SHARE_KEY else 'no change'} {where}"


def foot(one: KernelHistory, history: History) -> str:
    """Return what a reader has to know: what the quantity is, and which commits have no run."""
    metric = METRICS.get(history.key)
    words = _MEANINGS.get(history.key) or (metric.meaning if metric else "")
    missing = one.not_profiled
    if missing:
        named = ", ".join(commit.short for commit in missing[:_MOST_NAMED])
        more = ", …" if len(missing) > _MOST_NAMED else ""
        verb = "has" if len(missing) == 1 else "have"
        noun = "commit" if len(missing) == 1 else "commits"
        words += f" {count_word(len(missing)).capitalize()} {noun} between them {verb} no run: {named}{more}."
    return words.strip()


def order_words(history: History) -> str:
    """Say how rows are ordered, and why where it is not by git."""
    if history.order == "commits":
        return "commits in the order of git, along first parents"
    if history.notices:
        return "runs in the order of time"
    return "runs in the order of time: there is no git repository beside this store"


def points_table(one: KernelHistory, history: History) -> Table:
    """Return every row as a table: its commit, value, interval and samples; a gap has none and tells why."""
    head = ["Commit", "Message", "State", f"{quantity_name(history.key)}", "Low", "High", "n", "Runs"]
    rows: list[Row] = []
    for row in one.rows:
        words = [row_name(row), subject_of(row)]
        if isinstance(row, HistoryGap):
            rows.append([*words, f"{STATUS_WORDS.get(row.status, row.status)}: {row.why}", *[MISSING] * 5])
            continue
        found = row.estimate
        state = "edited tree" if row.is_dirty else row.meta.status
        values = (found.value, found.low, found.high)
        cells = [Cell(MISSING if one is None else amount(history.key, one, history.unit), one) for one in values]
        rows.append([*words, state, *cells, Cell(str(found.n), found.n), Cell(str(row.runs), row.runs)])
    return head, rows


def row_name(row: HistoryPoint | HistoryGap) -> str:
    """Name a row: its commit, else the commit its run tells, else the run's day."""
    if isinstance(row, HistoryPoint):
        words = commit_words(row)
        return words if words != MISSING else row.meta.created[:10]
    if row.commit:
        return row.commit.short
    return row.meta.git.commit[:7] if row.meta.git.commit else row.meta.created[:10]


def changes_title(one: KernelHistory) -> str:
    """Return the title of the table of change points."""
    changes = f"{count_word(len(one.changes)).capitalize()} change point{'' if len(one.changes) == 1 else 's'}"
    return f"{changes}{_also(one)}"


def _also(one: KernelHistory) -> str:
    told = [
        f"{count_word(len(found))} {words if len(found) == 1 else many}"
        for found, words, many in (
            (one.breaks, "break in the record", "breaks in the record"),
            ([gap for gap in one.gaps if gap.status != "damaged"], "failed run", "failed runs"),
            ([gap for gap in one.gaps if gap.status == "damaged"], "damaged run", "damaged runs"),
        )
        if found
    ]
    return "".join(f", {words}" for words in told)


def _steadiness(one: KernelHistory) -> str:
    """Say how far the values of a line without changes lie apart."""
    values = [point.estimate.value for point in one.points]
    middle = statistics.median(values)
    if not middle:
        return f"Most values are 0, the largest {numbers.significant(max(values))}{_also(one)}."
    spread = (max(values) - min(values)) / abs(middle) * 100.0
    return f"Values differ by {numbers.percent(spread, table=True)} at most{_also(one)}."


def _tally(one: KernelHistory, order: Order) -> str:
    changes = f"{count_word(len(one.changes)).capitalize()} change{'' if len(one.changes) == 1 else 's'}"
    return f"{changes} in {_counted(one.points, order)}{_also(one)}."


def _counted(points: Sequence[HistoryPoint], order: Order) -> str:
    count = len(points)
    return f"{count_word(count)} {_noun(order)}{'' if count == 1 else 's'}"


def _noun(order: Order) -> str:
    return "commit" if order == "commits" else "run"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count_word(count)} times")


def _amount(point: HistoryPoint, history: History) -> str:
    return amount(history.key, point.estimate.value, history.unit)


def verdict_chip(change: ChangePoint) -> tuple[str, str]:
    """Return the kind of a verdict's chip and its words: icon and word, beside its colour."""
    verdict = change.change.verdict
    if verdict in ("faster", "better"):
        return "better", f"✓ {verdict}"
    return ("worse", f"✗ {verdict}") if verdict in ("slower", "worse") else ("", f"≠ {verdict}")
