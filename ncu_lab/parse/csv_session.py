"""The session page: small tables under bare titles, which tell the device and the environment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ncu_lab.metrics import DEVICE_PREFIX
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    Environment,
    Notice,
    ParsedReport,
    table,
)
from ncu_lab.parse.csv_text import DELIMITERS, cells
from ncu_lab.parse.identity import device_from
from ncu_lab.parse.numbers import decimal_point, parse_number
from ncu_lab.parse.session import environment_from

_LAUNCH, _SESSION, _DEVICE, _PROCESS = "Launch Attribute", "Session Attribute", "Device Attribute", "Process Id"
_TABLES = (_LAUNCH, _SESSION, _DEVICE, _PROCESS)

Rows = dict[str, list[list[str]]]


def is_session(lines: Sequence[str]) -> bool:
    """Return whether a text has the tables of a session."""
    return any(_SESSION in line or _DEVICE in line for line in lines) and bool(_rows(lines))


def read_session(lines: Sequence[str], path: Path) -> ParsedReport:
    """Read the device and the environment of a session; there are no launches on this page.

    Raises:
        InputError: When the number format cannot be told.
    """
    rows = _rows(lines)
    notices = [Notice("session_page", "the session page holds no launches, only the device and the environment.")]
    named = [row[1:] for row in rows.get(_DEVICE, []) if row[0] == "display_name"]
    devices = list(dict.fromkeys(name for names in named for name in names if name))
    if len(devices) > 1:
        notices.append(Notice("several_devices", f"the session has {' and '.join(devices)}; the first is kept."))
    attributes = [(row[0], row[1]) for row in rows.get(_DEVICE, [])]
    decimal = decimal_point(attributes, str(path))
    values = {f"{DEVICE_PREFIX}{name}": parse_number(cell, decimal) for name, cell in attributes}
    told = {f"{DEVICE_PREFIX}{name}": cell for name, cell in attributes}
    return ParsedReport(
        launches=table(LAUNCH_COLUMNS),
        metrics=table(METRIC_COLUMNS),
        instances=table(INSTANCE_COLUMNS),
        rules=table(RULE_COLUMNS),
        device=device_from({name: told[name] if value is None else value for name, value in values.items()}),
        environment=_environment(rows),
        notices=tuple(notices),
    )


def _environment(rows: Rows) -> Environment:
    session = {row[0]: row[1] for row in rows.get(_SESSION, [])}
    launch = {row[0]: row[1] for row in rows.get(_LAUNCH, [])}
    found = environment_from(session, launch.get("Profiler Command Line", ""))
    return replace(found, os=found.os or session.get("Target OS"))


def _rows(lines: Sequence[str]) -> Rows:
    """Return the rows of every table, by the first name of its header; a title or a blank line ends a table."""
    found: Rows = {}
    current: list[list[str]] | None = None
    delimiter = DELIMITERS[0]
    for line in lines:
        header = next((mark for mark in DELIMITERS if cells(line, mark)[:1] in [[name] for name in _TABLES]), None)
        if header is not None and len(cells(line, header)) > 1:
            delimiter = header
            current = found.setdefault(cells(line, delimiter)[0], [])
            continue
        row = cells(line, delimiter)
        if len(row) < 2:
            current = None
        elif current is not None:
            current.append(row)
    return found
