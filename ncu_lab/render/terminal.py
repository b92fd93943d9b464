"""The terminal: one place that knows its width, colours and characters, and the one table helper.

Width is the terminal's, or ``COLUMNS``, or 80 in a pipe. ``NO_COLOR``, ``TERM=dumb`` and pipes turn colour off. Signs
fall back to ASCII where the stream's encoding lacks them. A row is never wrapped: columns give way by priority.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from ncu_lab.advice import as_called
from ncu_lab.errors import UsageError
from ncu_lab.render.numbers import MISSING, ascii_text, plain_spaces
from ncu_lab.render.tables import CAPTION, Column, Row, csv_text, json_text, markdown_table
from ncu_lab.render.visible import visible

__all__ = ["FORMATS", "Column", "Row", "Terminal", "emit", "emit_document"]

FORMATS = ("table", "json", "markdown", "csv")

PIPE_WIDTH = 80
GAP = 2

_SIGNS = "✓✗–−·×³µ→▼▲≠⊘…"

GOOD = "green"
BAD = "red"
MUTED = "bright_black"
STRONG = "bold"


class Terminal:
    """A stream people read: text with styles, and tables that fit.

    Args:
        stream: Where to write; its encoding and whether it is a terminal decide signs and colours.
        width: Columns to use; by default found out as the module says.
    """

    def __init__(self, stream: TextIO, width: int | None = None) -> None:
        on_terminal = stream.isatty()
        plain = not on_terminal or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.ascii_only = not _encodes(stream, _SIGNS)
        self._stream = stream
        self._console = Console(
            file=stream,
            width=width or _columns_variable() or (None if on_terminal else PIPE_WIDTH),
            no_color=plain,
            force_terminal=on_terminal and not plain,
            color_system=None if plain else "auto",
            highlight=False,
            markup=False,
            emoji=False,
        )

    @property
    def width(self) -> int:
        """Columns that a line may take."""
        return self._console.width

    def spell(self, text: str) -> str:
        """Return text as this stream can show it: plain spaces, ASCII where its encoding lacks the signs.

        What would steer the terminal (kernels may be called anything) becomes an escape.
        """
        text = visible(text)
        return ascii_text(text) if self.ascii_only else _encodable(self._stream, plain_spaces(text))

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Print one line of plain parts and ``(text, style)`` pairs; it is not wrapped."""
        text = Text()
        for part in parts:
            words, style = (part, "") if isinstance(part, str) else part
            text.append(self.spell(words), style)
        self._console.print(text, soft_wrap=True)

    def paragraph(self, words: str, style: str = "", *, indent: int = 0) -> None:
        """Print prose, wrapped at the width with continuation lines indented."""
        text = Text(self.spell(words), style)
        for piece in text.wrap(self._console, max(20, self.width - indent)):
            piece.rstrip()
            self._console.print(Text(" " * indent) + piece, soft_wrap=True)

    def command(self, words: str, lead: str = "") -> None:
        """Print a command for the user to type; one that is too wide in lines that a shell joins.

        Args:
            words: The command; ``ncu-lab`` is named as it was called.
            lead: What stands before it; lines that follow are indented as far.
        """
        line, *others = map(shlex.quote, shlex.split(as_called(words)))
        lines = []
        for word in others:
            if cell_len(f"{lead}{line} {word} \\") > self.width:
                lines.append(line + " \\")
                line = f"  {word}"
            else:
                line += f" {word}"
        for text in (*lines, line):
            self.line(lead, text)
            lead = " " * cell_len(lead)

    def table(self, rows: Sequence[Row], columns: Sequence[Column]) -> list[Column]:
        """Print rows under headings, dropping columns by priority until a row fits.

        An empty row is an empty line, one of a caption alone that caption.

        Returns:
            The columns left out, in their order, so that the caller can say so.
        """
        filled = [bool(row) and CAPTION not in row for row in rows]
        cells = [
            [self.spell(column.cell(row)) if full else "" for column in columns]
            for row, full in zip(rows, filled, strict=True)
        ]
        titles = [self.spell(column.title) for column in columns]
        widths = [max([cell_len(titles[i])] + [cell_len(line[i]) for line in cells]) for i in range(len(columns))]
        shown = _fitting(columns, widths, self.width)
        widths = _shrunk(columns, widths, shown, self.width)
        self._row([(titles[i], MUTED) for i in shown], [columns[i] for i in shown], [widths[i] for i in shown])
        for row, line, full in zip(rows, cells, filled, strict=True):
            if CAPTION in row:
                self.line((row[CAPTION], STRONG))
                continue
            styles = [column.style(row) if column.style and full else "" for column in columns]
            self._row([(line[i], styles[i]) for i in shown], [columns[i] for i in shown], [widths[i] for i in shown])
        return [column for i, column in enumerate(columns) if i not in shown]

    def _row(self, cells: Sequence[tuple[str, str]], columns: Sequence[Column], widths: Sequence[int]) -> None:
        ellipsis = "..." if self.ascii_only else "…"
        parts: list[tuple[str, str]] = []
        for (words, style), column, width in zip(cells, columns, widths, strict=True):
            cut = set_cell_size(words, width - cell_len(ellipsis)) + ellipsis if cell_len(words) > width else words
            padding = " " * (width - cell_len(cut))
            before, after = (padding, "") if column.align == "right" else ("", padding)
            parts += [((" " * GAP if parts else "") + before, ""), (cut, style), (after, "")]
        if not any(style for _, style in parts):
            # Without styles there is nothing for rich to do, and a list of 10 000 runs is written in half the time.
            self._stream.write("".join(words for words, _ in parts).rstrip() + "\n")
            return
        text = Text()
        for words, style in parts:
            text.append(words, style)
        text.rstrip()
        self._console.print(text, soft_wrap=True)


