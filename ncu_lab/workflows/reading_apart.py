"""Reading a file nobody vouches for, in a process of its own.

NVIDIA's reader is native code: a damaged report can crash it, and nothing within the process could catch that. So the
file is read by a child with limits on memory, time and the size of what it writes. What it read comes back as Parquet
and JSON in a temporary folder, never as objects to be unpickled; the folder and every process go, however this ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pandas as pd

from ncu_lab import errors
from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.model import ParsedReport
from ncu_lab.parse.files import MAX_UNPACKED_BYTES, read_any, refuse_special
from ncu_lab.store.encoding import decode, encode
from ncu_lab.store.stored_run import TABLES
from ncu_lab.store.tables import read_table, write_table
from ncu_lab.workflows.reading import complaints_explained

TIMEOUT_S = 120.0
MEMORY_BYTES = 4 << 30

_PARSED = "parsed.json"
_REFUSED = "refused.json"
_COMPLAINTS = "complaints"
_DAMAGED = "The file is damaged, or made to do this. Copy it again from where it was recorded."
_OUT_OF_MEMORY = ("bad_alloc", "MemoryError", "Memory allocation failure")
"""How the C++ library, Python and NVIDIA's reader say it when they end over it."""

_SINGLE = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
"""Threads that nobody needs here would each claim address space, which is what is limited."""


def read_apart(path: Path, *, timeout_s: float = TIMEOUT_S, memory_bytes: int = MEMORY_BYTES) -> ParsedReport:
    """Read a report or an export as :func:`ncu_lab.parse.files.read_any` does, in a child process with limits.

    Args:
        path: The file.
        timeout_s: Seconds after which reading is given up.
        memory_bytes: What reading may take beside the interpreter and its libraries.

    Raises:
        InputError: When the file cannot be read, or the child crashed, took too long or needed more memory.
    """
    refuse_special(path)
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        status = _run_child(path, Path(folder), timeout_s, memory_bytes)
        if status is None:
            raise InputError(f"{path} was not read within {timeout_s:g} s and was given up", _DAMAGED)
        refused = Path(folder, _REFUSED)
        try:
            if refused.exists():
                raise _refusal(json.loads(refused.read_text(encoding="utf-8")), path)
            if status != 0 or not Path(folder, _PARSED).exists():
                raise _crash(path, status, Path(folder, _COMPLAINTS), memory_bytes)
            return _load(Path(folder))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} cannot be read: what was read of it is garbled ({error})", _DAMAGED) from error


def _run_child(path: Path, folder: Path, timeout_s: float, memory_bytes: int) -> int | None:
    """Return how the child ended, negative for a signal; None when it took too long."""
    environment = {**os.environ, **_SINGLE, "TMPDIR": str(folder)}  # what it unpacks goes with the folder
    limits = [str(memory_bytes), str(max(1, round(timeout_s)))]
    with Path(folder, _COMPLAINTS).open("wb") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(path), str(folder), *limits],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=complaints,
            env=environment,
            start_new_session=True,
        )
        try:
            return process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _refusal(document: Mapping[str, Any], path: Path) -> NcuLabError:
    """Return the error that the child raised; an unknown kind of error is one of input."""
    kind = getattr(errors, str(document.get("kind")), InputError)
    known = isinstance(kind, type) and issubclass(kind, NcuLabError)
    message, hint = (str(document.get(key) or "") for key in ("message", "hint"))
    return (kind if known else InputError)(message or f"{path} cannot be read", hint)


def _crash(path: Path, status: int, complaints: Path, memory_bytes: int) -> InputError:
    words = complaints.read_text(encoding="utf-8", errors="replace")
    if any(sign in words for sign in _OUT_OF_MEMORY):
        return _too_large(path, memory_bytes)
    if status == -signal.SIGXCPU:
        return InputError(f"{path} took too much computing time to read and was given up", _DAMAGED)
    if status < 0:
        with contextlib.suppress(ValueError):
            return InputError(f"{path} crashed the reader ({signal.Signals(-status).name})", _DAMAGED)
    last = next((line for line in reversed(words.splitlines()) if line.strip()), f"exit code {status}")
    return InputError(f"{path} cannot be read: the reader ended without a result ({last.strip()})", _DAMAGED)


def _too_large(path: Path, memory_bytes: int) -> InputError:
    return InputError(
        f"{path} needs more than {memory_bytes >> 20} MiB of memory to be read, which is the limit", _DAMAGED
    )


def _save(parsed: ParsedReport, folder: Path) -> None:
    """Write what was read; the JSON document comes last and by renaming, so that its presence means all of it."""
    document: dict[str, Any] = {}
    for field in dataclasses.fields(parsed):
        value = getattr(parsed, field.name)
        if isinstance(value, pd.DataFrame):
            (folder / f"{field.name}.parquet").write_bytes(write_table(value, TABLES[field.name]))
        else:
            document[field.name] = encode(value)
    _write_json(folder / _PARSED, document)


def _load(folder: Path) -> ParsedReport:
    """Read what a child wrote.

    Raises:
        ValueError: When it is not what a child writes.
    """
    document = json.loads((folder / _PARSED).read_text(encoding="utf-8"))
    fields: dict[str, Any] = {}
    for name, kind in get_type_hints(ParsedReport, localns={"pd": pd}).items():
        if kind is pd.DataFrame:
            fields[name] = read_table((folder / f"{name}.parquet").read_bytes(), TABLES[name])
        else:
            fields[name] = decode(kind, document[name], name)
    return ParsedReport(**fields)


def _write_json(path: Path, document: Mapping[str, Any]) -> None:
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(document), encoding="utf-8")
    unfinished.rename(path)


def _limit(memory_bytes: int, seconds: int) -> None:
    """Limit this process, once everything it needs is loaded."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    address_space = pages * resource.getpagesize() + memory_bytes
    for what, most in (
        (resource.RLIMIT_AS, address_space),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, MAX_UNPACKED_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(what)
        resource.setrlimit(what, (most, most) if hard == resource.RLIM_INFINITY else (min(most, hard), hard))


def _child(path: Path, folder: Path, memory_bytes: int, seconds: int) -> int:
    """Read the file, and leave in the folder what it holds or why it is refused."""
    import ncu_lab.parse.csv_page
    import ncu_lab.parse.report  # noqa: F401  # loaded before memory is limited

    _limit(memory_bytes, seconds)
    try:
        with complaints_explained():
            parsed = read_any(path)
        _save(parsed, folder)
    except NcuLabError as error:
        if isinstance(error.__cause__, MemoryError):
            error = _too_large(path, memory_bytes)
        _write_json(folder / _REFUSED, {"kind": type(error).__name__, "message": error.message, "hint": error.hint})
    return 0


if __name__ == "__main__":
    sys.exit(_child(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
