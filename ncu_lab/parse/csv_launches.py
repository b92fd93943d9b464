"""The pages raw and details into the tables of a run.

A CSV holds less than a report: no mangled names, no correlation of instances, and as many digits as were printed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.metrics import DETAILS_LABELS, DEVICE_PREFIX, LAUNCH_IDENTITY, METRICS, source_metric, stall_metric
from ncu_lab.model import INSTANCE_COLUMNS, METRIC_COLUMNS, RULE_COLUMNS, Device, Notice, ParsedReport, table
from ncu_lab.parse.csv_tables import Table, Tables
from ncu_lab.parse.identity import Identity, device_from, launches_table, short_name
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
_DIMENSIONS = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)|(\d+)\s*[,x]\s*(\d+)\s*[,x]\s*(\d+)")
_CAPABILITY = re.compile(r"(\d+)\.(\d+)")
_NVTX_RANGE = re.compile(r'"([^"]*)"')
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
    if one.is_details:
        for row in one.rows:
            yield one.cell(row, "Metric Name"), _split_instances(one.cell(row, "Metric Value"))[0]
    else:
        columns = [(name, index) for index, name in _metric_columns(one)]
        yield from ((name, _split_instances(row[index])[0]) for row in one.rows for name, index in columns)


def _metric_columns(one: Table) -> Iterator[tuple[int, str]]:
    return ((index, name) for index, name in enumerate(one.header) if name not in IDENTITY and not _is_nvtx(name))


def _add_raw(one: Table, launches: _Launches) -> None:
    units = one.units or {}
    columns = [(index, name, *base_unit(units.get(name, ""))) for index, name in _metric_columns(one)]
    for row in one.rows:
        launches.begin(one, row)
        for index, name, unit, factor in columns:
            value, instances = _split_instances(row[index])
            launches.add(name, value, unit, factor)
            if instances:
                launches.add_instances(name, instances, factor)


def _add_details(one: Table, launches: _Launches) -> None:
    identifying = [index for index, name in enumerate(one.header) if name in IDENTITY or _is_nvtx(name)]
    known: dict[tuple[str, ...], int] = {}
    for row in one.rows:
        key = tuple(row[index] if index < len(row) else "" for index in identifying)
        if key in known:
            launches.resume(known[key])
        else:
            known[key] = launches.begin(one, row)
        if one.cell(row, "Rule Name"):
            launches.add_rule(one, row)
        if one.cell(row, "Metric Name"):
            value, instances = _split_instances(one.cell(row, "Metric Value"))
            name = _metric_name(one, row)
            unit, factor = base_unit(one.cell(row, "Metric Unit"))
            if launches.add(name, value, unit, factor) and instances:
                launches.add_instances(name, instances, factor)


def _split_instances(cell: str) -> tuple[str, list[str]]:
    """Split ``12 (3; 4; 5)``, as ``--print-metric-instances values`` prints, into the value and its instances."""
    if not cell.endswith(")") or cell.count("(") != 1 or cell.count(")") != 1:
        return cell, []
    value, _, rest = cell.partition("(")
    value, instances = value.rstrip(), rest[:-1].split("; ")
    listed = all(is_missing(one) or _NUMERIC.fullmatch(one) for one in instances) or instances == [value]
    return (value, instances) if listed else (cell, [])


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
        """Add the instances of a metric; a CSV numbers them, it does not tell what they belong to."""
        for position, cell in enumerate(cells):
            number, text = self._value(cell)
            entry = {"launch": self._at, "metric": name, "kind": "index", "correlation": position}
            for column in self.instances:
                self.instances[column].append({**entry, "value": number * factor, "text": text}.get(column))

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


def _device(context: Mapping[str, float | str], capability: str) -> Device | None:
    """Describe the GPU of a launch; the details page tells nothing but its compute capability."""
    device = device_from(context)
    match = _CAPABILITY.fullmatch(capability)
    if device is not None or match is None:
        return device
    return Device(f"unknown GPU (CC {capability})", (int(match[1]), int(match[2])))


def _identity(one: Table, row: Sequence[str]) -> Identity:
    kernel = one.cell(row, "Kernel Name") or "(unnamed)"
    process, name = one.cell(row, "Process ID"), one.cell(row, "Process Name")
    return Identity(
        kernel=kernel,
        function=short_name(kernel),
        mangled=None,
        grid=_dimensions(one.cell(row, "Grid Size")),
        block=_dimensions(one.cell(row, "Block Size")),
        stream=one.cell(row, "Stream") or None,
        context=one.cell(row, "Context") or None,
        process=f"{name} ({process})" if process else name or None,
        device=one.cell(row, "Device") or None,
        nvtx=tuple(path for column in one.header if _is_nvtx(column) for path in _nvtx_path(one.cell(row, column))),
        workload="kernel",
    )


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
    return "Domain:Push/Pop_Range" in column or "Domain:Start/Stop_Range" in column


def _nvtx_path(cell: str) -> Iterator[str]:
    """Yield the ranges of a cell like ``2195  "<default domain>:ncu-lab/2d:none:none:none:none:none:none"``."""
    for quoted in _NVTX_RANGE.findall(cell):
        domain, _, name = quoted.partition(":")
        name = name.rsplit(":", _NVTX_ATTRIBUTES)[0]
        yield name if domain in ("", "<default domain>") else f"{domain}@{name}"
