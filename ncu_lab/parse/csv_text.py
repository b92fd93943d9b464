"""The text of a CSV export, however it was saved: UTF-8 or UTF-16, any line ends, any of the usual delimiters."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import Notice

DELIMITERS = (",", ";", "\t")

_BOMS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))
_PROBE = 200  # bytes in which UTF-16 without a byte order mark shows itself


def read_lines(path: Path) -> tuple[list[str], tuple[Notice, ...]]:
    """Return the lines of a text file, and what of it could not be decoded.

    What the profiled program printed among the rows may be in another encoding; that costs its letters, not the rows.

    Raises:
        InputError: When the file is empty or is no text.
    """
    data = path.read_bytes()
    if not data:
        raise InputError(f"{path} is empty (0 bytes)", "Export it again: ncu --import REPORT --csv --page raw")
    encoding = _encoding(data)
    notices: tuple[Notice, ...] = ()
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in data and encoding == "utf-8":
            raise InputError(
                f"{path} is neither a report nor text: byte {error.start} is not {encoding}",
                "Give a .ncu-rep, a .ncu-repz or a CSV export.",
            ) from error
        text = data.decode(encoding, errors="replace")
        notices = (Notice("csv_encoding", f"byte {error.start} and perhaps others are not {encoding}: shown as �."),)
    # str.splitlines would also split at form feeds and the like, which quoted cells may hold.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return [line.removeprefix("\ufeff") for line in lines], notices


def _encoding(data: bytes) -> str:
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            return encoding
    even, odd = data[0:_PROBE:2], data[1:_PROBE:2]
    if odd and not any(odd) and all(even):
        return "utf-16-le"
    if even and not any(even) and all(odd):
        return "utf-16-be"
    return "utf-8"


def noise_notice(lines: int) -> Notice:
    """Tell how many lines were skipped."""
    words = (
        "1 line that is no part of the table was" if lines == 1 else f"{lines} lines that are no part of the table were"
    )
    return Notice("csv_noise", f"{words} skipped.")


def cells(record: str, delimiter: str) -> list[str]:
    """Split one record into its cells; none when it is no record: a quote in a quoted cell must be doubled.

    A cell may hold line breaks, and the instances of a metric make cells far longer than the csv module's default
    limit.
    """
    csv.field_size_limit(sys.maxsize)
    try:
        return next(csv.reader([record], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def quoted_cells(record: str, delimiter: str) -> list[str]:
    """Split a record of which all cells are quoted at the quotes between cells, whatever is inside of them.

    ncu leaves quotes in the names of NVTX ranges as they are, which makes no CSV. The last cell may be empty and bare.
    """
    body, bare_end = record.rstrip(), []
    if body.endswith('"' + delimiter):
        body, bare_end = body[:-1], [""]
    if len(body) < 2 or not (body.startswith('"') and body.endswith('"')) or body.endswith(f'{delimiter}"'):
        return []  # the last: cut after the first quote of a cell
    return [cell.replace('""', '"') for cell in body[1:-1].split(f'"{delimiter}"')] + bare_end
