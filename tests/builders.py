"""Model objects for tests: a ladder whose counters were measured on an H200 at 1024³ (tests/data)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ncu_lab import metrics
from ncu_lab.analyze.verdict import verdict_of
from ncu_lab.metrics.names import EXECUTIONS
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    Device,
    Environment,
    Family,
    Ladder,
    LadderRow,
    LaunchSummary,
    Problem,
    Roof,
    Roofline,
    RooflinePoint,
    Stage,
    table,
)

if TYPE_CHECKING:
    import pandas as pd

DATA = Path(__file__).parent / "data"
L2_BYTES = "derived__lts__lts2xbar_bytes.sum.peak_sustained"
PROBLEM = Problem(1024, 1024, 1024)

STAGES: Mapping[str, Stage] = {
    stage.id: stage
    for stage in (
        Stage("naive", "one thread an element", "the start", "global memory", "fp32", reference="cublas-fp32"),
        Stage(
            "coalesced", "threads walk columns", "", "", "fp32", predecessor="naive", reference="cublas-fp32"
        ),
        Stage("smem", "tiles in shared memory", "", "", "fp32", predecessor="coalesced", reference="cublas-fp32"),
        Stage("smem-conflict", "A·Aᵀ", "", "", "fp32", "aat", predecessor="smem", reference="cublas-fp32"),
        Stage("smem-padded", "padded", "", "", "fp32", "aat", predecessor="smem-conflict", reference="cublas-fp32"),
        Stage("1d", "8 outputs a thread", "", "", "fp32", predecessor="smem", reference="cublas-fp32"),
        Stage("2d", "8 x 8 outputs a thread", "", "", "fp32", predecessor="1d", reference="cublas-fp32"),
        Stage("vectorized", "float4 loads", "", "", "fp32", predecessor="2d", reference="cublas-fp32"),
        Stage("double-buffered", "two tiles", "", "", "fp32", predecessor="vectorized", reference="cublas-fp32"),
        Stage("warptiled", "warp tiles", "", "", "fp32", predecessor="double-buffered", reference="cublas-fp32"),
        Stage("wmma", "tensor cores", "", "", "fp16", reference="cublas-fp16"),
        Stage("cublas-fp32", "cuBLAS FP32", "", "", "fp32", library_math="pedantic"),
        Stage("cublas-tf32", "cuBLAS TF32", "", "", "tf32", library_math="tf32"),
    )
}  # fmt: skip
IDEALS: Mapping[str, tuple[float, float]] = {
    "vectorized": (16.0, 16.0), "double-buffered": (16.0, 16.0), "warptiled": (16.0, 16.0), "wmma": (8.0, 8.0),
}  # fmt: skip


@cache
def golden_counters() -> Mapping[str, Mapping[str, Any]]:
    """Stage id -> kernel name, grid, block and raw metric values of the golden targeted report."""
    loaded: Mapping[str, Mapping[str, Any]] = json.loads((DATA / "ladder-1024-metrics.json").read_text())
    return loaded


def summary(stage: str, without: Collection[str] = ()) -> LaunchSummary:
    """Build a stage's summary; ``without`` names catalogue keys (or ``stalls``) that were not collected."""
    golden = golden_counters()[stage]
    values = golden["metrics"]
    readings = {
        key: replace(reading, value=None, missing=(reading.metric,)) if key in without else reading
        for key, reading in metrics.read_all(values.get).items()
    }
    stalls = {} if "stalls" in without else metrics.stall_cycles(values.items())
    name = golden["kernel"]
    grid, block = (tuple(golden[key]) for key in ("grid", "block"))
    return LaunchSummary(0, stage, name, name, grid, block, "kernel", (), "main", readings, stalls, sm_count=132)


