"""Tables of launches in a text: found by their header, whatever was printed before, between and after the rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ncu_lab.model import Notice
from ncu_lab.parse.csv_text import DELIMITERS, cells, noise_notice, quoted_cells

_MOST_LINES = 200  # of one record: a rule's message has a few
_LISTED = 5  # line numbers in a notice


@dataclass(slots=True)
class Table:
    """One table: its columns, their units where it has a row of units, and its rows of cells."""

    header: list[str]
    delimiter: str
    quoted: bool
    units: Mapping[str, str] | None = None
    rows: list[list[str]] = field(default_factory=list)
    at: Mapping[str, int] = field(init=False)
    row_start: re.Pattern[str] = field(init=False)

    def __post_init__(self) -> None:
        self.at = {name: index for index, name in reversed(list(enumerate(self.header)))}
        mark = re.escape(self.delimiter)
        self.row_start = re.compile(rf'"\d+"{mark}"' if self.quoted else rf"\d+{mark}")

    @property
    def is_details(self) -> bool:
        """Whether its rows are metrics and rules of results, not results."""
        return "Metric Name" in self.at

    @property
    def least(self) -> int:
        """The fewest cells of a row; on the details page only rows of rules have those of rules."""
        shorter = self.is_details and "Metric Value" in self.at
        return self.at["Metric Value"] + 1 if shorter else len(self.header)

    def cell(self, row: Sequence[str], column: str) -> str:
        """Return the cell of a column, empty where the table or the row lacks it."""
        index = self.at.get(column, len(row))
        return row[index] if index < len(row) else ""


@dataclass(slots=True)
class Tables:
    """The tables of a text, and the lines that are in none of them."""

    tables: list[Table] = field(default_factory=list)
    noise: int = 0
    cut: list[int] = field(default_factory=list)

    def notices(self) -> Iterator[Notice]:
        """Tell what was skipped, and rows that were lost."""
        if self.noise:
            yield noise_notice(self.noise)
        if self.cut:
            listed = ", ".join(map(str, self.cut[:_LISTED])) + (", …" if len(self.cut) > _LISTED else "")
            rows = "1 row is" if len(self.cut) == 1 else f"{len(self.cut)} rows are"
            yield Notice("csv_cut_row", f"{rows} cut or damaged and left out (line {listed}).")
        if len(self.tables) > 1:
            yield Notice("csv_several_tables", f"the file holds {len(self.tables)} tables; launches are numbered on.")


def find_tables(lines: Sequence[str]) -> Tables:
    """Find every table of launches: a header has the columns ID and Kernel Name."""
    found = Tables()
    table: Table | None = None
    other = 0  # columns of a table of another kind, which --print-details all puts between the rows
    at = 0
    while at < len(lines):
        line = lines[at]
        header = _header(line)
        if header is not None:
            table = header
            found.tables.append(table)
            at += 1
            continue
        taken = 0 if table is None else _take(table, lines, at)
        if table is not None and taken == 0 and line.strip():
            columns = len(cells(line, table.delimiter)) if line.startswith('"') else 0
            if table.quoted and table.row_start.match(line) and (columns == 0 or columns != other):
                found.cut.append(at + 1)
            else:
                other = columns
                found.noise += 1
        elif taken == 0 and line.strip():
            found.noise += 1
        at += taken or 1
    filled = [table for table in found.tables if table.rows]
    found.noise += len(found.tables) - len(filled) if filled else 0
    found.tables = filled or found.tables[:1]
    return found


def _header(line: str) -> Table | None:
    if "Kernel Name" not in line or "ID" not in line:
        return None
    for delimiter in DELIMITERS:
        names = [name.strip() for name in cells(line, delimiter)]
        if "Kernel Name" in names and "ID" in names:
            return Table(names, delimiter, quoted=line.lstrip().startswith('"'))
    return None


def _take(table: Table, lines: Sequence[str], at: int) -> int:
    """Read the row, or the row of units, that begins at a line; return its number of lines, 0 when there is none."""
    if table.quoted and not lines[at].startswith(('"', table.delimiter)):
        return 0
    record, taken = _record(table, lines, at)
    row = cells(record, table.delimiter)
    if not row and table.quoted and table.row_start.match(lines[at]):
        row, taken = quoted_cells(lines[at], table.delimiter), 1
    if table.quoted and len(row) == table.least and record.endswith(table.delimiter):
        return 0  # cut before its last cell, which is in quotes even where it is empty
    # Rows of metrics end after their value, with an empty cell more where there are columns of rules.
    if (len(row) < len(table.header) and len(row) - table.least not in (0, 1)) or any(row[len(table.header) :]):
        return 0
    number = table.cell(row, "ID").strip()
    if number.isdecimal():
        table.rows.append(row)
        return taken
    if not number and table.units is None and not table.rows and not table.cell(row, "Kernel Name"):
        table.units = dict(zip(table.header, row, strict=False))
        return taken
    return 0


def _record(table: Table, lines: Sequence[str], at: int) -> tuple[str, int]:
    """Join lines until the quotes are balanced, as a message may hold line breaks; return also how many they are."""
    last = at
    odd = lines[at].count('"') % 2
    while odd and last + 1 < min(len(lines), at + _MOST_LINES):
        if table.row_start.match(lines[last + 1]):
            break  # the next row: this one is cut
        last += 1
        odd ^= lines[last].count('"') % 2
    return "\n".join(lines[at : last + 1]), last + 1 - at
