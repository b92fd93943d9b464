"""CSV exports of ncu, the pages raw and details, into the same tables as a report.

Columns are found by the names in the header, never by position: versions and options add and drop some. What a
terminal or the profiled program wrote around (or between) the rows is skipped. A CSV holds less than a report: no
instances, no mangled names, and as many digits as were printed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.metrics import DETAILS_LABELS
from ncu_lab.model import INSTANCE_COLUMNS, METRIC_COLUMNS, RULE_COLUMNS, Notice, ParsedReport, table
from ncu_lab.parse.identity import Identity, device_from, launches_table, short_name
from ncu_lab.parse.numbers import Decimal, decimal_point, is_missing, parse_number
from ncu_lab.parse.units import base_unit

_IDENTITY = frozenset(
    {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"}
    | {"Block Size", "Grid Size", "Device", "CC"}
)
_RULE_KINDS = {"OPT": "optimization", "WRN": "warning", "INF": "ok", "ERR": "error"}

_NAN = float("nan")
_ROW_START = re.compile(r'\s*"?\d+"?\s*[,;]')
_WITH_INSTANCES = re.compile(r"(?P<value>[^(]*?)\s*\((?P<instances>[^()]*)\)")
_NUMERIC = re.compile(r"[-+\d.,eE]+")
_DIMENSIONS = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)|(\d+)\s*[,x]\s*(\d+)\s*[,x]\s*(\d+)")
_NVTX_RANGE = re.compile(r'"([^"]*)"')
_NVTX_ATTRIBUTES = 6  # payload type and value, colour type and colour, message type and message


def read_csv(path: Path) -> ParsedReport:
    """Read a CSV export of the raw or the details page.

    Raises:
        InputError: When the file is neither, holds no results, or its number format cannot be told.
    """
    page = _find_table(_decode(path), path)
    if page.is_details:
        return _read_details(page, path)
    return _read_raw(page, path)


@dataclass(slots=True)
class _Page:
    """A table found in a text: its header, its rows by column name, and how many lines were no part of it."""

    header: list[str]
    units: dict[str, str]
    rows: list[dict[str, str]]
    noise: int

    @property
    def is_details(self) -> bool:
        return "Metric Name" in self.header

    def notices(self) -> tuple[Notice, ...]:
        if not self.noise:
            return ()
        return (Notice("csv_noise", f"{self.noise} lines that are no part of the table were skipped."),)


def _decode(path: Path) -> str:
    data = path.read_bytes()
    if not data:
        raise InputError(f"{path} is empty (0 bytes)", "Export it again: ncu --import REPORT --csv --page raw")
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is neither a report nor text: byte {error.start} is not {encoding}") from error


def _find_table(text: str, path: Path) -> _Page:
    """Find the header among noise, then collect the rows below it."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        for delimiter in (",", ";"):
            header = _cells(line, delimiter)
            if "Kernel Name" in header and "ID" in header:
                return _collect(header, lines[at + 1 :], delimiter, sum(bool(one.strip()) for one in lines[:at]))
    raise _no_table(lines, path)


def _no_table(lines: Sequence[str], path: Path) -> InputError:
    text = "\n".join(lines[:2000])
    again = "Export the raw or the details page: ncu --import REPORT --csv --page raw"
    if "==ERROR==" in text or "No kernels were profiled" in text:
        cause = next(line for line in lines if "==ERROR==" in line or "No kernels were profiled" in line)
        return InputError(f"{path} holds no results; ncu said: {cause.strip()}", "Profile again.")
    if "Address" in text and "Source" in text and '"Kernel Name"' in text:
        return InputError(f"{path} is an export of the source page, which holds no metrics of launches", again)
    if "Launch Settings" in text or "Session Attribute" in text:
        return InputError(f"{path} is an export of the session page, which holds no metrics", again)
    return InputError(f"{path} is no CSV export of ncu: no header with the columns ID and Kernel Name", again)


def _cells(record: str, delimiter: str) -> list[str]:
    return next(csv.reader([record], delimiter=delimiter), [])


