"""Large reports in pieces, each read by a process of its own, several at once.

NVIDIA's reader keeps what it has read of a result, more than ten times its size in the file, until its process ends:
only ending the process frees the memory. It also reads on one core only. A result on which the reader crashes is then
lost alone, too.
"""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, islice, pairwise
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import Notice
from ncu_lab.parse.files import room_told
from ncu_lab.parse.results import Piece, ResultReader

BYTES_AT_ONCE = 16_000_000
"""Bytes of results, as they are in the file, that all processes together read at once: about 500 MB of memory."""

LEAST_PIECE_BYTES = 1_000_000
"""What takes about 0.2 s to read: for less, another process is not worth its start."""

MOST_WORKERS = 2
"""More would be faster, and cost memory: NVIDIA's disassembler takes 0.5 s and 200 MB in each process. With 16 of them
on an H200 machine a report of 369 results was imported in 3.0 s and 3.5 GB, which a bare read in one process takes
6.8 s and 0.8 GB for."""

READER = (sys.executable, "-P", "-m", "ncu_lab.parse.pieces")
"""The program that reads one part. -P: a types.py in the current folder is none of its modules."""

MOST_LOST = 32
"""Results that may crash the reader, at some seconds each, before the report is given up."""

_NO_ROOM = 74
"""Exit code of a process that could not write what it read (EX_IOERR)."""


def workers() -> int:
    """Return how many pieces are read at once: as many as this process may use cores."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


def spans(sizes: Sequence[int], count: int, at_once: int) -> list[range]:
    """Divide the results of a report into pieces of about equal size, as many for each process that reads at once.

    There are so many that those read at once are about :data:`BYTES_AT_ONCE` together, but no more than make
    :data:`LEAST_PIECE_BYTES` each; fewer where one result is as large as several.

    Args:
        sizes: Bytes of each result, as the container tells them.
        count: Results that can be read; those whose size is not known count as nothing.
        at_once: Processes that read at once.
    """
    sizes = sizes[:count]
    whole = sum(sizes)
    turns = -(-whole // BYTES_AT_ONCE)
    parts = min(turns * at_once, whole // LEAST_PIECE_BYTES)
    if parts < 2:
        return [range(count)]
    # A result goes to the part where its middle lies; what comes behind the last size known stays with it.
    doubled_middles = (2 * end - size for end, size in zip(accumulate(sizes), sizes, strict=True))
    of = [min(middle * parts // (2 * whole), parts - 1) for middle in doubled_middles]
    starts = [number for number, part in enumerate(of) if number == 0 or part != of[number - 1]]
    return [range(start, stop) for start, stop in pairwise([*starts, count])]


def read_apart(path: Path, parts: Sequence[range], at_once: int) -> Iterator[Piece]:
    """Read parts of a report, each in a process that ends with it.

    Args:
        path: A sound report.
        parts: Numbers of results, in order.
        at_once: Processes that read at once.

    Yields:
        The pieces in order; where the reader crashed on a result, an empty one with a notice in its place.

    Raises:
        InputError: When the reader does not take the file, or crashes on more than :data:`MOST_LOST` results.
        EnvironmentLacksError: When there is no room for what is read.
        Exception: Whatever else a process that reads raised.
    """
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        due = deque(_Part(path, part, Path(folder)) for part in parts)
        lost = 0
        try:
            while due:
                _start_next(due, at_once)
                piece = due[0].take()
                first = due.popleft()
                if piece is not None:
                    yield piece
                elif len(first.results) > 1:
                    due.extendleft(reversed(first.halves()))
                elif lost == MOST_LOST:
                    raise InputError(
                        f"{path} crashes NVIDIA's reader on more than {MOST_LOST} results",
                        "It is damaged: copy it again.",
                    )
                else:
                    lost += 1
                    yield _lost(first.results.start)
        finally:
            for part in due:
                part.stop()


def _start_next(due: Sequence[_Part], at_once: int) -> None:
    """Start what comes next, the first in any case; what is read ahead of it waits on the disk, so not too much."""
    running = sum(part.is_running for part in due)
    for part in islice(due, 2 * at_once):
        if not part.is_started and (running < at_once or part is due[0]):
            part.start()
            running += 1


class _Part:
    """Some results of a report, and the process that reads them."""

    def __init__(self, path: Path, results: range, folder: Path) -> None:
        self.results = results
        self._path = path
        self._folder = folder
        self._target = folder / f"{results.start}-{results.stop}"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_started(self) -> bool:
        return self._process is not None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start to read; not by forking, as NVIDIA's reader may have threads in this process."""
        numbers = [str(self.results.start), str(self.results.stop)]
        command = [*READER, str(self._path), *numbers, str(self._target)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def take(self) -> Piece | None:
        """Wait for what is read, and return it; None where the process crashed."""
        assert self._process is not None
        assert self._process.stdin is not None
        status = self._process.wait()
        self._process.stdin.close()
        if status == _NO_ROOM:
            with room_told(self._folder):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if not self._target.exists():
            return None
        found = pickle.loads(self._target.read_bytes())  # written by our own child
        self._target.unlink()
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, ResultReader)
        return found.piece()

    def halves(self) -> list[_Part]:
        """Return its two halves, to be read anew."""
        start, stop = self.results.start, self.results.stop
        middle = start + len(self.results) // 2
        return [_Part(self._path, part, self._folder) for part in (range(start, middle), range(middle, stop))]

    def stop(self) -> None:
        """End the process if it still runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


def _lost(number: int) -> Piece:
    """Return the empty piece that stands for a result which cannot be read."""
    notice = Notice("lost_results", f"result {number} of the report is lost: NVIDIA's reader crashes on it.")
    return replace(ResultReader(number).piece(), notices=(notice,))


def main() -> None:
    """Read one part for the process that started this one: PATH START STOP TARGET.

    What is read is left in TARGET, as columns not yet made to tables: pandas would double the time it takes to start.
    The file appears whole or not at all, and holds the exception where one was raised.
    """
    from ncu_lab.parse.report import read_results

    threading.Thread(target=_end_with_parent, daemon=True).start()
    path, start, stop, target = sys.argv[1:]
    found: ResultReader | Exception
    try:
        found = read_results(Path(path), range(int(start), int(stop)))
    except Exception as error:  # noqa: BLE001  # raised again by the process that started this one
        found = error
    unfinished = Path(target).with_suffix(".unfinished")
    try:
        unfinished.write_bytes(pickle.dumps(found, protocol=pickle.HIGHEST_PROTOCOL))
        unfinished.rename(target)
    except OSError:
        sys.exit(_NO_ROOM)


def _end_with_parent() -> None:
    """End this process when the one that started it does, however: nobody writes into its input, so it ends then."""
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
