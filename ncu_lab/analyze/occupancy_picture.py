"""How the occupancy of one launch hangs on registers, shared memory and the size of its blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from ncu_lab.analyze.occupancy import block_size_curve, next_block, register_curve, shared_curve
from ncu_lab.metrics import METRICS, Lookup
from ncu_lab.metrics.names import OCCUPANCY_CURVES, SHARED_CONFIGURED, SHARED_MEMORY_PARTS, WARPS_POSSIBLE
from ncu_lab.model import ARCHITECTURES, BlockDemand, LaunchSummary, OccupancyCurve, OccupancyPicture
from ncu_lab.model.architecture import WARP_THREADS

if TYPE_CHECKING:
    import pandas as pd

Varies = Literal["block size", "registers", "shared memory"]


def occupancy_picture(
    summary: LaunchSummary, lookup: Lookup, instances: pd.DataFrame, capability: tuple[int, int] | None
) -> OccupancyPicture:
    """Return the occupancy of a launch and its curves: the report's own, else calculated by the same rules.

    Args:
        summary: The launch.
        lookup: Its metrics.
        instances: Its instances.
        capability: Compute capability of its GPU; None where it is not known.
    """
    demand = _demand(summary, lookup)
    architecture = ARCHITECTURES.get(capability) if capability else None
    configured, _ = SHARED_CONFIGURED.read(lookup)
    carve_out = int(configured) if configured else None
    curves, origin = _recorded(instances), "report"
    if len(curves) < len(OCCUPANCY_CURVES) and architecture and demand:
        origin = "calculated"
        curves = (
            register_curve(architecture, demand, carve_out),
            shared_curve(architecture, demand, carve_out),
            block_size_curve(architecture, demand, carve_out),
        )
    possible, _ = WARPS_POSSIBLE.read(lookup)
    return OccupancyPicture(
        demand=demand,
        curves=curves,
        origin="report" if origin == "report" else "calculated",
        most_warps=architecture.warps if architecture else None,
        warps=possible,
        next_block=next_block(architecture, demand, carve_out) if architecture and demand else None,
        missing=()
        if curves
        else (METRICS["registers_per_thread"].section, METRICS["theoretical_occupancy_pct"].section),
    )


def _demand(summary: LaunchSummary, lookup: Lookup) -> BlockDemand | None:
    registers = summary.value("registers_per_thread")
    threads = summary.block[0] * summary.block[1] * summary.block[2]
    if registers is None or not threads:
        return None
    parts = [part.read(lookup)[0] for part in SHARED_MEMORY_PARTS]
    return BlockDemand(threads, int(registers), int(sum(part or 0.0 for part in parts)))


def _recorded(instances: pd.DataFrame) -> tuple[OccupancyCurve, ...]:
    """Read the curves that a report brings: warps of an SM by what varies."""
    by_metric: Mapping[str, Varies] = {metric: varies for varies, metric in OCCUPANCY_CURVES.items()}
    found = instances[(instances["kind"] == "index") & instances["metric"].isin(list(by_metric))]
    curves: dict[str, OccupancyCurve] = {}
    for metric, group in found.groupby("metric", observed=True):
        points = group[group["value"].notna()].sort_values("correlation")
        varies = by_metric[str(metric)]
        warps = [round(value) for value in points["value"]]
        x = [int(one) for one in points["correlation"]]
        if len(x) > 1:
            curves[varies] = OccupancyCurve(varies, tuple(x), _blocks(varies, x, warps), tuple(warps))
    return tuple(curves[varies] for varies in OCCUPANCY_CURVES if varies in curves)


def _blocks(varies: Varies, x: list[int], warps: list[int]) -> tuple[int, ...]:
    """Return the blocks of these warps where the size of a block tells them; none where it does not."""
    if varies != "block size":
        return ()
    return tuple(count // max(1, -(-size // WARP_THREADS)) for size, count in zip(x, warps, strict=True))