def _collect(header: list[str], lines: Sequence[str], delimiter: str, before: int) -> _Page:
    # Rows of rules are longer than those of metrics on the details page; tables of another kind are shorter than both.
    least = header.index("Metric Value") + 1 if "Metric Value" in header else len(header)
    units: dict[str, str] = {}
    rows: list[dict[str, str]] = []
    noise = before
    rest = iter(lines)
    for line in rest:
        if not units and not rows and line.startswith(('""' + delimiter, delimiter)):
            units = dict(zip(header, _cells(line, delimiter), strict=False))
            continue
        cells = _cells(_whole_record(line, rest), delimiter) if _ROW_START.match(line) else []
        if len(cells) >= least:
            rows.append(dict(zip(header, cells, strict=False)))
        elif line.strip():
            noise += 1
    return _Page(header, units, rows, noise)


def _whole_record(line: str, rest: Iterator[str]) -> str:
    """Append lines until the quotes are balanced: a message may hold line breaks."""
    while line.count('"') % 2:
        following = next(rest, None)
        if following is None:
            break
        line += "\n" + following
    return line


def _read_raw(page: _Page, path: Path) -> ParsedReport:
    columns = [name for name in page.header if name not in _IDENTITY and not _is_nvtx(name)]
    split = [{name: _split_instances(row[name]) for name in columns} for row in page.rows]
    decimal = decimal_point((value for cells in split for value, _ in cells.values()), str(path))
    launches = _Launches(page, path)
    for row, cells in zip(page.rows, split, strict=True):
        launches.begin(row)
        for name, (value, instances) in cells.items():
            unit = page.units.get(name, "")
            launches.add(name, value, unit, decimal)
            launches.add_instances(name, instances, unit, decimal)
    return launches.parsed()


def _split_instances(cell: str) -> tuple[str, list[str]]:
    """Split ``12 (3; 4; 5)``, as ``--print-metric-instances values`` prints, into the value and its instances."""
    match = _WITH_INSTANCES.fullmatch(cell)
    if match is None:
        return cell, []
    value, instances = match["value"], match["instances"].split("; ")
    listed = all(is_missing(one) or _NUMERIC.fullmatch(one) for one in instances) or instances == [value]
    return (value, instances) if listed else (cell, [])


def _read_details(page: _Page, path: Path) -> ParsedReport:
    decimal = decimal_point((row.get("Metric Value", "") for row in page.rows), str(path))
    launches = _Launches(page, path)
    for row in page.rows:
        launches.begin(row)
        if row.get("Rule Name"):
            launches.add_rule(row, decimal)
        if row.get("Metric Name"):
            launches.add(_metric_name(row), row.get("Metric Value", ""), row.get("Metric Unit", ""), decimal)
    return launches.parsed()


def _metric_name(row: Mapping[str, str]) -> str:
    """Return the metric that a row of the details page tells of; ``section/label`` where that is not known."""
    section, item, label = row.get("Section Name", ""), row.get("Body Item Label", ""), row["Metric Name"]
    if "__" in label or section == "Command line profiler metrics":
        return label
    known = None if item else DETAILS_LABELS.get(section, {}).get(label)
    return known or "/".join(part for part in (section, item, label) if part)


