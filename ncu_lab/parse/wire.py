"""Messages in protocol-buffer wire format: their fields, by number; nothing here knows what they mean."""

from __future__ import annotations

from collections.abc import Iterator


class CutMessageError(ValueError):
    """A message ends before its last field does."""


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the fields of a message: number, and an integer or the bytes of what is longer or of fixed size.

    Raises:
        CutMessageError: When the last field is cut off.
        ValueError: When the bytes are no such message.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if number == 0:
            raise ValueError("field number 0")
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == 2:
            length, at = _varint(message, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + length > len(message):
            raise CutMessageError("a field reaches beyond its message")
        yield number, message[at : at + length]
        at += length


def words(message: bytes) -> dict[int, str]:
    """Return the fields of a message that are text, the last of each number.

    Raises:
        ValueError: When the bytes are no such message.
    """
    return {number: text(value) for number, value in fields(message) if isinstance(value, bytes)}


def text(value: bytes) -> str:
    """Return bytes as text, whatever they are."""
    return value.decode("utf-8", "replace").strip("\0 ")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            raise CutMessageError("a number is cut off")
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise ValueError("a number is too long")
