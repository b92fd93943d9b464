"""Reads ``datasheets.toml``: what GPUs can do at best, by short id or by the name that a driver reports."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ncu_lab.errors import UsageError
from ncu_lab.model import Datasheet

FILE = Path(__file__).with_name("datasheets.toml")

_NEAR = 0.5
"""Likeness (0 to 1) of a word to the id it may mean: ids are short, so ``h20`` is near to ``h200``."""


@cache
def datasheets() -> Mapping[str, Datasheet]:
    """Return all GPUs by id, in the order of the file."""
    with FILE.open("rb") as file:
        return {entry["id"]: _datasheet(entry) for entry in tomllib.load(file)["gpu"]}


def _datasheet(entry: Mapping[str, Any]) -> Datasheet:
    major, minor = entry["compute_capability"]
    return Datasheet(
        id=entry["id"],
        name=entry["name"],
        drivers=tuple(entry["drivers"]),
        compute_capability=(major, minor),
        sm_count=entry["sm_count"],
        boost_hz=entry["boost_mhz"] * 1e6,
        dram_bytes_per_s=entry["dram_gb_per_s"] * 1e9,
        tensor={dtype: tflops * 1e12 for dtype, tflops in entry.get("tensor_tflops", {}).items()},
        source=entry["source"],
        notes=entry.get("notes", {}),
    )


def datasheet_of(device: str) -> Datasheet | None:
    """Return the GPU that a driver's name means (``NVIDIA A100-SXM4-80GB``); None when it is not in the table."""
    name = device.lower().removeprefix("nvidia ")
    return next((one for one in datasheets().values() if name in one.drivers), None)


def find_datasheet(text: str) -> Datasheet:
    """Return the GPU that a user names, by id or as a driver does.

    Raises:
        UsageError: When it is not in the table; suggests the nearest.
    """
    known = datasheets()
    found = known.get(text.lower()) or datasheet_of(text)
    if found is not None:
        return found
    near = difflib.get_close_matches(text.lower(), known, n=1, cutoff=_NEAR)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f'there is no datasheet of GPU "{text}".{meant}', f"Known: {', '.join(known)}.")
