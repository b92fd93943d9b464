"""What the source page of a CSV export calls the metrics of an instruction: column -> metric.

Read off a report of ncu 2025.3.1 and its export, by comparing the values at every address. A column that is not here
is kept as ``Source/column``: among them "Warp Stall Sampling (Not-issued Samples)", which a report has no metric for.
"""

from __future__ import annotations

from collections.abc import Mapping

_EXPLICIT = "smsp__sass_inst_executed_memdesc_explicit"
_COLUMNS: Mapping[str, str] = {
    "# Samples": "smsp__pcsamp_sample_count",
    "Warp Stall Sampling (All Samples)": "smsp__pcsamp_sample_count",
    "Instructions Executed": "inst_executed",
    "Thread Instructions Executed": "thread_inst_executed",
    "Predicated-On Thread Instructions Executed": "thread_inst_executed_true",
    "Avg. Threads Executed": "derived__avg_thread_executed",
    "Avg. Predicated-On Threads Executed": "derived__avg_thread_executed_true",
    "Derivative Avg. Predicated-On Threads Executed": "derived__derivative_avg_thread_executed_true",
    "Avg. Predicated-On Threads Unexecuted": "derived__avg_thread_unexecuted_true",
    "Divergent Branches": "smsp__branch_targets_threads_divergent",
    "Address Space": "memory_type",
    "Access Operation": "memory_access_type",
    "Access Size": "memory_access_size_type",
    "L1 Tag Requests Global": "memory_l1_tag_requests_global",
    "L1 Conflicts Shared N-Way": "derived__memory_l1_conflicts_shared_nway",
    "L1 Wavefronts Shared Excessive": "derived__memory_l1_wavefronts_shared_excessive",
    "L1 Wavefronts Shared": "memory_l1_wavefronts_shared",
    "L1 Wavefronts Shared Ideal": "memory_l1_wavefronts_shared_ideal",
    "L2 Theoretical Sectors Global Excessive": "derived__memory_l2_theoretical_sectors_global_excessive",
    "L2 Theoretical Sectors Global": "memory_l2_theoretical_sectors_global",
    "L2 Theoretical Sectors Global Ideal": "memory_l2_theoretical_sectors_global_ideal",
    "L2 Explicit Evict Policies": f"{_EXPLICIT}_evict_type",
    "L2 Explicit Hit Policy Evict First": f"{_EXPLICIT}_hitprop_evict_first",
    "L2 Explicit Hit Policy Evict Last": f"{_EXPLICIT}_hitprop_evict_last",
    "L2 Explicit Hit Policy Evict Normal": f"{_EXPLICIT}_hitprop_evict_normal",
    "L2 Explicit Hit Policy Evict Normal Demote": f"{_EXPLICIT}_hitprop_evict_normal_demote",
    "L2 Explicit Miss Policy Evict First": f"{_EXPLICIT}_missprop_evict_first",
    "L2 Explicit Miss Policy Evict Normal": f"{_EXPLICIT}_missprop_evict_normal",
}

SOURCE_WORDS = frozenset({"Address Space", "Access Operation", "Access Size", "L2 Explicit Evict Policies"})
"""Columns of lists of words, or of sizes: their commas are no part of a number. Reports number these as bit sets."""

_STALL = "stall_"
_NOT_ISSUED = " (Not Issued)"
_SHORT_REASONS: Mapping[str, str] = {
    "dispatch": "dispatch_stall",
    "imc": "imc_miss",
    "lg": "lg_throttle",
    "long_sb": "long_scoreboard",
    "math": "math_pipe_throttle",
    "mio": "mio_throttle",
    "no_inst": "no_instructions",
    "short_sb": "short_scoreboard",
    "sleep": "sleeping",
    "tex": "tex_throttle",
}


def source_metric(column: str) -> str:
    """Return the metric that a column of the source page shows; ``Source/column`` where that is not known."""
    if column.startswith(_STALL):
        short = column.removeprefix(_STALL).removesuffix(_NOT_ISSUED)
        suffix = "_not_issued" if column.endswith(_NOT_ISSUED) else ""
        return f"smsp__pcsamp_warps_issue_stalled_{_SHORT_REASONS.get(short, short)}{suffix}"
    return _COLUMNS.get(column, f"Source/{column}")
