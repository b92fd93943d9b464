"""Searches for the best tiles, in the folder ``tuning`` of a store: one JSON file each, written whole or not at all.

A file is written anew after every step of its search, so that an interrupted one goes on where it stopped.
"""

from __future__ import annotations

import math
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
            found.append((file, _read(file)))
        except InputError as error:
            notices.append(Notice(_UNREADABLE, f"{error.message}; what it found does not count"))
    found.sort(key=lambda one: one[1].created, reverse=True)
    return found, notices


def _read(file: Path) -> TuningRecord:
    record = read_record(TuningRecord, file, "record of a search")
    if flaw := _flaw(record):
        raise InputError(f"{file} is no record of a search: {flaw}")
    return record


def _flaw(record: TuningRecord) -> str:
    """Say what no search can have come to, finished or interrupted; empty when nothing is wrong."""
    found = {one.label: one for one in record.candidates}
    if record.default not in found:
        return f"default {record.default!r} is none of its {len(found)} candidates"
    if record.best is not None and (record.best not in found or found[record.best].outcome != "best"):
        return f"best {record.best!r} is no candidate that won"
    for one in record.candidates:
        if not all(one.samples_ns) or not all(0.0 < ns < math.inf for rung in one.samples_ns for ns in rung):
            return f"candidate {one.label} has a rung without samples, or a sample that is no time"
    for number, rung in enumerate(record.rungs, start=1):
        for label in rung.entrants:
            if label not in found or len(found[label].samples_ns) == 0:
                return f"rung {number} has {label!r}, which is no candidate that was timed"
    return ""
