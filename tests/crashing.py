"""Reports that crash NVIDIA's reader: single bytes changed of a sound one, found by tests/fuzz/flip_reports.py."""

from __future__ import annotations

import gzip
from pathlib import Path

CUPY = gzip.decompress((Path(__file__).parent / "data" / "golden" / "cupy-nvtx.ncu-rep.gz").read_bytes())

CRASHING = {1440: 128, 5124: 128, 1435: 127, 4932: 65}
"""Position -> byte: each alone makes ncu-report 2025.3.1 abort or fault."""


def flipped(folder: Path, position: int, value: int) -> Path:
    """Write the report with one byte changed, and return where."""
    content = bytearray(CUPY)
    content[position] = value
    path = folder / "flipped.ncu-rep"
    path.write_bytes(content)
    return path
