"""A small run with all that a store keeps of one, and the seal of a file that a test changes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    TIMING_COLUMNS,
    CheckCase,
    Device,
    Environment,
    GitState,
    Notice,
    Problem,
    Run,
    RunMeta,
    StageBuild,
    table,
)

NAN = float("nan")
CREATED = datetime(2026, 11, 30, 1, 12, 7, tzinfo=UTC)

DEVICE = Device("NVIDIA H200", (9, 0), 132, "ab12", 10**11, 62914560, 1.98e9, {"warp_size": 32.0, "mode": "No-CC"})
BUILD = StageBuild(
    "2d", "fast", "sm_90", Path("/var/cache/x/2d.cubin"), 130, 0, 0, 0, 8192, 1, False, 0.9, ("-O3",), "13.0.88",
    ("a warning",), {"FFMA": 64}, "hash", "FFMA R1\n",
)  # fmt: skip
CHECK = CheckCase("2d", "fast", Problem(64, 32, 16), "plain", 3e-7, 1e-7, 1e-5, True)


def rows(columns: Mapping[str, str], **values: list[Any]) -> pd.DataFrame:
    """Return a table of these columns; those that are not named are missing, or 0 where they cannot be."""
    length = len(next(iter(values.values())))
    empty = {"int64": 0, "float64": NAN}
    data = {name: values.get(name, [empty.get(kind)] * length) for name, kind in columns.items()}
    return table(columns, data)


def small_run(run_id: str = "20261130T011207-2d-4f2c9ab-91c3", **meta: Any) -> Run:
    """Return a run whose every table has rows, with missing values, and letters beyond ASCII."""
    fields: dict[str, Any] = {
        "status": "complete", "created": CREATED.isoformat(), "source": "profile", "stages": ("2d",),
        "problem": Problem(2048, 1024, 512, 2.0, 1.0), "device": DEVICE,
        "environment": Environment(driver="580", nvcc_flags=("-lineinfo",), sections=("SpeedOfLight",)),
        "git": GitState("4f2c9ab" + "0" * 33, "main", True, "pad", "diff", {"kernels/a.cu": "text"}),
        "command": ("ncu-lab", "profile"), "warnings": (Notice("code", "Öl → 2³"),),
    }  # fmt: skip
    return Run(
        RunMeta(id=run_id, **{**fields, **meta}),
        launches=rows(LAUNCH_COLUMNS, launch=[0, 1], kernel=["f(int)", "g"], nvtx=[["a", "b"], []], stage=["2d", None]),
        metrics=rows(
            METRIC_COLUMNS, launch=[0, 0], metric=["a", "b"], value=[0.1, NAN], text=[None, "Ö"], unit=["ns", ""]
        ),
        instances=rows(
            INSTANCE_COLUMNS, launch=[0, 0, 0], metric=["a", "b", "a"], kind=["pc", "name", "pc"],
            correlation=[2**48, 0, 2**62], label=[None, "LDG", None], value=[1.5, NAN, -0.0], text=[None, "w", None],
            sass=["LDG R1", None, "EXIT"], file=["kernels/a.cu", None, None], line=[12, None, None],
        ),
        rules=rows(RULE_COLUMNS, launch=[0], section=["Occupancy"], rule=["R"], kind=["ok"], message=["m"]),
        timings=rows(TIMING_COLUMNS, sample=[0, 1], subject=["2d", "2d"], ns=[1.0, 2.0], sm_clock_mhz=[1980.0, NAN]),
        builds=(BUILD,),
        checks=(CHECK,),
    )  # fmt: skip


def seal(folder: Path, name: str) -> None:
    """Give a file that was changed its right checksum."""
    file = folder / "run.json"
    data = json.loads(file.read_text("utf-8"))
    data["checksums"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    file.write_text(json.dumps(data))
