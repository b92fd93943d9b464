"""CSV exports of ncu, whichever page they are of, into the same tables as a report.

Columns are found by the names in the header, never by position: versions and options add and drop some. What a
terminal or the profiled program wrote around (or between) the rows is skipped and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ncu_lab.errors import InputError, NothingExportedError
from ncu_lab.model import Notice, ParsedReport
from ncu_lab.parse.csv_launches import read_launches
from ncu_lab.parse.csv_session import is_session, read_session
from ncu_lab.parse.csv_source import is_source, read_source
from ncu_lab.parse.csv_tables import find_tables
from ncu_lab.parse.csv_text import read_lines

_EXPORT = "Export it again: ncu --import REPORT --csv --page raw"
_CAUSES = ("==ERROR==", "No kernels were profiled")


def read_csv(path: Path) -> ParsedReport:
    """Read a CSV export of the raw, details, source or session page.

    The source page has launches and their instances per instruction, no metrics of a whole launch. The session page
    has no launches, only the device and the environment.

    Raises:
        NothingExportedError: When it holds nothing but what ncu complained of.
        InputError: When the file is none of these, holds no results, or its number format cannot be told.
    """
    lines, notices = read_lines(path)
    parsed = _read(lines, path)
    return replace(parsed, notices=(*notices, *parsed.notices))


def _read(lines: Sequence[str], path: Path) -> ParsedReport:
    found = find_tables(lines)
    cause = next((line.strip() for line in lines if any(mark in line for mark in _CAUSES)), None)
    if any(one.rows for one in found.tables) or (found.tables and cause is None):
        return _with_cause(read_launches(found, path), cause)
    if is_source(lines):
        return _with_cause(read_source(lines, path), cause)
    if is_session(lines):
        return read_session(lines, path)
    if cause is not None:
        raise NothingExportedError(f"{path} holds no results; ncu said: {cause}", "Profile again.", "\n".join(lines))
    if any("Kernel Name" in line and "Invocations" in line for line in lines):
        raise InputError(f"{path} sums launches up (--print-summary) and tells of none of them", _EXPORT)
    raise InputError(
        f"{path} is neither a report nor a CSV export of ncu: it has no header with the columns ID and Kernel Name",
        "Give a .ncu-rep, a .ncu-repz or a CSV export: ncu --import REPORT --csv --page raw",
    )


def _with_cause(parsed: ParsedReport, cause: str | None) -> ParsedReport:
    """Keep what ncu said went wrong beside the launches it could profile."""
    if cause is None:
        return parsed
    return replace(parsed, notices=(*parsed.notices, Notice("ncu_error", f"ncu said: {cause}")))
