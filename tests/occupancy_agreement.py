"""Compares the occupancy calculator with what reports say of each launch: limits, share, allocation, curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from ncu_lab.analyze.occupancy import occupancy
from ncu_lab.metrics.names import OCCUPANCY_LIMITS
from ncu_lab.model import ARCHITECTURES, Architecture, BlockDemand

SHARE = "sm__maximum_warps_per_active_cycle_pct"
ALLOCATED = "launch__shared_mem_per_block_allocated"
CONFIGURED = "launch__shared_mem_config_size"
CURVES = {
    "launch__occupancy_per_block_size": "threads",
    "launch__occupancy_per_register_count": "registers",
    "launch__occupancy_per_shared_mem_size": "shared_bytes",
    "launch__occupancy_per_barrier_count": "barriers",
}
WITHOUT_OPT_IN = 48 * 1024
"""Past this, ncu's curve falls to 0 for a kernel that has not opted in, and 1 KiB early for one that has."""


@dataclass
class Agreement:
    """How many values of each metric agree, and which do not, as sentences."""

    same: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)
    launches: int = 0

    def note(self, metric: str, ours: float, theirs: float, where: str) -> None:
        if abs(ours - theirs) <= 1e-4 * max(1.0, abs(theirs)):
            self.same[metric] += 1
        else:
            self.differing.append(f"{where}: {metric} is {theirs:g}, computed {ours:g}")


def compare_occupancy(
    capability: tuple[int, int], metrics: pd.DataFrame, instances: pd.DataFrame, *, largest: bool = False
) -> Agreement:
    """Compare every launch whose block and registers are known.

    Args:
        capability: Compute capability.
        metrics: Table of ``METRIC_COLUMNS``.
        instances: Table of ``INSTANCE_COLUMNS``.
        largest: Whether the report counts with the SM's largest shared memory, as ncu 2020 does.
    """
    found = Agreement()
    architecture = ARCHITECTURES[capability]
    curves = instances[instances["metric"].isin(list(CURVES))]
    for launch, group in metrics[metrics["value"].notna()].groupby("launch"):
        values = dict(zip(group["metric"], group["value"], strict=True))
        demand = _demand(values)
        if demand is None:
            continue
        found.launches += 1
        carve_out = None if largest or CONFIGURED not in values else int(values[CONFIGURED])
        for metric, ours in _scalars(architecture, demand, carve_out):
            if metric in values:
                found.note(metric, ours, values[metric], f"launch {launch}, {demand}")
        own = curves[curves["launch"] == launch]
        for metric, x, theirs in zip(own["metric"], own["correlation"], own["value"], strict=True):
            if not (metric.endswith("shared_mem_size") and theirs == 0 and x > WITHOUT_OPT_IN):
                ours = _warps(architecture, demand, CURVES[metric], int(x), carve_out)
                found.note(metric, ours, theirs, f"launch {launch}, {demand} at {x}")
    return found


def _demand(values: Mapping[str, Any]) -> BlockDemand | None:
    try:
        threads, registers = (int(values[f"launch__{name}"]) for name in ("block_size", "registers_per_thread"))
    except KeyError:
        return None
    shared = sum(int(values.get(f"launch__shared_mem_per_block_{part}", 0)) for part in ("static", "dynamic"))
    return BlockDemand(threads, registers, shared, int(values.get("launch__barrier_count", 1)))


def _scalars(architecture: Architecture, demand: BlockDemand, carve_out: int | None) -> Iterator[tuple[str, float]]:
    held = occupancy(architecture, demand, carve_out)
    for resource, blocks in held.limits.items():
        yield OCCUPANCY_LIMITS[resource].names[0], blocks
    yield SHARE, held.share * 100
    yield ALLOCATED, held.shared_allocated


def _warps(architecture: Architecture, demand: BlockDemand, varies: str, x: int, carve_out: int | None) -> int:
    """Our point of a curve; ncu's shared memory is that allocated, with the driver's share."""
    value = max(0, x - architecture.reserved_shared) if varies == "shared_bytes" else x
    return occupancy(architecture, replace(demand, **{varies: value}), carve_out).warps
