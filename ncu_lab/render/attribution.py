"""Why a launch takes longer or shorter than another: the waterfall from A to B, and its place in documents.

Rows follow the visual specification: instructions; then warps in flight and the stall reasons as they stack, with
their net in one bracket, since they trade (fewer warps wait less each and hide less); imbalance and clock; the residual
always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ncu_lab.model import Attribution, Chain, Json, Part, Unattributed
from ncu_lab.render import numbers
from ncu_lab.render.numbers import THIN
from ncu_lab.render.tables import Column, Row, markdown_table
from ncu_lab.render.terminal import BAD, GOOD, MUTED, Terminal
from ncu_lab.render.wording import reason_name

LEAST_SHARE = 0.015
"""Stall reasons that moved the duration by less of A's are summed up in one row."""

NET = "stalls ÷ warps"
LEAST_BAR = 8
MOST_BAR = 60


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """One row of the waterfall.

    Attributes:
        label: The factor, as people call it.
        values: ``A's value → B's value``; empty where several factors are summed.
        ns: What it did to the duration.
        start_ns: Where its bar begins; it ends at ``start_ns + ns``.
        bracket: Its place in the bracket around stalls and warps; empty outside.
        factor: As in :class:`Part`; ``stall:…``, ``smaller``, ``net`` and ``residual`` beside them.
    """

    label: str
    values: str
    ns: float
    start_ns: float
    factor: str
    bracket: Literal["", "first", "inner", "last"] = ""


def waterfall(attribution: Attribution) -> list[WaterfallRow]:
    """Return the rows from A's duration to B's; all but the net sum to their difference."""
    least = LEAST_SHARE * attribution.a_ns
    large = [part for part in attribution.stalls if abs(part.ns) >= least]
    small = [part for part in attribution.stalls if abs(part.ns) < least and part.ns != 0]
    if len(small) == 1:
        large, small = [part for part in attribution.stalls if part in large or part in small], []
    rows = [_step(attribution.part("instructions"))]
    traded = [_step(attribution.part("warps")), *map(_step, large)]
    if small:
        words = f"{len(small)} smaller waits"
        traded.append(WaterfallRow(words, "", sum(part.ns for part in small), 0.0, "smaller"))
    rows += [replace(row, bracket="inner" if place else "first") for place, row in enumerate(traded)]
    rows += [_step(attribution.part("imbalance")), _step(attribution.part("clock"))]
    rows.append(WaterfallRow("residual", "", attribution.residual_ns, 0.0, "residual"))
    return _placed(rows, attribution, after=len(traded) + 1)


def _placed(rows: Sequence[WaterfallRow], attribution: Attribution, after: int) -> list[WaterfallRow]:
    """Let each row begin where the one before ends, and close the bracket with its net."""
    placed: list[WaterfallRow] = []
    at = attribution.a_ns
    for row in rows:
        placed.append(replace(row, start_ns=at))
        at += row.ns
    net = WaterfallRow(NET, "net", attribution.net_ns, placed[1].start_ns, "net", "last")
    return [*placed[:after], net, *placed[after:]]


def _step(part: Part) -> WaterfallRow:
    name = reason_name(part.reason) if part.reason is not None else part.factor
    return WaterfallRow(name, value_change(part), part.ns, 0.0, part.factor)


def value_change(part: Part) -> str:
    """Write a factor's values: ``6.62 M → 4.64 M`` instructions, ``3.84 → 1.95`` warps, ``1.98 → 1.97 GHz``."""
    write = {"instructions": numbers.count, "imbalance": numbers.ratio, "clock": numbers.frequency}.get(
        part.factor, numbers.significant
    )
    before, after = write(part.value_a), write(part.value_b)
    number, _, unit = before.rpartition(THIN)
    if unit and after.endswith(f"{THIN}{unit}"):
        before = number
    return f"{before} → {after}"


def print_waterfall(attribution: Attribution, terminal: Terminal) -> None:
    """Print the rows with their bars: a bar begins where the one above ends."""
    brackets = {"": "  ", "first": "┌ ", "inner": "│ ", "last": "└ "}
    written = written_rows(attribution)
    rows = [row for row, _, _ in written]
    cells = [(brackets[row.bracket] + row.label, row.values, change, share) for row, change, share in written]
    label, values, change, share = (max(len(line[i]) for line in cells) for i in range(4))
    room = min(MOST_BAR, terminal.width - (label + values + change + share) - 2 * 5)
    for row, line in zip(rows, cells, strict=True):
        text = f"  {line[0]:<{label}}  {line[1]:<{values}}  {line[2]:>{change}}  {line[3]:>{share}}"
        style = MUTED if row.factor in ("net", "residual") else GOOD if row.ns < 0 else BAD
        bar = _bar(row, rows, room) if room >= LEAST_BAR else ""
        terminal.line(text, *([("  " + bar, style)] if bar else []))


