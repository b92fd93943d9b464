"""Any file of measurements: what it is is told from its content, whatever it is called."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.model import ParsedReport, Stage
from ncu_lab.parse.container import MAGIC

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_FOREIGN = {
    b"SQLite format 3\0": "an SQLite database (an Nsight Systems export?)",
    b"PK\x03\x04": "a zip archive",
    b"PAR1": "a Parquet file",
    b"\x7fELF": "an ELF binary",
}


@contextmanager
def plain_file(path: Path) -> Iterator[Path]:
    """Give the file itself, or, while the context lasts, what it holds when it is compressed (gzip or zstd).

    Raises:
        InputError: When the file is not there, cannot be read, or its compressed stream is broken.
    """
    magic = _magic(path)
    kind = next((name for start, name in _COMPRESSED.items() if magic.startswith(start)), None)
    if kind is None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        plain = Path(folder) / path.stem
        _decompress(path, plain, kind)
        try:
            yield plain
        except NcuLabError as error:
            # People know the file they gave, not where it was unpacked to.
            error.message = error.message.replace(str(plain), str(path))
            error.args = (error.message,)
            raise


def is_report(path: Path) -> bool:
    """Return whether a file that is not compressed is an Nsight Compute report."""
    return _magic(path).startswith(MAGIC)


def read_any(path: Path, *, stages: Mapping[str, Stage] | None = None) -> ParsedReport:
    """Read a report or a CSV export, plain or compressed.

    Args:
        path: The file.
        stages: See :func:`ncu_lab.parse.report.read_report`.

    Raises:
        InputError: When the file is not there or is none of these.
    """
    with plain_file(path) as plain:
        if is_report(plain):
            from ncu_lab.parse.report import read_report

            return read_report(plain, stages=stages)
        magic = _magic(plain)
        for start, what in _FOREIGN.items():
            if magic.startswith(start):
                raise InputError(f"{path} is {what}, not a report", "Give a .ncu-rep, a .ncu-repz or a CSV export.")
        from ncu_lab.parse.csv_page import read_csv

        return read_csv(plain)


def _magic(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}", "Check the path.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", "Check the path and its permissions.") from error


def _decompress(path: Path, plain: Path, kind: str) -> None:
    import pyarrow as pa

    try:
        with pa.input_stream(str(path), compression=kind) as source, plain.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is a broken {kind} stream: {error}", "Copy it again.") from error
