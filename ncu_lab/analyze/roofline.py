"""The roofline: roofs from the report itself, and where each launch stands below them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from ncu_lab.metrics import WAVEFRONT_BYTES, Lookup
from ncu_lab.metrics.names import (
    DRAM_BYTES_PER_CYCLE_PEAK,
    DRAM_HZ,
    FFMA_PER_CYCLE_PEAK,
    L1_HZ,
    L2_BYTES_PER_CYCLE_PEAK,
    L2_HZ,
    SM_COUNT,
    SM_HZ,
)
from ncu_lab.metrics.quantity import Counter
from ncu_lab.model import LaunchSummary, Roof, RooflinePoint

LEVELS = ("l1", "l2", "dram")
"""The memory levels a launch has a point for, nearest to the SM first."""

COMPUTE = "fp32"


def read_roofs(lookup: Lookup) -> tuple[Roof, ...]:
    """Read the roofs of one launch: peaks a cycle by the report, times the clocks it ran at.

    - FP32: ``sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained`` FMAs a cycle x 2 x SM clock, as Nsight
      Compute's single-precision roofline has it (132 SMs x 128 x 2 x 1.98 GHz = 66.9 TFLOP/s on an H200).
    - L1 / shared: SMs x 128 bytes x L1 clock, one wavefront of 32 banks a cycle and SM (33.5 TB/s); the bytes of the
      points are those of the same pipe (``l1_bytes``).
    - L2: bytes a cycle from all slices (``derived__lts__lts2xbar_bytes.sum.peak_sustained``) x L2 clock, as Nsight
      Compute's hierarchical roofline has it.
    - DRAM: ``dram__bytes.sum.peak_sustained`` x memory clock.

    Returns:
        The roofs whose counters the report has, memory levels first.
    """
    candidates = (
        ("l1", "L1 / shared", (SM_COUNT, L1_HZ), WAVEFRONT_BYTES),
        ("l2", "L2", (L2_BYTES_PER_CYCLE_PEAK, L2_HZ), 1),
        ("dram", "DRAM", (DRAM_BYTES_PER_CYCLE_PEAK, DRAM_HZ), 1),
        (COMPUTE, "FP32", (FFMA_PER_CYCLE_PEAK, SM_HZ), 2),
    )
    found = ((level, label, _product(counters, lookup, scale)) for level, label, counters, scale in candidates)
    return tuple(Roof(level, label, peak) for level, label, peak in found if peak is not None)


def _product(counters: Sequence[Counter], lookup: Lookup, scale: float) -> float | None:
    result = scale
    for one in counters:
        value, _ = one.read(lookup)
        if value is None:
            return None
        result *= value
    return result


def roofline_points(summary: LaunchSummary, roofs: Iterable[Roof]) -> tuple[RooflinePoint, ...]:
    """Place one launch at every level whose bytes were counted, under the roofs of the same launch.

    FLOP/s are those of the instruction counters, so point and roof belong to the same (profiled) execution. A launch
    that works on tensor cores has no FP32 point: its few FP32 instructions would put it where it is not.
    """
    peaks = {roof.level: roof.per_second for roof in roofs}
    speed = summary.value("flop_per_s")
    if not speed or COMPUTE not in peaks or uses_tensor_cores(summary):
        return ()
    points = []
    for level in LEVELS:
        intensity = summary.value(f"intensity_{level}")
        if intensity and level in peaks:
            reachable = min(peaks[COMPUTE], peaks[level] * intensity)
            name = summary.stage or summary.function
            points.append(RooflinePoint(name, level, intensity, speed, speed / reachable))
    return tuple(points)


def uses_tensor_cores(summary: LaunchSummary) -> bool:
    """Whether a launch's tensor pipe was busier than its FMA pipe."""
    return (summary.value("tensor_pipe_pct") or 0.0) > (summary.value("fma_pipe_pct") or 0.0)


def common_roofs(launches: Iterable[Sequence[Roof]]) -> tuple[Roof, ...]:
    """Return one set of roofs for several launches of one device: the median, as clocks differ a little."""
    found: dict[str, list[Roof]] = {}
    for roofs in launches:
        for roof in roofs:
            found.setdefault(roof.level, []).append(roof)
    return tuple(Roof(level, same[0].label, median(roof.per_second for roof in same)) for level, same in found.items())
