"""Two launches beside each other as tables for a page to draw: pairs of kernels, quantities, lines, waits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ncu_lab.model import Attribution, Json, LaunchSummary, RooflinePoint
from ncu_lab.model.comparison import MetricChange, MetricVerdict, MovedLine, Pair, TimeChange, TimeVerdict
from ncu_lab.render import numbers
from ncu_lab.render.attribution import waterfall
from ncu_lab.render.change_words import (
    MOST_PERCENT,
    SIGNS,
    evidence_words,
    metric_name,
    p_words,
    pair_name,
    share_words,
    value_words,
)
from ncu_lab.render.figures.dumbbell import WaitChange, WaitScale, wait_text
from ncu_lab.render.launch_tables import Cell, Row, Table
from ncu_lab.render.numbers import unbroken
from ncu_lab.render.palette import stall_label
from ncu_lab.render.roofs import short_name
from ncu_lab.render.visible import visible

CHIPS: Mapping[TimeVerdict | MetricVerdict, str] = {
    "faster": "better", "better": "better", "slower": "worse", "worse": "worse", "inconclusive": "unsure",
}  # fmt: skip
"""Verdict -> how its chip is coloured; the others are grey."""

MOST_PAIRS, MOST_LINES = 1000, 60
"""Rows that are drawn; how many more there are is said."""

_OCTAVES = 2.0
"""The ratio bar reaches from a quarter to four times; beyond it, it is full."""

_OVER_IDEAL = "_over_ideal"

_REPEATED = {"build:registers": "registers_per_thread", "build:shared_bytes": "shared_memory_per_block"}
"""What the compiler says that the report says too."""


def pair_keys(pairs: Sequence[Pair]) -> list[str]:
    """Name each pair for an address: its stage or kernel in B (in A where only A has it), numbered where it repeats."""
    keys: list[str] = []
    seen: dict[str, int] = {}
    for pair in pairs:
        launch = next(iter(pair.launches_b or pair.launches_a), None)
        name = (launch.stage or launch.function) if launch else ""
        seen[name] = seen.get(name, 0) + 1
        keys.append(name if seen[name] == 1 else f"{name}~{seen[name]}")
    return keys


def pairs_table(pairs: Sequence[Pair], chosen: str | None, into: str) -> Json:
    """Return the paired kernels; a row chooses its pair.

    Args:
        pairs: In their order.
        chosen: Key of the chosen one, as :func:`pair_keys` writes it.
        into: What a chosen key is put into.
    """
    problems = {one.run_b.problem for one in pairs if one.run_b}
    rows = [
        {"key": key, "chosen": key == chosen, "cells": _pair_cells(pair, into, several=len(problems) > 1)}
        for key, pair in zip(pair_keys(pairs), pairs, strict=True)
    ][:MOST_PAIRS]
    columns = [
        ("kernel", "text"), ("paired", "text"), ("confidence", "number"), ("A", "number"), ("B", "number"),
        ("B against A", "number"), ("verdict", "text"), ("how sure", "text wrap"),
    ]  # fmt: skip
    return _table(columns, rows, _more(len(pairs) - len(rows), "pair"))


def _pair_cells(pair: Pair, into: str, *, several: bool) -> list[Any]:
    time = pair.duration
    problem = pair.run_b.problem if several and pair.run_b else None
    name = f"{problem.label}  {pair_name(pair)}" if problem else pair_name(pair)
    before, after = (time.a_ns, time.b_ns) if time else (_profiled(pair.launches_a), _profiled(pair.launches_b))
    verdict: Any = _chip(time.verdict) if time else {"chip": "", "text": pair.status}
    return [
        {"place": unbroken(visible(name)), "choose": into},
        pair.status + (f" by {pair.matched_by}" if pair.matched_by else ""),
        number(numbers.significant(pair.confidence, 2), pair.confidence),
        number(numbers.duration(before), before),
        number(numbers.duration(after), after),
        number(_time_share(time), time.delta_pct if time else None),
        verdict,
        unbroken(visible(evidence_words(time))) if time else "longest launch, under the profiler",
    ]


def _profiled(launches: Sequence[LaunchSummary]) -> float | None:
    """Return the duration of the longest launch, under the profiler; None without any."""
    known = [value for one in launches if (value := one.value("duration_ns")) is not None]
    return max(known, default=None)


def _time_share(time: TimeChange | None) -> str:
    return numbers.MISSING if time is None or time.delta_ns is None else share_words(time)


def metrics_table(pair: Pair, metrics: Sequence[MetricChange], *, every: bool) -> Json:
    """Return what changed, quantity by quantity: exact ones, then the measured ones, with their verdicts and why.

    Args:
        pair: Whose time stands first among what is measured.
        metrics: Its quantities.
        every: Also those that are the same.
    """
    known = {one.key for one in metrics}
    told = [one for one in metrics if _REPEATED.get(one.key) not in known]
    shown = [one for one in told if every or one.verdict != "same"]
    rows: list[Json] = []
    for title, kind in (
        ("Exact: what repeats on every run, so a larger change is real", "exact"),
        ("Measured: judged against how they vary", "noisy"),
    ):
        own: list[Json] = [
            {"key": one.key, "chosen": False, "cells": _metric_cells(one, _parts(pair, one.key))}
            for one in shown
            if one.kind == kind
        ]
        if kind == "noisy" and pair.duration is not None:
            own.insert(0, {"key": "time", "chosen": False, "cells": _time_cells(pair.duration)})
        if own:
            rows += [{"key": kind, "group": title, "cells": []}, *own]
    left = len(told) - len(shown)
    columns = [
        ("quantity", "text"), ("A", "number"), ("B", "number"), ("B against A", "number"),
        ("÷4 · 1 · ×4", "text ratio-cell"), ("verdict", "text"), ("why", "text wrap"),
    ]  # fmt: skip
    same = f"{numbers.integer(left)} quantit{'y is' if left == 1 else 'ies are'} the same" if left else ""
    return _table(columns, rows, same)


def _time_cells(time: TimeChange) -> list[Any]:
    ratio = time.b_ns / time.a_ns if time.a_ns and time.b_ns and time.delta_ns is not None else None
    name = "Time, under the profiler" if time.source == "profiler" else "Time"
    return [
        name,
        number(numbers.duration(time.a_ns), time.a_ns),
        number(numbers.duration(time.b_ns), time.b_ns),
        number(_time_share(time), time.delta_pct),
        {"ratio": ratio_bar(ratio)},
        _chip(time.verdict),
        unbroken(evidence_words(time)),
    ]


def _parts(pair: Pair, key: str) -> str:
    """Say of a quotient what was divided by what: ``4.85 of 4.00 → 16.5 of 16.0``; empty for anything else."""
    if not key.endswith(_OVER_IDEAL):
        return ""
    name = key.removesuffix(_OVER_IDEAL)
    counted, ideal = pair.metric(f"{name}_per_request"), pair.metric(f"{name}_ideal")
    if counted is None or ideal is None:
        return ""
    sides = ((counted.a, ideal.a), (counted.b, ideal.b))
    return " → ".join(" of ".join(numbers.significant(value) for value in side) for side in sides) + " a request"


def _metric_cells(one: MetricChange, parts: str) -> list[Any]:
    name = metric_name(one.key).replace(" over ideal", " ÷ ideal")
    ratio = one.b / one.a if one.a and one.b is not None and one.delta is not None else None
    return [
        {"text": name[0].upper() + name[1:], "title": one.key},
        number(value_words(one.key, one.a, one.unit), one.a),
        number(value_words(one.key, one.b, one.unit), one.b),
        number(change_words(one), one.delta_pct),
        {"ratio": ratio_bar(ratio)},
        _chip(one.verdict),
        unbroken(_why(one, parts)),
    ]


def change_words(one: MetricChange) -> str:
    """Write B against A: in percent, as a factor where it is large, and as an amount where A is 0."""
    if one.delta is None:
        return numbers.MISSING
    if one.delta_pct is None:
        return "0" if one.delta == 0 else numbers.signed(value_words(one.key, one.delta, one.unit))
    if one.delta_pct > MOST_PERCENT and one.a and one.b:
        return f"×{numbers.significant(one.b / one.a)}"
    return "0" if one.delta == 0 else numbers.signed(numbers.percent(one.delta_pct, table=True))


def _why(one: MetricChange, parts: str) -> str:
    words = [text for text in (parts, one.reason) if text]
    if one.p is not None:
        words.append(p_words(one.p))
    if one.kind == "noisy" and one.n_a and one.n_b and one.verdict != "same":
        words.append(f"n = {one.n_a} + {one.n_b}")
    return ", ".join(words)


def ratio_bar(ratio: float | None) -> list[float]:
    """Return where the bar of a ratio begins and how long it is, in percent of its cell; 1 is the middle.

    On a log scale from a quarter to four times; nothing where there is no ratio.
    """
    if ratio is None or ratio < 0:
        return []
    log = math.log2(ratio) if ratio else -math.inf
    length = 50.0 * min(abs(log), _OCTAVES) / _OCTAVES
    return [round(50.0 - length if log < 0 else 50.0, 2), round(length, 2)]


def lines_table(lines: Sequence[MovedLine], address: Callable[[MovedLine], str | None]) -> Json:
    """Return the lines whose share of the samples moved, the farthest first.

    Args:
        lines: In that order.
        address: Where a line can be looked at; None for nowhere.
    """
    columns = [
        ("line", "text"), ("source", "text code"), ("A", "number"), ("B", "number"), ("points", "number"),
        ("", "text"),
    ]  # fmt: skip
    rows = [
        {"key": f"{line.file}:{line.line_a}:{line.line_b}", "chosen": False, "cells": _line_cells(line, address(line))}
        for line in lines[:MOST_LINES]
    ]
    return _table(columns, rows, _more(len(lines) - len(rows), "line"))


def _line_cells(line: MovedLine, link: str | None) -> list[Any]:
    place = f"{line.file.rpartition('/')[2]}:{line.line_b if line.line_b is not None else line.line_a}"
    state = "gone" if line.line_b is None else "new" if line.line_a is None else ""
    moved = f"was line {line.line_a}" if line.line_a and line.line_b and line.line_a != line.line_b else state
    where: Any = {"link": link, "text": visible(place)} if link else visible(place)
    points = numbers.signed(numbers.percent(line.delta * 100.0, table=True).removesuffix(f"{numbers.THIN}%"))
    return [
        where,
        {"code": visible((line.text or "text not in these runs").expandtabs(4).strip()), "file": ""},
        number(numbers.share(line.share_a, table=True), line.share_a),
        number(numbers.share(line.share_b, table=True), line.share_b),
        number(points, line.delta * 100.0),
        moved,
    ]


def waits_table(changes: Sequence[WaitChange], scale: WaitScale) -> Table:
    """Return every stall reason of both launches."""
    rows: list[Row] = [
        [
            stall_label(one.reason),
            Cell(wait_text(one.a, scale), one.a),
            Cell(wait_text(one.b, scale), one.b),
            Cell(wait_text(one.delta, scale), one.delta),
        ]
        for one in changes
    ]
    return ["Reason", "A", "B", "B − A"], rows


def waterfall_table(attribution: Attribution) -> Table:
    """Return the rows of the waterfall in nanoseconds, and as shares of A's duration."""
    scale = max(attribution.a_ns, attribution.b_ns)
    rows: list[Row] = [
        [
            row.label,
            row.values,
            Cell(numbers.duration_change(row.ns, scale), row.ns),
            Cell(numbers.share(row.ns / attribution.a_ns, table=True), row.ns / attribution.a_ns),
        ]
        for row in waterfall(attribution)
    ]
    return ["Factor", "A → B", "Part", "Of A"], rows