def _columns_variable() -> int | None:
    value = os.environ.get("COLUMNS", "")
    return int(value) if value.isdigit() and int(value) > 0 else None


def _encodes(stream: TextIO, signs: str) -> bool:
    try:
        signs.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _encodable(stream: TextIO, text: str) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * max(0, len(widths) - 1)


def _fitting(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """Indices of the columns that fit: the highest priority number goes first, the rightmost among equals."""
    least = [min(width, column.least) if column.least else width for column, width in zip(columns, widths, strict=True)]
    shown = list(range(len(columns)))
    while _total([least[i] for i in shown]) > room:
        droppable = [i for i in shown if columns[i].priority > 0]
        if not droppable:
            break
        shown.remove(max(droppable, key=lambda i: (columns[i].priority, i)))
    return shown


def _shrunk(columns: Sequence[Column], widths: Sequence[int], shown: Sequence[int], room: int) -> list[int]:
    """Cut the columns that allow it, the widest first, until the row fits."""
    result = list(widths)
    while _total([result[i] for i in shown]) > room:
        elastic = [i for i in shown if (least := columns[i].least) is not None and result[i] > least]
        if not elastic:
            break
        widest = max(elastic, key=lambda i: result[i])
        result[widest] -= 1
    return result


def emit(
    rows: Sequence[Row],
    columns: Sequence[Column],
    format: str,
    stream: TextIO,
    *,
    name: str = "rows",
    document: Mapping[str, Any] | None = None,
) -> None:
    """Write the same rows in the format asked for.

    Args:
        rows: Full-precision values; None and NaN are missing. An empty row sets groups apart in the terminal alone.
        columns: What to show, in order.
        format: One of :data:`FORMATS`.
        stream: Where to write.
        name: Key of the rows in the JSON document.
        document: Further keys of the JSON document, before the rows.

    Raises:
        UsageError: When the format is unknown.
    """
    filled = [row for row in rows if row]
    if format == "table":
        terminal = Terminal(stream)
        note_dropped(terminal, terminal.table(rows, columns))
    elif format == "json":
        emit_document({**(document or {}), name: [dict(row) for row in filled]}, stream)
    elif format == "markdown":
        stream.write(Terminal(stream).spell(markdown_table(filled, columns)))
    elif format == "csv":
        text = csv_text(filled, columns)
        # In a file names stay what they are; on a screen they must not steer it.
        stream.write(_encodable(stream, visible(text) if stream.isatty() else text))
    else:
        raise UsageError(f'there is no format "{format}"', f"Choose one of {', '.join(FORMATS)}.")


def note_dropped(terminal: Terminal, dropped: Sequence[Column]) -> None:
    """Say which columns had no room: nothing is left out silently."""
    if dropped:
        titles = ", ".join(column.title for column in dropped)
        terminal.paragraph(f"no room for: {titles} (widen the terminal, or --format csv)", MUTED)


def emit_document(document: Mapping[str, Any], stream: TextIO) -> None:
    """Write one JSON document, ``schema`` first."""
    stream.write(json_text(document, ascii_only=not _encodes(stream, _SIGNS)))


def sign(good: bool | None) -> str:
    """Return ✓, ✗, or an en dash where nothing can be said."""
    return MISSING if good is None else "✓" if good else "✗"
