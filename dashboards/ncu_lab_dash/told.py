"""Reading what an address or a browser told: of the kind that is wanted, else the default."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")

_LONGEST = 1_000
_LONGEST_REFERENCE = 300
"""Longer than any id of a run, name of a branch or key of an opened file."""


def text_of(value: Any, most: int = _LONGEST) -> str | None:
    """Return a text that is not empty, else None; of one longer than ``most`` its beginning and an ellipsis."""
    if not isinstance(value, str) or not value:
        return None
    return value if len(value) <= most else f"{value[:most]}…"


def reference_of(value: Any) -> str | None:
    """Return what names a run, a stage or a file: short enough to stand in a list and in a sentence."""
    return text_of(value, _LONGEST_REFERENCE)


def number_of(value: Any) -> int | None:
    """Return a whole number of up to nine digits, also where it is written; else None."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def one_of(value: Any, known: tuple[T, ...], default: T) -> T:
    """Return a value that is known, else the default."""
    return next((one for one in known if one == value), default)
