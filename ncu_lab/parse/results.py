"""Results of a report, as NVIDIA's reader gives them, into tables.

Reading is one pass over every metric and instance of every result; columns grow as plain lists and arrays, and words
that repeat a thousand times (metrics, SASS, files) as codes into a list, so that tables cost little beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern
from typing import TYPE_CHECKING, Any

from ncu_lab.metrics import LAUNCH_IDENTITY, METRICS, fixed_unit
from ncu_lab.model import METRIC_COLUMNS, RULE_COLUMNS, Device, Notice, table
from ncu_lab.parse.identity import Identity, device_from
from ncu_lab.parse.instances import InstanceColumns
from ncu_lab.parse.units import base_unit

if TYPE_CHECKING:
    import pandas as pd
    from ncu_report import IAction

_NAN = float("nan")

_WORKLOADS = {
    "KERNEL": "kernel",
    "RANGE": "range",
    "CMDLIST": "cmdlist",
    "GRAPH": "graph",
    "SUBGRID_SCHEDULE": "subgrid",
}
_RULE_KINDS = {0: "none", 1: "ok", 2: "optimization", 3: "warning", 4: "error"}
_SPEEDUP_SCOPES = {1: "local", 2: "global"}

_LINK = re.compile(
    r"@(?:section:[^:@]*|sass:[^:@]*|source:[^@]*?:\d+):(?P<text>[^@]*)@|@url:(?P<words>[^:@]*):(?P<url>[^@]*)@"
)
"""Links in rule messages."""


@dataclass(frozen=True)
class Piece:
    """Some consecutive results of a report.

    Attributes:
        first: Number of the first of them in the report.
        identities: One per result; their process is not told here.
        durations: Nanoseconds of each, None where it was not collected.
        metrics: A table of ``METRIC_COLUMNS``; launches are numbered as in the whole report.
        instances: Likewise, of ``INSTANCE_COLUMNS``.
        rules: Likewise, of ``RULE_COLUMNS``.
        devices: The GPUs they ran on, in the order met.
        notices: What is odd about them.
        sources: File -> text, of the source files that their code is from and that the report holds.
    """

    first: int
    identities: tuple[Identity, ...]
    durations: tuple[float | None, ...]
    metrics: pd.DataFrame
    instances: pd.DataFrame
    rules: pd.DataFrame
    devices: tuple[Device, ...]
    notices: tuple[Notice, ...]
    sources: Mapping[str, str]


class ResultReader:
    """Collects the columns of all tables, one result after the other.

    Args:
        first: Number of the first result in the whole report.
    """

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._identities: list[Identity] = []
        self._durations: list[float | None] = []
        self._metrics: dict[str, list[Any]] = {name: [] for name in METRIC_COLUMNS}
        self._rules: dict[str, list[Any]] = {name: [] for name in RULE_COLUMNS}
        self._instances = InstanceColumns()
        self._devices: dict[str, Device] = {}
        self._notices: list[Notice] = []
        self._sources: dict[str, str] = {}
        self._files_seen = 0

    def add(self, action: IAction) -> None:
        """Read one result."""
        launch = self._first + len(self._identities)
        numbers, words = self._read_metrics(launch, action)
        if not numbers:
            self._notices.append(Notice("hollow_result", f"result {launch} of the report has no values."))
        self._identities.append(_identity(action, numbers))
        self._durations.append(METRICS["duration_ns"].counters[0].read(numbers.get)[0])
        self._read_rules(launch, action)
        self._read_sources(action)
        if device := device_from({**numbers, **words}):
            self._devices.setdefault(device.name, device)

    def piece(self) -> Piece:
        """Return what was read."""
        return Piece(
            first=self._first,
            identities=tuple(self._identities),
            durations=tuple(self._durations),
            metrics=table(METRIC_COLUMNS, self._metrics),
            instances=self._instances.table(),
            rules=table(RULE_COLUMNS, self._rules),
            devices=tuple(self._devices.values()),
            notices=tuple(self._notices),
            sources=self._sources,
        )

    def _read_metrics(self, launch: int, action: IAction) -> tuple[dict[str, float], dict[str, str]]:
        numbers: dict[str, float] = {}
        words: dict[str, str] = {}
        names, values, texts, units = [], [], [], []
        self._instances.start(launch, action)
        by_name, add_instances = action.metric_by_name, self._instances.add
        garbled = 0
        for name in action.metric_names():
            try:
                metric = by_name(name)
            except TypeError:  # bytes that are no text
                metric = None
            if metric is None:  # the reader lists names of a damaged report that it does not find then
                garbled += 1
                continue
            unit, factor = base_unit(fixed_unit(name) or metric.unit())
            value, text = _NAN, None
            if metric.has_value():
                if metric.kind() == metric.ValueKind_STRING:
                    if text := metric.as_string() or None:
                        words[name] = text
                else:
                    value = numbers[name] = metric.as_double() * factor
            # One object a word: pieces that hold each name a hundred times are passed on in a tenth of their size.
            names.append(intern(name))
            values.append(value)
            texts.append(text)
            units.append(unit if unit is None else intern(unit))
            count = metric.num_instances()
            if count:
                add_instances(name, metric, count, factor)
        if garbled:
            lost = "1 metric is lost" if garbled == 1 else f"{garbled} metrics are lost"
            self._notices.append(Notice("lost_metrics", f"{lost} of result {launch}: the report is damaged there."))
        columns = self._metrics
        columns["launch"] += [launch] * len(names)
        for column, found in (("metric", names), ("value", values), ("text", texts), ("unit", units)):
            columns[column] += found
        return numbers, words

    def _read_sources(self, action: IAction) -> None:
        """Read the source files of a result whose instructions are from files not seen before: every result has all."""
        files = self._instances.files
        if len(files) > self._files_seen:
            self._files_seen = len(files)
            self._sources |= {file: text for file, text in action.source_files().items() if text and file in files}

    def _read_rules(self, launch: int, action: IAction) -> None:
        for result in action.rule_results_as_dicts():
            message = result["rule_message"] or {}
            speedup = result.get("speedup_estimation", {})
            row = {
                "launch": launch,
                "section": result["section_identifier"],
                "rule": result["rule_identifier"],
                "kind": _RULE_KINDS.get(int(message.get("type", 0)), "none"),
                "message": plain_message(message.get("message", "")),
                "speedup_pct": speedup.get("speedup", _NAN),
                "speedup_scope": _SPEEDUP_SCOPES.get(int(speedup.get("type", 0))),
            }
            for column, value in row.items():
                self._rules[column].append(value)


def _identity(action: IAction, numbers: Mapping[str, float]) -> Identity:
    demangled = action.name(action.NameBase_DEMANGLED)
    function = action.name(action.NameBase_FUNCTION)
    mangled = action.name(action.NameBase_MANGLED)
    kernel = demangled or mangled or function or "(unnamed)"

    def size(what: str) -> tuple[int, int, int]:
        x, y, z = (int(numbers.get(LAUNCH_IDENTITY[f"{what}_{axis}"], 0)) for axis in "xyz")
        return x, y, z

    def ordinal(what: str) -> str | None:
        value = numbers.get(LAUNCH_IDENTITY[what])
        return None if value is None else str(int(value))

    return Identity(
        kernel=kernel,
        function=function or kernel,
        mangled=mangled or None,
        grid=size("grid"),
        block=size("block"),
        stream=ordinal("stream"),
        context=ordinal("context"),
        process=None,
        device=ordinal("device"),
        nvtx=_nvtx_path(action),
        workload=_workload(action),
    )


def _workload(action: IAction) -> str:
    kind = action.workload_type()
    for name, word in _WORKLOADS.items():
        if kind == getattr(action, f"WorkloadType_{name}", None):
            return word
    return f"type {kind}"


def _nvtx_path(action: IAction) -> tuple[str, ...]:
    """Return the ranges around a result, outermost first, in ncu's own notation ``domain@range``."""
    state = action.nvtx_state()
    if state is None:
        return ()
    path: list[str] = []
    for identifier in state.domains():
        domain = state.domain_by_id(identifier)
        name = domain.name()
        prefix = "" if name in ("", "<default domain>") else f"{name}@"
        path += [prefix + one for one in (*domain.push_pop_ranges(), *domain.start_end_ranges())]
    return tuple(path)


def plain_message(message: str) -> str:
    """Return a rule's message with its links as plain text, the way ncu exports it."""
    return _LINK.sub(lambda link: f"{link['words']} ({link['url']})" if link["url"] else link["text"], message)