def _bar(row: WaterfallRow, rows: Sequence[WaterfallRow], room: int) -> str:
    """Draw the stretch between where a row begins and ends, among all that the waterfall passes; thin for the net."""
    ends = [end for one in rows for end in (one.start_ns, one.start_ns + one.ns)]
    low, high = min(ends), max(ends)
    if high <= low or row.ns == 0:
        return ""
    left, right = sorted(round((end - low) / (high - low) * room) for end in (row.start_ns, row.start_ns + row.ns))
    left = min(left, room - 1)
    return " " * left + ("─" if row.factor == "net" else "━") * max(1, right - left)


def unattributed_words(why: Unattributed, a: str = "A", b: str = "B") -> str:
    """Say why a change cannot be split, and what would help; ``a`` and ``b`` name the two launches."""
    side = "" if len(why.sides) > 1 else f" of {a if 'a' in why.sides else b}"
    if why.why == "not_collected":
        names = " ".join(f"--section {section}" for section in why.sections)
        return f"not collected{side}: {names or '--metrics ' + ','.join(why.metrics)}"
    if why.why == "undefined":
        return f"undefined{side}: {', '.join(why.metrics)} is zero or no number"
    missed = numbers.percent(None if why.error is None else why.error * 100.0)
    return f"not told{side}: its counters miss the duration by {missed}; are stall reasons missing?"


def attribution_document(attribution: Attribution | Unattributed | None) -> Json | None:
    """Build the JSON of a split: null where there is none."""
    if not isinstance(attribution, Attribution):
        return None
    return {
        "a_ns": attribution.a_ns,
        "b_ns": attribution.b_ns,
        "launch_a": attribution.launch_a,
        "launch_b": attribution.launch_b,
        "form": attribution.form,
        "parts": [
            {"factor": one.factor, "ns": one.ns, "log2": one.log2, "a": one.value_a, "b": one.value_b}
            for one in attribution.parts
        ],
        "residual_ns": attribution.residual_ns,
        "residual_log2": attribution.residual_log2,
        "stalls_and_warps_ns": attribution.net_ns,
        "log2": attribution.log2,
        "stall_families_log2": attribution.stall_families_log2,
    }


def lacking_document(attribution: Attribution | Unattributed | None) -> Json | None:
    """Build the JSON of why there is no split: null where there is one, or nothing to split."""
    if not isinstance(attribution, Unattributed):
        return None
    return {
        "why": attribution.why,
        "sides": list(attribution.sides),
        "metrics": list(attribution.metrics),
        "sections": list(attribution.sections),
        "error": attribution.error,
    }


def part_rows(attribution: Attribution) -> list[Row]:
    """Return every part and the residual as flat rows of full precision."""
    parts: list[Row] = [
        {"factor": one.factor, "value_a": one.value_a, "value_b": one.value_b, "ns": one.ns, "log2": one.log2}
        for one in attribution.parts
    ]
    residual = {"factor": "residual", "ns": attribution.residual_ns, "log2": attribution.residual_log2}
    return [*parts, residual]


def waterfall_markdown(attribution: Attribution) -> str:
    """Write the waterfall as a Markdown table: without bars, the net beside what it sums."""
    rows = [
        {"factor": row.label, "values": row.values, "ns": change, "share": share}
        for row, change, share in written_rows(attribution)
    ]
    columns = [
        Column("factor", "factor", align="left"),
        Column("values", "A → B", align="left"),
        Column("ns", "part"),
        Column("share", "of A"),
    ]
    return markdown_table(rows, columns)


def written_rows(attribution: Attribution) -> list[tuple[WaterfallRow, str, str]]:
    """Return the rows with their part as a duration, all in one unit, and as a share of A's."""
    scale = max(attribution.a_ns, attribution.b_ns)
    return [
        (
            row,
            numbers.duration_change(row.ns, scale),
            numbers.signed(numbers.percent(row.ns / attribution.a_ns * 100.0, table=True)),
        )
        for row in waterfall(attribution)
    ]


def chain_document(chain: Chain | None) -> Json | None:
    """Build the JSON of the longest row of steps: null without any."""
    if chain is None:
        return None
    return {
        "stages": list(chain.stages),
        "log2": dict(chain.log2),
        "stall_families_log2": dict(chain.stall_families_log2),
        "total_log2": chain.total_log2,
    }
