"""One launch of a run, taken apart for a page."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ncu_lab.analyze.occupancy_picture import occupancy_picture
from ncu_lab.analyze.summary import counters
from ncu_lab.analyze.traffic import memory_traffic, unit_totals, unit_uses
from ncu_lab.metrics.catalogue import METRICS
from ncu_lab.metrics.glossary import meaning
from ncu_lab.metrics.names import ELIGIBLE_WARPS
from ncu_lab.model import Inspection, MetricValue, RuleFinding, Run
from ncu_lab.workflows.climbing import view
from ncu_lab.workflows.locating import hot_spots

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class LaunchEntry:
    """One launch in a list to choose from; the duration is the profiler's, None where it was not collected."""

    launch: int
    stage: str | None
    function: str
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    role: str
    nvtx: tuple[str, ...]
    duration_ns: float | None


def list_launches(run: Run) -> list[LaunchEntry]:
    """List the launches of a run without analysing any: ten thousand of them take a moment."""
    durations = _durations(run)
    columns = run.launches.to_dict("list")
    return [
        LaunchEntry(
            int(launch),
            columns["stage"][at] or None,
            columns["function"][at] or "",
            columns["kernel"][at] or "",
            (int(columns["grid_x"][at]), int(columns["grid_y"][at]), int(columns["grid_z"][at])),
            (int(columns["block_x"][at]), int(columns["block_y"][at]), int(columns["block_z"][at])),
            columns["role"][at],
            tuple(columns["nvtx"][at]),
            durations.get(int(launch)),
        )
        for at, launch in enumerate(columns["launch"])
    ]


def _durations(run: Run) -> dict[int, float]:
    """Return launch -> ns by the first name of the duration that the run has."""
    for name in METRICS["duration_ns"].counters[0].names:
        rows = run.metrics[(run.metrics["metric"] == name) & run.metrics["value"].notna()]
        if len(rows):
            return dict(zip(rows["launch"].astype(int), rows["value"].astype(float), strict=True))
    return {}


def one_launch(run: Run, launch: int) -> Run:
    """Return the run with the tables of one launch alone; timings stay, as they are of stages."""
    return only_launches(run, [launch])


def only_launches(run: Run, launches: Collection[int]) -> Run:
    """Return the run with the tables of some launches alone; timings stay, as they are of stages."""

    def of(table: pd.DataFrame) -> pd.DataFrame:
        return table[table["launch"].isin(launches)]

    return replace(
        run,
        launches=of(run.launches),
        metrics=of(run.metrics),
        instances=of(run.instances),
        rules=of(run.rules),
    )


def inspect(run: Run, launch: int) -> Inspection:
    """Take one launch apart.

    Args:
        run: The run.
        launch: Row of its launches table, which must be there.

    Raises:
        KeyError: When the run has no such launch.
    """
    alone = one_launch(run, launch)
    if alone.launches.empty:
        raise KeyError(launch)
    shown = view(alone)
    summary = shown.summaries[0]
    values = counters(alone.metrics).get(launch, {})
    texts = alone.metrics[alone.metrics["text"].notna()]
    words = dict(zip(texts["metric"], texts["text"], strict=True))
    device = run.meta.device
    return Inspection(
        view=shown,
        units=unit_uses(values.get, words),
        traffic=memory_traffic(values.get),
        spots=hot_spots(alone, [launch])[launch],
        occupancy=occupancy_picture(
            summary, values.get, alone.instances, device.compute_capability if device else None
        ),
        rules=_rules(alone),
        metrics=_metrics(alone),
        totals=unit_totals(values.get),
        eligible_warps=ELIGIBLE_WARPS.read(values.get)[0],
    )


def _rules(run: Run) -> tuple[RuleFinding, ...]:
    """Return what ncu's rules say that say anything, the largest estimate first."""
    found = [
        RuleFinding(
            str(row["section"]),
            str(row["rule"]),
            str(row["kind"]),
            str(row["message"]),
            speedup if (speedup := _number(row["speedup_pct"])) else None,
            row["speedup_scope"] if speedup and isinstance(row["speedup_scope"], str) else None,
        )
        for row in run.rules.to_dict("records")
        if isinstance(row["message"], str) and row["message"].strip()
    ]
    return tuple(sorted(found, key=lambda one: -(one.speedup_pct or -1.0)))


def _metrics(run: Run) -> tuple[MetricValue, ...]:
    rows = run.metrics.sort_values("metric")
    return tuple(
        MetricValue(name, _number(value), text if isinstance(text, str) else None, unit or "", meaning(name))
        for name, value, text, unit in zip(rows["metric"], rows["value"], rows["text"], rows["unit"], strict=True)
    )


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
