"""How long exporting the bundled ladder takes, and how large the page is; goal: under 6 MB.

Run: ``.venv/bin/python tests/benchmarks/export_speed.py``.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path

from startup import NCU_LAB

KINDS = {"html": "page.html", "markdown": "comment.md", "json": "run.json", "csv": "csv", "parquet": "parquet"}


def size(place: Path) -> int:
    """Return the bytes of a file, or of all files of a folder."""
    return place.stat().st_size if place.is_file() else sum(file.stat().st_size for file in place.iterdir())


def main() -> None:
    """Print seconds and bytes of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, name in KINDS.items():
            place = Path(folder) / name
            begun = time.perf_counter()
            command = [NCU_LAB, "export", kind, "--example", "-o", place]
            subprocess.run(command, stderr=subprocess.DEVNULL, check=True)
            seconds = time.perf_counter() - begun
            goal = "   (goal: under 6 MB)" if kind == "html" else ""
            print(f"ncu-lab export {kind:<9} {seconds:6.1f} s  {size(place) / 1e6:8.2f} MB{goal}")


if __name__ == "__main__":
    main()
