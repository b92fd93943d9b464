"""Records beside the runs of a store: one JSON file each, written whole or not at all."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError
from ncu_lab.model import SCHEMA
from ncu_lab.store.encoding import decode, encode

Record = TypeVar("Record")


def device_word(device: str) -> str:
    """Return a model of GPU as part of a file name: ``nvidia-h200``."""
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-") or "gpu"


def moment_word(created: str) -> str:
    """Return a time (ISO 8601, UTC) as part of a file name: ``20261130T011207``."""
    return re.sub(r"[-:]|\+.*", "", created)


def write_record(file: Path, record: object) -> None:
    """Write a record by a temporary name and a rename.

    Raises:
        EnvironmentLacksError: When its folder cannot be written.
    """
    temporary = file.with_name(f".{file.name}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(encode(record), indent=1, allow_nan=False) + "\n", encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        with suppress(OSError):  # the error that is told is the first
            temporary.unlink()
        raise EnvironmentLacksError(f"{file.parent} cannot be written: {error.strerror or error}") from error


def read_record(kind: type[Record], file: Path, what: str) -> Record:
    """Read a record.

    Args:
        kind: Its type.
        file: Its file.
        what: What it is, for messages: ``record of noise``.

    Raises:
        InputError: When it cannot be read, is of a newer schema, or is something else.
    """
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is no JSON: {error}") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if isinstance(schema, int) and schema > SCHEMA:
        raise InputError(f"{file} has schema {schema}, this version reads up to {SCHEMA}")
    try:
        record: Record = decode(kind, data)
    except (TypeError, ValueError, KeyError) as error:
        raise InputError(f"{file} is no {what}: {error}") from error
    except NcuLabError as error:  # a problem of no matrix
        raise InputError(f"{file} is no {what}: {error.message}") from error
    return record
