"""Searches for the best tiles, in the folder ``tuning`` of a store: one JSON file each, written whole or not at all.

A file is written anew after every step of its search, so that an interrupted one goes on where it stopped.
"""

from __future__ import annotations

import secrets
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import Notice, TuningRecord
from ncu_lab.store.record_files import device_word, moment_word, read_record, write_record

FOLDER = "tuning"
_UNREADABLE = "tuning_unreadable"


def new_tuning_file(store: Path, record: TuningRecord) -> Path:
    """Return the file of a search that begins: ``tuning/autotuned-nvidia-h200-4096x4096x4096-TIME-91c3.json``."""
    shape = f"{record.problem.m}x{record.problem.n}x{record.problem.k}"
    name = f"{record.stage}-{device_word(record.device)}-{shape}-{moment_word(record.created)}-{secrets.token_hex(2)}"
    return store / FOLDER / f"{name}.json"


def write_tuning(file: Path, record: TuningRecord) -> None:
    """Write a search as far as it is.

    Raises:
        EnvironmentLacksError: When the store cannot be written.
    """
    write_record(file, record)


def read_tuning(store: Path) -> tuple[list[tuple[Path, TuningRecord]], list[Notice]]:
    """Return the searches of a store with their files, newest first, and what of them cannot be read."""
    found: list[tuple[Path, TuningRecord]] = []
    notices: list[Notice] = []
    for file in sorted((store / FOLDER).glob("*.json")):
        try:
            found.append((file, read_record(TuningRecord, file, "record of a search")))
        except InputError as error:
            notices.append(Notice(_UNREADABLE, f"{error.message}; what it found does not count"))
    found.sort(key=lambda one: one[1].created, reverse=True)
    return found, notices
