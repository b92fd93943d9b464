"""The batch of shapes for people and programs: a row a shape and stage, or a row a shape with a column a stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ncu_lab.model import Problem
from ncu_lab.render import numbers
from ncu_lab.render.tables import Column, Row

_KEYS = (
    *("m", "n", "k", "stage", "variant", "median_ns", "spread_ns", "samples", "processes", "flop_per_s"),
    *("reference", "reference_way", "pct_of_reference", "pct_of_reference_low", "pct_of_reference_high", "timed"),
    *("pct_of_peak", "sm_clock_hz", "power_w", "created", "commit"),
)

CLOCK_TITLE = "end clock"
"""NVML tells the SM clock right after a sample, when a short one is over and the clock already up again."""


def ratio_words(row: Row) -> str:
    """Write the ratio to the reference with three decimals: ``1.098``; missing as an en dash."""
    return numbers.MISSING if row["pct_of_reference"] is None else f"{row['pct_of_reference'] / 100.0:.3f}"


def interval_words(row: Row) -> str:
    """Write its 99 % interval: ``1.094 – 1.101``."""
    low, high = row["pct_of_reference_low"], row["pct_of_reference_high"]
    return numbers.MISSING if low is None or high is None else f"{low / 100.0:.3f} – {high / 100.0:.3f}"


def shape_columns() -> list[Column]:
    """Return the columns of a row a shape and stage, as the terminal shows it."""
    return [
        Column("m", "m×n×k", lambda row: Problem(row["m"], row["n"], row["k"]).label, "left"),
        Column("stage", "stage", align="left"),
        Column("flop_per_s", "rate", lambda row: numbers.flop_rate(row["flop_per_s"])),
        Column("pct_of_reference", "ratio", ratio_words, style=_style),
        Column("interval", "99 % interval", interval_words, priority=1),
        Column("reference", "to", align="left", priority=3),
        Column("reference_way", "fastest way of it", align="left", priority=6, least=16),
        Column("timed", "lower", align="left", priority=7),
        Column("sm_clock_hz", CLOCK_TITLE, lambda row: numbers.frequency(row["sm_clock_hz"]), priority=4),
        Column("power_w", "power", lambda row: numbers.si(row["power_w"], "W", least=0), priority=5),
        Column("variant", "path", align="left", priority=8),
    ]


def flat_shape_columns() -> list[Column]:
    """Return the columns of the same rows for CSV: every value."""
    return [Column(key, key) for key in _KEYS]


def by_shape(rows: Sequence[Row]) -> tuple[list[Row], list[Column]]:
    """Return a row a shape and a column a stage: rate, ratio and interval in one cell, clock and power of all.

    Args:
        rows: One for each shape and stage.
    """
    stages = list(dict.fromkeys(row["stage"] for row in rows))
    shapes: dict[str, dict[str, Any]] = {}
    for row in rows:
        label = Problem(row["m"], row["n"], row["k"]).label
        shapes.setdefault(label, {"shape": label})[row["stage"]] = row

    def cell(stage: str) -> Column:
        return Column(stage, _title(stage, rows), lambda shape: _cell(shape.get(stage)))

    def seen(key: str) -> list[float]:
        return [value for row in rows if (value := row[key]) is not None]

    columns = [Column("shape", "m×n×k", align="left"), *map(cell, stages)]
    if seen("sm_clock_hz"):
        columns.append(Column("clock", CLOCK_TITLE, lambda shape: _range(shape, stages, "sm_clock_hz")))
    if seen("power_w"):
        columns.append(Column("power", "power", lambda shape: _range(shape, stages, "power_w")))
    return list(shapes.values()), columns


def commits_words(rows: Sequence[Row]) -> str | None:
    """Say what was measured at another commit than most: ``commit f536281; 1536³ at 952a7c3``.

    Args:
        rows: One for each shape and stage.

    Returns:
        None where all are of one commit.
    """
    counts = Counter(row["commit"] for row in rows)
    if len(counts) < 2:
        return None
    most, *others = (commit for commit, _ in counts.most_common())
    parts = [f"{_shapes_at(commit, rows)} at {_short(commit)}" for commit in others]
    return "; ".join([f"commit {_short(most)}", *parts])


def _shapes_at(commit: str | None, rows: Sequence[Row]) -> str:
    """Write the shapes of a commit; their stages too, where others of the shape are of another commit."""
    shapes: dict[str, list[Row]] = {}
    for row in rows:
        shapes.setdefault(Problem(row["m"], row["n"], row["k"]).label, []).append(row)
    words = []
    for label, here in shapes.items():
        stages = [row["stage"] for row in here if row["commit"] == commit]
        if stages:
            words.append(label if len(stages) == len(here) else f"{label} ({', '.join(stages)})")
    return ", ".join(words)


def _short(commit: str | None) -> str:
    return commit[:7] if commit else "an unknown one"


def _title(stage: str, rows: Sequence[Row]) -> str:
    reference = next(row["reference"] for row in rows if row["stage"] == stage)
    return stage if reference is None else f"{stage} : {reference}"


def _cell(row: Row | None) -> str:
    if row is None:
        return numbers.MISSING
    rate = numbers.flop_rate(row["flop_per_s"])
    if row["pct_of_reference"] is None:
        return rate
    return f"{rate}, {ratio_words(row)} ({interval_words(row)})"


def _range(shape: Row, stages: Sequence[str], key: str) -> str:
    """Write the least and the largest of a shape's stages: ``1.75 – 1.98 GHz``."""
    values = sorted(row[key] for stage in stages if (row := shape.get(stage)) is not None and row[key] is not None)
    if not values:
        return numbers.MISSING
    write = numbers.frequency if key == "sm_clock_hz" else lambda value: numbers.si(value, "W", least=0)
    words = list(dict.fromkeys(write(value) for value in (values[0], values[-1])))
    return " – ".join(words)


def _style(row: Row) -> str:
    ratio = row["pct_of_reference"]
    return "" if ratio is None else "green" if ratio >= 100.0 else "yellow"