def roofline_table(a: RooflinePoint, b: RooflinePoint) -> Table:
    """Return where both launches stand."""
    rows: list[Row] = [
        [
            f"{letter}  {visible(point.stage)}",
            Cell(numbers.flop_rate(point.flop_per_s), point.flop_per_s),
            Cell(numbers.significant(point.intensity), point.intensity),
            Cell(numbers.share(point.share_of_roof, table=True), point.share_of_roof),
            short_name(point.bound),
        ]
        for letter, point in (("A", a), ("B", b))
    ]
    return ["Launch", "Speed", "FLOP per byte", "Of roof", "Roof"], rows


def number(text: str, value: float | None) -> Json | str:
    """Return a cell of a number: as it is read, and in full precision for CSV."""
    return unbroken(text) if value is None else {"text": unbroken(text), "value": value}


def _chip(verdict: TimeVerdict | MetricVerdict) -> Json:
    return {"chip": CHIPS.get(verdict, ""), "text": f"{SIGNS[verdict]} {verdict.replace('_', ' ')}"}


def _table(columns: Sequence[tuple[str, str]], rows: Sequence[Json], note: str) -> Json:
    return {
        "columns": [{"title": title, "kind": kind} for title, kind in columns],
        "rows": list(rows),
        "note": unbroken(note),
    }


def _more(count: int, what: str) -> str:
    return f"{numbers.integer(count)} more {what}{'' if count == 1 else 's'}" if count > 0 else ""
