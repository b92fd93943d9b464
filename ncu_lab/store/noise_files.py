"""What A/A runs measured, in the folder ``noise`` of a store: one JSON file each, written whole or not at all."""

from __future__ import annotations

import secrets
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import Notice
from ncu_lab.model.noise_record import NoiseRecord
from ncu_lab.store.record_files import device_word, moment_word, read_record, write_record

FOLDER = "noise"
_UNREADABLE = "noise_unreadable"


def write_noise(store: Path, record: NoiseRecord) -> Path:
    """Write a record and return its file: ``noise/nvidia-h200-20261130T011207-91c3.json``.

    Raises:
        EnvironmentLacksError: When the store cannot be written.
    """
    name = f"{device_word(record.device)}-{moment_word(record.created)}-{secrets.token_hex(2)}.json"
    file = store / FOLDER / name
    write_record(file, record)
    return file


def read_noise(store: Path) -> tuple[list[NoiseRecord], list[Notice]]:
    """Return all records of a store, and what of them cannot be read; none where there is no store.

    One that cannot be read is passed over: comparisons then go by the defaults, and say so.
    """
    records: list[NoiseRecord] = []
    notices: list[Notice] = []
    for file in sorted((store / FOLDER).glob("*.json")):
        try:
            records.append(read_record(NoiseRecord, file, "record of noise"))
        except InputError as error:
            notices.append(Notice(_UNREADABLE, f"{error.message}; what it measured does not count"))
    return records, notices
