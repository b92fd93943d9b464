"""What the History page shows, as its address says it, and which rows of a history a range means."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args
from urllib.parse import parse_qsl, urlencode

from ncu_lab.metrics import METRICS
from ncu_lab.model import SHARE_KEY, TIME_KEY
from ncu_lab.model.history import HistoryGap, HistoryPoint, KernelHistory
from ncu_lab.render.palette import ThemeName
from ncu_lab_dash.compare_view import compare_address
from ncu_lab_dash.kernel_view import kernel_address
from ncu_lab_dash.told import one_of, reference_of, text_of

KEYS: tuple[str, ...] = (TIME_KEY, SHARE_KEY, *METRICS)
"""What can be followed."""

COUNTERS: tuple[str, ...] = tuple(key for key, metric in METRICS.items() if metric.kind == "exact")
"""What can be drawn as steps below it: it repeats exactly, so every step is one."""

BELOW = ("registers_per_thread", "instructions_issued")
"""Counters that are drawn below unless others are chosen."""

MOST_BELOW = 4
LASTS = (12, 48)
"""Ranges that are offered: so many last rows."""

_LAST = "last"
_BETWEEN = ".."
_NONE = "none"

HistoryRow = HistoryPoint | HistoryGap


@dataclass(frozen=True, slots=True)
class HistoryView:
    """One view of the page; None leaves the choice to the page.

    Attributes:
        metric: What is followed; what is none of :data:`KEYS` as it was asked for, and the page says so.
        stage: The stage, or a kernel of another program as :func:`ncu_lab_dash.history_data.kernel_key` writes it.
        problem: Key of a problem, as :func:`ncu_lab_dash.data.problem_key` writes it.
        device: Name of a GPU.
        range: The rows shown: ``last12``, or ``8bb91d8..fb5c188`` from one row's key to another's; None for all.
        below: Exact counters drawn below.
        theme: Only if chosen.
    """

    metric: str = TIME_KEY
    stage: str | None = None
    problem: str | None = None
    device: str | None = None
    range: str | None = None
    below: tuple[str, ...] = BELOW
    theme: ThemeName | None = None

    def search(self) -> str:
        """Write the view as the query of an address; what is as by default is left out."""
        default = HistoryView()
        changed = {
            name: value
            for name in self.__slots__
            if (value := getattr(self, name)) not in (None, getattr(default, name))
        }
        if "below" in changed:
            changed["below"] = ",".join(self.below) or _NONE
        return f"?{urlencode(changed)}" if changed else ""


def read_search(search: Any) -> HistoryView:
    """Read a query as :func:`read_view` does."""
    text = search if isinstance(search, str) else ""
    return read_view(dict(parse_qsl(text.removeprefix("?"))))


def read_view(found: Mapping[str, Any]) -> HistoryView:
    """Read a view from values by field, of whatever kind a browser sent; what is of no use becomes the default."""
    default = HistoryView()
    return HistoryView(
        metric=reference_of(found.get("metric")) or default.metric,
        stage=text_of(found.get("stage")),
        problem=text_of(found.get("problem")),
        device=text_of(found.get("device")),
        range=text_of(found.get("range")),
        below=_below(found.get("below")),
        theme=one_of(found.get("theme"), get_args(ThemeName), None),
    )


def _below(told: Any) -> tuple[str, ...]:
    if told is None:
        return BELOW
    named = told.split(",") if isinstance(told, str) else told if isinstance(told, list | tuple) else ()
    return tuple(dict.fromkeys(key for key in named if key in COUNTERS))[:MOST_BELOW]


def row_key(row: HistoryRow) -> str:
    """Name a row in an address: its commit, with a ``~`` where its tree was edited; its run where there is none."""
    if row.commit is None:
        return row.meta.id
    return f"{row.commit.short}{'~' if row.meta.git.dirty else ''}"


def places_shown(history: KernelHistory, told: str | None) -> tuple[int, int]:
    """Return the first and the last row that a range means; all of them where it means none."""
    whole = (0, len(history.rows) - 1)
    if told is None:
        return whole
    if told.startswith(_LAST) and told[len(_LAST) :].isdecimal():
        return max(0, len(history.rows) - max(1, int(told[len(_LAST) :][:9]))), whole[1]
    keys = [row_key(row) for row in history.rows]
    first, parted, last = told.partition(_BETWEEN)
    if not parted or first not in keys or last not in keys:
        return whole
    low, high = sorted((keys.index(first), keys.index(last)))
    return low, high


def cut(history: KernelHistory, told: str | None) -> KernelHistory:
    """Return the rows that a range means, with the changes and breaks at them."""
    first, last = places_shown(history, told)
    rows = history.rows[first : last + 1]
    there = {row.meta.id for row in rows}
    return replace(
        history,
        rows=rows,
        changes=tuple(one for one in history.changes if one.first.meta.id in there),
        breaks=tuple(one for one in history.breaks if one.after.meta.id in there),
    )


def dragged(history: KernelHistory, told: Any) -> str | None:
    """Return the range that was dragged out in the figure of a history; None when nothing was, or all of it.

    Between two rows lies the nearer one.

    Args:
        history: The rows that the figure shows, each as wide as 1 on the axis and centred on its number.
        told: The ends of what was dragged out, as a browser tells them.
    """
    ends = [float(end) for end in (told if isinstance(told, list) else ()) if isinstance(end, int | float)]
    if len(ends) != 2 or not all(map(math.isfinite, ends)) or not history.rows:
        return None
    low, high = sorted(min(max(end, 0.0), len(history.rows) - 1.0) for end in ends)
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        first = last = round((low + high) / 2.0)
    if first == 0 and last == len(history.rows) - 1:
        return None
    return f"{row_key(history.rows[first])}{_BETWEEN}{row_key(history.rows[last])}"


def predecessor(points: Sequence[HistoryPoint], run: str) -> HistoryPoint | None:
    """Return the point that a point is compared with: the one before, which is of its commit alone where that counts.

    An edited tree is compared with what stands before it, and nothing with an edited tree of a line of commits.
    """
    before: HistoryPoint | None = None
    for point in points:
        if point.meta.id == run:
            return before
        if not (point.is_dirty and point.commit is not None):
            before = point
    return None


def point_address(history: KernelHistory, run: str) -> str | None:
    """Return where a click on a point leads: to it beside its predecessor; the first alone; None for no point."""
    if run not in {point.meta.id for point in history.points}:
        return None
    before = predecessor(history.points, run)
    if before is None:
        return kernel_address(run, stage=history.stage)
    return compare_address(before.meta.id, run, stage_a=history.stage, stage_b=history.stage)
