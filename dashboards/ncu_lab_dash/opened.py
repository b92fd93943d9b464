"""Files that somebody opened in the browser: read by a child process, shown, never stored unless asked, then gone.

What arrives is data: its name is only ever shown, and nothing of it becomes a path. The file itself is deleted as soon
as it was read; what was read of it stays in memory until it is dismissed, or newer ones take its place.
"""

from __future__ import annotations

import secrets
import tempfile
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock, Semaphore
from typing import BinaryIO, Literal

from ncu_lab.errors import InputError, NcuLabError
from ncu_lab.model import LOSSES, Run
from ncu_lab.render.visible import visible
from ncu_lab.workflows.reading import run_of
from ncu_lab.workflows.reading_apart import read_apart

MOST_BYTES = 64_000_000
"""The largest file that a browser may open; larger ones are for ``ncu-lab import``."""

KEY = "opened-"
"""What the keys of opened files begin with; ids of runs begin with a year."""

SUFFIXES = (".ncu-rep", ".ncu-repz", ".csv", ".ncu-rep.gz", ".csv.gz")
_MOST_FILES = 8
_READERS = 2
"""Files read at the same time: each may take gigabytes."""

_CHUNK = 1 << 20
_NAME_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Opened:
    """What became of a file.

    Attributes:
        key: Names it in addresses; cannot be guessed.
        name: What it was called, for people.
        size: Bytes.
        run: What was read; None where it cannot be.
        error: Why not, and what to do.
    """

    key: str
    name: str
    size: int
    run: Run | None = None
    error: NcuLabError | None = None

    @property
    def state(self) -> Literal["read", "part", "refused"]:
        """Whether it was read, in part, or not."""
        if self.run is None:
            return "refused"
        return "part" if any(notice.code in LOSSES for notice in self.run.meta.warnings) else "read"


def shown_name(name: str) -> str:
    """Return a file's name as it may be shown: its last part, what steers text spelt out, not too long."""
    last = visible(name.replace("\\", "/").rpartition("/")[2]).strip() or "unnamed file"
    return last if len(last) <= _NAME_SHOWN else f"{last[:_NAME_SHOWN]}…"


def _suffix(name: str) -> str:
    """Return the ending that tells what a file is; the longest of those known."""
    fitting = [suffix for suffix in SUFFIXES if name.lower().endswith(suffix)]
    return max(fitting, key=len, default="")


@dataclass
class OpenedFiles:
    """The files that are open now, the newest last."""

    _files: OrderedDict[str, Opened] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)
    _readers: Semaphore = field(default_factory=lambda: Semaphore(_READERS))

    def open(self, name: str, data: BinaryIO, size: int) -> Opened:
        """Read a file and keep what it holds.

        Args:
            name: What the sender calls it.
            data: Its bytes; read to their end.
            size: How many there should be.
        """
        key, shown = KEY + secrets.token_urlsafe(12), shown_name(name)
        with self._readers, tempfile.TemporaryDirectory(prefix="ncu-lab-opened-") as folder:
            path = Path(folder, f"file{_suffix(name)}")
            try:
                received = _receive(data, path)
                if received > MOST_BYTES or received != size:
                    raise InputError(*_wrong_size(received, size))
                parsed = read_apart(path)
            except NcuLabError as error:
                # The temporary path says nothing to anybody: the file goes by its own name.
                told = [text.replace(str(path), shown) for text in (error.message, error.hint or "")]
                opened = Opened(key, shown, size, error=type(error)(*told))
            else:
                run = run_of(parsed, key, datetime.now(UTC), name=shown)
                opened = Opened(key, shown, received, run)
        with self._lock:
            self._files[key] = opened
            while len(self._files) > _MOST_FILES:
                self._files.popitem(last=False)
        return opened

    def find(self, key: str) -> Opened | None:
        """Return an opened file; None when there is none of that key, or no more."""
        with self._lock:
            return self._files.get(key)

    def find_run(self, key: str) -> Run | None:
        """Return what was read of an opened file; None likewise, and where it cannot be read."""
        found = self.find(key)
        return found.run if found else None

    def dismiss(self, key: str) -> None:
        """Forget an opened file."""
        with self._lock:
            self._files.pop(key, None)


def _receive(data: BinaryIO, path: Path) -> int:
    """Write what arrives into a file, one byte over the limit at most; return how much it was."""
    received = 0
    with path.open("wb") as file:
        while received <= MOST_BYTES and (chunk := data.read(_CHUNK)):
            received += file.write(chunk)
    return received


def _wrong_size(received: int, size: int) -> tuple[str, str]:
    if received > MOST_BYTES:
        return "the file is larger than 64 MB", "Import it: ncu-lab import FILE"
    return f"{received} of {size} bytes arrived", "Open it again."
