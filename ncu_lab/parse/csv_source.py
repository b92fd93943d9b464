"""The source page: instructions, what each did, and in which line of code it came about.

The page is one block a launch. Printed as SASS a block begins with the kernel's name; printed as ``cuda,sass`` a launch
is one block a source file, and every instruction stands below each line it came about in. Both views are known to
repeat: ncu 2025.3.1 prints every block of SASS, and every instruction of a line, twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from ncu_lab.errors import InputError
from ncu_lab.metrics import SOURCE_WORDS, source_metric
from ncu_lab.model import INSTANCE_COLUMNS, METRIC_COLUMNS, RULE_COLUMNS, Notice, ParsedReport, table
from ncu_lab.parse.csv_text import DELIMITERS, cells, noise_notice
from ncu_lab.parse.identity import Identity, launches_table, short_name
from ncu_lab.parse.instances import KINDS, Words
from ncu_lab.parse.numbers import Decimal, decimal_point, is_missing, parse_number

_KERNEL, _FUNCTION, _FILE = "Kernel Name", "Function Name", "File Path"
_ADDRESS, _SOURCE, _LINE = "Address", "Source", "Line No"
_NO_METRICS = frozenset({_ADDRESS, _SOURCE, _LINE, "#"})
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]+")
_ROW_START = re.compile(r'(?:"?"?[,;\t]){0,2}"?0x')  # below a line of code its number and text are left empty
_GAP = "..."  # instructions left out between two of a line


def is_source(lines: Sequence[str]) -> bool:
    """Return whether a text has a table of instructions or lines of code."""
    return any(_SOURCE in line and _header(line) is not None for line in lines)


def read_source(lines: Sequence[str], path: Path) -> ParsedReport:
    """Read the instructions of every launch; metrics of whole launches are not on this page.

    Raises:
        InputError: When the page has no counters of instructions, or its number format cannot be told.
    """
    page = _Page()
    for line in lines:
        page.read(line)
    launches, doubled = _launches(page.blocks, is_cut=page.is_cut)
    if not any(launch.rows and launch.columns() for launch in launches):
        raise InputError(
            f"{path} is a source page without counters of instructions",
            "They are in --print-source sass or cuda,sass of a report with --section SourceCounters.",
        )
    decimal = decimal_point((cell for launch in launches for cell in launch.number_cells()), str(path))
    instances = _Instances(decimal)
    for number, launch in enumerate(launches):
        instances.add(number, launch)
    notices = [Notice("source_page", "the source page holds counters per instruction, none of whole launches.")]
    if doubled:
        notices.append(Notice("csv_doubled", "every kernel stands twice: each pair of equal blocks is one launch."))
    return ParsedReport(
        launches=launches_table([launch.identity() for launch in launches], [_no_metric] * len(launches)),
        metrics=table(METRIC_COLUMNS),
        instances=instances.table(),
        rules=table(RULE_COLUMNS),
        notices=(*notices, *page.notices()),
    )


def _no_metric(_name: str) -> None:
    """Look up a metric of a whole launch: the page has none."""


@dataclass(frozen=True, slots=True)
class _Header:
    names: tuple[str, ...]
    delimiter: str

    def at(self, name: str) -> int | None:
        return self.names.index(name) if name in self.names else None

    def sass(self) -> int:
        """Return the column of the instruction: the one after its address where lines of code have one too."""
        address = self.at(_ADDRESS) or 0
        return min((at for at, name in enumerate(self.names) if name == _SOURCE), key=lambda at: (at < address, at))


def _header(line: str) -> _Header | None:
    for delimiter in DELIMITERS:
        names = cells(line, delimiter)
        if _SOURCE in names and (_ADDRESS in names or _LINE in names):
            return _Header(tuple(names), delimiter)
    return None


def _heading(line: str) -> tuple[str, str]:
    """Return what the line before a header tells of, and what it tells; twice nothing when it is none."""
    if line.lstrip('"').startswith((_KERNEL, _FUNCTION, _FILE)):
        for delimiter in DELIMITERS:
            head = cells(line, delimiter)[:2]
            if len(head) == 2 and head[0] in (_KERNEL, _FUNCTION, _FILE):
                return head[0], head[1]
    return "", ""


@dataclass(slots=True)
class _Row:
    """One instruction as printed, below a line of code where lines are printed."""

    address: int
    sass: str
    line: int | None
    header: _Header
    cells: list[str]


@dataclass(slots=True)
class _Block:
    """The instructions of one kernel, of one source file where files are printed."""

    kernel: str
    file: str | None
    rows: list[_Row] = field(default_factory=list)

    def is_twin(self, other: _Block) -> bool:
        """Whether another block tells the same, as far as rows of both were read."""
        rows = {row.address: row.cells for row in self.rows}
        found = [rows[row.address] == row.cells for row in other.rows if row.address in rows]
        return self.kernel == other.kernel and all(found) and (bool(found) or not (self.rows and other.rows))


@dataclass(slots=True)
class _Page:
    """Reads a page line by line. Code is printed with its quotes as they are, so a line is always one record."""

    blocks: list[_Block] = field(default_factory=list)
    _file: str | None = None
    _header: _Header | None = None
    _line: int | None = None
    _noise: int = 0
    _cut: int = 0

    def read(self, text: str) -> None:
        """Read a line."""
        if not text.strip():
            return
        what, told = _heading(text)
        if what == _FILE:
            self._file, self._header = told, None
        elif what:
            self.blocks.append(_Block(told, self._file))
            self._header = self._line = None
        elif self.blocks and self._header is None and (header := _header(text)) is not None:
            self._header = header
        elif self._header is not None:
            self._read_row(text, self._header)
        else:
            self._noise += 1

    def _read_row(self, text: str, header: _Header) -> None:
        row = cells(text, header.delimiter)
        line = header.at(_LINE)
        if line == 0 and (number := re.match(r'"?(\d+)"?' + re.escape(header.delimiter), text)):
            self._line = int(number[1])
            return
        if len(row) != len(header.names):
            begun = _ROW_START.match(text) is not None
            self._cut += begun
            self._noise += not begun
            return
        at = header.at(_ADDRESS)
        if at is None or row[at] == _GAP:
            return
        if not _HEX.fullmatch(row[at]):
            self._noise += 1
            return
        code = None if line is None else self._line
        self.blocks[-1].rows.append(_Row(int(row[at], 16), row[header.sass()].strip(), code, header, row))

    @property
    def is_cut(self) -> bool:
        """Whether a row was cut, as the last one is where the page ends early."""
        return self._cut > 0

    def notices(self) -> Iterator[Notice]:
        """Tell what was skipped."""
        if self._noise:
            yield noise_notice(self._noise)
        if self._cut:
            rows = "1 row is" if self._cut == 1 else f"{self._cut} rows are"
            yield Notice("csv_cut_row", f"{rows} cut and left out.")


@dataclass(slots=True)
class _Launch:
    """The instructions of one launch; each once, whatever number of lines it came about in."""

    kernel: str
    rows: dict[int, _Row] = field(default_factory=dict)
    places: dict[int, tuple[str | None, int | None]] = field(default_factory=dict)
    files: set[str | None] = field(default_factory=set)

    def take(self, block: _Block) -> None:
        """Take the instructions of a block.

        An instruction that was inlined stands below several lines. A report tells the one where its kernel called:
        the last of those in the first file.
        """
        self.files.add(block.file)
        for row in block.rows:
            self.rows.setdefault(row.address, row)
            known = self.places.get(row.address)
            if known is None or known[0] == block.file:
                self.places[row.address] = block.file, row.line

    def columns(self) -> list[str]:
        """Return the columns of metrics, in the order of the page."""
        names = dict.fromkeys(name for row in self.rows.values() for name in row.header.names)
        return [name for name in names if name not in _NO_METRICS]

    def number_cells(self) -> Iterator[tuple[str, str]]:
        """Yield column and cell of what may be a number."""
        for row in self.rows.values():
            pairs = zip(row.header.names, row.cells, strict=True)
            yield from ((name, cell) for name, cell in pairs if name not in _NO_METRICS | SOURCE_WORDS)

    def identity(self) -> Identity:
        """Identify the launch: this page tells no more than the kernel."""
        nowhere = (0, 0, 0)
        function = short_name(self.kernel)
        return Identity(self.kernel, function, None, nowhere, nowhere, None, None, None, None, (), "kernel")


def _launches(blocks: Sequence[_Block], *, is_cut: bool) -> tuple[list[_Launch], bool]:
    """Return the launches that blocks are of, and whether every block stood twice."""
    doubled = _is_doubled(blocks, is_cut=is_cut)
    launches: list[_Launch] = []
    for number, block in enumerate(blocks):
        last = launches[-1] if launches else None
        is_second = doubled and number % 2 == 1  # it has the rows that are damaged in the first
        if last is None or (not is_second and (last.kernel != block.kernel or block.file in last.files)):
            last = _Launch(block.kernel)
            launches.append(last)
        last.take(block)
    return launches, doubled


def _is_doubled(blocks: Sequence[_Block], *, is_cut: bool) -> bool:
    """Return whether every block of SASS stands twice; of a page that is cut, the last may stand once."""
    pairs = list(zip(blocks[::2], blocks[1::2], strict=False))
    stands_alone = len(blocks) % 2 == 1 and len(pairs) == 1 and not is_cut and bool(blocks[-1].rows)
    if not pairs or blocks[0].file is not None or stands_alone:
        return False
    return all(first.is_twin(second) for first, second in pairs)


class _Instances:
    """Columns of the instances table; words are kept once, an instruction's place once an instruction."""

    def __init__(self, decimal: Decimal) -> None:
        self._decimal = decimal
        self._metrics, self._sass, self._files, self._texts = (Words() for _ in range(4))
        self._known: dict[str, tuple[float, int]] = {}
        self._places: list[tuple[int, int, int, int]] = []  # address, sass, file, line
        self._heads: list[tuple[int, int, int]] = []  # launch, metric, count
        self._rows: list[int] = []
        self._values: list[float] = []
        self._codes: list[int] = []

    def add(self, number: int, launch: _Launch) -> None:
        """Add what a launch's instructions did."""
        first = len(self._places)
        for address, row in launch.rows.items():
            file, line = launch.places[address]
            place = (address, self._sass.code(row.sass or None), self._files.code(file or None), line or -1)
            self._places.append(place)
        done: set[str] = set()
        for column in launch.columns():
            metric = source_metric(column)
            if metric not in done:  # some columns show the same metric
                done.add(metric)
                self._add_column(number, metric, column, launch, first)

    def _add_column(self, number: int, metric: str, column: str, launch: _Launch, first: int) -> None:
        start = len(self._rows)
        words = column in SOURCE_WORDS
        for index, row in enumerate(launch.rows.values()):
            at = row.header.at(column)
            cell = "" if at is None else row.cells[at].strip()
            if not is_missing(cell):
                value, code = self._value(cell, words=words)
                self._rows.append(first + index)
                self._values.append(value)
                self._codes.append(code)
        self._heads.append((number, self._metrics.code(metric), len(self._rows) - start))

    def _value(self, cell: str, *, words: bool) -> tuple[float, int]:
        if words and not cell.isdecimal():
            return float("nan"), self._texts.code(cell)
        if cell not in self._known:
            number = parse_number(cell, self._decimal)
            self._known[cell] = (float("nan"), self._texts.code(cell)) if number is None else (number, -1)
        return self._known[cell]

    def table(self) -> pd.DataFrame:
        """Return the table of ``INSTANCE_COLUMNS``."""
        heads = np.array(self._heads, dtype=np.int64).reshape(-1, 3)
        launch, metric = (np.repeat(heads[:, column], heads[:, 2]) for column in range(2))
        places = np.array(self._places, dtype=np.int64).reshape(-1, 4)[np.array(self._rows, dtype=np.int64)]
        kind = np.full(len(self._rows), KINDS.index("pc"))
        none = np.full(len(self._rows), -1)
        columns = {
            "launch": launch,
            "metric": self._metrics.categorical(metric),
            "kind": pd.Categorical.from_codes(kind.tolist(), categories=pd.Index(KINDS, dtype=object)),
            "correlation": places[:, 0],
            "label": Words().categorical(none),
            "value": np.array(self._values, dtype=np.float64),
            "text": self._texts.categorical(np.array(self._codes, dtype=np.int64)),
            "sass": self._sass.categorical(places[:, 1]),
            "file": self._files.categorical(places[:, 2]),
            "line": pd.arrays.IntegerArray(places[:, 3].copy(), places[:, 3] < 0),
        }
        return pd.DataFrame({name: columns[name] for name in INSTANCE_COLUMNS}, copy=False)
