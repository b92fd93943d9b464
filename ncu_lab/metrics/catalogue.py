"""The catalogue: every quantity, its counters, unit, section, direction and meaning, in the order they are shown."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_lab.metrics.names import EXECUTIONS, FFMA_PER_CYCLE_PEAK, SHARED_MEMORY_OF_DRIVER, SHARED_MEMORY_PARTS
from ncu_lab.metrics.pipes import COMPUTE, COMPUTE_OTHERWISE, ISSUE_SLOTS
from ncu_lab.metrics.quantity import Lookup, Metric, Reading, Way, counter

SECTOR_BYTES = 32
"""A sector, the unit of a cache transfer, is 32 bytes on every GPU since Volta."""

WAVEFRONT_BYTES = 128
"""One wavefront of the L1 / shared data pipe moves at most 32 banks of 4 bytes."""

LANES = 32
"""Threads of a warp."""

OVER_IDEAL = 1.3
"""An access that takes more than this multiple of its ideal sectors or wavefronts is marked as over its limit."""

SOL = "SpeedOfLight"
MEMORY = "MemoryWorkloadAnalysis"
TABLES = "MemoryWorkloadAnalysis_Tables"
ROOFLINE = "SpeedOfLight_HierarchicalSingleRooflineChart"
DOUBLE_ROOFLINE = "SpeedOfLight_HierarchicalDoubleRooflineChart"
TENSOR_ROOFLINE = "SpeedOfLight_HierarchicalTensorRooflineChart"
SCHEDULER = "SchedulerStats"
WARP_STATE = "WarpStateStats"
INSTRUCTIONS = "InstructionStats"
OCCUPANCY = "Occupancy"
LAUNCH = "LaunchStats"
SOURCE = "SourceCounters"

TARGETED_SECTIONS: tuple[str, ...] = (
    SOL, MEMORY, TABLES, WARP_STATE, SCHEDULER, INSTRUCTIONS, OCCUPANCY, LAUNCH, ROOFLINE, TENSOR_ROOFLINE, SOURCE,
)  # fmt: skip
"""The sections collected unless the user asks for others."""

ATTRIBUTION_METRICS: tuple[str, ...] = (
    "smsp__inst_issued.avg",
    "smsp__inst_issued.sum",
    "smsp__warps_active.avg.per_cycle_active",
    "smsp__cycles_active.avg",
    "smsp__cycles_elapsed.avg",
    "smsp__cycles_elapsed.max",
    "smsp__cycles_elapsed.avg.per_second",
)
"""What the attribution identity needs beyond the targeted sections (asked for with ``--metrics``)."""

_DURATION = counter("gpu__time_duration.sum", "gpu__time_duration.avg")
_FADD, _FMUL, _FFMA, _DADD, _DMUL, _DFMA = (
    counter(f"smsp__sass_thread_inst_executed_op_{precision}{op}_pred_on.sum.per_cycle_elapsed")
    for precision in ("f", "d")
    for op in ("add", "mul", "fma")
)
_SMSP_HZ = counter("smsp__cycles_elapsed.avg.per_second", "sm__cycles_elapsed.avg.per_second")
_L1_HZ = counter("l1tex__cycles_elapsed.avg.per_second", *_SMSP_HZ.names)
_SM_HZ = counter("gpc__cycles_elapsed.avg.per_second", *_SMSP_HZ.names)
_DRAM_READ = counter("dram__bytes_read.sum")
_DRAM_WRITE = counter("dram__bytes_write.sum")
_L2_SECTORS = counter("lts__t_sectors.sum")
_DATA_PIPE_PCT = counter("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed")
_SM_COUNT = counter("device__attribute_multiprocessor_count")
_LOAD_SECTORS = counter("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")
_LOAD_REQUESTS = counter("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum")
_STORE_SECTORS = counter("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum")
_STORE_REQUESTS = counter("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum")
_SHARED_WAVEFRONTS = counter("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
_SHARED_LOAD_WAVEFRONTS = counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum")
_SHARED_STORE_WAVEFRONTS = counter("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum")
_SHARED_LOAD_CONFLICTS = counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum")
_SHARED_STORE_CONFLICTS = counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")
_SHARED_LOADS = counter(
    "smsp__sass_inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "sass__inst_executed_shared_loads",
)
_SHARED_STORES = counter(
    "smsp__sass_inst_executed_op_shared_st.sum",
    "smsp__inst_executed_op_shared_st.sum",
    "sass__inst_executed_shared_stores",
)

# Totals, as asked for with --metrics; they need no clock.
_FADDS, _FMULS, _FFMAS, _DADDS, _DMULS, _DFMAS = (
    counter(*(f"{unit}__sass_thread_inst_executed_op_{precision}{op}_pred_on.sum" for unit in ("smsp", "sm")))
    for precision in ("f", "d")
    for op in ("add", "mul", "fma")
)
_TENSOR_FP16, _TENSOR_BF16, _TENSOR_TF32 = (
    counter(f"sm__ops_path_tensor_src_{types}.sum") for types in ("fp16", "bf16_dst_fp32", "tf32_dst_fp32")
)
_DRAM_BYTES = counter("dram__bytes.sum")

_FLOP_COUNTERS = (_DURATION, _FADD, _FMUL, _FFMA, _SMSP_HZ)
_FLOP_TEXT = "({1} + {2} + 2 * {3}) * {4} * {0}"


def _ratio(numerator: float | None, denominator: float) -> float | None:
    return numerator / denominator if numerator is not None and denominator else None


def _over_conflict_free(wavefronts: float, conflicts: float) -> float | None:
    """Each conflict is one extra wavefront; undefined when the kernel does not use shared memory this way."""
    return _ratio(wavefronts, wavefronts - conflicts)


def _per_instruction(*_totals: float) -> None:
    """Totals do not tell it: ``analyze.access`` reads it from the counters of each instruction."""


def _flop_per_s(add: float, mul: float, fma: float, hz: float) -> float | None:
    """Without a cycle nothing is known of work that is counted per cycle."""
    return (add + mul + 2.0 * fma) * hz if hz else None


def _flop(duration_ns: float, add: float, mul: float, fma: float, hz: float) -> float | None:
    rate = _flop_per_s(add, mul, fma, hz)
    return rate * duration_ns * 1e-9 if rate is not None and duration_ns else None


def _fp32_peak_pct(fadd: float, fmul: float, ffma: float, ffma_peak: float) -> float | None:
    return _ratio(100.0 * (fadd + fmul + 2.0 * ffma), 2.0 * ffma_peak)


def _per_warp_fma(wavefronts: float, ffma: float, hz: float, duration_ns: float) -> float | None:
    """Counters of FMA count threads, and come per cycle: their total is the rate x elapsed cycles."""
    return _per_fma_total(wavefronts, ffma * hz * duration_ns * 1e-9)


def _per_fma_total(wavefronts: float, ffmas: float) -> float | None:
    return _ratio(wavefronts, ffmas / LANES)


def _data_pipe_bytes(pct: float, sm_count: float, duration_ns: float, hz: float) -> float:
    """Bytes through the L1 / shared data pipe: its utilisation x SMs x elapsed cycles x 128 bytes."""
    return pct / 100.0 * sm_count * duration_ns * 1e-9 * hz * WAVEFRONT_BYTES


def _intensity_dram(
    duration_ns: float, fadd: float, fmul: float, ffma: float, hz: float, r: float, w: float
) -> float | None:
    return _ratio(_flop(duration_ns, fadd, fmul, ffma, hz), r + w)


def _intensity_l2(duration_ns: float, fadd: float, fmul: float, ffma: float, hz: float, sectors: float) -> float | None:
    return _ratio(_flop(duration_ns, fadd, fmul, ffma, hz), sectors * SECTOR_BYTES)


def _intensity_l1(
    duration_ns: float, fadd: float, fmul: float, ffma: float, hz: float, pct: float, sm_count: float, l1_hz: float
) -> float | None:
    flop = _flop(duration_ns, fadd, fmul, ffma, hz)
    return _ratio(flop, _data_pipe_bytes(pct, sm_count, duration_ns, l1_hz))


def _total(adds: float, muls: float, fmas: float) -> float:
    return adds + muls + 2.0 * fmas


def _total_per_s(adds: float, muls: float, fmas: float, ns: float) -> float | None:
    return _ratio(_total(adds, muls, fmas), ns * 1e-9)


_TOTAL_TEXT, _TOTAL_PER_S_TEXT = "{0} + {1} + 2 * {2}", "({0} + {1} + 2 * {2}) / {3}"
_FLOP_TOTAL = Way((_FADDS, _FMULS, _FFMAS), _total, _TOTAL_TEXT)
_FLOP_TOTAL_PER_S = Way((_FADDS, _FMULS, _FFMAS, _DURATION), _total_per_s, _TOTAL_PER_S_TEXT)
_FLOP_TOTAL_PER_BYTE = (
    Way(
        (_FADDS, _FMULS, _FFMAS, _DRAM_READ, _DRAM_WRITE),
        lambda fadds, fmuls, ffmas, r, w: _ratio(_total(fadds, fmuls, ffmas), r + w),
        "({0} + {1} + 2 * {2}) / ({3} + {4})",
    ),
    Way(
        (_FADDS, _FMULS, _FFMAS, _DRAM_BYTES),
        lambda fadds, fmuls, ffmas, moved: _ratio(_total(fadds, fmuls, ffmas), moved),
        "({0} + {1} + 2 * {2}) / {3}",
    ),
)


def _average(kind: str) -> Way:
    """Sectors per request as one metric, as asked for with --metrics."""
    return Way((counter(f"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{kind}.ratio"),))


# One row a quantity, so that the catalogue reads as the table it is:
# key, unit, better direction, exact or noisy, section / meaning / counters, formula, expression.
# fmt: off
CATALOGUE: tuple[Metric, ...] = (
    Metric("duration_ns", "ns", "lower", "noisy", SOL,
           "Time the GPU spent on the launch, under the profiler.",
           (_DURATION,)),
    Metric("sm_throughput_pct", "%", "neutral", "noisy", SOL,
           "Busiest SM unit, of its peak.",
           (counter("sm__throughput.avg.pct_of_peak_sustained_elapsed"),)),
    Metric("issue_slots_pct", "%", "neutral", "noisy", SOL,
           "Cycles in which a scheduler issued, of elapsed cycles.",
           (ISSUE_SLOTS,)),
    Metric("compute_throughput_pct", "%", "neutral", "noisy", SOL,
           "Busiest of issue slots and arithmetic pipes (not that of loads and stores), of its peak.",
           COMPUTE.counters, COMPUTE.formula, COMPUTE.expression, COMPUTE_OTHERWISE),
    Metric("memory_throughput_pct", "%", "neutral", "noisy", SOL,
           "Busiest memory unit, of its peak.",
           (counter("gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"),)),
    Metric("dram_throughput_pct", "%", "neutral", "noisy", SOL,
           "Device memory, of its peak.",
           (counter("gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                    "dram__throughput.avg.pct_of_peak_sustained_elapsed"),)),
    Metric("l2_throughput_pct", "%", "neutral", "noisy", SOL,
           "L2 cache, of its peak.",
           (counter("lts__throughput.avg.pct_of_peak_sustained_elapsed"),)),
    Metric("l1_throughput_pct", "%", "neutral", "noisy", SOL,
           "L1 / shared memory, of its peak.",
           (counter("l1tex__throughput.avg.pct_of_peak_sustained_elapsed",
                    "l1tex__throughput.avg.pct_of_peak_sustained_active"),)),
    Metric("dram_bytes", "byte", "lower", "noisy", TABLES,
           "Bytes read from and written to device memory.",
           (_DRAM_READ, _DRAM_WRITE), lambda read, written: read + written, "{0} + {1}",
           (Way((_DRAM_BYTES,)),
            Way((counter("dram__sectors_read.sum"), counter("dram__sectors_write.sum")),
                lambda read, written: (read + written) * SECTOR_BYTES, "({0} + {1}) * 32"),
            Way((counter("dram__bytes.sum.per_second"), _DURATION),
                lambda per_second, ns: per_second * ns * 1e-9, "{0} * {1}"))),
    Metric("l2_bytes", "byte", "lower", "noisy", TABLES,
           "Bytes through the L2 cache (sectors of 32 bytes).",
           (_L2_SECTORS,), lambda sectors: sectors * SECTOR_BYTES, "{0} * 32"),
    Metric("l1_bytes", "byte", "lower", "noisy", SOL,
           "Bytes through the L1 / shared data pipe (wavefronts of 128 bytes).",
           (_DATA_PIPE_PCT, _SM_COUNT, _DURATION, _L1_HZ), _data_pipe_bytes, "{0} / 100 * {1} * {2} * {3} * 128"),
    Metric("shared_bytes", "byte", "lower", "noisy", TABLES,
           "Bytes through shared memory (wavefronts of 128 bytes).",
           (_SHARED_WAVEFRONTS,), lambda wavefronts: wavefronts * WAVEFRONT_BYTES, "{0} * 128"),
    Metric("flop", "FLOP", "neutral", "exact", ROOFLINE,
           "FP32 operations counted by the instructions (FMA counts two).",
           _FLOP_COUNTERS, _flop, _FLOP_TEXT, (_FLOP_TOTAL,)),
    Metric("flop_per_s", "FLOP/s", "higher", "noisy", ROOFLINE,
           "FP32 operations a second, by instruction counters.",
           (_FADD, _FMUL, _FFMA, _SMSP_HZ), _flop_per_s, "({0} + {1} + 2 * {2}) * {3}", (_FLOP_TOTAL_PER_S,)),
    Metric("fp32_peak_pct", "%", "higher", "noisy", ROOFLINE,
           "FP32 operations, of what an FMA in every lane and cycle would make.",
           (_FADD, _FMUL, _FFMA, FFMA_PER_CYCLE_PEAK), _fp32_peak_pct, "({0} + {1} + 2 * {2}) / (2 * {3}) * 100"),
    Metric("fp64_flop", "FLOP", "neutral", "exact", DOUBLE_ROOFLINE,
           "FP64 operations counted by the instructions (FMA counts two; tensor cores apart).",
           (_DURATION, _DADD, _DMUL, _DFMA, _SMSP_HZ), _flop, _FLOP_TEXT,
           (Way((_DADDS, _DMULS, _DFMAS), _total, _TOTAL_TEXT),)),
    Metric("fp64_flop_per_s", "FLOP/s", "higher", "noisy", DOUBLE_ROOFLINE,
           "FP64 operations a second, by instruction counters.",
           (_DADD, _DMUL, _DFMA, _SMSP_HZ), _flop_per_s, "({0} + {1} + 2 * {2}) * {3}",
           (Way((_DADDS, _DMULS, _DFMAS, _DURATION), _total_per_s, _TOTAL_PER_S_TEXT),)),
    Metric("tensor_flop", "FLOP", "neutral", "exact", TENSOR_ROOFLINE,
           "FP16, BF16 and TF32 operations of tensor cores (a multiply-add counts two).",
           (_TENSOR_FP16, _TENSOR_BF16, _TENSOR_TF32), lambda *ops: sum(ops), "{0} + {1} + {2}",
           (Way((_TENSOR_FP16,)),)),
    Metric("tensor_flop_per_s", "FLOP/s", "higher", "noisy", TENSOR_ROOFLINE,
           "FP16, BF16 and TF32 operations of tensor cores a second.",
           (_TENSOR_FP16, _TENSOR_BF16, _TENSOR_TF32, _DURATION),
           lambda fp16, bf16, tf32, ns: _ratio(fp16 + bf16 + tf32, ns * 1e-9), "({0} + {1} + {2}) / {3}",
           (Way((_TENSOR_FP16, _DURATION), lambda fp16, ns: _ratio(fp16, ns * 1e-9), "{0} / {1}"),)),
    Metric("intensity_dram", "FLOP/byte", "neutral", "noisy", ROOFLINE,
           "FP32 operations per byte of device memory.",
           (*_FLOP_COUNTERS, _DRAM_READ, _DRAM_WRITE), _intensity_dram, _FLOP_TEXT + " / ({5} + {6})",
           _FLOP_TOTAL_PER_BYTE),
    Metric("intensity_l2", "FLOP/byte", "neutral", "noisy", ROOFLINE,
           "FP32 operations per byte through L2.",
           (*_FLOP_COUNTERS, _L2_SECTORS), _intensity_l2, _FLOP_TEXT + " / ({5} * 32)"),
    Metric("intensity_l1", "FLOP/byte", "neutral", "noisy", ROOFLINE,
           "FP32 operations per byte through the L1 / shared data pipe.",
           (*_FLOP_COUNTERS, _DATA_PIPE_PCT, _SM_COUNT, _L1_HZ), _intensity_l1,
           _FLOP_TEXT + " / ({5} / 100 * {6} * {0} * {7} * 128)"),
    Metric("global_load_sectors_per_request", "sector/request", "neutral", "exact", TABLES,
           "Sectors fetched per global load of a warp (cp.async included; TMA is counted apart).",
           (_LOAD_SECTORS, _LOAD_REQUESTS), _ratio, "{0} / {1}", (_average("ld"),)),
    Metric("global_store_sectors_per_request", "sector/request", "neutral", "exact", TABLES,
           "Sectors written per global store of a warp (TMA is counted apart).",
           (_STORE_SECTORS, _STORE_REQUESTS), _ratio, "{0} / {1}", (_average("st"),)),
    Metric("global_load_sectors_ideal", "sector/request", "neutral", "exact", SOURCE,
           "Sectors a global load needs at full coalescing: 4, 8, 16 for 4, 8, 16 bytes a lane, by executions.",
           (counter(EXECUTIONS),), _per_instruction, "mean over LDG of bytes per lane, weighted by {0}"),
    Metric("global_store_sectors_ideal", "sector/request", "neutral", "exact", SOURCE,
           "Sectors a global store needs at full coalescing: 4, 8, 16 for 4, 8, 16 bytes a lane, by executions.",
           (counter(EXECUTIONS),), _per_instruction, "mean over STG of bytes per lane, weighted by {0}"),
    Metric("shared_load_bank_conflicts", "wavefront", "lower", "exact", TABLES,
           "Extra wavefronts of shared loads, by bank conflicts.",
           (_SHARED_LOAD_CONFLICTS,)),
    Metric("shared_store_bank_conflicts", "wavefront", "lower", "exact", TABLES,
           "Extra wavefronts of shared stores, by bank conflicts.",
           (_SHARED_STORE_CONFLICTS,)),
    Metric("shared_load_wavefronts_per_request", "wavefront/request", "lower", "exact", TABLES,
           "Hardware wavefronts per shared load instruction.",
           (_SHARED_LOAD_WAVEFRONTS, _SHARED_LOADS), _ratio, "{0} / {1}"),
    Metric("shared_store_wavefronts_per_request", "wavefront/request", "lower", "exact", TABLES,
           "Hardware wavefronts per shared store instruction.",
           (_SHARED_STORE_WAVEFRONTS, _SHARED_STORES), _ratio, "{0} / {1}"),
    Metric("shared_load_wavefronts_per_fma", "wavefront/inst", "lower", "exact", TABLES,
           "Hardware wavefronts of shared loads per FMA of a warp (32 lanes).",
           (_SHARED_LOAD_WAVEFRONTS, _FFMA, _SMSP_HZ, _DURATION), _per_warp_fma, "{0} / ({1} * {2} * {3} / 32)",
           (Way((_SHARED_LOAD_WAVEFRONTS, _FFMAS), _per_fma_total, "{0} / ({1} / 32)"),)),
    Metric("shared_load_wavefronts_over_ideal", "", "lower", "exact", TABLES,
           "Wavefronts of shared loads over what they need without bank conflicts.",
           (_SHARED_LOAD_WAVEFRONTS, _SHARED_LOAD_CONFLICTS), _over_conflict_free, "{0} / ({0} - {1})"),
    Metric("shared_store_wavefronts_over_ideal", "", "lower", "exact", TABLES,
           "Wavefronts of shared stores over what they need without bank conflicts.",
           (_SHARED_STORE_WAVEFRONTS, _SHARED_STORE_CONFLICTS), _over_conflict_free, "{0} / ({0} - {1})"),
    Metric("achieved_occupancy_pct", "%", "neutral", "noisy", OCCUPANCY,
           "Warps resident on average, of the most an SM holds.",
           (counter("sm__warps_active.avg.pct_of_peak_sustained_active"),),
           others=(Way((counter("sm__warps_active.avg.per_cycle_active"),
                        counter("device__attribute_max_warps_per_multiprocessor")),
                       lambda warps, most: _ratio(100.0 * warps, most), "{0} / {1} * 100"),)),
    Metric("theoretical_occupancy_pct", "%", "neutral", "exact", OCCUPANCY,
           "Warps an SM can hold of this kernel, of the most it holds.",
           (counter("sm__maximum_warps_per_active_cycle_pct"),)),
    Metric("registers_per_thread", "register/thread", "neutral", "exact", LAUNCH,
           "Registers a thread.",
           (counter("launch__registers_per_thread"),)),
    Metric("shared_memory_per_block", "byte/block", "neutral", "exact", LAUNCH,
           "Shared memory a block, with the driver's share.",
           (counter("launch__shared_mem_per_block"),),
           others=(Way((*SHARED_MEMORY_PARTS, SHARED_MEMORY_OF_DRIVER),
                       lambda *parts: sum(parts), "{0} + {1} + {2}"),
                   Way(SHARED_MEMORY_PARTS, lambda *parts: sum(parts), "{0} + {1}"))),
    Metric("waves_per_sm", "", "neutral", "exact", LAUNCH,
           "Blocks launched over blocks the GPU holds at once.",
           (counter("launch__waves_per_multiprocessor"),)),
    Metric("local_spill_requests", "request", "lower", "exact", MEMORY,
           "Requests to local memory made by register spills.",
           (counter("derived__local_spilling_requests", "sass__inst_executed_register_spilling"),)),
    Metric("instructions_issued", "inst", "lower", "exact", INSTRUCTIONS,
           "Warp instructions issued, over the whole GPU.",
           (counter("smsp__inst_issued.sum"),)),
    Metric("issue_active_pct", "%", "higher", "noisy", SCHEDULER,
           "Cycles in which a scheduler issued, of its active cycles.",
           (counter("smsp__issue_active.avg.pct_of_peak_sustained_active"),),
           others=(Way((counter("smsp__issue_active.avg.per_cycle_active"),),
                       lambda share: 100.0 * share, "{0} * 100"),)),
    Metric("warp_cycles_per_instruction", "cycle", "neutral", "noisy", WARP_STATE,
           "Cycles a warp spends per instruction it issues.",
           (counter("smsp__average_warp_latency_per_inst_issued.ratio"),)),
    Metric("warps_active", "warp", "neutral", "noisy", SCHEDULER,
           "Active warps a scheduler, per active cycle.",
           (counter("smsp__warps_active.avg.per_cycle_active"),)),
    Metric("elapsed_to_active", "", "lower", "noisy", SCHEDULER,
           "Elapsed over active cycles: imbalance, tail and launch.",
           (counter("smsp__cycles_elapsed.max", "gpc__cycles_elapsed.max"),
            counter("smsp__cycles_active.avg", "sm__cycles_active.avg")), _ratio, "{0} / {1}"),
    Metric("sm_clock_hz", "hz", "neutral", "noisy", SOL,
           "SM clock during the launch.",
           (_SM_HZ,)),
    Metric("fma_pipe_pct", "%", "higher", "noisy", SOL,
           "FMA pipe busy, of elapsed cycles.",
           (counter("sm__pipe_fma_cycles_active.avg.pct_of_peak_sustained_elapsed",
                    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"),)),
    Metric("tensor_pipe_pct", "%", "higher", "noisy", SOL,
           "Tensor pipe busy, of elapsed cycles.",
           (counter("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                    "sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_elapsed"),)),
)
# fmt: on

METRICS: Mapping[str, Metric] = {metric.key: metric for metric in CATALOGUE}


def read(key: str, lookup: Lookup) -> Reading:
    """Read one quantity from a launch; see :meth:`Metric.read`.

    Raises:
        KeyError: When the key is not in the catalogue.
    """
    return METRICS[key].read(lookup)


def read_all(lookup: Lookup) -> dict[str, Reading]:
    """Read every quantity of the catalogue from a launch, in catalogue order."""
    return {metric.key: metric.read(lookup) for metric in CATALOGUE}
