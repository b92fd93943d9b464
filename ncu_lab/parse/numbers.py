"""Numbers as people's locales print them: which mark is the decimal point is decided once a file, never guessed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal

from ncu_lab.errors import InputError

Decimal = Literal[".", ","]

MISSING = frozenset({"", "-", "n/a", "nan", "-nan", "nan(ind)", "-nan(ind)", "no data"})
"""What stands for a value that is not there; a ``(!)`` before it says that ncu could not compute it."""

_BLANKS = "\u00a0\u202f\u2009 '\u2019"  # thousands separators that never are a decimal point
_SHAPE = re.compile(r"[+-]?[0-9][0-9.,]*(?:[eE][+-]?[0-9]+)?")
_PLAIN = re.compile(r"[+-]?[0-9]+\.[0-9]{6}")
"""What the raw page prints averages as in every locale, beside numbers in the locale's own notation."""

_GROUPED = {
    ".": re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?"),
    ",": re.compile(r"[1-9][0-9]{0,2}(?:\.[0-9]{3})+(?:,[0-9]*)?|[0-9]+(?:,[0-9]*)?"),
}


def is_missing(text: str) -> bool:
    """Return whether a cell says that there is no value."""
    return text.strip().removeprefix("(!)").strip().lower() in MISSING


def parse_number(text: str, decimal: Decimal = ".") -> float | None:
    """Return the number a cell holds.

    Args:
        text: The cell: ``13,485``, ``1.5e+08``, ``27.595.520``, ``-0.5``.
        decimal: The decimal point of the file.

    Returns:
        The number; None when the cell is no number in this notation.
    """
    bare = _bare(text)
    if bare is None:
        return None
    if _PLAIN.fullmatch(bare):
        return float(bare)
    mantissa, mark, exponent = _split(bare)
    if not _GROUPED[decimal].fullmatch(mantissa.lstrip("+-")):
        return None
    plain = mantissa.replace(",", "") if decimal == "." else mantissa.replace(".", "").replace(",", ".")
    value = float(plain + mark + exponent)
    return value if math.isfinite(value) else None


def decimal_point(cells: Iterable[tuple[str, str]], where: str) -> Decimal:
    """Decide which mark is the decimal point in a file, from all of its cells together.

    A mark that repeats separates thousands; where both occur the last one is the decimal point; a single mark that is
    not before exactly three digits is a decimal point; ``1,234`` alone tells nothing, and ``1.234567`` is the same in
    every file.

    Args:
        cells: Column and cell of everything that may be a number; other cells are ignored.
        where: The file, for messages.

    Raises:
        InputError: When the cells contradict each other, or could mean either; tells column and value.
    """
    evidence: dict[Decimal, str] = {}
    ambiguous = ""
    seen: set[str] = set()
    for column, cell in cells:
        if cell in seen or ("," not in cell and "." not in cell):
            continue
        seen.add(cell)
        bare = _bare(cell)
        if bare is None or _PLAIN.fullmatch(bare):
            continue
        mantissa = _split(bare)[0].lstrip("+-")
        points: list[Decimal] = [mark for mark in (".", ",") if _GROUPED[mark].fullmatch(mantissa)]
        if len(points) == 1:
            evidence.setdefault(points[0], f'"{cell}" ({column})')
        elif points:
            ambiguous = ambiguous or f'"{cell}" ({column})'
    if len(evidence) == 2:
        raise InputError(
            f"{where} mixes number formats: {evidence['.']} and {evidence[',']}",
            "Export it again with one locale (LC_ALL=C ncu --import …).",
        )
    if evidence:
        return next(iter(evidence))
    if ambiguous:
        raise InputError(
            f"{where}: {ambiguous} may be a thousand or a fraction, and no other number of the file tells",
            "Export it again with LC_ALL=C ncu --import … --print-units base, or import the .ncu-rep.",
        )
    return "."


def _bare(text: str) -> str | None:
    """Return what is left of a number without blanks between its digits, None when it is no number."""
    bare = text.strip()
    for blank in _BLANKS:
        if blank in bare:
            if not re.fullmatch(rf"[+-]?[0-9]{{1,3}}(?:{blank}[0-9]{{3}})+(?:[.,][0-9]*)?", bare):
                return None
            bare = bare.replace(blank, "")
    return bare if _SHAPE.fullmatch(bare) else None


def _split(bare: str) -> tuple[str, str, str]:
    """Split a number at its exponent."""
    mantissa, mark, exponent = bare.replace("E", "e").partition("e")
    return mantissa, mark, exponent