@dataclass(slots=True)
class _Launches:
    """Collects launches, metrics and rules; the rows of one result need not follow each other."""

    page: _Page
    path: Path
    identities: list[Identity] = field(default_factory=list)
    values: list[dict[str, tuple[float, str | None, str]]] = field(default_factory=list)
    rules: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in RULE_COLUMNS})
    instances: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in INSTANCE_COLUMNS})
    _numbers: dict[tuple[str, ...], int] = field(default_factory=dict)
    _at: int = -1

    def begin(self, row: Mapping[str, str]) -> None:
        """Find or make the launch that a row belongs to."""
        key = tuple(row.get(name, "") for name in ("ID", "Process ID", "Kernel Name"))
        if key not in self._numbers:
            self._numbers[key] = len(self.identities)
            self.identities.append(_identity(row))
            self.values.append({})
        self._at = self._numbers[key]

    def add(self, name: str, cell: str, unit: str, decimal: Decimal) -> None:
        """Add a metric; the first of several equal names counts, as sections repeat metrics."""
        base, factor = base_unit(unit)
        value, text = _read_cell(cell, factor, decimal)
        self.values[self._at].setdefault(name, (value, text, base))

    def add_instances(self, name: str, cells: Sequence[str], unit: str, decimal: Decimal) -> None:
        """Add the instances of a metric; a CSV numbers them, it does not tell what they belong to."""
        factor = base_unit(unit)[1]
        for position, cell in enumerate(cells):
            value, text = _read_cell(cell, factor, decimal)
            entry = {"launch": self._at, "metric": name, "kind": "index", "correlation": position}
            for column in self.instances:
                self.instances[column].append({**entry, "value": value, "text": text}.get(column))

    def add_rule(self, row: Mapping[str, str], decimal: Decimal) -> None:
        """Add what a rule said."""
        speedup = parse_number(row.get("Estimated Speedup", ""), decimal)
        entry = {
            "launch": self._at,
            "section": row.get("Section Name", ""),
            "rule": row["Rule Name"],
            "kind": _RULE_KINDS.get(row.get("Rule Type", ""), "none"),
            "message": row.get("Rule Description", ""),
            "speedup_pct": _NAN if speedup is None else speedup,
            "speedup_scope": row.get("Estimated Speedup Type") or None,
        }
        for column, value in entry.items():
            self.rules[column].append(value)

    def parsed(self) -> ParsedReport:
        """Return the tables."""
        if not self.identities:
            raise InputError(
                f"{self.path} holds a header but no results", "No kernel was profiled, or the file is cut."
            )
        columns: dict[str, list[object]] = {name: [] for name in METRIC_COLUMNS}
        for launch, metrics in enumerate(self.values):
            for name, (value, text, unit) in metrics.items():
                row = {"launch": launch, "metric": name, "value": value, "text": text, "unit": unit}
                for column, entry in row.items():
                    columns[column].append(entry)
        numbers = [{name: value for name, (value, _, _) in metrics.items()} for metrics in self.values]
        first = {name: value if text is None else text for name, (value, text, _) in self.values[0].items()}
        return ParsedReport(
            launches=launches_table(self.identities, [found.get for found in numbers]),
            metrics=table(METRIC_COLUMNS, columns),
            instances=table(INSTANCE_COLUMNS, self.instances),
            rules=table(RULE_COLUMNS, self.rules),
            device=device_from(first),
            notices=self.page.notices(),
        )


def _read_cell(cell: str, factor: float, decimal: Decimal) -> tuple[float, str | None]:
    """Return the number of a cell in base units, or its words."""
    if is_missing(cell):
        return _NAN, None
    number = parse_number(cell, decimal)
    return (_NAN, cell) if number is None else (number * factor, None)


def _identity(row: Mapping[str, str]) -> Identity:
    kernel = row.get("Kernel Name", "") or "(unnamed)"
    process, name = row.get("Process ID", ""), row.get("Process Name", "")
    return Identity(
        kernel=kernel,
        function=short_name(kernel),
        mangled=None,
        grid=_dimensions(row.get("Grid Size", "")),
        block=_dimensions(row.get("Block Size", "")),
        stream=row.get("Stream") or None,
        context=row.get("Context") or None,
        process=f"{name} ({process})" if process else name or None,
        device=row.get("Device") or None,
        nvtx=tuple(path for column, cell in row.items() if _is_nvtx(column) for path in _nvtx_path(cell)),
        workload="kernel",
    )


def _dimensions(cell: str) -> tuple[int, int, int]:
    """Return a size (x, y, z); zeros where the export does not tell."""
    match = _DIMENSIONS.search(cell)
    if match is None:
        return 0, 0, 0
    x, y, z = (int(number) for number in match.groups() if number is not None)
    return x, y, z


def _is_nvtx(column: str) -> bool:
    return "Domain:Push/Pop_Range" in column or "Domain:Start/Stop_Range" in column


def _nvtx_path(cell: str) -> Iterator[str]:
    """Yield the ranges of a cell like ``2195  "<default domain>:ncu-lab/2d:none:none:none:none:none:none"``."""
    for quoted in _NVTX_RANGE.findall(cell):
        domain, _, name = quoted.partition(":")
        name = name.rsplit(":", _NVTX_ATTRIBUTES)[0]
        yield name if domain in ("", "<default domain>") else f"{domain}@{name}"
