"""The hierarchical roofline: roofs from the report itself, and where each launch stands below them.

Williams, Waterman, Patterson, "Roofline" (CACM 52, 2009): a launch of I operations per byte reaches at most
min(peak, I x bandwidth); one point per memory level makes it hierarchical (Yang, Kurth, Williams, 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from ncu_lab.metrics import WAVEFRONT_BYTES
from ncu_lab.metrics.names import (
    DRAM_BYTES_PER_CYCLE_PEAK,
    DRAM_HZ,
    L1_HZ,
    L2_BYTES_PER_CYCLE_PEAK,
    L2_HZ,
    L2_TO_L1_BYTES_PER_CYCLE_PEAK,
    L2_TO_L1_BYTES_PER_S,
    SHARED_MEMORY_PARTS,
    SM_COUNT,
)
from ncu_lab.metrics.operations import FP32, FP64, Operations, read_operations
from ncu_lab.metrics.quantity import Counter
from ncu_lab.model import FAMILIES, Datasheet, Family, LaunchSummary, MeasuredPeak, Roof, Roofline, RooflinePoint

LEVELS = ("l1", "shared", "l2", "dram")
"""The memory levels a launch has a point for, nearest to the SM first; ``shared`` is shared memory alone."""

_TENSOR = " tensor"

Values = Mapping[str, float]
"""Nsight Compute name -> value of one launch."""


@dataclass(frozen=True, slots=True)
class LaunchRoofline:
    """What the counters of one launch tell: its roofs, memory levels first, and its points; either may be empty."""

    roofs: tuple[Roof, ...] = ()
    points: tuple[RooflinePoint, ...] = ()

    @property
    def family(self) -> Family | None:
        """The chart it belongs to; None when it has no point."""
        return family_of(self.points[0].precision) if self.points else None


def launch_roofline(summary: LaunchSummary, values: Values) -> LaunchRoofline:
    """Place one launch at every level whose bytes were counted, under the roofs of the same launch.

    Operations a second are those of the counters, so point and roof belong to the same (profiled) execution. The
    launch stands in the precision that keeps its unit busiest: the few FP32 instructions of a kernel that multiplies
    on tensor cores would put it where it is not.

    Args:
        summary: The launch.
        values: Its counters.

    Returns:
        What is there: a level, a roof or a precision whose counters were not collected is absent.
    """
    operations = read_operations(values)
    memory = _memory(summary, values)
    bandwidths = tuple(Roof(level, label, peak) for level, (label, peak, _) in memory.items() if peak is not None)
    roofs = (*bandwidths, *compute_roofs(operations.values()))
    work = _main_work(summary, operations.values())
    if work is None or not work.flop or not work.flop_per_s or not work.peak_per_s:
        return LaunchRoofline(roofs)
    name = summary.stage or summary.function
    points = tuple(
        _point(name, level, work, work.flop / moved, peak)
        for level, (_, peak, moved) in memory.items()
        if peak is not None and moved
    )
    return LaunchRoofline(roofs, points)


def _point(name: str, level: str, work: Operations, intensity: float, bandwidth: float) -> RooflinePoint:
    speed, reachable = work.flop_per_s or 0.0, bandwidth * intensity
    ceiling, peak = _ceiling(work)
    bound = level if reachable < peak else ceiling
    return RooflinePoint(name, level, intensity, speed, speed / min(peak, reachable), work.precision, bound)


def _ceiling(work: Operations) -> tuple[str, float]:
    """Return the compute roof above a launch, as level and operations a second.

    It is that of the fastest instruction that the launch used: what another would reach is no room of this kernel.
    """
    whole = work.peak_per_s or 0.0
    instruction, peak = max(work.instructions.items(), key=lambda item: item[1], default=("", whole))
    return (_instruction_level(work.precision, instruction), peak) if peak < whole else (work.precision, whole)


def _instruction_level(precision: str, instruction: str) -> str:
    return f"{precision}_{instruction}"


def _memory(summary: LaunchSummary, values: Values) -> dict[str, tuple[str, float | None, float | None]]:
    """Return level -> its name, its bandwidth in byte/s, and the bytes that the launch moved through it.

    - L1 / shared: SMs x 128 bytes x L1 clock, one wavefront of 32 banks a cycle and SM (33.5 TB/s on an H200); bytes
      are all wavefronts of that pipe x 128. Shared memory alone has the same bandwidth and its own wavefronts.
    - L2: bytes a cycle from all slices (``derived__lts__lts2xbar_bytes.sum.peak_sustained``) x L2 clock, as in Nsight
      Compute's hierarchical roofline, and sectors x 32; before 2024 it told what the SMs take from L2 instead.
    - DRAM: ``dram__bytes.sum.peak_sustained`` x memory clock.
    """
    pipe = _product((SM_COUNT, L1_HZ), values, WAVEFRONT_BYTES)
    l2 = ("L2", _product((L2_BYTES_PER_CYCLE_PEAK, L2_HZ), values), summary.value("l2_bytes"))
    if l2[1] is None:
        rate, duration_ns = _product((L2_TO_L1_BYTES_PER_S,), values), summary.value("duration_ns")
        taken = None if rate is None or duration_ns is None else rate * duration_ns * 1e-9
        l2 = ("L2 to L1", _product((L2_TO_L1_BYTES_PER_CYCLE_PEAK, L1_HZ), values), taken)
    dram = _product((DRAM_BYTES_PER_CYCLE_PEAK, DRAM_HZ), values)
    return {
        "l1": ("L1 / shared", pipe, summary.value("l1_bytes")),
        "shared": ("shared memory", pipe, summary.value("shared_bytes") if _has_shared_memory(values) else None),
        "l2": l2,
        "dram": ("DRAM", dram, summary.value("dram_bytes")),
    }


def _has_shared_memory(values: Values) -> bool:
    """Whether a kernel has shared memory of its own: without any, the few wavefronts counted are of the system."""
    sizes = [part.read(values.get)[0] for part in SHARED_MEMORY_PARTS]
    return None in sizes or any(sizes)


def _product(counters: Sequence[Counter], values: Values, scale: float = 1.0) -> float | None:
    result = scale
    for one in counters:
        value, _ = one.read(values.get)
        if value is None:
            return None
        result *= value
    return result


def compute_roofs(operations: Iterable[Operations]) -> tuple[Roof, ...]:
    """Return the compute roofs of a launch: of the scalar pipes, and of the tensor types that it used.

    An instruction of the tensor cores that cannot reach the peak of its type (HMMA on Hopper) has a roof of its own.
    """
    roofs = []
    for work in operations:
        if not work.peak_per_s or (work.tensor and not work.flop):
            continue
        label = precision_label(work.precision)
        roofs.append(Roof(work.precision, label, work.peak_per_s, "compute"))
        for instruction, peak in work.instructions.items():
            if peak < work.peak_per_s:
                level = _instruction_level(work.precision, instruction)
                roofs.append(Roof(level, f"{label.removesuffix(_TENSOR)} by {instruction.upper()}", peak, "compute"))
    return tuple(roofs)


def precision_label(precision: str) -> str:
    """Name a precision for people: ``FP32``, ``FP16 tensor``, ``TF32 tensor sparse``."""
    words = precision.split("_")
    tensor = [] if precision in (FP32, FP64) or "tensor" in words else ["tensor"]
    return " ".join([words[0].upper(), *tensor, *words[1:]])


def family_of(precision: str) -> Family:
    """Return the chart of a precision, or of a compute roof's level."""
    return "fp32" if precision == FP32 else "fp64" if precision == FP64 else "tensor"


