"""The session page: small tables under bare titles, which tell the device and the environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ncu_lab.metrics import DEVICE_PREFIX
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    Notice,
    ParsedReport,
    Session,
    table,
)
from ncu_lab.parse.csv_text import DELIMITERS, cells
from ncu_lab.parse.identity import device_from
from ncu_lab.parse.numbers import decimal_point, parse_number
from ncu_lab.parse.session import environment_from, options_of

_LAUNCH, _SESSION, _DEVICE, _PROCESS = "Launch Attribute", "Session Attribute", "Device Attribute", "Process Id"
_TABLES = (_LAUNCH, _SESSION, _DEVICE, _PROCESS)

_COMMAND, _CREATED, _ADDRESSES = "Profiler Command Line", "Created", "Target IP Addresses"
_MACHINE = {"os": "OS", "architecture": "Architecture", "processor": "Processor", "name": "Name"}
_NO_VERSIONS = {
    _CREATED,
    _ADDRESSES,
    *(f"{which} {word}" for which in ("Host", "Target") for word in _MACHINE.values()),
}

# Names of months are in English whatever the locale.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = re.compile(r"(?P<year>\d{4})-(?P<month>\w{3})-(?P<day>\d\d) (?P<clock>\d\d:\d\d:\d\d)")

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
    session = _session(rows)
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
        environment=environment_from(session.versions, session.command),
        notices=tuple(notices),
        session=session,
    )


def _session(rows: Rows) -> Session:
    said, launch, processes = ({row[0]: row[1] for row in rows.get(kind, [])} for kind in (_SESSION, _LAUNCH, _PROCESS))
    command = launch.get(_COMMAND, "").strip()
    addresses = said.get(_ADDRESSES, "").split(",")
    return Session(
        created=_time(said.get(_CREATED, "")),
        command=command,
        options=options_of(command),
        host=_machine(said, "Host"),
        target=_machine(said, "Target"),
        addresses=tuple(one.strip() for one in addresses if one.strip()),
        versions={name: cell for name, cell in said.items() if name not in _NO_VERSIONS},
        processes=processes,
    )


def _machine(said: Mapping[str, str], which: str) -> dict[str, str]:
    told = {name: said.get(f"{which} {column}", "") for name, column in _MACHINE.items()}
    told["os"], _, told["os_version"] = told["os"].partition(" - ")
    return {name: word for name, word in told.items() if word}


def _time(cell: str) -> str | None:
    """Return the time of a cell like ``2026-Nov-30 00:53:48`` in ISO 8601, UTC."""
    match = _TIME.fullmatch(cell.strip())
    if match is None or match["month"] not in _MONTHS:
        return None
    month = _MONTHS.index(match["month"]) + 1
    return f"{match['year']}-{month:02}-{match['day']}T{match['clock']}+00:00"


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
