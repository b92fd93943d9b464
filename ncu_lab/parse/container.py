"""The container of a .ncu-rep: walk its blocks, so that damage is told before a reader hides it.

The format is documented in NVIDIA's Customization Guide ("Report File Format"). Little endian: the bytes ``NVR\\0``;
a 32-bit size and a FileHeader message; then blocks to the end of the file, each a 32-bit size, a BlockHeader message
and as many bytes of payload as the header says. Messages are in protocol-buffer wire format; only the few fields
named below are looked at, everything else is skipped. Payloads are not read, so walking costs microseconds.
"""

from __future__ import annotations

import contextlib
import struct
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from ncu_lab.errors import InputError
from ncu_lab.model import Session
from ncu_lab.parse.session import session_from
from ncu_lab.parse.wire import CutMessageError, fields, text

MAGIC = b"NVR\0"

VERSION = 7
"""Version of the format in every file known, of ncu 2018 to 2025."""

# Fields of FileHeader and BlockHeader.
_FILE_VERSION = 1
_NUM_SOURCES = 1
_NUM_RESULTS = 2
_SESSION = 3
_PAYLOAD_SIZE = 5
_PROCESS = 6
_OTHER_RESULTS = (7, 8, 9)  # ranges, command lists, graphs: counted apart from the kernels

_SIZE_BYTES = 4
_BEGINNING = 64
"""Bytes of a header that are looked at where it is not all there."""

# Fields of Process.
_PROCESS_ID, _PROCESS_PATH = 1, 3


@dataclass(frozen=True, slots=True)
class Process:
    """The process a block of results comes from: its id and the path of its executable."""

    id: int
    path: str

    @property
    def label(self) -> str:
        """``name (id)``."""
        name = self.path.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name} ({self.id})"


@dataclass(frozen=True, slots=True)
class Damage:
    """Where a container stops making sense.

    Attributes:
        offset: Where the last sound block ends: what is before it can be read.
        message: What is wrong, with the byte where it is.
    """

    offset: int
    message: str


@dataclass(frozen=True, slots=True)
class Container:
    """What the block structure of a report says.

    Attributes:
        version: Version of the container format; see :data:`VERSION`.
        announced: Results that the block headers announce, of any workload type.
        complete: Results whose block is wholly in the file.
        is_bare: Whether the file ends after its header: even a report of no results has a block for its session.
        ends_in_code: Whether the last block is code that no result follows: the file may have been cut there.
        processes: The process of each complete result, in file order.
        sizes: Bytes of each complete result, likewise.
        session: What the session blocks say, as they say it.
        damage: None for an intact file.
    """

    version: int
    announced: int
    complete: int
    is_bare: bool
    ends_in_code: bool
    processes: tuple[Process | None, ...]
    sizes: tuple[int, ...]
    session: Session
    damage: Damage | None


@dataclass(slots=True)
class _Walk:
    """What has been seen so far."""

    announced: int = 0
    ends_in_code: bool = False
    processes: list[Process | None] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    sessions: list[bytes] = field(default_factory=list)