def _main_work(summary: LaunchSummary, operations: Iterable[Operations]) -> Operations | None:
    """Return the work that keeps its unit busiest; None when it is not known: tensor work that was not counted."""
    counted = [work for work in operations if work.flop is not None]
    if uses_tensor_cores(summary) and not any(work.tensor for work in counted):
        return None
    known = all(work.peak_per_s for work in counted if work.flop_per_s)

    def busy(work: Operations) -> float:
        return (work.flop_per_s or 0.0) / (work.peak_per_s or 1.0 if known else 1.0)

    return max(counted, key=busy, default=None)


def uses_tensor_cores(summary: LaunchSummary) -> bool:
    """Whether a launch's tensor pipe was busier than its FMA pipe."""
    return (summary.value("tensor_pipe_pct") or 0.0) > (summary.value("fma_pipe_pct") or 0.0)


def charts(
    launches: Iterable[LaunchRoofline], measured: Sequence[MeasuredPeak] = (), label: str = ""
) -> tuple[Roofline, ...]:
    """Put launches of one GPU into charts, one per family that has any.

    Args:
        launches: Launches of one GPU.
        measured: Peaks measured on it.
        label: Which run or GPU.
    """
    by_family: dict[Family, list[LaunchRoofline]] = {}
    for launch in launches:
        if launch.family is not None:
            by_family.setdefault(launch.family, []).append(launch)
    return tuple(
        Roofline(
            family,
            common_roofs(_of_family(launch.roofs, family) for launch in by_family[family]),
            tuple(point for launch in by_family[family] for point in launch.points),
            label,
            tuple(peak for peak in measured if peak.kind == "memory" or family_of(peak.level) == family),
        )
        for family in FAMILIES
        if family in by_family
    )


def _of_family(roofs: Iterable[Roof], family: Family) -> list[Roof]:
    return [roof for roof in roofs if roof.kind == "memory" or family_of(roof.level) == family]


def datasheet_roofs(sheet: Datasheet) -> tuple[Roof, ...]:
    """Return the roofs that a GPU's datasheet states: its memory, and the peaks of the types it has figures for.

    Datasheets assume a clock of their own. That of an H200's 989 TFLOP/s in FP16 is 1.83 GHz (132 SMs x 4096 FLOP a
    cycle), below the 1.98 GHz of its FP32 figure: a report at 1.98 GHz has a tensor roof of 1070 TFLOP/s.
    """
    peaks = {FP32: sheet.peak_flop_per_s("fp32"), **sheet.tensor}
    compute = (
        Roof(precision, precision_label(precision), peak, "compute") for precision, peak in peaks.items() if peak
    )
    return (Roof("dram", "DRAM", sheet.dram_bytes_per_s), *compute)


def common_roofs(launches: Iterable[Sequence[Roof]]) -> tuple[Roof, ...]:
    """Return one set of roofs for several launches of one device: the median, as clocks differ.

    Compute roofs and that of L1 follow the SM clock, which power lowers for some launches and not for others. They are
    brought to the median clock, so that two types of one rate have one roof also where few launches used either.
    """
    each = [{roof.level: roof for roof in roofs} for roofs in launches]
    clocks = [roofs["l1"].per_second for roofs in each if "l1" in roofs]
    usual = median(clocks) if len(clocks) == len(each) and clocks else None
    found: dict[str, list[tuple[Roof, float]]] = {}
    for roofs in each:
        for roof in roofs.values():
            factor = usual / roofs["l1"].per_second if usual is not None and roof.kind == "compute" else 1.0
            found.setdefault(roof.level, []).append((roof, roof.per_second * factor))
    ordered = sorted(found.values(), key=lambda same: same[0][0].kind != "memory")
    return tuple(replace(same[0][0], per_second=median(peak for _, peak in same)) for same in ordered)
