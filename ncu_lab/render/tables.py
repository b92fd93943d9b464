"""Rows as Markdown, CSV and JSON; the terminal's table is in :mod:`ncu_lab.render.terminal`.

A table is a list of rows (plain mappings with full-precision values) and the columns that say how people see them.
Markdown shows the people's text, CSV and JSON the values themselves.
"""

from __future__ import annotations

import csv
import io
import json
import math
import numbers as kinds
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ncu_lab.model import SCHEMA
from ncu_lab.render.numbers import MISSING, plain_spaces

Row = Mapping[str, Any]

_MARKUP = re.compile(r"[\\`*<\[]|(?<![^\W_])_|_(?![^\W_])|~(?=~)|(?<=~)~|&(?=#?\w+;)")
"""Characters that would be read as markup; underscores are not within words."""

CAPTION = "caption"
"""A row with this key alone heads those below it, in the terminal: its text is a line across the columns."""


@dataclass(frozen=True, slots=True)
class Column:
    """How one column of a table is shown.

    Attributes:
        key: The row's key, and the column's name in CSV and JSON.
        title: Heading for people.
        text: Writes the row's cell for people; by default the value itself, missing as an en dash.
        align: Numbers stand right, words left.
        priority: 0 is always shown; where space is short the column of the highest priority number goes first.
        style: Gives the rich style of the row's cell; colour only adds to words and signs.
        least: For long words: the width the column may be cut down to (with an ellipsis) before others are dropped.
        markup: Whether its cells are Markdown, for code and links; words of all others are escaped in Markdown.
    """

    key: str
    title: str
    text: Callable[[Row], str] | None = None
    align: Literal["left", "right"] = "right"
    priority: int = 0
    style: Callable[[Row], str] | None = None
    least: int | None = None
    markup: bool = False

    def cell(self, row: Row) -> str:
        """Return the cell as people read it, on one line."""
        if self.text is not None:
            return " ".join(self.text(row).splitlines())
        value = row.get(self.key)
        return MISSING if value is None or value == "" else " ".join(str(value).splitlines())


def plain_value(value: object) -> Any:
    """Turn a value into what JSON can carry: NaN and infinities become None, numpy numbers Python's own.

    Raises:
        TypeError: When the value is of a type that JSON output is not meant to hold.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, kinds.Integral):
        return int(value)
    if isinstance(value, kinds.Real):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, Mapping):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Iterable):
        return [plain_value(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no place in JSON output")


def json_text(document: Mapping[str, Any], *, ascii_only: bool = False) -> str:
    """Write a document as JSON: ``schema`` first, full precision, null for what is missing, never NaN."""
    whole = {"schema": SCHEMA, **plain_value(document)}
    text = json.dumps(whole, indent=2, allow_nan=False, ensure_ascii=ascii_only)
    # JSON escapes the control characters of ASCII; some terminals obey those after it too.
    return re.sub("[\x7f-\x9f\ud800-\udfff]", lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def csv_text(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    """Write rows as CSV with the columns' keys as header: full precision, an empty field for what is missing."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.key for column in columns])
    for row in rows:
        values = [plain_value(row.get(column.key)) for column in columns]
        writer.writerow(["" if value is None else _flat(value) for value in values])
    return out.getvalue()


def _flat(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | list) else value


def markdown_table(rows: Sequence[Row], columns: Sequence[Column]) -> str:
    """Write rows as a Markdown table with the text people read; every column, whatever its priority.

    Names, subjects of commits and lines of code stay what they are, whatever they look like: only cells of columns that
    say ``markup`` are read as Markdown. Titles are ours.
    """
    ruler = ["---:" if column.align == "right" else "---" for column in columns]
    lines = [[column.title for column in columns], ruler]
    lines += [[column.cell(row) if column.markup else escaped(column.cell(row)) for column in columns] for row in rows]
    return "".join("| " + " | ".join(_in_table(cell) for cell in line) + " |\n" for line in lines)


def escaped(words: str) -> str:
    """Write words so that none of them is read as Markdown."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", words)


def _in_table(cell: str) -> str:
    return plain_spaces(cell).replace("|", "\\|")
