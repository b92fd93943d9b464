"""``noise`` for people and programs: how well each quantity repeats, measured or taken for granted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ncu_lab.metrics import METRICS
from ncu_lab.model import TIME_KEY, Json
from ncu_lab.model.noise import Repeatability, default_repeatability
from ncu_lab.model.noise_record import NoiseRecord
from ncu_lab.render import numbers
from ncu_lab.render.tables import Column, Row


def noise_rows(measured: Mapping[str, Repeatability]) -> list[Row]:
    """Return a row for each quantity: what was measured of it, else the default; shares as percentages."""
    rows: list[Row] = []
    for key in (TIME_KEY, *METRICS):
        default = default_repeatability(key)
        found = measured.get(key)
        shown = found.with_least_of(default) if found else default
        rows.append(
            {
                "key": key,
                "unit": "ns" if key == TIME_KEY else METRICS[key].unit,
                "class": "noisy" if key == TIME_KEY else METRICS[key].kind,
                "launches_pct": 100.0 * shown.launches,
                "processes_pct": 100.0 * shown.processes,
                "absolute": shown.absolute,
                "default_launches_pct": 100.0 * default.launches,
                "default_processes_pct": 100.0 * default.processes,
                "source": "measured" if found else "default",
            }
        )
    return rows


def _percent(key: str) -> Column:
    title = {
        "launches_pct": "launches",
        "processes_pct": "processes",
        "default_launches_pct": "default",
        "default_processes_pct": "processes",
    }[key]
    return Column(key, title, lambda row: _share(row[key]), priority=2 if key.startswith("default") else 0)


def _share(value: float) -> str:
    return "exact" if value == 0.0 else numbers.percent(value, digits=2)


NOISE_COLUMNS: Sequence[Column] = (
    Column("key", "quantity", align="left"),
    Column("class", "class", align="left", priority=3),
    _percent("launches_pct"),
    _percent("processes_pct"),
    Column("absolute", "at least", lambda row: numbers.significant(row["absolute"], 2) if row["absolute"] else "–"),
    Column("source", "from", align="left"),
    _percent("default_launches_pct"),
    Column("unit", "unit", align="left", priority=4),
)


def noise_title(record: NoiseRecord) -> str:
    """``NVIDIA H200 · 10 processes on 1 GPU · 2d · 2048³ · driver 580.1 · ncu 2025.3.1``."""
    parts = [
        record.device,
        f"{record.processes} processes on {record.units} GPU{'s' if record.units != 1 else ''}",
        ", ".join(record.kernels),
        record.problem,
        f"driver {record.driver}" if record.driver else None,
        f"ncu {record.ncu}" if record.ncu else None,
    ]
    return " · ".join(part for part in parts if part)


def noise_document(record: NoiseRecord | None) -> Json:
    """Return what the JSON document has before the rows: the record without its quantities."""
    if record is None:
        return {"record": None}
    known = asdict(record)
    del known["quantities"], known["schema"]
    return {"record": known}
