"""Golden reports and exports, unpacked and read once."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ncu_lab.model import ParsedReport
from ncu_lab.parse.files import read_any

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Give the path of a golden file, unpacked; skip where it is not kept."""
    folder = tmp_path_factory.mktemp("golden")
    sources = [GOLDEN, *(Path(extra) for extra in [os.environ.get("NCU_LAB_GOLDEN")] if extra)]

    def find(name: str) -> Path:
        unpacked = folder / name
        for source in sources:
            if (source / name).is_file():
                return source / name
            packed = source / f"{name}.gz"
            if packed.is_file() and not unpacked.exists():
                unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
            if unpacked.exists():
                return unpacked
        pytest.skip(f"{name} is not in tests/data/golden; NCU_LAB_GOLDEN may name a folder that has it")

    return find


@pytest.fixture(scope="session")
def parsed(golden: Callable[[str], Path]) -> Callable[[str], ParsedReport]:
    """Give a golden file as tables."""
    known: dict[str, ParsedReport] = {}

    def read(name: str) -> ParsedReport:
        if name not in known:
            known[name] = read_any(golden(name))
        return known[name]

    return read
