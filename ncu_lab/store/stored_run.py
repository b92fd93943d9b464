"""The files of a run directory, read lazily and checked against their checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    SCHEMA,
    TIMING_COLUMNS,
    CheckCase,
    Json,
    Run,
    RunMeta,
    StageBuild,
)
from ncu_lab.store.encoding import decode

if TYPE_CHECKING:
    import pandas as pd

META = "run.json"
SEAL = "run.json.sha256"
"""The checksum of ``run.json``, which holds those of all other files: what ``sha256sum --check`` reads."""

BUILDS = "build.json"
CHECKS = "checks.json"
SOURCES = "sources.json"
REPORT = "report.ncu-rep"
TABLES: Mapping[str, Mapping[str, str]] = {
    "launches": LAUNCH_COLUMNS,
    "metrics": METRIC_COLUMNS,
    "instances": INSTANCE_COLUMNS,
    "rules": RULE_COLUMNS,
    "timings": TIMING_COLUMNS,
}
PARTS: Mapping[str, tuple[str, Any]] = {
    BUILDS: ("builds", tuple[StageBuild, ...]),
    CHECKS: ("checks", tuple[CheckCase, ...]),
    SOURCES: ("sources", Mapping[str, str]),
}
"""The JSON files beside ``run.json``: the key that matters, and its type."""

_MAGIC = b"PAR1"
"""What a Parquet file begins and ends with."""


class NewerSchemaError(InputError):
    """A run that a newer ncu-lab wrote."""


class DamagedRunError(InputError):
    """A run of which a file is missing, cut, or not what its checksum says."""

    def __init__(self, run: str, what: str, hint: str) -> None:
        """Name the run, and what is wrong with it."""
        super().__init__(f"run {run} is corrupt: {what}", hint)
        self.run, self.what = run, what


class _StoredRun(Run):
    """A run whose tables and sources are read when first asked for: instances may be large and are rarely needed."""

    def __getattr__(self, name: str) -> Any:
        if name not in (*TABLES, "sources") or "_folder" not in self.__dict__:
            raise AttributeError(name)
        folder = self.__dict__["_folder"]
        # A run of an earlier version, or of code without lines, has no sources.
        value = _read_frame(folder, self.meta, name) if name in TABLES else _read_part(folder, self.meta, SOURCES, {})
        object.__setattr__(self, name, value)
        return value


def read_directory(folder: Path) -> Run:
    """Read a run directory, wherever it is; its tables are loaded when first asked for.

    Raises:
        InputError: When it is no run directory, is corrupt, or a newer ncu-lab wrote it.
    """
    meta = read_meta(folder)
    run = _StoredRun.__new__(_StoredRun)
    contents = {
        "meta": meta,
        "builds": _read_part(folder, meta, BUILDS, ()),
        "checks": _read_part(folder, meta, CHECKS, ()),
        "_folder": folder,
    }
    for name, value in contents.items():
        object.__setattr__(run, name, value)
    return run


def read_meta(folder: Path) -> RunMeta:
    """Read ``run.json`` of a run directory, and see that the files it names are there and its tables not cut.

    Only both ends of a table are looked at, so that a store is listed fast; reading it compares its checksum.

    Raises:
        InputError: When the directory is no run, is corrupt, or a newer ncu-lab wrote it.
    """
    meta = read_description(folder)
    if lost := [name for name in meta.checksums if name != REPORT and not os.path.isfile(folder / name)]:
        raise _corrupt(folder, f"{', '.join(lost)} missing")
    for name in meta.checksums:
        if name.endswith(".parquet"):
            _check_ends(folder, name)
    return meta


def read_description(folder: Path) -> RunMeta:
    """Read ``run.json`` of a run directory, and nothing else of it.

    Raises:
        NewerSchemaError: When a newer ncu-lab wrote it.
        InputError: When it is not there, or not of a run.
    """
    data = _read_json(folder / META, folder)
    schema = data.get("schema")
    if not isinstance(schema, int):
        raise _corrupt(folder, f"{META} has no schema version")
    if schema > SCHEMA:
        raise NewerSchemaError(
            f"run {folder.name} has schema {schema}, this ncu-lab reads up to {SCHEMA}",
            "A newer ncu-lab wrote it: pip install --upgrade ncu-lab",
        )
    try:
        meta = decode(RunMeta, data)
    except (ValueError, NcuLabError) as error:
        raise _corrupt(folder, f"{META}: {error}") from error
    assert isinstance(meta, RunMeta)
    return meta


def _check_ends(folder: Path, name: str) -> None:
    """Refuse a table that does not begin and end as Parquet does: one cut short, or of something else."""
    try:
        with (folder / name).open("rb") as file:
            first = file.read(len(_MAGIC))
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_MAGIC)))
            last = file.read()
    except OSError as error:
        raise _unreadable(folder, name, error) from error
    if (first, last) != (_MAGIC, _MAGIC):
        raise _corrupt(folder, f"{name} is cut or overwritten")


def _read_part(folder: Path, meta: RunMeta, name: str, otherwise: Any) -> Any:
    if name not in meta.checksums:
        return otherwise
    data = _read_checked(folder, meta, name)
    try:
        return decode_part(data, name)
    except ValueError as error:
        raise _corrupt(folder, f"{name}: {error}") from error


def decode_part(data: bytes, name: str) -> Any:
    """Return what the bytes of one of :data:`PARTS` say.

    Raises:
        ValueError: When they are not JSON, or not of its type.
    """
    key, kind = PARTS[name]
    try:
        return decode(kind, _parse(data).get(key, {} if name == SOURCES else []), key)
    except AttributeError:
        raise ValueError("not a JSON object") from None
    except NcuLabError as error:
        raise ValueError(error.message) from error


def _read_frame(folder: Path, meta: RunMeta, name: str) -> pd.DataFrame:
    from ncu_lab.store.tables import read_table

    file = f"{name}.parquet"
    try:
        return read_table(_read_checked(folder, meta, file), TABLES[name])
    except ValueError as error:
        raise _corrupt(folder, f"{file}: {error}") from error


def _read_checked(folder: Path, meta: RunMeta, name: str) -> bytes:
    try:
        data = (folder / name).read_bytes()
    except OSError as error:
        raise _unreadable(folder, name, error) from error
    if hashlib.sha256(data).hexdigest() != meta.checksums.get(name):
        raise _corrupt(folder, f"{name} does not match its checksum")
    return data


def _read_json(file: Path, folder: Path) -> Json:
    try:
        data = _parse(file.read_bytes())
    except OSError as error:
        raise _unreadable(folder, file.name, error) from error
    except ValueError as error:
        raise _corrupt(folder, f"{file.name} is not JSON ({error})") from error
    if not isinstance(data, dict):
        raise _corrupt(folder, f"{file.name} is not a JSON object")
    return data


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unreadable(folder: Path, name: str, error: OSError) -> InputError:
    """Tell what kept a file from being read; a file without permission is whole, and must not be deleted for it."""
    if isinstance(error, PermissionError):
        return InputError(f"run {folder.name} cannot be read: {name}: permission denied", f"Allow reading {folder}.")
    return _corrupt(folder, f"{name}: {error.strerror}")


def _corrupt(folder: Path, what: str) -> DamagedRunError:
    return DamagedRunError(folder.name, what, f"Restore or delete {folder}.")
