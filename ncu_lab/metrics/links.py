"""What moves between the kernel, L1, shared memory, L2 and DRAM, and which share of each path's own peak it takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ncu_lab.metrics.quantity import Counter, counter

Place = Literal["kernel", "global", "local", "shared space", "l1", "shared", "l2", "dram"]
"""``global``, ``local`` and ``shared space`` are what instructions name; the others are hardware."""

LINK_SECTION = "MemoryWorkloadAnalysis_Tables"

_PEAK = "pct_of_peak_sustained_elapsed"


@dataclass(frozen=True, slots=True)
class LinkCounters:
    """One path between two places.

    Attributes:
        amount: What went through, summed.
        unit: What is counted: instructions, requests, wavefronts, or bytes.
        scale: Bytes of one of them; 1 where they are not bytes.
        peaks: Shares of the path's peak in percent, summed; none where instructions have no path of their own.
    """

    amount: tuple[Counter, ...]
    unit: Literal["inst", "request", "wavefront", "byte"]
    scale: float = 1.0
    peaks: tuple[Counter, ...] = ()


def _instructions(space: str, op: str) -> LinkCounters:
    spelt = {"ld": "loads", "st": "stores"}[op]
    return LinkCounters(
        (
            counter(
                f"smsp__sass_inst_executed_op_{space}_{op}.sum",
                f"smsp__inst_executed_op_{space}_{op}.sum",
                f"sass__inst_executed_{space}_{spelt}",
            ),
        ),
        "inst",
    )


def _requests(space: str) -> LinkCounters:
    stems = [f"pipe_lsu_mem_{space}_op_{op}" for op in ("ld", "st")]
    return LinkCounters(
        tuple(counter(f"l1tex__t_requests_{stem}.sum") for stem in stems),
        "request",
        peaks=tuple(
            counter(f"l1tex__t_requests_{stem}.sum.{_PEAK}", f"l1tex__t_output_wavefronts_{stem}.sum.{_PEAK}")
            for stem in stems
        ),
    )


_TO_L1 = "l1tex__m_xbar2l1tex_read_sectors"
_TO_L2 = "l1tex__m_l1tex2xbar_write_sectors"
_SECTOR = 32.0

LINKS: Mapping[tuple[Place, Place, str], LinkCounters] = {
    ("kernel", "global", "loads"): _instructions("global", "ld"),
    ("kernel", "global", "stores"): _instructions("global", "st"),
    ("kernel", "local", "loads"): _instructions("local", "ld"),
    ("kernel", "local", "stores"): _instructions("local", "st"),
    ("kernel", "shared space", "loads"): _instructions("shared", "ld"),
    ("kernel", "shared space", "stores"): _instructions("shared", "st"),
    ("global", "l1", ""): _requests("global"),
    ("local", "l1", ""): _requests("local"),
    ("shared space", "shared", ""): LinkCounters(
        (counter("l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"),),
        "wavefront",
        peaks=(counter(f"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.{_PEAK}"),),
    ),
    ("l2", "l1", "read"): LinkCounters(
        (counter("lts__t_sectors_srcunit_tex_op_read.sum"),),
        "byte",
        _SECTOR,
        (counter(f"{_TO_L1}.avg.{_PEAK}", f"{_TO_L1}.sum.{_PEAK}"),),
    ),
    ("l1", "l2", "write"): LinkCounters(
        (counter("lts__t_sectors_srcunit_tex_op_write.sum"),),
        "byte",
        _SECTOR,
        (counter(f"{_TO_L2}_mem_lg_op_st.sum.{_PEAK}"),),
    ),
    ("dram", "l2", "read"): LinkCounters(
        (counter("dram__bytes_read.sum"),), "byte", 1.0, (counter(f"dram__bytes_read.sum.{_PEAK}"),)
    ),
    ("l2", "dram", "write"): LinkCounters(
        (counter("dram__bytes_write.sum"),), "byte", 1.0, (counter(f"dram__bytes_write.sum.{_PEAK}"),)
    ),
}
"""From, to, what -> its counters. A load's data comes back the other way, which ``L2 → L1`` shows."""

HIT_RATES: Mapping[Place, Counter] = {
    "l1": counter("l1tex__t_sector_hit_rate.pct"),
    "l2": counter("lts__t_sector_hit_rate.pct"),
}
"""Sectors that were found there, in percent."""

DATA_PIPE_PEAKS: Mapping[tuple[str, str], Counter] = {
    ("shared", "ld"): counter(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum.{_PEAK}"),
    ("shared", "st"): counter(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum.{_PEAK}"),
    ("global", "ld"): counter(f"l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_ld.sum.{_PEAK}"),
    ("global", "st"): counter(f"l1tex__t_output_wavefronts_pipe_lsu_mem_global_op_st.sum.{_PEAK}"),
    ("local", "ld"): counter(f"l1tex__t_output_wavefronts_pipe_lsu_mem_local_op_ld.sum.{_PEAK}"),
    ("local", "st"): counter(f"l1tex__t_output_wavefronts_pipe_lsu_mem_local_op_st.sum.{_PEAK}"),
}
"""Memory and kind of access -> the share of the unit that serves it, in percent of its peak."""

ACCESS_HIT_RATES: Mapping[tuple[str, str], Counter] = {
    (space, op): counter(f"l1tex__t_sector_pipe_lsu_mem_{space}_op_{op}_hit_rate.pct")
    for space in ("global", "local")
    for op in ("ld", "st")
}
