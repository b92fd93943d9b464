"""Reports for tests, made by taking a recorded one apart: repeated, thinned out, without code, of several processes.

Written against the documented format (NVIDIA's Customization Guide, "Report File Format") and not with the product's
own walk of it, so that one can test the other.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

# BlockHeader
SOURCES, RESULTS, STRINGS, PAYLOAD_SIZE, PROCESS = 1, 2, 4, 5, 6
# Process
PROCESS_ID = 1
# ProfileResult, as recorded reports have it
RESULT_METRICS = 13


@dataclass(frozen=True)
class Field:
    """One field of a message: its number, its wire type, and its value as the bytes that follow the key."""

    key: int
    wire: int
    value: bytes

    @property
    def number(self) -> int:
        value = 0
        for shift, byte in enumerate(self.value):
            value |= (byte & 0x7F) << 7 * shift
        return value

    @property
    def content(self) -> bytes:
        size = next(index for index, byte in enumerate(self.value) if byte < 0x80) + 1
        return self.value[size:]


@dataclass(frozen=True)
class Block:
    """One block: the fields of its header in order, and its payload."""

    header: tuple[Field, ...]
    payload: bytes

    def number(self, key: int) -> int:
        return next((field.number for field in self.header if field.key == key), 0)

    @property
    def has_results(self) -> bool:
        return any(self.number(key) for key in (RESULTS, 7, 8, 9))

    def with_field(self, new: Field) -> Block:
        """The same with a field in the place of all of its number, or added."""
        fields = tuple(field for field in self.header if field.key != new.key)
        return replace(self, header=(*fields, new))

    def with_payload(self, payload: bytes) -> Block:
        return replace(self, payload=payload).with_field(number(PAYLOAD_SIZE, len(payload)))

    def packed(self) -> bytes:
        return sized(packed(self.header)) + self.payload


@dataclass(frozen=True)
class Report:
    """A report taken apart: everything before its first block, and the blocks."""

    head: bytes
    blocks: tuple[Block, ...]

    def packed(self) -> bytes:
        return self.head + b"".join(block.packed() for block in self.blocks)

    def with_results(self, change: Callable[[Block], Block]) -> Report:
        """The same with every block of results changed."""
        return replace(self, blocks=tuple(change(one) if one.has_results else one for one in self.blocks))


def take_apart(data: bytes) -> Report:
    (size,) = struct.unpack_from("<I", data, 4)
    head, at, blocks = data[: 8 + size], 8 + size, []
    while at < len(data):
        (size,) = struct.unpack_from("<I", data, at)
        header = tuple(fields(data[at + 4 : at + 4 + size]))
        at += 4 + size
        payload = Block(header, b"").number(PAYLOAD_SIZE)
        blocks.append(Block(header, data[at : at + payload]))
        at += payload
    return Report(head, tuple(blocks))


def write_repeated(source: Path, target: Path, results: int, metrics: int | None = None) -> Path:
    """Write a report of so many results, those of ``source`` in turns, each with its first ``metrics`` metrics."""
    report = take_apart(source.read_bytes())
    if metrics is not None:
        report = report.with_results(lambda block: _thinned(block, metrics))
    whole = [block for block in report.blocks if block.has_results]
    # The first block with results carries the strings of all of them.
    again = [block.with_field(text(STRINGS, b"")).packed() for block in whole]
    with target.open("wb") as file:
        file.write(report.packed())
        file.writelines(islice(cycle(again), results - len(whole)))
    return target


def _thinned(block: Block, metrics: int) -> Block:
    kept, seen = [], 0
    for field in fields(block.payload[4:]):
        seen += field.key == RESULT_METRICS
        if field.key != RESULT_METRICS or seen <= metrics:
            kept.append(field)
    return block.with_payload(sized(packed(kept)))


def without_code(data: bytes) -> bytes:
    """The same report with no block of sources."""
    report = take_apart(data)
    return replace(report, blocks=tuple(block for block in report.blocks if not block.number(SOURCES))).packed()


def of_processes(data: bytes, ids: Iterable[int]) -> bytes:
    """The same report with its results from these processes in turns."""
    turn = cycle(ids)

    def moved(block: Block) -> Block:
        process = next(field for field in block.header if field.key == PROCESS)
        rest = [field for field in fields(process.content) if field.key != PROCESS_ID]
        return block.with_field(text(PROCESS, packed([number(PROCESS_ID, next(turn)), *rest])))

    return take_apart(data).with_results(moved).packed()


def fields(message: bytes) -> Iterator[Field]:
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        start, wire = at, key & 7
        if wire in (0, 2):
            value, at = _varint(message, at)
            at += value if wire == 2 else 0
        else:
            at += {1: 8, 5: 4}[wire]
        yield Field(key >> 3, wire, message[start:at])


def number(key: int, value: int) -> Field:
    return Field(key, 0, varint(value))


def text(key: int, content: bytes) -> Field:
    return Field(key, 2, varint(len(content)) + content)


def packed(message: Iterable[Field]) -> bytes:
    return b"".join(varint(field.key << 3 | field.wire) + field.value for field in message)


def sized(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def _varint(message: bytes, at: int) -> tuple[int, int]:
    start = at
    while message[at] >= 0x80:
        at += 1
    return Field(0, 0, message[start : at + 1]).number, at + 1
