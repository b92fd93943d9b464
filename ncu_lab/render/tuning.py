"""``tune`` for people and programs: every tile of a search, what the compiler made of it, and how far it came."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from ncu_lab.model import Candidate, Json, Outcome, TileChoice, TuningRecord
from ncu_lab.render import numbers
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import BAD, GOOD

_ORDER: Sequence[Outcome] = (
    "best", "finalist", "outpaced", "untried", "wrong", "crashed", "not_compiled", "rejected",
)  # fmt: skip
_WORDS: dict[Outcome, str] = {
    "best": "best",
    "finalist": "last rung",
    "outpaced": "outpaced",
    "untried": "",
    "wrong": "✗ wrong",
    "crashed": "✗ crashed",
    "not_compiled": "✗ not compiled",
    "rejected": "rejected",
}


def candidate_rows(record: TuningRecord) -> list[Row]:
    """Return a row for each tile: the best first, then by how far it came and its time there, the rejected last."""
    control = record.candidate(record.default).samples_ns if record.candidates else ()
    rows = [_row(one, record.default, control) for one in record.candidates]
    return sorted(
        rows,
        key=lambda row: (
            _ORDER.index(row["outcome"]),
            -row["rungs"],
            float("inf") if row["median_ns"] is None else row["median_ns"],
        ),
    )


def _row(one: Candidate, default: str, control: Sequence[Sequence[float]]) -> Row:
    rungs = len(one.samples_ns)
    last = statistics.median(one.samples_ns[-1]) if rungs else None
    beside = statistics.median(control[rungs - 1]) if last is not None and len(control) >= rungs else None
    return {
        "label": one.label,
        "tile": dict(one.tile),
        "outcome": one.outcome,
        "is_default": one.label == default,
        "rungs": rungs,
        "samples": len(one.samples_ns[-1]) if rungs else 0,
        "median_ns": last,
        "speedup_over_default": None if beside is None or last is None else beside / last,
        "registers": one.registers,
        "spill_bytes": one.spill_bytes,
        "shared_bytes": one.shared_bytes,
        "blocks_per_sm": one.blocks_per_sm,
        "occupancy": one.occupancy,
        "why": one.why,
        "samples_ns": [list(rung) for rung in one.samples_ns],
    }


def tile_columns(names: Iterable[str], *, timed: bool) -> list[Column]:
    """Return the columns of the tiles of a stage.

    Args:
        names: The sizes that a tile has.
        timed: Whether times are told, not what the compiler alone says.
    """
    columns = [
        Column("label", "×".join(names), _sizes, "left"),
        Column("outcome", "outcome", _outcome, "left", style=_style),
        Column("median_ns", "time", lambda row: numbers.duration(row["median_ns"])),
        Column("speedup_over_default", "of default", lambda row: numbers.ratio(row["speedup_over_default"])),
        Column("rungs", "rungs", priority=4),
        Column("samples", "n", priority=5),
        Column("registers", "registers", priority=1),
        Column("spill_bytes", "spills", lambda row: numbers.byte_count(row["spill_bytes"]), priority=3, style=_spilled),
        Column("shared_bytes", "shared", lambda row: numbers.byte_count(row["shared_bytes"]), priority=3),
        Column("blocks_per_sm", "blocks/SM", priority=2),
        Column("occupancy", "occupancy", lambda row: numbers.share(row["occupancy"]), priority=1),
        Column("why", "why", align="left", priority=6, least=16),
    ]
    dropped = () if timed else ("median_ns", "speedup_over_default", "rungs", "samples")
    return [one for one in columns if one.key not in dropped]


def _sizes(row: Row) -> str:
    return "×".join(str(size) for size in row["tile"].values())


def _outcome(row: Row) -> str:
    words = _WORDS[row["outcome"]]
    return f"{words}, default".lstrip(", ") if row["is_default"] else words or "–"


def _style(row: Row) -> str:
    return GOOD if row["outcome"] == "best" else BAD if _WORDS[row["outcome"]].startswith("✗") else ""


def _spilled(row: Row) -> str:
    return BAD if row["spill_bytes"] else ""


def rejections(record: TuningRecord) -> list[str]:
    """Say how many tiles were refused before compiling, by reason: the most frequent first, each with an example."""
    reasons: dict[str, list[Candidate]] = {}
    for one in record.candidates:
        if one.outcome == "rejected":
            reasons.setdefault(re.sub(r"\d+", "#", one.why), []).append(one)
    ordered = sorted(reasons.values(), key=len, reverse=True)
    return [f"{len(found)} as {found[0].label}: {found[0].why}" for found in ordered]


def tile_words(choice: TileChoice) -> str:
    """Say which tile a stage was built with and why: ``128×128×16×8×8, best of 128 tiles at 4096³ on 2026-11-30``."""
    sizes = "×".join(str(size) for size in choice.tile.values())
    return f"{sizes}, {'the default: ' if choice.source == 'default' else ''}{choice.reason}"


def tuning_title(record: TuningRecord) -> str:
    """``autotuned · 4096³ · NVIDIA H200 · 576 tiles: 271 rejected, 177 left out by the budget, 128 tried``."""
    outcomes = Counter(one.outcome for one in record.candidates)
    tried = len(record.candidates) - outcomes["rejected"]
    parts = [f"{outcomes['rejected']} rejected"]
    parts += [f"{record.left_out} left out by the budget"] if record.left_out else []
    parts += [f"{tried} {'to try' if not record.rungs else 'tried'}"]
    total = len(record.candidates) + record.left_out
    return f"{record.stage} · {record.problem.label} · {record.device} · {total} tiles: {', '.join(parts)}"


def rung_words(record: TuningRecord) -> str:
    """``rungs: 128 tiles × 4 samples → 64 × 8 → 32 × 16 → 5 × 32``; nothing before the first."""
    steps = [f"{len(rung.entrants)} × {rung.samples}" for rung in record.rungs]
    return f"rungs, tiles × samples: {' → '.join(steps)}" if steps else ""


def best_words(record: TuningRecord) -> str:
    """Say what was found: ``best BM128-… 3.36 ms, 1.03× the default beside it (3.46 ms)``; nothing without a result."""
    rows = candidate_rows(record)
    if record.best is None or not rows:
        return ""
    best = rows[0]
    words = f"best {best['label']} at {numbers.duration(best['median_ns'])}"
    if best["is_default"]:
        return f"{words}: the default, no other tile was faster beside it"
    if best["speedup_over_default"] is None:
        return f"{words}; the default does not fit this shape"
    return f"{words}, {numbers.ratio(best['speedup_over_default'])} as fast as the default beside it"


def tuning_document(record: TuningRecord, file: Path | None) -> Json:
    """Return what the JSON document has before the tiles."""
    problem = record.problem
    return {
        "stage": record.stage,
        "device": record.device,
        "problem": {"m": problem.m, "n": problem.n, "k": problem.k},
        "shape_class": record.shape_class,
        "created": record.created,
        "default": record.default,
        "best": record.best,
        "left_out": record.left_out,
        "budget": record.budget,
        "driver": record.driver,
        "nvcc": record.nvcc,
        "rungs": [
            {"entrants": len(rung.entrants), "samples": rung.samples, "survivors": rung.survivors}
            for rung in record.rungs
        ],
        "file": None if file is None else str(file),
    }


def search_rows(found: Sequence[tuple[Path, TuningRecord]]) -> list[Row]:
    """Return a row for each stored search, in the order given."""
    rows: list[Row] = []
    for file, record in found:
        best = candidate_rows(record)[0] if record.best is not None else None
        rows.append(
            {
                "stage": record.stage,
                "device": record.device,
                "shape_class": record.shape_class,
                "problem": record.problem.label,
                "best": record.best,
                "median_ns": best["median_ns"] if best else None,
                "speedup_over_default": best["speedup_over_default"] if best else None,
                "tried": sum(1 for one in record.candidates if one.samples_ns),
                "created": record.created,
                "file": str(file),
            }
        )
    return rows


SEARCH_COLUMNS: Sequence[Column] = (
    Column("stage", "stage", align="left"),
    Column("problem", "problem", align="left"),
    Column("device", "device", align="left", priority=2),
    Column("best", "best", lambda row: row["best"] or "unfinished", "left"),
    Column("median_ns", "time", lambda row: numbers.duration(row["median_ns"])),
    Column("speedup_over_default", "of default", lambda row: numbers.ratio(row["speedup_over_default"])),
    Column("tried", "tiles", priority=4),
    Column("created", "when", align="left", priority=3),
    Column("shape_class", "shape class", align="left", priority=5),
    Column("file", "file", align="left", priority=6, least=20),
)