def row(
    stage: str,
    *,
    median_ns: float | None = None,
    samples_ns: tuple[float, ...] = (),
    profiled: bool = True,
    without: Collection[str] = (),
) -> LadderRow:
    """Build one row: the profiler's duration unless ``median_ns`` or samples say otherwise."""
    counters = golden_counters()[stage]["metrics"]
    time = median_ns or sorted(samples_ns)[len(samples_ns) // 2] if median_ns or samples_ns else None
    time = time or counters["gpu__time_duration.sum"]
    registered = STAGES[stage]
    reference = golden_counters().get(registered.reference or "")
    reference_ns = reference["metrics"]["gpu__time_duration.sum"] if reference else None
    loads, stores = IDEALS.get(stage, (4.0, 4.0))
    before = registered.predecessor
    shown = summary(stage, without) if profiled else None
    return LadderRow(
        stage=registered,
        run="20261130T011207-ladder-4f2c9ab-91c3",
        problem=PROBLEM,
        samples_ns=samples_ns,
        median_ns=time,
        time_source="timings" if samples_ns else "profiler",
        flop_per_s=2.0 * 1024**3 / time * 1e9,
        share_of_reference=reference_ns / time if reference_ns else None,
        step=golden_counters()[before]["metrics"]["gpu__time_duration.sum"] / time if before else None,
        summary=shown,
        load_sectors_ideal=loads if profiled else None,
        store_sectors_ideal=stores if profiled else None,
        verdict=verdict_of(shown) if shown else None,
        counters=counters if profiled else {},
    )


def roofs(family: Family = "fp32") -> tuple[Roof, ...]:
    """The roofs of the golden report, from its own peaks; it has no counters of tensor work, so no roof for it."""
    naive = golden_counters()["naive"]["metrics"]
    sms, clock = naive["device__attribute_multiprocessor_count"], naive["gpc__cycles_elapsed.avg.per_second"]
    pipe, ffma = sms * 128 * clock, naive["sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained"]
    memory = (
        Roof("l1", "L1 / shared", pipe),
        Roof("shared", "shared memory", pipe),
        Roof("l2", "L2", naive[L2_BYTES] * naive["lts__cycles_elapsed.avg.per_second"]),
        Roof("dram", "DRAM", naive["dram__bytes.sum.peak_sustained"] * naive["dram__cycles_elapsed.avg.per_second"]),
    )
    compute = {
        "fp32": (Roof("fp32", "FP32", 2 * ffma * clock, "compute"),),
        "tensor": (
            Roof("fp16", "FP16 tensor", sms * 4096 * clock, "compute"),
            Roof("fp16_hmma", "FP16 by HMMA", sms * 8192 / 3 * clock, "compute"),
            Roof("tf32", "TF32 tensor", sms * 2048 * clock, "compute"),
        ),
    }
    return (*memory, *compute[family])


def rooflines(rows: Collection[LadderRow]) -> tuple[Roofline, ...]:
    """Charts of rows that were profiled: FP32, and tensor work as 2·m·n·k over the profiled duration."""
    charts = []
    for family in ("fp32", "tensor"):
        own = [entry for entry in rows if entry.summary and (entry.stage.dtype == "fp32") == (family == "fp32")]
        found = tuple(point for entry in own for point in _points(entry, family))
        if found:
            charts.append(Roofline(family, roofs(family), found))
    return tuple(charts)


def _points(entry: LadderRow, family: Family) -> Iterator[RooflinePoint]:
    assert entry.summary is not None
    value, precision = entry.summary.value, entry.stage.dtype
    peaks = {roof.level: roof.per_second for roof in roofs(family)}
    duration = value("duration_ns")
    flop = value("flop") if family == "fp32" else 2.0 * 1024**3
    for level in ("l1", "shared", "l2", "dram"):
        moved = value(f"{level}_bytes")
        uses_it = level != "shared" or entry.stage.id not in ("naive", "coalesced", "wmma")
        if flop and duration and moved and uses_it:
            speed, reachable = flop / duration * 1e9, peaks[level] * flop / moved
            bound = level if reachable < peaks[precision] else precision
            share = speed / min(peaks[precision], reachable)
            yield RooflinePoint(entry.stage.id, level, flop / moved, speed, share, precision, bound)


def ladder(*, rows: Collection[LadderRow] | None = None, references: Collection[LadderRow] | None = None) -> Ladder:
    """Build the golden ladder, or one of the given rows."""
    if rows is None:
        rows = [row(stage.id) for stage in STAGES.values() if not stage.is_reference]
    if references is None:
        references = [row(stage.id) for stage in STAGES.values() if stage.is_reference]
    device = Device("NVIDIA H200", compute_capability=(9, 0), sm_count=132)
    environment = Environment(driver="580.159", cuda="13.0", ncu="2025.3.1", clock_control="none")
    return Ladder(
        device=device,
        environment=environment,
        problem=PROBLEM,
        rows=tuple(rows),
        references=tuple(references),
        rooflines=rooflines([*rows, *references]),
    )


def access_instances(stages: Collection[str]) -> pd.DataFrame:
    """Return counters per instruction that tell the access widths of some stages, launch by launch."""
    found = [(launch, sass) for launch, stage in enumerate(stages) for sass in _accesses(stage)]
    columns: dict[str, list[Any]] = {name: [None] * len(found) for name in INSTANCE_COLUMNS}
    columns["launch"] = [launch for launch, _ in found]
    columns["sass"] = [sass for _, sass in found]
    for name, value in (("metric", EXECUTIONS), ("kind", "pc"), ("correlation", 0), ("value", 1.0)):
        columns[name] = [value] * len(found)
    return table(INSTANCE_COLUMNS, columns)


def _accesses(stage: str) -> list[str]:
    """Return one load and one store of the width the stage uses; none for a library kernel that copies by TMA."""
    if stage == "cublas-tf32":
        return []
    modifier = {4.0: "", 8.0: ".64", 16.0: ".128"}
    loads, stores = IDEALS.get(stage, (4.0, 4.0))
    return [f"LDG.E{modifier[loads]} R4, [R2]", f"STG.E{modifier[stores]} [R2], R4"]
