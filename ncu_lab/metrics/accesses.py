"""How the hardware and the instructions count memory accesses: by the memory they go to and by their kind.

The hardware counts what leaves the load/store unit; the counters per instruction (section SourceCounters) tell each
instruction's part and what it would take at best. Both are named here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ncu_lab.metrics.quantity import Counter, Lookup, counter

Space = Literal["global", "shared", "local"]

ACCESS_SECTIONS: Mapping[str, str] = {
    "hardware": "MemoryWorkloadAnalysis_Tables",
    "instructions": "SourceCounters",
    "widths": "InstructionStats",
    "stalls": "WarpStateStats",
    "time": "SpeedOfLight",
    "roofs": "SpeedOfLight_HierarchicalSingleRooflineChart",
}
"""What judging accesses needs -> the section that collects it."""

OPCODE_EXECUTIONS = "sass__inst_executed_per_opcode_with_modifier_all"
"""Warps that executed an opcode with all of its modifiers (``LDG.E.128``); its instances are named by them."""


@dataclass(frozen=True, slots=True)
class HardwareCounters:
    """The hardware's own counters of one kind of access to one memory.

    Attributes:
        requests: Their sum is the requests: instructions of a warp that reached the unit.
        amount: Their sum is the sectors (global, local) or wavefronts (shared) that these took.
        conflicts: Extra wavefronts by bank conflicts, and by losing arbitration; shared memory alone has them.
    """

    requests: tuple[Counter, ...]
    amount: tuple[Counter, ...]
    conflicts: Counter | None = None


def total(counters: tuple[Counter, ...], lookup: Lookup) -> float | None:
    """Return the sum of counters; None when one of them was not collected."""
    values = [one.read(lookup)[0] for one in counters]
    return (
        sum(known) if values and len(known := [value for value in values if value is not None]) == len(values) else None
    )


def _by_tags(space: str, op: str) -> HardwareCounters:
    return HardwareCounters(
        (counter(f"l1tex__t_requests_pipe_lsu_mem_{space}_op_{op}.sum"),),
        (counter(f"l1tex__t_sectors_pipe_lsu_mem_{space}_op_{op}.sum"),),
    )


def _of_cp_async(what: str) -> tuple[Counter, ...]:
    stem = f"sm__sass_l1tex_t_{what}_pipe_lsu_mem_global_op_ldgsts"
    return counter(f"{stem}_cache_access.sum"), counter(f"{stem}_cache_bypass.sum")


def _by_banks(op: str) -> HardwareCounters:
    return HardwareCounters(
        (counter(f"smsp__sass_inst_executed_op_shared_{op}.sum", f"smsp__inst_executed_op_shared_{op}.sum"),),
        (counter(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"),),
        counter(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"),
    )


HARDWARE: Mapping[tuple[Space, str], HardwareCounters] = {
    ("global", "ld"): _by_tags("global", "ld"),  # cp.async among them
    ("global", "st"): _by_tags("global", "st"),
    ("global", "cp.async"): HardwareCounters(_of_cp_async("requests"), _of_cp_async("sectors")),
    ("global", "atom"): _by_tags("global", "atom"),
    ("global", "red"): _by_tags("global", "red"),
    ("local", "ld"): _by_tags("local", "ld"),
    ("local", "st"): _by_tags("local", "st"),
    ("shared", "ld"): _by_banks("ld"),
    ("shared", "st"): _by_banks("st"),
    ("shared", "atom"): _by_banks("atom"),
    ("shared", "cp.async"): HardwareCounters(
        (counter("smsp__inst_executed_op_ldgsts.sum"),),
        (counter("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum"),),
        counter("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ldgsts.sum"),
    ),
}
"""Memory and kind of access -> the hardware's counters of it."""

TMA_REQUESTS: tuple[Counter, ...] = (
    counter("smsp__sass_inst_executed_op_tma_ld.sum"),
    counter("smsp__sass_inst_executed_op_tma_st.sum"),
    counter("smsp__sass_inst_executed_op_tma_red.sum"),
)
"""Bulk copies by the tensor memory accelerator: one thread asks for a whole tile, and whole sectors move."""

L2_SECTORS_OF_SMS = counter("lts__t_sectors_srcunit_tex.sum")
"""Sectors that the SMs moved from and to L2."""

L2_SECTORS = counter("lts__t_sectors.sum")
DRAM_SECTORS = (counter("dram__sectors_read.sum"), counter("dram__sectors_write.sum"))
