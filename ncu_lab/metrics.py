"""The metric catalogue: the only place that knows Nsight Compute's metric names.

A key names a quantity once and for all (``global_load_sectors_per_request``); the catalogue says from which
counters it is read, under which of their names, in which unit, which sections collect them, which direction is
better and whether two runs of the same build must agree on it exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neutral"]
Kind = Literal["exact", "noisy"]
Lookup = Callable[[str], float | None]

SECTOR_BYTES = 32
"""A sector, the unit of a cache transfer, is 32 bytes on every GPU since Volta."""

WAVEFRONT_BYTES = 128
"""One wavefront of the L1 / shared data pipe moves at most 32 banks of 4 bytes."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter of a report, under every name it has had (newest first)."""

    names: tuple[str, ...]

    def read(self, lookup: Lookup) -> tuple[float | None, str]:
        """Return the first present value and the name it was found under (the first name when none is)."""
        for name in self.names:
            value = lookup(name)
            if value is not None and not math.isnan(value):
                return value, name
        return None, self.names[0]


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity of the catalogue.

    Attributes:
        key: Stable name, used in JSON, policies and URLs.
        unit: Unit of the value in base units (ns, byte, %, …); empty for a plain ratio.
        better: The direction that is an improvement, other things being equal.
        kind: ``exact`` when two profiles of the same build agree (nearly) exactly, else ``noisy``.
        meaning: One sentence for people.
        section: The Nsight Compute section that collects it.
        counters: What it is computed from.
        formula: Takes the counters' values in order; None when the quantity is undefined (no requests, say).
        expression: How the counters combine, with ``{0}``, ``{1}`` for their names.
    """

    key: str
    unit: str
    better: Better
    kind: Kind
    meaning: str
    section: str
    counters: tuple[Counter, ...]
    formula: Callable[..., float | None]
    expression: str = "{0}"


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric read from one launch: ``value`` is None when it was not collected or is undefined."""

    key: str
    value: float | None
    unit: str
    metric: str
    missing: tuple[str, ...] = ()


def _same(value: float) -> float:
    return value


def _sum(*values: float) -> float:
    return sum(values)


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator else None


def _over_conflict_free(wavefronts: float, conflicts: float) -> float | None:
    """Each conflict is one extra wavefront; undefined when the kernel does not use shared memory this way."""
    return _ratio(wavefronts, wavefronts - conflicts)


def _counter(*names: str) -> Counter:
    return Counter(names)


def _plain(key: str, unit: str, better: Better, kind: Kind, section: str, meaning: str, *names: str) -> Metric:
    return Metric(key, unit, better, kind, meaning, section, (Counter(names),), _same)


