"""What each profiled launch of a run shows, by the catalogue."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ncu_lab import metrics
from ncu_lab.analyze.access import access_readings
from ncu_lab.metrics.names import LAUNCH_SM_COUNT, OCCUPANCY_LIMITS, SHARED_MEMORY_OF_DRIVER
from ncu_lab.model import LaunchSummary, Run

if TYPE_CHECKING:
    import pandas as pd


def counters(table: pd.DataFrame) -> dict[int, dict[str, float]]:
    """Return launch -> Nsight Compute name -> value, of a table of ``METRIC_COLUMNS``; what has no number is absent."""
    known = table[table["value"].notna()]
    result: dict[int, dict[str, float]] = {}
    for launch, group in known.groupby("launch", sort=False):
        result[cast("int", launch)] = dict(zip(group["metric"], group["value"], strict=True))
    return result


def summarize(run: Run) -> list[LaunchSummary]:
    """Read every quantity of the catalogue from every launch of a run, in launch order.

    Where the counters per instruction were collected, shared-memory conflicts are read from them: the hardware's own
    count includes wavefronts lost to arbitration, which shows 1.1 for a tile that has no conflicts at all.
    """
    values = counters(run.metrics)
    accesses = access_readings(run.instances)
    summaries = []
    for row in run.launches.to_dict("records"):
        launch = int(row["launch"])
        found = values.get(launch, {})
        readings = metrics.read_all(found.get)
        readings.update(accesses.get(launch, {}))
        limits = {resource: limit.read(found.get)[0] for resource, limit in OCCUPANCY_LIMITS.items()}
        cycles = metrics.stall_cycles(found.items())
        sms, _ = LAUNCH_SM_COUNT.read(found.get)
        summaries.append(
            LaunchSummary(
                launch=launch,
                stage=row["stage"],
                kernel=row["kernel"],
                function=row["function"],
                grid=(int(row["grid_x"]), int(row["grid_y"]), int(row["grid_z"])),
                block=(int(row["block_x"]), int(row["block_y"]), int(row["block_z"])),
                workload=row["workload"],
                nvtx=tuple(row["nvtx"]),
                role=row["role"],
                readings=readings,
                stall_cycles=cycles,
                occupancy_limits={resource: blocks for resource, blocks in limits.items() if blocks is not None},
                stall_samples={} if cycles else metrics.stall_samples(found.items()),
                sm_count=int(sms) if sms else run.meta.device.sm_count if run.meta.device else None,
                driver_shared_bytes=SHARED_MEMORY_OF_DRIVER.read(found.get)[0],
            )
        )
    return summaries
