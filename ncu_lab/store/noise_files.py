"""What A/A runs measured, in the folder ``noise`` of a store: one JSON file each, written whole or not at all."""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from pathlib import Path

from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.model import SCHEMA, Notice
from ncu_lab.model.noise_record import NoiseRecord
from ncu_lab.store.encoding import decode, encode

FOLDER = "noise"
_UNREADABLE = "noise_unreadable"


def write_noise(store: Path, record: NoiseRecord) -> Path:
    """Write a record and return its file: ``noise/nvidia-h200-20261130T011207-91c3.json``.

    Raises:
        EnvironmentLacksError: When the store cannot be written.
    """
    model = re.sub(r"[^a-z0-9]+", "-", record.device.lower()).strip("-") or "gpu"
    moment = re.sub(r"[-:]|\+.*", "", record.created)
    file = store / FOLDER / f"{model}-{moment}-{secrets.token_hex(2)}.json"
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(encode(record), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        with suppress(OSError):  # the error that is told is the first
            temporary.unlink()
        raise EnvironmentLacksError(f"{file.parent} cannot be written: {error.strerror or error}") from error
    return file


def read_noise(store: Path) -> tuple[list[NoiseRecord], list[Notice]]:
    """Return all records of a store, and what of them cannot be read; none where there is no store.

    One that cannot be read is passed over: comparisons then go by the defaults, and say so.
    """
    records: list[NoiseRecord] = []
    notices: list[Notice] = []
    for file in sorted((store / FOLDER).glob("*.json")):
        try:
            records.append(_read(file))
        except InputError as error:
            notices.append(Notice(_UNREADABLE, f"{error.message}; what it measured does not count"))
    return records, notices


def _read(file: Path) -> NoiseRecord:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{file} is no JSON: {error}") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise InputError(f"{file} has schema {schema}, this version reads up to {SCHEMA}")
    try:
        record: NoiseRecord = decode(NoiseRecord, data)
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"{file} is no record of noise: {error}") from error
    return record
