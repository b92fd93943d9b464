"""Reading what an address or a browser told: of the kind that is wanted, else the default."""

from __future__ import annotations

from typing import Any, TypeVar

T = TypeVar("T")


def text_of(value: Any) -> str | None:
    """Return a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def number_of(value: Any) -> int | None:
    """Return a whole number of up to nine digits, also where it is written; else None."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def one_of(value: Any, known: tuple[T, ...], default: T) -> T:
    """Return a value that is known, else the default."""
    return next((one for one in known if one == value), default)
