"""Searches byte flips of a report that crash, hang or bloat NVIDIA's reader; what it finds goes into a test.

    python tests/fuzz/flip_reports.py [SECONDS [SEED]]

Each attempt changes a few bytes of the golden report cupy-nvtx and reads it in a forked child with limits. Prints one
line for each attempt that did not end well: the seed, the flips (position, value), how it ended, seconds and MB.
Everything follows from the seed. Found ones are in tests/crashing.py.
"""

from __future__ import annotations

import collections
import gzip
import os
import random
import resource
import sys
import tempfile
import time
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.parse.files import read_any
from ncu_lab.parse.report import read_report  # noqa: F401  # loaded once, before the children are forked

REPORT = Path(__file__).parents[1] / "data" / "golden" / "cupy-nvtx.ncu-rep.gz"
HEADERS = 20_000
"""Bytes in which the names and headers are: flips there do more than those among values."""

ENDS = {0: "read", 3: "refused", 4: "stumbled"}
SLOW_S, LARGE_MB = 5.0, 1500


def flips_of(seed: int, content: bytes) -> list[tuple[int, int]]:
    """Choose the flips of an attempt."""
    source = random.Random(seed)
    count, end = [(1, len(content)), (1, HEADERS), (3, len(content)), (12, len(content))][seed % 4]
    places = [source.randrange(4, end) for _ in range(count)]
    values = (0, 1, 0x7F, 0x80, 0xFF)
    return [(at, source.choice([*values, content[at] ^ 1 << source.randrange(8)])) for at in places]


def attempt(path: Path) -> tuple[str, float, int]:
    """Read a file in a child; return how that ended, the seconds and the MB it took."""
    start = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
        os._exit(_read(path))
    _, status, usage = os.wait4(child, 0)
    code = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else ENDS[os.WEXITSTATUS(status)]
    return code, time.monotonic() - start, usage.ru_maxrss // 1024


def _read(path: Path) -> int:
    try:
        read_any(path)
    except InputError as error:
        return 4 if error.__cause__ is not None and "is damaged" in error.message else 3
    return 0


def main() -> None:
    """Search until the children have used so many seconds of computing time."""
    seconds, seed = float([*sys.argv, 60][1]), int([*sys.argv, 0, 0][2])
    content = gzip.decompress(REPORT.read_bytes())
    ends: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flipped.ncu-rep"
        while sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) < seconds:
            flips = flips_of(seed, content)
            changed = bytearray(content)
            for at, value in flips:
                changed[at] = value
            path.write_bytes(changed)
            end, took, memory = attempt(path)
            ends[end] += 1
            if end not in ("read", "refused") or took > SLOW_S or memory > LARGE_MB:
                print(f"seed {seed}: {flips}: {end}, {took:.2f} s, {memory} MB", flush=True)
            seed += 1
    print(dict(ends))


if __name__ == "__main__":
    main()
