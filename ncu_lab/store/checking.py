"""What is wrong with a run directory, all of it: reading a run stops at the first thing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import Damage, DamageKind
from ncu_lab.store.stored_run import META, PARTS, REPORT, SEAL, TABLES, NewerSchemaError, decode_part, read_description


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """What was looked at of one run, and what is wrong with it.

    Attributes:
        files: Files that were looked at.
        bytes: Their size.
        damages: What is wrong.
        is_sealed: Whether ``run.json`` has a checksum, too; runs of earlier versions have none.
    """

    files: int
    bytes: int
    damages: tuple[Damage, ...]
    is_sealed: bool = True


def check_run(folder: Path) -> CheckedRun:
    """Compare every file of a run with its checksum, and read what it holds.

    A raw report that is not there is no damage: a run is whole without it.
    """
    try:
        meta = read_description(folder)
    except InputError as error:
        kind = _kind_of(error)
        return CheckedRun(1, 0, (Damage(folder.name, META, kind, _without_run(error, folder), error.hint),))
    damages: list[Damage] = []
    if meta.id != folder.name:
        message = f"the folder holds run {meta.id}"
        damages.append(Damage(folder.name, None, "wrong_name", message, "Rename the folder to the run's id."))
    size = (folder / META).stat().st_size
    files = 1
    is_sealed = (folder / SEAL).is_file()
    if is_sealed:
        files, size = files + 1, size + (folder / SEAL).stat().st_size
        damages += _damages_of(folder, META, _sealed(folder))
    for name in sorted({*meta.checksums, *(f"{table}.parquet" for table in TABLES)}):
        path = folder / name
        if name == REPORT and not path.is_file():
            continue
        files += 1
        size += path.stat().st_size if path.is_file() else 0
        damages += _damages_of(folder, name, meta.checksums.get(name))
    return CheckedRun(files, size, tuple(damages), is_sealed)


def _sealed(folder: Path) -> str:
    """Return the checksum that ``run.json`` should have; empty where it cannot be read."""
    try:
        return (folder / SEAL).read_text("ascii", "replace").partition(" ")[0]
    except OSError:
        return ""


def _damages_of(folder: Path, name: str, checksum: str | None) -> Iterator[Damage]:
    """Yield what is wrong with one file, by the checksum it should have: nothing, or the first thing."""
    path = folder / name
    restore = f"Copy it from where the run was made, or delete {folder}."

    def damage(kind: DamageKind, message: str, hint: str = restore) -> Damage:
        return Damage(folder.name, name, kind, message, hint)

    if Path(name).name != name:
        yield damage("bad_metadata", f"{META} lists a file that is not in the folder")
        return
    if checksum is None:
        yield damage("bad_metadata", f"{META} has no checksum of it")
        return
    try:
        with path.open("rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
        if found != checksum:
            yield damage("wrong_checksum", "it is not as it was written: its checksum differs")
            return
        if name not in (REPORT, META):
            _read(path)
    except PermissionError:
        yield damage("no_permission", "permission denied", f"Allow reading {path}.")
    except FileNotFoundError:
        yield damage("missing_file", "it is not there")
    except OSError as error:
        yield damage("unreadable_file", error.strerror or str(error))
    except ValueError as error:
        yield damage("unreadable_table" if path.suffix == ".parquet" else "unreadable_file", str(error))


def _read(path: Path) -> None:
    """Read a table or a list; a file of a later version that we do not know is left alone."""
    if path.stem in TABLES and path.suffix == ".parquet":
        from ncu_lab.store.tables import read_table

        read_table(path.read_bytes(), TABLES[path.stem])
    elif path.name in PARTS:
        decode_part(path.read_bytes(), path.name)


def _kind_of(error: InputError) -> DamageKind:
    if isinstance(error, NewerSchemaError):
        return "newer_schema"
    cause = error.__cause__
    if isinstance(cause, PermissionError):
        return "no_permission"
    return "missing_file" if isinstance(cause, FileNotFoundError) else "bad_metadata"


def _without_run(error: InputError, folder: Path) -> str:
    """Return the message without the run, which stands beside it."""
    return error.message.removeprefix(f"run {folder.name} ").removeprefix("is corrupt: ")