def read_container(path: Path) -> Container:
    """Walk the blocks of a report.

    Raises:
        InputError: When the file is empty, is not a report, or ends inside its very header.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        version = _file_header(file, path, size)
        walk = _Walk()
        is_bare = file.tell() == size
        damage = None
        while damage is None and file.tell() < size:
            damage = _block(file, size, walk)
    return Container(
        version=version,
        announced=walk.announced,
        complete=len(walk.processes),
        is_bare=is_bare,
        ends_in_code=walk.ends_in_code and damage is None,
        processes=tuple(walk.processes),
        sizes=tuple(walk.sizes),
        session=session_from(walk.sessions, {str(one.id): one.path for one in walk.processes if one is not None}),
        damage=damage,
    )


def _file_header(file: BinaryIO, path: Path, size: int) -> int:
    if size == 0:
        raise InputError(f"{path} is empty (0 bytes)", "Profile or copy it again.")
    if file.read(len(MAGIC)) != MAGIC:
        raise InputError(
            f"{path} is not an Nsight Compute report: it does not start with the bytes 'NVR'",
            "Give a .ncu-rep file, or a CSV export of one (ncu --import FILE --csv --page raw).",
        )
    header = _sized(file, size)
    if header is None:
        raise InputError(f"{path} ends inside its file header (byte {size})", "Copy it again; nothing is readable.")
    try:
        return next((value for key, value in fields(header) if key == _FILE_VERSION and isinstance(value, int)), 0)
    except ValueError:
        raise InputError(f"{path} has a garbled file header (byte {len(MAGIC)})", "Copy it again.") from None


def _sized(file: BinaryIO, size: int) -> bytes | None:
    """Read a 32-bit size and as many bytes; None when the file ends before."""
    prefix = file.read(4)
    if len(prefix) < 4:
        return None
    (length,) = struct.unpack("<I", prefix)
    if file.tell() + length > size:
        return None
    return file.read(length)


def _block(file: BinaryIO, size: int, walk: _Walk) -> Damage | None:
    """Walk one block; tell what is wrong with it."""
    start = file.tell()
    header = _sized(file, size)
    try:
        if header is None:
            _check_beginning(file, start)
            where = f"inside its header, which begins at {start}; blocks after it, if any, are lost too"
            return Damage(start, f"the last block is cut at byte {size} ({where})")
        head = _block_header(header, walk)
    except ValueError as error:
        return Damage(start, f"the {size - start} bytes from byte {start} are no block ({error})")
    walk.announced += head.results
    end = file.tell() + head.payload
    if end > size:
        where = f"it begins at {start} and should end at {end}; blocks after it, if any, are lost too"
        return Damage(start, f"the last block is cut at byte {size} ({where})")
    try:
        _check_entries(file, end, head.sources + head.kernels)
    except ValueError as error:
        return Damage(start, f"the block at byte {start} is garbled ({error}); it and what follows cannot be read")
    walk.processes += [head.process] * head.results
    walk.sizes += [head.payload // max(head.results, 1)] * head.results
    walk.ends_in_code = bool(head.sources)
    file.seek(end)
    return None


def _check_beginning(file: BinaryIO, start: int) -> None:
    """Make sure that what does not reach to the end of a header begins as one: else it is no part of the report.

    Raises:
        ValueError: When it does not.
    """
    file.seek(start + _SIZE_BYTES)
    with contextlib.suppress(CutMessageError):
        deque(fields(file.read(_BEGINNING)), maxlen=0)


def _check_entries(file: BinaryIO, end: int, least: int) -> None:
    """Make sure that a payload holds as many entries as its header says: NVIDIA's reader aborts where it does not.

    Raises:
        ValueError: When it does not.
    """
    at = file.tell()
    for number in range(least):
        length = file.read(4) if at + 4 <= end else b""
        at += 4 + int.from_bytes(length, "little")
        if not length or at > end:
            raise ValueError(f"it announces {least} entries and holds {number}")
        file.seek(at)


@dataclass(slots=True)
class _Head:
    """What the header of a block says: counts (of kernels, and of results with other workloads), payload, process."""

    sources: int = 0
    kernels: int = 0
    results: int = 0
    payload: int = 0
    process: Process | None = None


def _block_header(header: bytes, walk: _Walk) -> _Head:
    head = _Head()
    if not header:
        raise ValueError("their header would be empty")
    for key, value in fields(header):
        if isinstance(value, int):
            if key == _NUM_RESULTS or key in _OTHER_RESULTS:
                head.results += value
                head.kernels += value if key == _NUM_RESULTS else 0
            elif key == _NUM_SOURCES:
                head.sources = value
            elif key == _PAYLOAD_SIZE:
                head.payload = value
        elif key == _SESSION:
            session_from([value], {})  # a garbled one makes a garbled block
            walk.sessions.append(value)
        elif key == _PROCESS:
            head.process = _process(value)
    if head.results > head.payload:
        raise ValueError(f"it announces {head.results} results in {head.payload} bytes")
    return head


def _process(message: bytes) -> Process | None:
    number, path = None, ""
    for key, value in fields(message):
        if key == _PROCESS_ID and isinstance(value, int):
            number = value
        elif key == _PROCESS_PATH and isinstance(value, bytes):
            path = text(value)
    return None if number is None else Process(number, path)
