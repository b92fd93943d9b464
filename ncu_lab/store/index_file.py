"""The file of an index: a SQLite database that is written whole, sealed by a checksum, and renamed into place.

Nobody ever changes a file in place, so that readers need no lock, a killed writer harms nothing, and it works where
locks do not (network file systems). Of two processes that write, the later wins; what the other found is found again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
import time
from pathlib import Path
from urllib.parse import quote

_SEAL_BYTES = hashlib.sha256().digest_size
_TEMPORARY = ".writing-"
_TEMPORARY_FOR_S = 3600.0
_UNUSED_FOR_S = 30 * 24 * 3600.0
"""After so long without a change, the index of another version of ncu-lab is nobody's any more."""

_BESIDE = {".gitignore": "*\n", "CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n"}
"""Keeps git and backups away from what can be made again."""


def load(file: Path) -> sqlite3.Connection | None:
    """Return a copy in memory of the database in a file; None when there is none, or it is damaged."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    # SQLite sees no flipped bit, and a wrong reading must not come from here.
    if hashlib.sha256(memoryview(data)[:-_SEAL_BYTES]).digest() != data[-_SEAL_BYTES:]:
        return None
    memory = in_memory()
    # The bytes behind the last page are not SQLite's; nobody changes the file, so nothing need be locked.
    address = f"file:{quote(os.fsencode(file.absolute()))}?mode=ro&immutable=1"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True)) as disk:
            disk.backup(memory)
    except sqlite3.Error:
        memory.close()
        return None  # removed, or replaced by something else, since it was read
    return memory


def in_memory() -> sqlite3.Connection:
    """Return an empty database in memory, which commits every statement."""
    return sqlite3.connect(":memory:", isolation_level=None)


def save(memory: sqlite3.Connection, file: Path) -> None:
    """Put a database into a file, as a whole.

    Raises:
        OSError: When it cannot be written; the file is then as it was.
    """
    file.parent.mkdir(exist_ok=True)
    for name, text in _BESIDE.items():
        if not (file.parent / name).exists():
            (file.parent / name).write_text(text, encoding="ascii")
    _remove_stale(file)
    temporary = file.with_name(f"{_TEMPORARY}{secrets.token_hex(8)}")
    try:
        _write(memory, temporary)
        temporary.replace(file)
    except sqlite3.Error as error:
        raise OSError(f"{file}: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _write(memory: sqlite3.Connection, temporary: Path) -> None:
    temporary.touch()  # so that a folder that may not be written is told by the system, in its words
    with contextlib.closing(sqlite3.connect(temporary)) as disk:
        disk.execute("PRAGMA journal_mode = OFF")  # a file that fails is thrown away
        disk.execute("PRAGMA synchronous = OFF")
        memory.backup(disk)
    with temporary.open("r+b") as stream:
        seal = hashlib.file_digest(stream, "sha256").digest()
        stream.seek(0, os.SEEK_END)
        stream.write(seal)


def _remove_stale(file: Path) -> None:
    """Remove what killed writers left, and indexes of versions of ncu-lab that nobody uses here any more."""
    for other in file.parent.iterdir():
        allowed = _TEMPORARY_FOR_S if other.name.startswith(_TEMPORARY) else _UNUSED_FOR_S
        with contextlib.suppress(OSError):  # somebody else removed it
            if other != file and other.name not in _BESIDE and time.time() - other.stat().st_mtime > allowed:
                other.unlink()
