"""Which quantities each public report gives, against the raw names that it holds: ncu 2019 to 2025, CC 7.2 to 12.0."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import ncu_report
import pytest
from corpus import outcomes

from ncu_lab.analyze.summary import summarize
from ncu_lab.metrics import METRICS
from ncu_lab.render.documents import show_document
from ncu_lab.workflows.climbing import view
from ncu_lab.workflows.reading import read_file

FOLDER = outcomes.corpus()
REPORTS = sorted(
    path.name for path in (FOLDER.iterdir() if FOLDER else ()) if "rep" in path.suffix and path.stat().st_size
)

pytestmark = pytest.mark.skipif(FOLDER is None, reason="no corpus here: NCU_LAB_CORPUS may name its folder")

# Key -> the sets of raw names that each suffice, as NVIDIA's section files and metric reference have them.
L1 = "l1tex__{}_pipe_lsu_mem_global_op_{}.sum"
SHARED = "l1tex__data_{}_pipe_lsu_mem_shared_op_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
FLOPS = {f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum.per_cycle_elapsed" for op in ("fadd", "fmul", "ffma")}
SHARED_PARTS = {"launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic"}
ELAPSED = "avg.pct_of_peak_sustained_elapsed"
NEEDS: Mapping[str, list[set[str]]] = {
    "duration_ns": [{"gpu__time_duration.sum"}],
    "sm_throughput_pct": [{f"sm__throughput.{ELAPSED}"}],
    "memory_throughput_pct": [{f"gpu__compute_memory_throughput.{ELAPSED}"}],
    "dram_throughput_pct": [{f"gpu__dram_throughput.{ELAPSED}"}],
    "l2_throughput_pct": [{f"lts__throughput.{ELAPSED}"}],
    "l1_throughput_pct": [
        {f"l1tex__throughput.{ELAPSED}"}, {"l1tex__throughput.avg.pct_of_peak_sustained_active"},
    ],
    "dram_bytes": [
        {"dram__bytes_read.sum", "dram__bytes_write.sum"}, {"dram__bytes.sum.per_second", "gpu__time_duration.sum"},
    ],
    "l2_bytes": [{"lts__t_sectors.sum"}],
    "flop_per_s": [
        {*FLOPS, "smsp__cycles_elapsed.avg.per_second"}, {*FLOPS, "sm__cycles_elapsed.avg.per_second"},
    ],
    "global_load_sectors_per_request": [{L1.format("t_sectors", "ld"), L1.format("t_requests", "ld")}],
    "global_store_sectors_per_request": [{L1.format("t_sectors", "st"), L1.format("t_requests", "st")}],
    "shared_load_bank_conflicts": [{SHARED.format("bank_conflicts", "ld")}],
    "shared_store_bank_conflicts": [{SHARED.format("bank_conflicts", "st")}],
    "shared_load_wavefronts_per_request": [
        {WAVEFRONTS.format("ld"), "smsp__sass_inst_executed_op_shared_ld.sum"},
        {WAVEFRONTS.format("ld"), "sass__inst_executed_shared_loads"},
    ],
    "achieved_occupancy_pct": [{"sm__warps_active.avg.pct_of_peak_sustained_active"}],
    "theoretical_occupancy_pct": [{"sm__maximum_warps_per_active_cycle_pct"}],
    "registers_per_thread": [{"launch__registers_per_thread"}],
    "shared_memory_per_block": [{"launch__shared_mem_per_block"}, SHARED_PARTS],
    "waves_per_sm": [{"launch__waves_per_multiprocessor"}],
    "local_spill_requests": [{"derived__local_spilling_requests"}, {"sass__inst_executed_register_spilling"}],
    "instructions_issued": [{"smsp__inst_issued.sum"}],
    "issue_active_pct": [{"smsp__issue_active.avg.pct_of_peak_sustained_active"}],
    "warp_cycles_per_instruction": [{"smsp__average_warp_latency_per_inst_issued.ratio"}],
    "warps_active": [{"smsp__warps_active.avg.per_cycle_active"}],
    "fma_pipe_pct": [
        {f"sm__pipe_fma_cycles_active.{ELAPSED}"}, {f"sm__inst_executed_pipe_fma.{ELAPSED}"},
    ],
    "tensor_pipe_pct": [
        {f"sm__pipe_tensor_cycles_active.{ELAPSED}"}, {f"sm__inst_executed_pipe_tensor.{ELAPSED}"},
    ],
}  # fmt: skip
COUNTED, SAMPLED = "smsp__average_warps_issue_stalled_", "smsp__pcsamp_warps_issue_stalled_"


def _raw_values(path: Path) -> Iterator[dict[str, float]]:
    """Every number of every result, by NVIDIA's reader alone."""
    context = ncu_report.load_report(str(path))
    for range_index in range(context.num_ranges()):
        results = context.range_by_idx(range_index)
        for index in range(results.num_actions()):
            action = results.action_by_idx(index)
            metrics = {name: action.metric_by_name(name) for name in action.metric_names()}
            numbers = {
                name: metric.as_double()
                for name, metric in metrics.items()
                if metric.has_value() and metric.kind() != metric.ValueKind_STRING
            }
            yield {name: number for name, number in numbers.items() if not math.isnan(number)}


@cache
def _seen(name: str):
    assert FOLDER is not None
    return read_file(FOLDER / name)


@pytest.mark.parametrize("name", REPORTS)
def test_every_key_that_a_report_can_give_is_there_and_no_other(name: str) -> None:
    assert FOLDER is not None
    raw = list(_raw_values(FOLDER / name))
    summaries = summarize(_seen(name))
    assert len(summaries) == len(raw)
    for summary, names in zip(summaries, map(set, raw), strict=True):
        expected = {key for key, ways in NEEDS.items() if any(way <= names for way in ways)}
        assert {key for key in NEEDS if not summary.readings[key].missing} == expected, summary.launch
        counted = {one for one in names if one.startswith(COUNTED)}
        sampled = {one for one in names if one.startswith(SAMPLED) and not one.endswith("_not_issued")}
        assert len(summary.stall_cycles) == len(counted)
        assert summary.stalls_from == ("counters" if counted else "samples" if sampled else None)
        if counted:
            assert sum(summary.stall_cycles.values()) == pytest.approx(
                summary.value("warp_cycles_per_instruction"), rel=0.1
            )


@pytest.mark.parametrize("name", REPORTS)
def test_values_are_those_of_the_raw_names(name: str) -> None:
    assert FOLDER is not None
    single = {key: ways for key, ways in NEEDS.items() if all(len(way) == 1 for way in ways)}
    for summary, raw in zip(summarize(_seen(name)), _raw_values(FOLDER / name), strict=True):
        for key, ways in single.items():
            present = [raw[one] for way in ways for one in way if one in raw]
            if present:
                sector = 32 if key == "l2_bytes" else 1
                assert summary.value(key) == pytest.approx(present[0] * sector), key


@pytest.mark.parametrize("name", REPORTS)
def test_what_a_report_lacks_is_null_with_its_section(name: str) -> None:
    seen = view(_seen(name))
    for launch in show_document(seen, seen.summaries)["launches"]:
        for key, entry in launch["metrics"].items():
            summary = next(one for one in seen.summaries if one.launch == launch["launch"])
            assert ("section" in entry) == bool(summary.readings[key].missing)
            if "section" in entry:
                assert entry["value"] is None
                assert entry["section"] == METRICS[key].section
