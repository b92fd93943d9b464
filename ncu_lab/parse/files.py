"""Any file of measurements: what it is is told from its content, whatever it is called.

Files come from anywhere. Only regular ones are opened, what is compressed may not grow without bounds, and whatever a
damaged report or export makes a reader stumble over ends as an :class:`~ncu_lab.errors.InputError` that names the file.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError
from ncu_lab.model import Notice, ParsedReport, Stage
from ncu_lab.parse.container import MAGIC

if TYPE_CHECKING:
    import pandas as pd

MAX_RATIO = 100
"""How many times its size a compressed file may hold; reports and exports hold 5 to 65 times."""

FREE_BYTES = 64 << 20
"""What a compressed file may hold whatever its size: it is read within seconds."""

MAX_UNPACKED_BYTES = 4 << 30
"""What a compressed file may hold at most."""

MAX_TEXT_BYTES = 512 << 20
"""The largest export that is read: it takes some ten times as much memory."""

_COMPRESSED_REPORT = ".ncu-repz"
"""NVIDIA's reader unpacks whatever is called so, and takes only names that are UTF-8; of others it reads nothing."""

_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_FOREIGN = {
    b"SQLite format 3\0": "an SQLite database (an Nsight Systems export?)",
    b"PK\x03\x04": "a zip archive",
    b"PAR1": "a Parquet file",
    b"\x7fELF": "an ELF binary",
}
_SPECIAL = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_PIECE = 1 << 10
"""Of a stream that is cut, what is unpacked of the last piece is lost."""

_GIVE = "Give a .ncu-rep, a .ncu-repz or a CSV export."


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file that is not compressed.

    Attributes:
        path: Where it is.
        given: The file that it was unpacked from, else itself.
        broken: Why the compressed stream could not be unpacked to its end; None when it could, or there is none.
    """

    path: Path
    given: Path
    broken: InputError | None = None

    @property
    def is_report(self) -> bool:
        """Whether it is an Nsight Compute report."""
        return _magic(self.path).startswith(MAGIC)


@contextmanager
def plain_file(path: Path) -> Iterator[PlainFile]:
    """Give the file itself, or, while the context lasts, what it holds when it is compressed (gzip or zstd).

    Raises:
        InputError: When the file is not there, is no regular file, cannot be read, is no compressed stream though it
            begins as one, or holds more than :data:`MAX_RATIO` times its size, than :data:`MAX_UNPACKED_BYTES` or, if
            it is no report, than :data:`MAX_TEXT_BYTES`.
    """
    magic = _magic(path)
    kind = next((name for start, name in _COMPRESSED.items() if magic.startswith(start)), None)
    if kind is None and _is_text(str(path)) and not path.name.endswith(_COMPRESSED_REPORT):
        yield PlainFile(path, path)
        return
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        plain = Path(folder) / "file"
        broken = None
        if kind is None:
            plain.symlink_to(path.absolute())
        else:
            broken = _decompress(path, plain, kind)
        try:
            yield PlainFile(plain, path, broken)
        except NcuLabError as error:
            # People know the file they gave, not where it was unpacked to.
            error.message = error.message.replace(str(plain), str(path))
            error.args = (error.message,)
            raise


def read_any(
    path: Path,
    *,
    stages: Mapping[str, Stage] | None = None,
    take: Callable[[Mapping[str, pd.DataFrame]], None] | None = None,
) -> ParsedReport:
    """Read a report or a CSV export, plain or compressed.

    Args:
        path: The file.
        stages: See :func:`ncu_lab.parse.report.read_report`.
        take: Likewise; an export is never handed on in parts.

    Raises:
        InputError: When the file is not there, is none of these, or is too damaged to be read.
    """
    with plain_file(path) as plain:
        return read_plain(plain, stages=stages, take=take)


def read_plain(
    plain: PlainFile,
    *,
    stages: Mapping[str, Stage] | None = None,
    take: Callable[[Mapping[str, pd.DataFrame]], None] | None = None,
) -> ParsedReport:
    """Read a report or a CSV export as :func:`read_any` does; of a broken stream what came before, with a notice."""
    if plain.broken is None:
        return _read(plain, stages, take)
    try:
        parsed = _read(plain, stages, take)
    except InputError:
        raise plain.broken from None
    words = f"{plain.broken.message}; what it held until then is read.".removeprefix(f"{plain.given} ")
    return replace(parsed, notices=(Notice("damaged", f"the file {words}"), *parsed.notices))


def _read(
    plain: PlainFile,
    stages: Mapping[str, Stage] | None,
    take: Callable[[Mapping[str, pd.DataFrame]], None] | None,
) -> ParsedReport:
    if plain.is_report:
        from ncu_lab.parse.report import read_report

        with damage_told(plain.given):
            return read_report(plain.path, stages=stages, take=take)
    _refuse_foreign(plain.path, plain.given)
    from ncu_lab.parse.csv_page import read_csv

    with damage_told(plain.given):
        return read_csv(plain.path)


@contextmanager
def damage_told(path: Path) -> Iterator[None]:
    """Tell as an :class:`InputError` whatever reading a file raises; with --debug its cause is shown.

    Damage that no reader foresaw shows as any exception: NVIDIA's reader returns names that it then does not know,
    nothing where there should be an object, and text that is none.
    """
    try:
        yield
    except (NcuLabError, OSError):
        raise
    except Exception as error:  # see above: any of them means that the file cannot be read
        if _is_for_memory(error):
            raise InputError(f"{path} needs more memory than there is", "Read it on a larger machine.") from error
        told = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{path} is damaged, and cannot be read ({told})", "Copy it again, or profile again."
        ) from error


def _is_for_memory(error: BaseException | None) -> bool:
    """Whether an exception is, or came of, too little memory: libraries that do not load tell it in words alone."""
    while error is not None:
        if isinstance(error, MemoryError) or "failed to map segment" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def room_told(folder: Path) -> Iterator[None]:
    """Tell as an :class:`EnvironmentLacksError` that something cannot be put into a folder for temporary files."""
    try:
        yield
    except OSError as error:
        raise EnvironmentLacksError(
            f"nothing can be written to {folder.parent}: {error.strerror}",
            "Free some room, or choose another folder for temporary files: TMPDIR=/elsewhere ncu-lab …",
        ) from error


def refuse_special(path: Path) -> None:
    """Refuse what is no regular file, without opening it.

    Raises:
        InputError: When it is not there, or is a folder, a pipe, a device …
    """
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        if path.is_symlink():
            target = os.readlink(path)
            raise InputError(f"{path} is a link to {target}, which is not there", "Check the path.") from None
        raise InputError(f"there is no file {path}", "Check the path.") from None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if kind in _SPECIAL:
        raise InputError(f"{path} is {_SPECIAL[kind]}, not a file", _GIVE)


def _magic(path: Path) -> bytes:
    """Return the first bytes of a regular file."""
    refuse_special(path)
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise _unreadable(path, error) from error


def _is_text(name: str) -> bool:
    """Whether a name is text: those of files may hold any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(path: Path, error: OSError | ValueError) -> InputError:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return InputError(f"{path} cannot be read: {reason}", "Check the path and its permissions.")


