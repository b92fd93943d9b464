"""What stages were expected to show, judged by what was measured: met, missed or not collected.

Bounds, sources and arithmetic are declared in ``kernels/stages.toml``; nothing here knows a stage. What the
measurements cannot tell is never judged: it is not collected, with what would tell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from ncu_lab.metrics import METRICS
from ncu_lab.metrics.catalogue import SOURCE
from ncu_lab.metrics.names import SHARED_WAVEFRONTS
from ncu_lab.model import TIMED_UNITS, Expectation, Finding, LadderRow, LaunchSummary
from ncu_lab.model.expectations import BUILD, SASS, STALL

Measured = tuple[float | None, str]
"""A value and, where there is none, what would tell it."""


def judge(row: LadderRow, rows: Mapping[str, LadderRow]) -> tuple[Finding, ...]:
    """Judge everything that is expected of one stage.

    Args:
        row: The stage's measurements.
        rows: Stage id -> row of all that were measured, for what is expected against another stage.

    Returns:
        One finding an expectation, in their order.
    """
    return tuple(_finding(one, row, rows) for one in row.stage.expect)


def _finding(one: Expectation, row: LadderRow, rows: Mapping[str, LadderRow]) -> Finding:
    value, lacks = _measured(one, row, rows)
    if value is None:
        return Finding(one, "not_collected", lacks=lacks)
    above = math.inf if one.low is None else value - one.low
    below = math.inf if one.high is None else one.high - value
    margin = min(above, below)
    return Finding(one, "met" if margin >= 0 else "missed", value, margin)


def _measured(one: Expectation, row: LadderRow, rows: Mapping[str, LadderRow]) -> Measured:
    """Return the value that the bounds of an expectation are of: a quotient where it is against another stage."""
    size = min(row.problem.m, row.problem.n, row.problem.k)
    if size < one.min_size:
        return None, f"a problem of at least {one.min_size}³"
    if one.kernel and (row.summary is None or row.summary.function != one.kernel):
        return None, f"a profile of a problem that {one.kernel} is launched for"
    if one.per_instruction and row.summary and SHARED_WAVEFRONTS not in row.summary.readings[one.key].metric:
        return None, f"--section {SOURCE}"
    value, lacks = _quantity(one.key, row)
    if value is None or one.against is None:
        return value, lacks
    other = rows.get(one.against)
    if other is None:
        return None, f"a run of {one.against}"
    if one.key in TIMED_UNITS and other.time_source != row.time_source:
        return None, f"times of {one.against} and {row.stage.id} by one source"
    below, lacks = _quantity(one.key, other)
    if below is None:
        return None, f"of {one.against}: {lacks}"
    return (value / below, "") if below else (None, f"{one.against} above 0")


def _quantity(key: str, row: LadderRow) -> Measured:
    """Return one quantity of one stage."""
    if key in TIMED_UNITS:
        return _timed(key, row)
    if key.startswith((BUILD, SASS)):
        return _built(key, row)
    if row.summary is None:
        return None, "counters: ncu-lab profile"
    if key.startswith(STALL):
        return _stall(key.removeprefix(STALL), row.summary)
    reading = row.summary.readings[key]
    if reading.missing:
        return None, f"--section {METRICS[key].section}"
    return reading.value, "no such access in the kernel" if reading.value is None else ""


def _timed(key: str, row: LadderRow) -> Measured:
    """Return what comes from times: the step over the predecessor, % of the reference, or 10^9 FLOP/s of 2·m·n·k."""
    if key == "step":
        return row.step, f"a time beside that of {row.stage.predecessor}"
    if key == "pct_of_reference":
        share = row.share_of_reference
        return None if share is None else 100.0 * share, f"a time beside that of {row.stage.reference}"
    return None if row.flop_per_s is None else row.flop_per_s / 1e9, "a time"


def _built(key: str, row: LadderRow) -> Measured:
    """Return a figure of the compiler, or how often an opcode stands in the machine code (0 where it does not)."""
    if row.build is None:
        return None, "a build: ncu-lab profile"
    if key.startswith(BUILD):
        return float(getattr(row.build, key.removeprefix(BUILD))), ""
    if row.build.sass_mix is None:
        return None, "a disassembler at build time: ncu-lab doctor"
    return float(row.build.sass_mix.get(key.removeprefix(SASS), 0)), ""


def _stall(reason: str, summary: LaunchSummary) -> Measured:
    """Return a wait's share of all warp-cycles, 0 to 1."""
    stalls = summary.stalls
    if not stalls:
        return None, f"--section {METRICS['warp_cycles_per_instruction'].section}"
    return stalls.get(reason), f"a GPU whose counters tell {reason}"
