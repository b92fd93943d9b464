"""The units of a GPU whose use ``breakdown:`` metrics list, and what to call them.

A report tells of each of its two throughputs which metrics it is the largest of: as words of the metric
``breakdown:NAME``, with commas between them. Those metrics are in the report too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from ncu_lab.metrics.quantity import Lookup

UnitSide = Literal["memory", "compute"]

_ELAPSED = "avg.pct_of_peak_sustained_elapsed"

BREAKDOWNS: Mapping[UnitSide, str] = {
    "memory": f"breakdown:gpu__compute_memory_throughput.{_ELAPSED}",
    "compute": f"breakdown:sm__throughput.{_ELAPSED}",
}
"""Side -> the metric whose words name its units."""

UNIT_SECTION = "SpeedOfLight"
"""The section that collects all of these."""

_LABELS: Mapping[str, str] = {
    "dram__cycles_active": "DRAM",
    "dram__throughput": "DRAM",
    "fbpa__dram_sectors": "DRAM sectors",
    "gpu__compute_memory_access_throughput_internal_activity": "memory access, inner",
    "gpu__compute_memory_request_throughput_internal_activity": "memory requests, inner",
    "idc__request_cycles_active": "constant cache",
    "l1tex__data_bank_reads": "L1 bank reads",
    "l1tex__data_bank_writes": "L1 bank writes",
    "l1tex__data_pipe_lsu_wavefronts": "L1 data pipe",
    "l1tex__data_pipe_tex_wavefronts": "L1 data pipe, textures",
    "l1tex__f_wavefronts": "texture filter",
    "l1tex__lsu_writeback_active": "L1 writeback",
    "l1tex__lsuin_requests": "L1 requests",
    "l1tex__m_l1tex2xbar_req_cycles_active": "L1 → L2 requests",
    "l1tex__m_xbar2l1tex_read_sectors": "L2 → L1 sectors",
    "l1tex__m_xbar2l1tex_read_sectors_mem_dshared": "SM → SM sectors",
    "l1tex__tex_writeback_active": "texture writeback",
    "l1tex__texin_sm2tex_req_cycles_active": "texture requests",
    "l1tex__tmain_requests": "TMA requests",
    "lts__d_atomic_input_cycles_active": "L2 atomics",
    "lts__d_decomp_input_sectors": "L2 decompression",
    "lts__d_sectors": "L2 data",
    "lts__d_sectors_fill_device": "L2 fills from DRAM",
    "lts__d_sectors_fill_sysmem": "L2 fills from the host",
    "lts__lts2xbar_cycles_active": "L2 → SMs",
    "lts__t_sectors": "L2 sectors",
    "lts__t_tag_requests": "L2 tags",
    "lts__xbar2lts_cycles_active": "SMs → L2",
    "sm__inst_executed": "issue slots",
    "sm__inst_executed_pipe_adu": "address pipe (ADU)",
    "sm__inst_executed_pipe_cbu_pred_on_any": "branch pipe (CBU)",
    "sm__inst_executed_pipe_ipa": "IPA pipe",
    "sm__inst_executed_pipe_lsu": "loads and stores (LSU)",
    "sm__inst_executed_pipe_tex": "texture pipe",
    "sm__inst_executed_pipe_uniform": "uniform pipe",
    "sm__inst_executed_pipe_xu": "special functions (XU)",
    "sm__instruction_throughput_internal_activity": "instructions, inner",
    "sm__issue_active": "issue slots active",
    "sm__memory_throughput_internal_activity": "SM memory, inner",
    "sm__mio2rf_writeback_active": "MIO → registers",
    "sm__mio_inst_issued": "MIO issue",
    "sm__mio_pq_read_cycles_active": "MIO queue reads",
    "sm__mio_pq_write_cycles_active": "MIO queue writes",
    "sm__pipe_alu_cycles_active": "ALU pipe",
    "sm__pipe_fma_cycles_active": "FMA pipe",
    "sm__pipe_fmaheavy_cycles_active": "FMA pipe, heavy",
    "sm__pipe_fp64_cycles_active": "FP64 pipe",
    "sm__pipe_shared_cycles_active": "shared pipe (FP64, tensor)",
    "sm__pipe_tensor_cycles_active": "tensor pipe",
    "sm__pipe_tensor_op_dmma_cycles_active": "tensor pipe, FP64",
    "sm__pipe_tensor_type_hmma_hgmma_qgmma_imma_igmma_bmma_bgmma_cycles_active": "tensor pipe, matrix",
    "sm__pipe_tma_cycles_active": "TMA",
}

_ROLLUP = re.compile(r"\.(?:avg|sum|max|min)\.pct_of_peak_sustained_(?:elapsed|active)$")


def unit_label(metric: str) -> str:
    """Name the unit that a share of a peak is of; one that is not known keeps the name of its metric."""
    stem = _ROLLUP.sub("", metric)
    return _LABELS.get(stem, stem.replace("__", " ").replace("_", " "))


def listed_units(words: str | None, lookup: Lookup) -> list[tuple[str, float]]:
    """Return the metrics that a ``breakdown:`` metric lists with their values, those without one left out.

    Args:
        words: The text of the metric; None where the report lacks it.
        lookup: Gives the values of the launch.
    """
    names = [name.strip() for name in (words or "").split(",")]
    return [(name, value) for name in dict.fromkeys(names) if name and (value := lookup(name)) is not None]
