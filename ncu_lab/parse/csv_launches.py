"""The pages raw and details into the tables of a run.

A CSV holds less than a report: no mangled names, no correlation of instances, and as many digits as were printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.metrics import (
    DETAILS_LABELS,
    DEVICE_PREFIX,
    GRAPH_METRIC,
    LAUNCH_IDENTITY,
    METRICS,
    source_metric,
    stall_metric,
)
from ncu_lab.model import INSTANCE_COLUMNS, METRIC_COLUMNS, RULE_COLUMNS, Device, Notice, ParsedReport, table
from ncu_lab.parse.csv_tables import Table, Tables
from ncu_lab.parse.identity import Identity, device_from, launches_table, short_name
from ncu_lab.parse.instances import LEAST_PC, LEAST_TIME
from ncu_lab.parse.numbers import Decimal, decimal_point, is_missing, parse_number
from ncu_lab.parse.units import base_unit

IDENTITY = frozenset(
    {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream"}
    | {"Block Size", "Grid Size", "Device", "CC"}
)
"""Columns that tell which result a row is of; so do those of NVTX ranges."""

_TELLING = frozenset({*LAUNCH_IDENTITY.values(), *METRICS["duration_ns"].counters[0].names})
_RULE_KINDS = {"OPT": "optimization", "WRN": "warning", "INF": "ok", "ERR": "error"}

_SOURCE_SECTION = "Source Counters"  # --print-details all calls its metrics as the source page does
_STALL_CHART = "Warp State (All Cycles)"  # its bars are stall reasons: "Stall Long Scoreboard", "Selected"
_NAMED = re.compile(r"\(([a-z0-9]{1,30}__[\w.]{1,200})\)$")  # labels that end with the metric they are of

_NAN = float("nan")
_NUMERIC = re.compile(r"[-+\d.,eE]+")
_NUMBER_WITH_INSTANCES = re.compile(r"[-\d][\d.,]* \((?:[0-9a-fx]+(?: \(\+\d+\))?: )?[-\d][\d.,]*[;)]")
_DIMENSIONS = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)|(\d+)\s*[,x]\s*(\d+)\s*[,x]\s*(\d+)")
_CORRELATION = re.compile(r"0x(?P<hex>[0-9a-f]{1,16})|(?P<number>[0-9]{1,19})(?P<offset> \(\+[0-9]+\))?")
_CAPABILITY = re.compile(r"(\d+)\.(\d+)")
_NVTX_BETWEEN = re.compile(r'"\s+"')
_PUSH_POP, _START_STOP = "Domain:Push/Pop_Range", "Domain:Start/Stop_Range"
_NVTX_ATTRIBUTES = 6  # payload type and value, colour type and colour, message type and message


def read_launches(found: Tables, path: Path) -> ParsedReport:
    """Read the tables of the raw and details pages that a file holds.

    Every row of a raw page is a launch of its own. Rows of a details page belong to one launch where all that
    identifies them is equal.

    Raises:
        InputError: When there are no results, or the number format cannot be told.
    """
    decimal = decimal_point((cell for one in found.tables for cell in _number_cells(one)), str(path))
    launches = _Launches(decimal)
    for one in found.tables:
        if one.is_details:
            _add_details(one, launches)
        else:
            _add_raw(one, launches)
    if not launches.identities:
        raise InputError(f"{path} holds a header but no results", "No kernel was profiled, or the file is cut.")
    notices = [*found.notices()]
    if any(one.units is None and not one.is_details for one in found.tables):
        notices.append(Notice("csv_no_units", "the table has no row of units: values are taken as they are."))
    return launches.parsed(notices)


def _number_cells(one: Table) -> Iterator[tuple[str, str]]:
    """Yield column and cell of what may be a number, without instances."""
    split = _splitter(one)
    if one.is_details:
        yield from ((one.cell(row, "Metric Name"), split(one.cell(row, "Metric Value"))[0]) for row in one.rows)
    else:
        columns = [(name, index) for index, name in _metric_columns(one)]
        yield from ((name, split(row[index])[0]) for row in one.rows for name, index in columns)


def _metric_columns(one: Table) -> Iterator[tuple[int, str]]:
    return ((index, name) for index, name in enumerate(one.header) if name not in IDENTITY and not _is_nvtx(name))


def _add_raw(one: Table, launches: _Launches) -> None:
    units = one.units or {}
    columns = [(index, name, *base_unit(units.get(name, ""))) for index, name in _metric_columns(one)]
    split = _splitter(one)
    for row in one.rows:
        launches.begin(one, row)
        for index, name, unit, factor in columns:
            value, instances = split(row[index])
            launches.add(name, value, unit, factor)
            if instances:
                launches.add_instances(name, instances, factor)


def _add_details(one: Table, launches: _Launches) -> None:
    identifying = [index for index, name in enumerate(one.header) if name in IDENTITY or _is_nvtx(name)]
    known: dict[tuple[str, ...], int] = {}
    split = _splitter(one)
    for row in one.rows:
        key = tuple(row[index] if index < len(row) else "" for index in identifying)
        if key in known:
            launches.resume(known[key])
        else:
            known[key] = launches.begin(one, row)
        if one.cell(row, "Rule Name"):
            launches.add_rule(one, row)
        if one.cell(row, "Metric Name"):
            value, instances = split(one.cell(row, "Metric Value"))
            name = _metric_name(one, row)
            unit, factor = base_unit(one.cell(row, "Metric Unit"))
            if launches.add(name, value, unit, factor) and instances:
                launches.add_instances(name, instances, factor)


def _splitter(one: Table) -> Callable[[str], tuple[str, list[str]]]:
    """Return how to split a cell of a table into its value and its instances."""
    return _split_instances if _prints_instances(one) else lambda cell: (cell, [])


def _prints_instances(one: Table) -> bool:
    """Return whether values are followed by their instances: some number by numbers in brackets."""
    return any(_NUMBER_WITH_INSTANCES.match(cell) for row in one.rows for cell in row if cell.endswith(")"))


def _split_instances(cell: str) -> tuple[str, list[str]]:
    """Split ``12 (3; 4; 5)``, as ``--print-metric-instances`` prints, into the value and its instances.

    ``608 (0x7f00: 32; 0x7f10: 32)`` tells also what they belong to, ``(saxpy)`` is a metric without a value. Other
    words in brackets are part of a word: ``NVIDIA GeForce RTX 3070 (Laptop)``.
    """
    value, mark, rest = cell.partition("(")
    value = value.rstrip()
    if not mark or not cell.endswith(")"):
        return cell, []
    instances = rest[:-1].split("; ")
    if is_missing(value) or _NUMERIC.fullmatch(value) or all(one.rpartition(": ")[2] == value for one in instances):
        return value, instances
    return cell, []


def _metric_name(one: Table, row: Sequence[str]) -> str:
    """Return the metric that a row of the details page tells of; ``section/label`` where that is not known."""
    section, item, label = (one.cell(row, column) for column in ("Section Name", "Body Item Label", "Metric Name"))
    if named := _NAMED.search(label):
        return named[1]
    if "__" in label or section == "Command line profiler metrics":
        return label
    if section == _SOURCE_SECTION and not source_metric(label).endswith(label):
        return source_metric(label)
    if item == _STALL_CHART:
        return stall_metric(label.removeprefix("Stall ").lower().replace(" ", "_"))
    known = None if item else DETAILS_LABELS.get(section, {}).get(label)
    return known or "/".join(part for part in (section, item, label) if part)


@dataclass(slots=True)
class _Launches:
    """Collects launches, metrics, instances and rules."""

    decimal: Decimal
    identities: list[Identity] = field(default_factory=list)
    context: list[dict[str, float | str]] = field(default_factory=list)  # what identity and device are told by
    capabilities: list[str] = field(default_factory=list)
    metrics: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in METRIC_COLUMNS})
    rules: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in RULE_COLUMNS})
    instances: dict[str, list[object]] = field(default_factory=lambda: {name: [] for name in INSTANCE_COLUMNS})
    _names: list[set[str]] = field(default_factory=list)
    _read: dict[str, tuple[float, str | None]] = field(default_factory=dict)
    _at: int = -1

    def begin(self, one: Table, row: Sequence[str]) -> int:
        """Begin a launch and return its number."""
        self.identities.append(_identity(one, row))
        self.capabilities.append(one.cell(row, "CC"))
        self.context.append({})
        self._names.append(set())
        self._at = len(self.identities) - 1
        return self._at

    def resume(self, launch: int) -> None:
        """Go on with a launch: the rows of one result need not follow each other."""
        self._at = launch

    def add(self, name: str, cell: str, unit: str, factor: float) -> bool:
        """Add a metric and return whether it was: the first of equal names counts, as sections repeat metrics."""
        if name in self._names[self._at]:
            return False
        self._names[self._at].add(name)
        number, text = self._value(cell)
        if name in _TELLING or name.startswith(DEVICE_PREFIX):
            self.context[self._at][name] = number * factor if text is None else text
        row = {"launch": self._at, "metric": name, "value": number * factor, "text": text, "unit": unit}
        for column, entry in row.items():
            self.metrics[column].append(entry)
        return True

    def add_instances(self, name: str, cells: Sequence[str], factor: float) -> None:
        """Add the instances of a metric: numbered, where the export does not tell what they belong to."""
        for position, cell in enumerate(cells):
            told, mark, rest = cell.partition(": ")
            number, text = self._value(rest if mark else cell)
            entry: dict[str, object] = {"launch": self._at, "metric": name, "value": number * factor, "text": text}
            entry |= _correlation(told, position) if mark else {"kind": "index", "correlation": position}
            for column in self.instances:
                self.instances[column].append(entry.get(column))

    def add_rule(self, one: Table, row: Sequence[str]) -> None:
        """Add what a rule said."""
        speedup = parse_number(one.cell(row, "Estimated Speedup"), self.decimal)
        entry = {
            "launch": self._at,
            "section": one.cell(row, "Section Name"),
            "rule": one.cell(row, "Rule Name"),
            "kind": _RULE_KINDS.get(one.cell(row, "Rule Type"), "none"),
            "message": one.cell(row, "Rule Description"),
            "speedup_pct": _NAN if speedup is None else speedup,
            "speedup_scope": one.cell(row, "Estimated Speedup Type") or None,
        }
        for column, value in entry.items():
            self.rules[column].append(value)

    def _value(self, cell: str) -> tuple[float, str | None]:
        """Return the number of a cell, or its words; most cells of a file repeat."""
        if cell not in self._read:
            missing = is_missing(cell)
            number = None if missing else parse_number(cell, self.decimal)
            self._read[cell] = (_NAN, None if missing else cell) if number is None else (number, None)
        return self._read[cell]

    def parsed(self, notices: Sequence[Notice]) -> ParsedReport:
        """Return the tables."""
        numbers = [{name: value for name, value in found.items() if isinstance(value, float)} for found in self.context]
        identities = [_with_sizes(one, found) for one, found in zip(self.identities, numbers, strict=True)]
        devices = [_device(*told) for told in zip(self.context, self.capabilities, strict=True)]
        names = list(dict.fromkeys(device.name for device in devices if device is not None and device.attributes))
        several = [Notice("several_devices", f"the file has launches on {' and '.join(names)}.")] if names[1:] else []
        return ParsedReport(
            launches=launches_table(identities, [found.get for found in numbers]),
            metrics=table(METRIC_COLUMNS, self.metrics),
            instances=table(INSTANCE_COLUMNS, self.instances),
            rules=table(RULE_COLUMNS, self.rules),
            device=next((device for device in devices if device is not None), None),
            notices=(*notices, *several),
        )


def _correlation(told: str, position: int) -> dict[str, object]:
    """Return what an instance belongs to: ``0x7f06037a0000``, ``512``, ``1796009169318977408 (+0)`` or a name."""
    match = _CORRELATION.fullmatch(told)
    if match is None:
        return {"kind": "name", "correlation": position, "label": told}
    number = int(match["hex"], 16) if match["hex"] else int(match["number"])
    kind = "pc" if match["hex"] or LEAST_PC <= number < LEAST_TIME else "index"
    return {"kind": "time" if match["offset"] else kind, "correlation": number}


def _device(context: Mapping[str, float | str], capability: str) -> Device | None:
    """Describe the GPU of a launch; the details page tells nothing but its compute capability."""
    device = device_from(context)
    match = _CAPABILITY.fullmatch(capability)
    if device is not None or match is None:
        return device
    return Device(f"unknown GPU (CC {capability})", (int(match[1]), int(match[2])))


def _identity(one: Table, row: Sequence[str]) -> Identity:
    kernel = one.cell(row, "Kernel Name") or "(unnamed)"

    def told(column: str) -> str | None:
        cell = one.cell(row, column)
        return None if is_missing(cell) else cell

    process, name = one.cell(row, "Process ID"), one.cell(row, "Process Name")
    return Identity(
        kernel=kernel,
        function=short_name(kernel),
        mangled=kernel if kernel.startswith("_Z") else None,  # --print-kernel-base mangled
        grid=_dimensions(one.cell(row, "Grid Size")),
        block=_dimensions(one.cell(row, "Block Size")),
        stream=told("Stream"),
        context=told("Context"),
        process=f"{name} ({process})" if process else name or None,
        device=told("Device"),
        nvtx=_nvtx_path(one, row),
        workload=_workload(one, kernel),
    )


def _workload(one: Table, kernel: str) -> str:
    """Return what was profiled: a range or graph is named so; a range has no sizes, a graph metrics of its own."""
    if kernel == "range" and "Grid Size" not in one.at:
        return "range"
    return "graph" if kernel == "graph" and GRAPH_METRIC in one.at else "kernel"


def _dimensions(cell: str) -> tuple[int, int, int]:
    """Return a size (x, y, z); zeros where the export does not tell."""
    match = _DIMENSIONS.fullmatch(cell.strip())
    if match is None:
        return 0, 0, 0
    x, y, z = (int(number) for number in match.groups() if number is not None)
    return x, y, z


def _with_sizes(identity: Identity, numbers: Mapping[str, float]) -> Identity:
    """Take from the metrics the sizes that old exports have no columns for."""

    def size(what: str, told: tuple[int, int, int]) -> tuple[int, int, int]:
        if any(told):
            return told
        x, y, z = (numbers.get(LAUNCH_IDENTITY[f"{what}_{axis}"], 0.0) for axis in "xyz")
        return (0, 0, 0) if math.isnan(x + y + z) else (int(x), int(y), int(z))

    return replace(identity, grid=size("grid", identity.grid), block=size("block", identity.block))


def _is_nvtx(column: str) -> bool:
    return _PUSH_POP in column or _START_STOP in column


def _nvtx_path(one: Table, row: Sequence[str]) -> tuple[str, ...]:
    """Return the ranges around a launch, in the order of a report: by domain, in it those that nest before others."""
    nesting = [_nvtx_ranges(one.cell(row, name), numbered=False) for name in one.header if _PUSH_POP in name]
    others = [_nvtx_ranges(one.cell(row, name), numbered=True) for name in one.header if _START_STOP in name]
    found = [path for ranges in (*nesting, *others) for path in ranges]
    domains = list(dict.fromkeys(domain for domain, _ in found))
    return tuple(path for _, path in sorted(found, key=lambda path: domains.index(path[0])))


def _nvtx_ranges(cell: str, *, numbered: bool) -> Iterator[tuple[str, str]]:
    """Yield domain and path of a cell like ``2195  "<default domain>:ncu-lab/2d:none:none:none:none:none:none"``.

    Ranges of start and end have a number before the domain. Names may hold quotes and colons: ncu escapes neither.
    """
    start, end = cell.find('"'), cell.rfind('"')
    for quoted in _NVTX_BETWEEN.split(cell[start + 1 : end]) if start < end else ():
        domain, _, rest = (quoted.partition(":")[2] if numbered else quoted).partition(":")
        name = _nvtx_name(rest)
        yield domain, name if domain in ("", "<default domain>") else f"{domain}@{name}"


def _nvtx_name(text: str) -> str:
    """Return the name before a range's attributes; the last of these is the message: none, or the name once more."""
    parts = text.split(":")
    for length in range(1, len(parts) - _NVTX_ATTRIBUTES + 1):
        name, message = ":".join(parts[:length]), ":".join(parts[length + _NVTX_ATTRIBUTES - 1 :])
        if message in (name, "none"):
            return name
    return text.rsplit(":", _NVTX_ATTRIBUTES)[0]
