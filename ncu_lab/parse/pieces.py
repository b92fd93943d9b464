"""Large reports in pieces, each read by a process of its own.

NVIDIA's reader keeps what it has read of a result, more than ten times its size in the file, until its process ends:
only ending the process frees the memory. A result on which the reader crashes is then lost alone, too.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import INSTANCE_COLUMNS, METRIC_COLUMNS, RULE_COLUMNS, Notice, table
from ncu_lab.parse.results import Piece

PIECE_BYTES = 24_000_000
"""Bytes of results, as they are in the file, that one process reads: it then takes about 700 MB of memory."""


def spans(sizes: Sequence[int], count: int) -> list[range]:
    """Divide the results of a report into pieces of at most :data:`PIECE_BYTES`, but one result at least.

    Args:
        sizes: Bytes of each result, as the container tells them.
        count: Results that can be read; those whose size is not known count as nothing.
    """
    found, start, size = [], 0, 0
    for number in range(count):
        own = sizes[number] if number < len(sizes) else 0
        if number > start and size + own > PIECE_BYTES:
            found.append(range(start, number))
            start, size = number, 0
        size += own
    return [*found, range(start, count)]


def read_apart(path: Path, parts: Sequence[range]) -> Iterator[Piece]:
    """Read parts of a report, each in a process that ends with it.

    Args:
        path: A sound report.
        parts: Numbers of results, in order.

    Yields:
        The pieces in order; where the reader crashed on a result, an empty one with a notice in its place.
    """
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as folder:
        waiting = list(reversed(parts))
        while waiting:
            part = waiting.pop()
            piece = _read_part(path, part, Path(folder) / "piece")
            if piece is not None:
                yield piece
            elif len(part) == 1:
                yield _lost(part.start)
            else:
                middle = part.start + len(part) // 2
                waiting += [range(middle, part.stop), range(part.start, middle)]


def _read_part(path: Path, part: range, target: Path) -> Piece | None:
    """Return a part of a report, None when the process that read it crashed."""
    command = [sys.executable, "-m", "ncu_lab.parse.pieces", str(path), str(part.start), str(part.stop), str(target)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode < 0:
        return None
    if done.returncode:
        words = (done.stderr.strip() or "no reason given").splitlines()[-1]
        raise InputError(f"{path} cannot be read: {words}", "Copy it again, or open it in Nsight Compute.")
    piece = pickle.loads(target.read_bytes())  # written by our own child
    assert isinstance(piece, Piece)
    return piece


def _lost(number: int) -> Piece:
    notice = Notice("lost_results", f"result {number} of the report is lost: NVIDIA's reader crashes on it.")
    metrics, instances, rules = (table(columns) for columns in (METRIC_COLUMNS, INSTANCE_COLUMNS, RULE_COLUMNS))
    return Piece(number, (), (), metrics, instances, rules, (), (notice,))


def main() -> None:
    """Read one part of a report for the process that started this one: PATH START STOP TARGET."""
    from ncu_lab.parse.report import read_results

    path, start, stop, target = sys.argv[1:]
    piece = read_results(Path(path), range(int(start), int(stop)))
    Path(target).write_bytes(pickle.dumps(piece, protocol=pickle.HIGHEST_PROTOCOL))


if __name__ == "__main__":
    main()
