"""How long ``ncu-lab show`` on a stored run takes, beside a bare interpreter start in the same run; goal: under 1 s.

Run: ``.venv/bin/python tests/benchmarks/show_speed.py [RUN]``; without RUN, the golden full report is imported into a
fresh store first (not timed) and that run is shown.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

from startup import NCU_LAB, medians

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "ladder-full.ncu-rep.gz"


def golden_store(folder: Path) -> Path:
    """Import the golden report into a new store below ``folder``."""
    report, store = folder / "ladder-full.ncu-rep", folder / "store"
    report.write_bytes(gzip.decompress(GOLDEN.read_bytes()))
    subprocess.run([NCU_LAB, "import", report, "--store", store], stdout=subprocess.DEVNULL, check=True)
    return store


def main() -> None:
    """Print the medians."""
    with tempfile.TemporaryDirectory() as folder:
        show = [NCU_LAB, "show", sys.argv[1]] if sys.argv[1:] else None
        show = show or [NCU_LAB, "show", "@last", "--store", golden_store(Path(folder))]
        bare, text, document = medians([sys.executable, "-c", "pass"], show, [*show, "--format", "json"])
    print(f"bare interpreter start          {bare * 1e3:6.0f} ms")
    print(f"ncu-lab show RUN                {text * 1e3:6.0f} ms   (goal: under 1000 ms)")
    print(f"ncu-lab show RUN --format json  {document * 1e3:6.0f} ms   (goal: under 1000 ms)")


if __name__ == "__main__":
    main()
