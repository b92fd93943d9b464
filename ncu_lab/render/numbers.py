"""Numbers as people read them, in one place for the terminal, Markdown and every figure.

SI prefixes with base 1000, a thin space before the unit, three significant digits with their trailing zeros, a true
minus, and an en dash for what is missing. Where only ASCII can be shown, pass the finished text through
:func:`ascii_text`; where a thin space is unwelcome (terminals, where people search), through :func:`plain_spaces`.
"""

from __future__ import annotations

import math

from ncu_lab.render.visible import isolated

THIN = "\u2009"
"""Thin space: before units and between groups of three digits."""

MINUS = "\u2212"
MISSING = "\u2013"
INFINITE = "∞"

_PREFIXES: dict[int, str] = {
    -12: "p",
    -9: "n",
    -6: "µ",
    -3: "m",
    0: "",
    3: "k",
    6: "M",
    9: "G",
    12: "T",
    15: "P",
    18: "E",
}

_ASCII = {
    THIN: " ", "\u202f": " ", "\u00a0": " ", MINUS: "-", MISSING: "-", "—": "-", "·": "|", "…": "...", "µ": "u",
    "×": "x", "÷": "/", "±": "+-", "≥": ">=", "≤": "<=", "≈": "~", INFINITE: "inf", "²": "^2", "³": "^3", "ᵀ": "^T",
    "→": "->", "Δ": "d", "▼": "v", "▲": "^", "✓": "ok", "✗": "bad", "≠": "!=", "⊘": "n/c", "━": "#", "─": "-",
    "●": "*", "○": "o", "┌": "+", "│": "|", "└": "+",
}  # fmt: skip


def ascii_text(text: str) -> str:
    """Spell finished text with ASCII alone: ``−1.5 µs ✓`` becomes ``-1.5 us ok``; the unknown become escapes."""
    spelt = "".join(_ASCII.get(character, character) for character in text)
    return spelt.encode("ascii", "backslashreplace").decode("ascii")


def plain_spaces(text: str) -> str:
    """Replace thin spaces by plain ones, so that ``grep "769 µs"`` finds what it sees."""
    return text.replace(THIN, " ")


def unbroken(text: str) -> str:
    """Return words as a browser should draw them: numbers and units on one line, and in the order that they are in.

    A browser may break a line at a thin space, not at a narrow no-break one. For :func:`isolated` see there.
    """
    return isolated(text.replace(THIN, "\u202f"))


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _fixed(value: float, decimals: int) -> str:
    """Write a finite number with thin-space thousands and a true minus; a rounded zero has no sign."""
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN)
    negative = value < 0 and any(digit in text for digit in "123456789")
    return (MINUS if negative else "") + text


def _with_unit(number: str, unit: str) -> str:
    return f"{number}{THIN}{unit}" if unit else number


def _decimals(value: float, digits: int) -> int:
    """Decimals that show ``digits`` significant digits of ``value`` after rounding (999.6 counts as 1000)."""
    if value == 0:
        return 0
    exponent = int(f"{abs(value):.{digits - 1}e}".rpartition("e")[2])
    return max(0, digits - 1 - exponent)


