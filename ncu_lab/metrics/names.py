"""Names of Nsight Compute that are no quantities themselves: identity, limits, peaks, counters per instruction."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

from ncu_lab.metrics.quantity import Counter, counter

LAUNCH_IDENTITY: Mapping[str, str] = {
    "grid_x": "launch__grid_dim_x",
    "grid_y": "launch__grid_dim_y",
    "grid_z": "launch__grid_dim_z",
    "block_x": "launch__block_dim_x",
    "block_y": "launch__block_dim_y",
    "block_z": "launch__block_dim_z",
    "stream": "launch__stream_id",
    "context": "launch__context_id",
    "device": "launch__device_id",
}
"""Columns of the launches table -> the metrics of a report that tell them."""

GRAPH_METRIC = "launch__graph_contains_device_launch"
"""What only graphs that were profiled as a whole have."""

DEVICE_PREFIX = "device__attribute_"
"""What the metrics that describe the GPU begin with; they are the same in every launch of one device."""

_FIXED_UNITS = (
    (re.compile(r"breakdown:.*\.pct_of_peak_sustained_\w+"), "%"),
    (re.compile(r"derived__sm(?:sp)?__sass_thread_inst_executed_op_\w+_pred_on_x\d"), "thread"),
    (re.compile(r"derived__memory_l2_theoretical_sectors_global_excessive"), "sector"),
    (re.compile(r"sass__inst_executed_register_spilling_mem_\w+"), "inst"),
)


@lru_cache(maxsize=8192)
def fixed_unit(metric: str) -> str | None:
    """Return the unit of a metric whose own says nothing, None for all others.

    Of these NVIDIA's reader tells now this, now that, by what else the process has read before (``byte`` or ``%``,
    ``inst`` or ``thread``); their values stay the same.
    """
    return next((unit for pattern, unit in _FIXED_UNITS if pattern.fullmatch(metric)), None)


_TIME_LINE = re.compile(r"pmsampling:|(?:\w+\.)?Triage[A-Z]\w*\.|profiler__(?:timestamp_|pmsampler_)")


def is_time_line(metric: str) -> bool:
    """Whether the instances of a metric are points in time: what PM sampling collects, and when a workload ran.

    The names are all there is to go by: times count from 1970 or, on some GPUs, from when the machine was started, and
    then look like addresses of instructions.
    """
    return _TIME_LINE.match(metric) is not None


OCCUPANCY_LIMITS: Mapping[str, Counter] = {
    "registers": counter("launch__occupancy_limit_registers"),
    "shared memory": counter("launch__occupancy_limit_shared_mem"),
    "warps": counter("launch__occupancy_limit_warps"),
    "blocks": counter("launch__occupancy_limit_blocks"),
    "barriers": counter("launch__occupancy_limit_barriers"),
}
"""What may limit the blocks that an SM holds -> how many blocks it allows."""

SHARED_MEMORY_PARTS = tuple(counter(f"launch__shared_mem_per_block_{part}") for part in ("static", "dynamic"))
"""Shared memory that a block has by its code and by its launch; what the driver adds is apart."""

SHARED_MEMORY_OF_DRIVER = counter("launch__shared_mem_per_block_driver")
"""Shared memory that the driver keeps of each block for itself: 1024 bytes since compute capability 8.0."""

SM_COUNT = counter("device__attribute_multiprocessor_count")
LAUNCH_SM_COUNT = counter("launch__sm_count", *SM_COUNT.names)
"""SMs that the launch could use."""

SM_HZ = counter("sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second")
L1_HZ = counter("l1tex__cycles_elapsed.avg.per_second", *SM_HZ.names)
L2_HZ = counter("lts__cycles_elapsed.avg.per_second")
DRAM_HZ = counter("dram__cycles_elapsed.avg.per_second")

FFMA_PER_CYCLE_PEAK = counter("sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained")
"""FP32 FMAs of a thread that all SMs together finish per cycle at most."""

DFMA_PER_CYCLE_PEAK = counter("sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained")
"""Likewise in FP64."""

L2_BYTES_PER_CYCLE_PEAK = counter(
    "derived__lts__lts2xbar_bytes.sum.peak_sustained", "lts__lts2xbar_bytes.sum.peak_sustained"
)
"""Bytes that all L2 slices together hand to the SMs per L2 cycle at most."""

L2_TO_L1_BYTES_PER_CYCLE_PEAK = counter("l1tex__m_xbar2l1tex_read_bytes.sum.peak_sustained")
"""Bytes that all SMs together take from the L2 cache per cycle at most: the L2 roof of ncu before 2024."""

L2_TO_L1_BYTES_PER_S = counter("l1tex__m_xbar2l1tex_read_bytes.sum.per_second")

DRAM_BYTES_PER_CYCLE_PEAK = counter("dram__bytes.sum.peak_sustained")
"""Bytes that device memory moves per memory cycle at most."""

# Counters per instruction (section SourceCounters); their instances carry the instruction's address.
EXECUTIONS = "inst_executed"
"""Warps that executed the instruction."""

GLOBAL_SECTORS = "memory_l2_theoretical_sectors_global"
"""Sectors the instruction asked for in global memory."""

GLOBAL_SECTORS_IDEAL = "memory_l2_theoretical_sectors_global_ideal"
"""Sectors that hold what its lanes asked for: one where all ask for the same address."""

GLOBAL_TAGS = "memory_l1_tag_requests_global"
"""Lines of 128 bytes that it looked up in L1."""

LOCAL_SECTORS = "memory_l2_theoretical_sectors_local"

SHARED_WAVEFRONTS = "memory_l1_wavefronts_shared"
SHARED_WAVEFRONTS_IDEAL = "memory_l1_wavefronts_shared_ideal"

SAMPLES = "smsp__pcsamp_sample_count"
"""Samples of warps that were at the instruction; a launch's own value is their sum."""

LIVE_REGISTERS = "Source/Live Registers"
"""Registers alive at the instruction: no metric of a report, some exports have a column."""

OCCUPANCY_CURVES: Mapping[Literal["registers", "shared memory", "block size"], str] = {
    "registers": "launch__occupancy_per_register_count",
    "shared memory": "launch__occupancy_per_shared_mem_size",
    "block size": "launch__occupancy_per_block_size",
}
"""What varies -> the metric whose instances are the warps that an SM holds then."""

SHARED_CONFIGURED = counter("launch__shared_mem_config_size")
"""Bytes of shared memory that an SM was configured to have for the launch."""

WARPS_POSSIBLE = counter("sm__maximum_warps_avg_per_active_cycle")
"""Warps of the launch that an SM holds at most."""

ELIGIBLE_WARPS = counter("smsp__warps_eligible.avg.per_cycle_active")
"""Warps a scheduler that could issue, per active cycle."""
