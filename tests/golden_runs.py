"""Runs for tests, made of the golden counters: every launch of the ladder at 1024³, with or without samples."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from builders import PROBLEM, STAGES, golden_counters

from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    TIMING_COLUMNS,
    Device,
    Environment,
    GitState,
    Problem,
    Run,
    RunMeta,
    Status,
    table,
)
from ncu_lab.store import Store

H200 = Device("NVIDIA H200", compute_capability=(9, 0), sm_count=132)
ENVIRONMENT = Environment(driver="580.159", cuda="13.0", ncu="2025.3.1", clock_control="none")


def golden_run(
    stages: Collection[str] | None = None,
    *,
    run_id: str = "20261130T011207-ladder-4f2c9ab-91c3",
    created: str = "2026-11-30T01:12:07+00:00",
    problem: Problem | None = PROBLEM,
    device: Device = H200,
    environment: Environment = ENVIRONMENT,
    samples: Mapping[str, Sequence[float]] | None = None,
    status: Status = "complete",
    extra: Sequence[Mapping[str, Any]] = (),
) -> Run:
    """Make a run of stages (all by default), ``extra`` launches, and samples taken in turns: subject -> ns."""
    chosen = [stage for stage in STAGES if stages is None or stage in stages]
    golden = golden_counters()
    launches = [
        {"stage": stage, "kernel": golden[stage]["kernel"], "role": "main", **golden[stage]} for stage in chosen
    ]
    launches += [{"role": "main", "grid": (1, 1, 1), "block": (32, 1, 1), **one} for one in extra]
    by_turn = [(turn, subject, ns) for subject, times in (samples or {}).items() for turn, ns in enumerate(times)]
    timed = [(subject, ns) for _, subject, ns in sorted(by_turn, key=lambda sample: sample[0])]
    return Run(
        RunMeta(
            run_id, status, created, "profile", tuple(chosen), problem=problem, device=device, environment=environment
        ),
        _launches(launches),
        _metrics(launches),
        table(INSTANCE_COLUMNS),
        table(RULE_COLUMNS),
        table(
            TIMING_COLUMNS,
            {
                "process": [0] * len(timed),
                "sample": list(range(len(timed))),
                "order": list(range(len(timed))),
                "subject": [subject for subject, _ in timed],
                "mode": ["interleaved"] * len(timed),
                "ns": [ns for _, ns in timed],
                "sm_clock_mhz": [None] * len(timed),
                "power_w": [None] * len(timed),
                "temperature_c": [None] * len(timed),
            },
        ),
    )


def put(
    store: Path, day: int, stages: Collection[str], commit: str | None = None, dirty: bool = False, **run: Any
) -> str:
    """Store a run of a day in November 2026 and return its id; ``run`` is what else :func:`golden_run` takes."""
    run_id = f"202611{day:02d}T000000-run-{(commit or 'nogit')[:7]}-000{day % 10}"
    made = golden_run(stages, run_id=run_id, created=f"2026-11-{day:02d}T00:00:00+00:00", **run)
    Store(store).write(replace(made, meta=replace(made.meta, git=GitState(commit=commit, dirty=dirty))))
    return run_id


def _launches(launches: Sequence[Mapping[str, Any]]) -> Any:
    columns: dict[str, list[Any]] = {name: [None] * len(launches) for name in LAUNCH_COLUMNS}
    columns["launch"] = list(range(len(launches)))
    for name in ("stage", "kernel", "role"):
        columns[name] = [one.get(name) for one in launches]
    columns["function"] = columns["kernel"]
    for axis, letter in enumerate("xyz"):
        columns[f"grid_{letter}"] = [one["grid"][axis] for one in launches]
        columns[f"block_{letter}"] = [one["block"][axis] for one in launches]
    columns["nvtx"] = [[f"ncu-lab/{one['stage']}"] if one.get("stage") else [] for one in launches]
    columns["workload"] = ["kernel"] * len(launches)
    columns["execution"] = [0] * len(launches)
    return table(LAUNCH_COLUMNS, columns)


def _metrics(launches: Sequence[Mapping[str, Any]]) -> Any:
    rows = [(number, name, value) for number, one in enumerate(launches) for name, value in one["metrics"].items()]
    return table(
        METRIC_COLUMNS,
        {
            "launch": [number for number, _, _ in rows],
            "metric": [name for _, name, _ in rows],
            "value": [value for _, _, value in rows],
            "text": [None] * len(rows),
            "unit": [""] * len(rows),
        },
    )
