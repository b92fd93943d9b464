"""How long ``ncu-lab --help`` takes, beside a bare interpreter start in the same run; goal: under 0.3 s.

Run: ``.venv/bin/python tests/benchmarks/startup.py``. Both are started in turns, so that a busy machine slows both
alike. Python may cache compiled modules, as it does for users; the warm-up fills the cache.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 11
NCU_LAB = Path(sys.executable).parent / "ncu-lab"


def seconds(command: Sequence[str | Path]) -> float:
    """Run a command to its end and return its wall time."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, env=environment, check=True)
    return time.perf_counter() - start


def medians(*commands: Sequence[str | Path], rounds: int = ROUNDS) -> list[float]:
    """Return the median wall time of each command, in seconds; one warm-up, then all in turns."""
    for command in commands:
        seconds(command)
    samples = [[seconds(command) for command in commands] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*samples, strict=True)]


def main() -> None:
    """Print the medians."""
    bare, help_s = medians([sys.executable, "-c", "pass"], [NCU_LAB, "--help"])
    print(f"bare interpreter start  {bare * 1e3:6.0f} ms")
    print(f"ncu-lab --help          {help_s * 1e3:6.0f} ms   (goal: under 300 ms)")


if __name__ == "__main__":
    main()
