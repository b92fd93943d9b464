"""Words for a quantity over commits: values, and what a change was."""

from __future__ import annotations

from ncu_lab.model import TIME_KEY
from ncu_lab.model.bisection import Probe
from ncu_lab.model.comparison import MetricChange, TimeChange
from ncu_lab.model.history import Change, HistoryGap, HistoryPoint, KernelHistory
from ncu_lab.render import numbers
from ncu_lab.render.change_words import MOST_PERCENT, SIGNS, metric_name, p_words, share_words, value_words
from ncu_lab.render.numbers import MISSING

STATUS_WORDS = {
    "build_failed": "build failed",
    "check_failed": "wrong result",
    "profile_failed": "profile failed",
    "damaged": "run damaged",
}


def quantity_name(key: str) -> str:
    """Name a quantity for people."""
    if key == TIME_KEY:
        return "time"
    return "profiled duration" if key == "duration_ns" else metric_name(key)


def amount(key: str, value: float | None, unit: str) -> str:
    """Write a value with its unit."""
    return numbers.duration(value) if unit == "ns" else value_words(key, value, unit)


def point_amount(key: str, point: HistoryPoint, unit: str) -> str:
    """Write a point with half its 99 % interval where it has one."""
    found = point.estimate
    if unit != "ns" or found.low is None or found.high is None:
        return amount(key, found.value, unit)
    return numbers.duration_spread(found.value, (found.high - found.low) / 2.0)


def step_words(change: Change) -> str:
    """``▲ +18.5 % ± 0.2``, ``✗ ×6.62``: how a quantity changed, without its values."""
    sign = SIGNS[change.verdict]
    if isinstance(change, TimeChange):
        return f"{sign} {share_words(change)}"
    return f"{sign} {_counter_share(change)}"


def _counter_share(change: MetricChange) -> str:
    percent = change.delta_pct
    if percent is None:
        return "from 0" if change.a == 0.0 else MISSING
    if abs(percent) > MOST_PERCENT / 10.0 or percent < -50.0:
        before, after = change.a or 0.0, change.b or 0.0
        factor = after / before
        return (
            f"×{numbers.significant(factor)}"
            if factor >= 1.0 or after == 0.0
            else f"÷{numbers.significant(1 / factor)}"
        )
    return numbers.signed(numbers.percent(percent, table=True))


def chance_words(change: Change) -> str:
    """``p = 1e-5``; ``exact`` for a counter that repeats."""
    if change.p is not None:
        return p_words(change.p)
    return "exact" if isinstance(change, MetricChange) and change.kind == "exact" else ""


def gap_words(gap: HistoryGap) -> str:
    """``build failed: stage gram does not compile``."""
    status = STATUS_WORDS.get(gap.status, gap.status)
    return f"{status}: {gap.why}" if gap.why else status


def kernel_title(history: KernelHistory) -> str:
    """``gram · 2048³ · NVIDIA H200``."""
    problem = history.problem.label if history.problem else ""
    return " · ".join(word for word in (history.name, problem, history.device or "") if word)


def commit_words(point: HistoryPoint) -> str:
    """``fb5c188``, with a plus where the tree was edited; the run's time where history goes by time."""
    commit = point.commit.short if point.commit else (point.meta.git.commit or "")[:7]
    return commit + ("+" if point.is_dirty else "") if commit else MISSING


def probe_words(key: str, probe: Probe, unit: str) -> str:
    """Say what became of a commit that was looked at."""
    if probe.point is None:
        return f"skipped: {probe.why}"
    return point_amount(key, probe.point, unit)