def significant(value: float | None, digits: int = 3) -> str:
    """Write a plain number: ``2.50``, ``16.5``, ``12 345`` (integer digits are never rounded away)."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return INFINITE if value > 0 else MINUS + INFINITE
    return _fixed(value, _decimals(value, digits))


def integer(value: float | None) -> str:
    """Write a whole number in full: ``11 273 984``."""
    return significant(value) if value is None or not math.isfinite(value) else _fixed(value, 0)


def si(value: float | None, unit: str = "", digits: int = 3, *, least: int = -12, most: int = 18) -> str:
    """Write a value with an SI prefix: ``si(2.24e13, "FLOP/s")`` is ``22.4 TFLOP/s``.

    Args:
        value: In base units; None and NaN give an en dash.
        unit: Base unit; empty for a bare count.
        digits: Significant digits.
        least: Smallest power of ten whose prefix may be used; 0 keeps fractions as they are.
        most: Largest power of ten whose prefix may be used.
    """
    if value is None or not math.isfinite(value):
        return significant(value)
    if value == 0:
        return _with_unit("0", unit)
    exponent = int(f"{abs(value):.{digits - 1}e}".rpartition("e")[2])
    power = min(max(3 * (exponent // 3), least), most)
    scaled = value / 10.0**power
    return _with_unit(_fixed(scaled, _decimals(scaled, digits)), _PREFIXES[power] + unit)


def duration(ns: float | None, digits: int = 3) -> str:
    """Write nanoseconds as ``769 µs``, ``35.3 ms``, ``1.20 s``."""
    return si(None if ns is None else ns * 1e-9, "s", digits, least=-9, most=0)


def duration_spread(ns: float | None, spread_ns: float | None, digits: int = 3) -> str:
    """Write a duration and its spread in one unit and to the same digit: ``767 µs ± 1``.

    A spread smaller than the last digit is written with its own first digit (``± 0.3``), never as 0.
    """
    if ns is None or spread_ns is None or not math.isfinite(ns) or not math.isfinite(spread_ns) or ns <= 0:
        return duration(ns, digits)
    text = duration(ns, digits)
    number, _, unit = text.rpartition(THIN)
    scale = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    decimals = len(number.partition(".")[2])
    spread = spread_ns / scale
    if spread > 0 and float(f"{spread:.{decimals}f}") == 0:
        decimals = _decimals(spread, 1)
    return f"{text} ± {_fixed(spread, decimals)}"


def duration_change(ns: float | None, scale_ns: float, digits: int = 3) -> str:
    """Write a change with its sign, in the unit and to the last digit of the durations that it is between: ``−304 µs``.

    Changes beside each other are so in one unit. One smaller than the last digit is written with its own first digit,
    unless that is a thousand times smaller still: what rounding leaves is zero.
    """
    if ns is None or not math.isfinite(ns):
        return significant(ns)
    number, _, unit = duration(scale_ns, digits).rpartition(THIN)
    value = ns / {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
    decimals = len(number.partition(".")[2])
    if value and float(f"{value:.{decimals}f}") == 0 and _decimals(value, 1) <= decimals + 3:
        decimals = _decimals(value, 1)
    return _with_unit(signed(_fixed(value, decimals)), unit)


def signed(text: str) -> str:
    """Put a plus before a number that is written without a sign and is not zero."""
    return f"+{text}" if text[0].isdigit() and any(digit in text for digit in "123456789") else text


def log2_factor(value: float | None) -> str:
    """Write a log2 factor, of which −1 halves and +1 doubles: ``−0.73``, ``0.00``."""
    return MISSING if value is None else signed(_fixed(value, 2))


def byte_count(value: float | None, digits: int = 3) -> str:
    """Write bytes as ``201 MB`` (1 kB = 1000 B)."""
    return si(value, "B", digits, least=0)


def byte_rate(value: float | None, digits: int = 3) -> str:
    """Write byte/s as ``4.30 TB/s``."""
    return si(value, "B/s", digits, least=0)


def flop_rate(value: float | None, digits: int = 3) -> str:
    """Write FLOP/s as ``22.4 TFLOP/s``."""
    return si(value, "FLOP/s", digits, least=0)


def frequency(hz: float | None, digits: int = 3) -> str:
    """Write hertz as ``1.98 GHz``."""
    return si(hz, "Hz", digits, least=0)


def count(value: float | None, digits: int = 3) -> str:
    """Write a count: whole below a thousand (``130``), then with a prefix (``559 k``, ``2.46 M``)."""
    if value is None or not math.isfinite(value):
        return significant(value, digits)
    if abs(value) < 1000 and float(value).is_integer():
        return _fixed(value, 0)
    return si(value, "", digits, least=0)


def ratio(value: float | None, digits: int = 3) -> str:
    """Write a factor: ``1.66×``."""
    text = significant(value, digits)
    return text if text == MISSING else f"{text}×"


def percent(value: float | None, *, table: bool = False, digits: int | None = None) -> str:
    """Write a percentage (0 to 100): ``2.4 %``, ``51 %``; in tables ``51.2 %``.

    Below 10, and everywhere in tables, one decimal; else none; ``digits`` asks for significant digits instead. What is
    not 100 never prints as 100, and what is not 0 never prints as 0: both get further digits, up to six.
    """
    if value is None or not math.isfinite(value):
        return significant(value)
    decimals = 1 if table or abs(round(value, 1)) < 10 else 0
    if digits is not None:
        decimals = _decimals(value, digits)
    while decimals < 6 and _rounds_away(value, decimals):
        decimals += 1
    return _with_unit(_fixed(value, decimals), "%")


def _rounds_away(value: float, decimals: int) -> bool:
    """Whether rounding would turn a nearly full value into 100, or something into nothing."""
    rounded = abs(float(f"{value:.{decimals}f}"))
    return (rounded == 100 and abs(value) < 100) or (rounded == 0 and value != 0)


def share(value: float | None, *, table: bool = False) -> str:
    """Write a share (0 to 1) as a percentage."""
    return percent(None if value is None else value * 100.0, table=table)