_DURATION = _counter("gpu__time_duration.sum", "gpu__time_duration.avg")
_FADD = _counter("smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed")
_FMUL = _counter("smsp__sass_thread_inst_executed_op_fmul_pred_on.sum.per_cycle_elapsed")
_FFMA = _counter("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed")
_SMSP_HZ = _counter("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
_DRAM_READ = _counter("dram__bytes_read.sum")
_DRAM_WRITE = _counter("dram__bytes_write.sum")
_L2_SECTORS = _counter("lts__t_sectors.sum")
_DATA_PIPE_PCT = _counter("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed")
_SM_COUNT = _counter("device__attribute_multiprocessor_count")
_GPC_HZ = _counter("gpc__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
_SHARED_WAVEFRONTS = _counter("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")

_FP32_EXPRESSION = "({1} + {2} + 2 * {3}) * {4}"


def _fp32_flop_per_s(fadd: float, fmul: float, ffma: float, hz: float) -> float:
    return (fadd + fmul + 2.0 * ffma) * hz


def _fp32_flop(duration_ns: float, fadd: float, fmul: float, ffma: float, hz: float) -> float:
    return _fp32_flop_per_s(fadd, fmul, ffma, hz) * duration_ns * 1e-9


def _data_pipe_bytes(pct: float, sm_count: float, duration_ns: float, hz: float) -> float:
    """Bytes through the L1 / shared data pipe: its utilisation x SMs x elapsed cycles x 128 bytes."""
    return pct / 100.0 * sm_count * duration_ns * 1e-9 * hz * WAVEFRONT_BYTES


def _intensity_dram(
    duration_ns: float, fadd: float, fmul: float, ffma: float, hz: float, r: float, w: float
) -> float | None:
    return _ratio(_fp32_flop(duration_ns, fadd, fmul, ffma, hz), r + w)


def _intensity_l2(duration_ns: float, fadd: float, fmul: float, ffma: float, hz: float, sectors: float) -> float | None:
    return _ratio(_fp32_flop(duration_ns, fadd, fmul, ffma, hz), sectors * SECTOR_BYTES)


def _intensity_l1(
    duration_ns: float, fadd: float, fmul: float, ffma: float, hz: float, pct: float, sm_count: float, gpc_hz: float
) -> float | None:
    flop = _fp32_flop(duration_ns, fadd, fmul, ffma, hz)
    return _ratio(flop, _data_pipe_bytes(pct, sm_count, duration_ns, gpc_hz))


_SOL = "SpeedOfLight"
_MEM = "MemoryWorkloadAnalysis"
_TABLES = "MemoryWorkloadAnalysis_Tables"
_ROOF = "SpeedOfLight_HierarchicalSingleRooflineChart"
_TENSOR_ROOF = "SpeedOfLight_HierarchicalTensorRooflineChart"
_SCHED = "SchedulerStats"
_WARP = "WarpStateStats"
_INST = "InstructionStats"
_OCC = "Occupancy"
_LAUNCH = "LaunchStats"
_SOURCE = "SourceCounters"

_FLOP_COUNTERS = (_DURATION, _FADD, _FMUL, _FFMA, _SMSP_HZ)
_FLOP_TEXT = "({1} + {2} + 2 * {3}) * {4} * {0}"

CATALOGUE: tuple[Metric, ...] = (
    Metric(
        "duration_ns",
        "ns",
        "lower",
        "noisy",
        "Time the GPU spent on the launch, under the profiler.",
        _SOL,
        (_DURATION,),
        _same,
    ),
    _plain(
        "sm_throughput_pct",
        "%",
        "neutral",
        "noisy",
        _SOL,
        "Busiest SM unit, of its peak.",
        "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    _plain(
        "memory_throughput_pct",
        "%",
        "neutral",
        "noisy",
        _SOL,
        "Busiest memory unit, of its peak.",
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    _plain(
        "dram_throughput_pct",
        "%",
        "neutral",
        "noisy",
        _SOL,
        "Device memory, of its peak.",
        "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
        "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    _plain(
        "l2_throughput_pct",
        "%",
        "neutral",
        "noisy",
        _SOL,
        "L2 cache, of its peak.",
        "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    ),
    _plain(
        "l1_throughput_pct",
        "%",
        "neutral",
        "noisy",
        _SOL,
        "L1 / shared memory, of its peak.",
        "l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
        "l1tex__throughput.avg.pct_of_peak_sustained_active",
    ),
    Metric(
        "dram_bytes",
        "byte",
        "lower",
        "noisy",
        "Bytes read from and written to device memory.",
        _TABLES,
        (_DRAM_READ, _DRAM_WRITE),
        _sum,
        "{0} + {1}",
    ),
    Metric(
        "l2_bytes",
        "byte",
        "lower",
        "noisy",
        "Bytes through the L2 cache (sectors of 32 bytes).",
        _TABLES,
        (_L2_SECTORS,),
        lambda sectors: sectors * SECTOR_BYTES,
        "{0} * 32",
    ),
    Metric(
        "l1_bytes",
        "byte",
        "lower",
        "noisy",
        "Bytes through the L1 / shared data pipe (wavefronts of 128 bytes).",
        _SOL,
        (_DATA_PIPE_PCT, _SM_COUNT, _DURATION, _GPC_HZ),
        _data_pipe_bytes,
        "{0} / 100 * {1} * {2} * {3} * 128",
    ),
    Metric(
        "shared_bytes",
        "byte",
        "lower",
        "noisy",
        "Bytes through shared memory (wavefronts of 128 bytes).",
        _TABLES,
        (_SHARED_WAVEFRONTS,),
        lambda wavefronts: wavefronts * WAVEFRONT_BYTES,
        "{0} * 128",
    ),
    Metric(
        "flop",
        "FLOP",
        "neutral",
        "exact",
        "FP32 operations counted by the instructions (FMA counts two).",
        _ROOF,
        _FLOP_COUNTERS,
        _fp32_flop,
        _FLOP_TEXT,
    ),
    Metric(
        "flop_per_s",
        "FLOP/s",
        "higher",
        "noisy",
        "FP32 operations a second, by instruction counters.",
        _ROOF,
        (_FADD, _FMUL, _FFMA, _SMSP_HZ),
        _fp32_flop_per_s,
        "({0} + {1} + 2 * {2}) * {3}",
    ),
    Metric(
        "intensity_dram",
        "FLOP/byte",
        "neutral",
        "noisy",
        "FP32 operations per byte of device memory.",
        _ROOF,
        (*_FLOP_COUNTERS, _DRAM_READ, _DRAM_WRITE),
        _intensity_dram,
        _FLOP_TEXT + " / ({5} + {6})",
    ),
    Metric(
        "intensity_l2",
        "FLOP/byte",
        "neutral",
        "noisy",
        "FP32 operations per byte through L2.",
        _ROOF,
        (*_FLOP_COUNTERS, _L2_SECTORS),
        _intensity_l2,
        _FLOP_TEXT + " / ({5} * 32)",
    ),
    Metric(
        "intensity_l1",
        "FLOP/byte",
        "neutral",
        "noisy",
        "FP32 operations per byte through the L1 / shared data pipe.",
        _ROOF,
        (*_FLOP_COUNTERS, _DATA_PIPE_PCT, _SM_COUNT, _GPC_HZ),
        _intensity_l1,
        _FLOP_TEXT + " / ({5} / 100 * {6} * {0} * {7} * 128)",
    ),
    Metric(
        "global_load_sectors_per_request",
        "sector/request",
        "neutral",
        "exact",
        "Sectors fetched per global load of a warp (plain loads; cp.async and TMA are counted apart).",
        _TABLES,
        (
            _counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
            _counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"),
        ),
        _ratio,
        "{0} / {1}",
    ),
    Metric(
        "global_store_sectors_per_request",
        "sector/request",
        "neutral",
        "exact",
        "Sectors written per global store of a warp (plain stores; TMA is counted apart).",
        _TABLES,
        (
            _counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
            _counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"),
        ),
        _ratio,
        "{0} / {1}",
    ),
    _plain(
        "shared_load_bank_conflicts",
        "wavefront",
        "lower",
        "exact",
        _TABLES,
        "Extra wavefronts of shared loads, by bank conflicts.",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    ),
    _plain(
        "shared_store_bank_conflicts",
        "wavefront",
        "lower",
        "exact",
        _TABLES,
        "Extra wavefronts of shared stores, by bank conflicts.",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    ),
    Metric(
        "shared_load_wavefronts_per_request",
        "wavefront/request",
        "lower",
        "exact",
        "Hardware wavefronts per shared load instruction.",
        _TABLES,
        (
            _counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
            _counter("smsp__sass_inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_ld.sum"),
        ),
        _ratio,
        "{0} / {1}",
    ),
    Metric(
        "shared_store_wavefronts_per_request",
        "wavefront/request",
        "lower",
        "exact",
        "Hardware wavefronts per shared store instruction.",
        _TABLES,
        (
            _counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
            _counter("smsp__sass_inst_executed_op_shared_st.sum", "smsp__inst_executed_op_shared_st.sum"),
        ),
        _ratio,
        "{0} / {1}",
    ),
    Metric(
        "shared_load_wavefronts_over_ideal",
        "",
        "lower",
        "exact",
        "Wavefronts of shared loads over what they need without bank conflicts.",
        _TABLES,
        (
            _counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
            _counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"),
        ),
        _over_conflict_free,
        "{0} / ({0} - {1})",
    ),
    Metric(
        "shared_store_wavefronts_over_ideal",
        "",
        "lower",
        "exact",
        "Wavefronts of shared stores over what they need without bank conflicts.",
        _TABLES,
        (
            _counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
            _counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"),
        ),
        _over_conflict_free,
        "{0} / ({0} - {1})",
    ),
    _plain(
        "achieved_occupancy_pct",
        "%",
        "neutral",
        "noisy",
        _OCC,
        "Warps resident on average, of the most an SM holds.",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
    ),
    _plain(
        "theoretical_occupancy_pct",
        "%",
        "neutral",
        "exact",
        _OCC,
        "Warps an SM can hold of this kernel, of the most it holds.",
        "sm__maximum_warps_per_active_cycle_pct",
    ),
    _plain(
        "registers_per_thread",
        "register/thread",
        "neutral",
        "exact",
        _LAUNCH,
        "Registers a thread.",
        "launch__registers_per_thread",
    ),
    _plain(
        "shared_memory_per_block",
        "byte/block",
        "neutral",
        "exact",
        _LAUNCH,
        "Shared memory a block, with the driver's share.",
        "launch__shared_mem_per_block",
    ),
    _plain(
        "waves_per_sm",
        "",
        "neutral",
        "exact",
        _LAUNCH,
        "Blocks launched over blocks the GPU holds at once.",
        "launch__waves_per_multiprocessor",
    ),
    _plain(
        "local_spill_requests",
        "request",
        "lower",
        "exact",
        _SOURCE,
        "Requests to local memory made by register spills.",
        "derived__local_spilling_requests",
    ),
    _plain(
        "instructions_issued",
        "inst",
        "lower",
        "exact",
        _INST,
        "Warp instructions issued, over the whole GPU.",
        "smsp__inst_issued.sum",
    ),
    _plain(
        "issue_active_pct",
        "%",
        "higher",
        "noisy",
        _SCHED,
        "Cycles in which a scheduler issued, of its active cycles.",
        "smsp__issue_active.avg.pct_of_peak_sustained_active",
    ),
    _plain(
        "warp_cycles_per_instruction",
        "cycle",
        "neutral",
        "noisy",
        _WARP,
        "Cycles a warp spends per instruction it issues.",
        "smsp__average_warp_latency_per_inst_issued.ratio",
    ),
    _plain(
        "warps_active",
        "warp",
        "neutral",
        "noisy",
        _SCHED,
        "Active warps a scheduler, per active cycle.",
        "smsp__warps_active.avg.per_cycle_active",
    ),
    Metric(
        "elapsed_to_active",
        "",
        "lower",
        "noisy",
        "Elapsed over active cycles: imbalance, tail and launch.",
        _SCHED,
        (
            _counter("smsp__cycles_elapsed.max", "gpc__cycles_elapsed.max"),
            _counter("smsp__cycles_active.avg", "sm__cycles_active.avg"),
        ),
        _ratio,
        "{0} / {1}",
    ),
    _plain(
        "sm_clock_hz",
        "hz",
        "neutral",
        "noisy",
        _SOL,
        "SM clock during the launch.",
        "gpc__cycles_elapsed.avg.per_second",
        "smsp__cycles_elapsed.avg.per_second",
        "sm__cycles_elapsed.avg.per_second",
    ),
    _plain(
        "fma_pipe_pct",
        "%",
        "higher",
        "noisy",
        _SOL,
        "FMA pipe busy, of elapsed cycles.",
        "sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
    ),
    _plain(
        "tensor_pipe_pct",
        "%",
        "higher",
        "noisy",
        _SOL,
        "Tensor pipe busy, of elapsed cycles.",
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
        "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed",
    ),
)
"""Every quantity, in the order they are shown."""

METRICS: Mapping[str, Metric] = {metric.key: metric for metric in CATALOGUE}

ATTRIBUTION_METRICS: tuple[str, ...] = (
    "smsp__inst_issued.avg",
    "smsp__inst_issued.sum",
    "smsp__warps_active.avg.per_cycle_active",
    "smsp__cycles_active.avg",
    "smsp__cycles_elapsed.max",
    "smsp__cycles_elapsed.avg.per_second",
)
"""What the attribution identity needs beyond the targeted sections (asked for with ``--metrics``)."""

TARGETED_SECTIONS: tuple[str, ...] = (
    _SOL, _MEM, _TABLES, _WARP, _SCHED, _INST, _OCC, _LAUNCH, _ROOF, _TENSOR_ROOF, _SOURCE,
)  # fmt: skip
"""The sections collected unless the user asks for others."""

_STALL_PREFIX = "smsp__average_warps_issue_stalled_"
_STALL_SUFFIX = "_per_issue_active.ratio"

STALL_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "issuing": ("selected", "not_selected"),
    "execution": ("wait", "math_pipe_throttle", "dispatch_stall", "gmma"),
    "fetch": ("no_instruction", "branch_resolving", "imc_miss"),
    "other": ("misc", "sleeping"),
    "sync": ("barrier", "membar"),
    "shared / MIO": ("short_scoreboard", "mio_throttle"),
    "global / L1TEX": ("drain", "tex_throttle", "lg_throttle", "long_scoreboard"),
}
"""Stall reasons by family, in the order they stack: issuing first, global memory last."""

STALL_ORDER: tuple[str, ...] = tuple(reason for family in STALL_FAMILIES.values() for reason in family)


def stall_reason(name: str) -> str | None:
    """Return the stall reason of a warp-state metric name, or None for any other metric."""
    if name.startswith(_STALL_PREFIX) and name.endswith(_STALL_SUFFIX):
        return name[len(_STALL_PREFIX) : -len(_STALL_SUFFIX)]
    return None


def stall_cycles(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Collect warp-cycles per issued instruction by stall reason, in stacking order.

    Args:
        values: Pairs of metric name and value, in any order; other metrics are ignored.

    Returns:
        Reason -> cycles; a reason that this GPU or report does not have is absent, never 0.
    """
    found = {
        reason: value
        for name, value in values
        if value is not None and not math.isnan(value) and (reason := stall_reason(name)) is not None
    }
    rank = {reason: index for index, reason in enumerate(STALL_ORDER)}
    return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))


def read(key: str, lookup: Lookup) -> Reading:
    """Read one quantity from a launch.

    Args:
        key: A key of the catalogue.
        lookup: Gives the value of an Nsight Compute metric in base units, None when the report lacks it.

    Returns:
        The reading; its value is None when a counter is missing (named in ``missing``) or the quantity is undefined.

    Raises:
        KeyError: When the key is not in the catalogue.
    """
    metric = METRICS[key]
    found = [counter.read(lookup) for counter in metric.counters]
    names = [name for _, name in found]
    missing = tuple(name for value, name in found if value is None)
    values = [value for value, _ in found if value is not None]
    value = metric.formula(*values) if not missing else None
    return Reading(key, value, metric.unit, metric.expression.format(*names), missing)


def read_all(lookup: Lookup) -> dict[str, Reading]:
    """Read every quantity of the catalogue from a launch, in catalogue order."""
    return {metric.key: read(metric.key, lookup) for metric in CATALOGUE}
