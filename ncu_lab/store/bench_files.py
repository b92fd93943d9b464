"""What ``bench --save`` measured, in the folder ``bench`` of a store: one JSON file each, written whole or not at all.

They are no runs: nothing was profiled, so that no command that shows counters would have anything to show of them.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError
from ncu_lab.model import SCHEMA, Json, Notice, TimingSample
from ncu_lab.model.bench_record import BenchRecord
from ncu_lab.store.encoding import decode, encode

FOLDER = "bench"
_UNREADABLE = "bench_unreadable"
_COLUMNS = tuple(field.name for field in fields(TimingSample))
_DECIMALS = 1
"""Of nanoseconds: events resolve half a microsecond, and times in FP32 carry digits that mean nothing."""


def write_bench(store: Path, record: BenchRecord) -> Path:
    """Write a record and return its file: ``bench/20261130T011207-4096x4096x4096-91c3.json``.

    Raises:
        EnvironmentLacksError: When the store cannot be written.
    """
    problem = record.problem
    moment = re.sub(r"[-:]|\+.*", "", record.created)
    name = f"{moment}-{problem.m}x{problem.n}x{problem.k}-{secrets.token_hex(2)}.json"
    file = store / FOLDER / name
    temporary = file.with_name(f".{name}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(_text(record), encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        with suppress(OSError):  # the error that is told is the first
            temporary.unlink()
        raise EnvironmentLacksError(f"{file.parent} cannot be written: {error.strerror or error}") from error
    return file


def _text(record: BenchRecord) -> str:
    """Write a record with a line for each sample: hundreds of them, whose names would take more than their values."""
    document: Json = encode(record)
    rows = [[_rounded(sample[name]) for name in _COLUMNS] for sample in document.pop("samples")]
    lines = ",\n".join(f"  {json.dumps(row, allow_nan=False)}" for row in rows)
    head = json.dumps({**document, "sample_columns": _COLUMNS}, indent=1, allow_nan=False)
    return f'{head[:-2]},\n "samples": [\n{lines}\n ]\n}}\n'


def _rounded(value: Any) -> Any:
    return round(value, _DECIMALS) if isinstance(value, float) else value


def read_benches(store: Path) -> tuple[list[BenchRecord], list[Notice]]:
    """Return all records of a store, oldest first, and what of them cannot be read; none where there is no store."""
    records: list[BenchRecord] = []
    notices: list[Notice] = []
    for file in sorted((store / FOLDER).glob("*.json")):
        try:
            records.append(_read(file))
        except InputError as error:
            notices.append(Notice(_UNREADABLE, f"{error.message}; what it measured is left out"))
    return sorted(records, key=lambda one: one.created), notices


def _read(file: Path) -> BenchRecord:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is no JSON: {error}") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise InputError(f"{file} has schema {schema}, this version reads up to {SCHEMA}")
    try:
        samples = _named(data["sample_columns"], data["samples"])
        record: BenchRecord = decode(BenchRecord, {**data, "samples": samples})
    except KeyError as error:
        raise InputError(f"{file} is no record of a bench: {error} is missing") from error
    except (TypeError, ValueError) as error:
        raise InputError(f"{file} is no record of a bench: {error}") from error
    except NcuLabError as error:  # a problem of no matrix
        raise InputError(f"{file} is no record of a bench: {error.message}") from error
    if flaw := _flaw(record):
        raise InputError(f"{file} is no record of a bench: {flaw}")
    return record


def _flaw(record: BenchRecord) -> str:
    """Say what no bench can have measured; empty when nothing is wrong."""
    for index, sample in enumerate(record.samples):
        if not 0.0 < sample.ns < math.inf:
            return f"samples[{index}].ns is {sample.ns:g}, no time"
        told = (sample.sm_clock_mhz, sample.power_w, sample.temperature_c)
        if not all(one is None or math.isfinite(one) for one in told):
            return f"samples[{index}] has a clock, power or temperature that is no finite number"
    sampled = {sample.subject for sample in record.samples}
    if lacking := [stage for stage in record.stages if stage not in sampled]:
        return f"no samples of {', '.join(lacking)}"
    return "" if record.stages else "it is of no stage"


def _named(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[Json]:
    return [dict(zip(columns, row, strict=True)) for row in rows]