def _refuse_foreign(plain: Path, path: Path) -> None:
    """Refuse what is neither a report nor text before all of it is read."""
    magic = _magic(plain)
    for start, what in _FOREIGN.items():
        if magic.startswith(start):
            raise InputError(f"{path} is {what}, not a report", _GIVE)
    if any(magic.startswith(start) for start in _COMPRESSED):
        raise InputError(f"{path} is compressed more than once", "Unpack it until one compression is left.")
    size = plain.stat().st_size
    if size == 0:
        raise InputError(f"{path} is empty (0 bytes)", "Copy it, profile or export it again.")
    if not magic.strip(b"\0"):
        raise InputError(f"{path} is neither a report nor text: it begins with zeros ({size} bytes)", _GIVE)
    if size > MAX_TEXT_BYTES:
        raise InputError(
            f"{path} is larger than an export may be ({size >> 20} of {MAX_TEXT_BYTES >> 20} MiB)",
            "Import the .ncu-rep instead, or export fewer launches.",
        )


def _decompress(path: Path, plain: Path, kind: str) -> InputError | None:
    """Unpack a file; tell why it could be unpacked in part only.

    Raises:
        InputError: When nothing could be unpacked, or too much.
        EnvironmentLacksError: When there is no room for it.
    """
    packed = path.stat().st_size
    limit = min(MAX_UNPACKED_BYTES, max(FREE_BYTES, MAX_RATIO * packed))
    unpacked = 0
    with room_told(plain.parent), plain.open("wb") as target:
        for piece in _unpacked(path, kind):
            if isinstance(piece, InputError):
                if not unpacked:
                    raise piece
                return piece
            if not unpacked and not piece.startswith(MAGIC):
                limit = min(limit, MAX_TEXT_BYTES)  # read_any would refuse more, but only after all was unpacked
            unpacked += len(piece)
            if unpacked > limit:
                raise InputError(
                    f"{path} holds more than {limit >> 20} MiB in {packed} bytes of {kind}: it is not unpacked",
                    "Reports and exports hold 5 to 65 times their size; unpack it yourself if you trust it.",
                )
            target.write(piece)
    return None


def _unpacked(path: Path, kind: str) -> Iterator[bytes | InputError]:
    """Yield what a stream holds, piece by piece; where it breaks, what is wrong with it."""
    import pyarrow as pa

    try:
        with pa.input_stream(str(path), compression=kind) as source:
            while piece := source.read(_PIECE):
                yield piece
    except (OSError, pa.ArrowException) as error:
        yield InputError(f"{path} is a broken {kind} stream: {error}", "Copy it again.")
