"""The catalogue against the golden targeted report (1024³ on an H200), by ncu's own CSV export in base units."""

import csv
import gzip
import io
import math
from dataclasses import replace
from pathlib import Path

import pytest

from ncu_lab import metrics

EXPORT = Path(__file__).parents[1] / "data" / "golden" / "ladder-targeted.raw.base.csv.gz"
FLOP = 2 * 1024**3
FP32 = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)  # the hand-written FP32 kernels
FP32_OPS = ("fadd", "fmul", "ffma")
NAIVE, COALESCED, SMEM, CONFLICT, TILE_2D, DOUBLE_BUFFERED, WMMA, TF32 = 1, 2, 3, 4, 7, 10, 12, 14


@pytest.fixture(scope="module")
def exported():
    """Return launch -> metric name -> number, straight from the CSV."""
    text = gzip.decompress(EXPORT.read_bytes()).decode()
    rows = list(csv.DictReader(io.StringIO(text[text.index('"ID"') :])))[1:]  # the first row is the units
    numbers = []
    for row in rows:
        found = {}
        for name, word in row.items():
            try:
                found[name] = float(word.replace(",", ""))
            except ValueError:
                continue
        numbers.append(found)
    return numbers


@pytest.fixture(scope="module")
def readings(exported):
    return [metrics.read_all(values.get) for values in exported]


def test_only_what_needs_each_instruction_is_undefined_from_totals(readings):
    without = {key for key, reading in readings[TILE_2D].items() if reading.value is None}
    sections = {"SpeedOfLight_HierarchicalDoubleRooflineChart", "SpeedOfLight_HierarchicalTensorRooflineChart"}
    not_collected = {metric.key for metric in metrics.CATALOGUE if metric.section in sections}
    assert without == {"global_load_sectors_ideal", "global_store_sectors_ideal"} | not_collected


@pytest.mark.parametrize("launch", FP32)
def test_flop_are_two_m_n_k_within_0_7_percent(readings, launch):
    assert readings[launch]["flop"].value == pytest.approx(FLOP, rel=0.007)


@pytest.mark.parametrize("launch", FP32)
def test_rate_and_amount_of_flop_agree(readings, launch):
    duration, amount, rate = (readings[launch][key].value for key in ("duration_ns", "flop", "flop_per_s"))
    assert amount / duration * 1e9 == pytest.approx(rate)


def test_share_of_the_fp32_peak(readings):
    # 132 SMs x 128 lanes x 2 = 33 792 FLOP per cycle; 392 830 cycles (below): 2 x 1024^3 / (33 792 x 392 830) = 16.2 %
    assert readings[TILE_2D]["fp32_peak_pct"].value == pytest.approx(100 * FLOP / (33_792 * 392_830), rel=0.01)


def test_shared_wavefronts_per_fma_are_those_of_the_instructions(readings):
    # smem: a scalar load of B and a quarter of an LDS.128 of A, of two wavefronts: 1 + 2 / 4. naive has none.
    assert readings[SMEM]["shared_load_wavefronts_per_fma"].value == pytest.approx(1.5, rel=0.01)
    # 2d, per step of k: two LDS.128 of B of 8 wavefronts, a quarter of eight LDS.128 of A of 2: (16 + 4) / 64.
    assert readings[TILE_2D]["shared_load_wavefronts_per_fma"].value == pytest.approx(0.3125, rel=0.01)
    assert readings[NAIVE]["shared_load_wavefronts_per_fma"].value == 0


def test_shared_wavefronts_per_fma_from_totals():
    values = {
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 30.0,
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 640.0,  # 20 of a warp
    }
    assert metrics.read("shared_load_wavefronts_per_fma", values.get).value == 1.5
    values["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = 0.0
    assert metrics.read("shared_load_wavefronts_per_fma", values.get).value is None


def test_data_pipe_of_2d(exported, readings):
    # 25.039293 % of 132 SMs x (197 984 ns x 1.984151 GHz = 392 830 cycles) = 12 983 770 wavefronts, a whole number only
    # with the L1's own clock; 11 097 689 of them are of shared memory, whose own utilisation is 21.401973 %. The export
    # carries two decimals.
    assert readings[TILE_2D]["l1_bytes"].value == pytest.approx(12_983_770 * 128, rel=1e-4)
    assert readings[TILE_2D]["shared_bytes"].value == 11_097_689 * 128
    shares = [
        exported[TILE_2D][f"l1tex__data_pipe_lsu_wavefronts{kind}.pct_of_peak_sustained_elapsed"]
        for kind in (".avg", "_mem_shared.sum")
    ]
    assert shares[0] / shares[1] == pytest.approx(12_983_770 / 11_097_689, rel=1e-3)


@pytest.mark.parametrize(
    ("launch", "key", "expected"),
    [
        (TILE_2D, "duration_ns", 197_984),
        (TILE_2D, "sm_throughput_pct", 18.704977),
        (TILE_2D, "memory_throughput_pct", 25.039293),
        (TILE_2D, "dram_throughput_pct", 1.322901),
        (TILE_2D, "l2_throughput_pct", 3.894181),
        (TILE_2D, "l1_throughput_pct", 25.039293),
        (TILE_2D, "dram_bytes", 12_601_600),  # all of it read
        (TILE_2D, "l2_bytes", 2_019_442 * 32),
        (TILE_2D, "flop_per_s", (2.669286 + 2 * 2736.018088) * 1_984_150_999.652252),
        (TILE_2D, "intensity_dram", 170.66),
        (TILE_2D, "intensity_l2", 33.28),
        (TILE_2D, "intensity_l1", 1.29406),
        (NAIVE, "global_load_sectors_per_request", 1_108_344_832 / 67_141_632),  # 16.5: the mean of 32 and 1
        (NAIVE, "global_store_sectors_per_request", 32),
        (COALESCED, "global_load_sectors_per_request", 2.500732),
        (COALESCED, "global_store_sectors_per_request", 4),
        (DOUBLE_BUFFERED, "global_load_sectors_per_request", 19.2),  # 3 145 728 sectors, cp.async among them
        (TILE_2D, "shared_load_bank_conflicts", 4_194_304),
        (TILE_2D, "shared_store_bank_conflicts", 69_408),
        (TILE_2D, "shared_load_wavefronts_per_request", 5),  # 10 485 760 for 2 097 152 LDS
        (TILE_2D, "shared_load_wavefronts_over_ideal", 5 / 3),  # 10 485 760 over 6 291 456
        (TILE_2D, "shared_store_wavefronts_over_ideal", 593_696 / 524_288),
        (CONFLICT, "shared_store_wavefronts_over_ideal", 16.7),
        (TILE_2D, "achieved_occupancy_pct", 12.478573),
        (TILE_2D, "theoretical_occupancy_pct", 12.5),
        (TILE_2D, "registers_per_thread", 130),
        (TILE_2D, "shared_memory_per_block", 9216),  # 8192 of the kernel and 1024 of the driver
        (TILE_2D, "waves_per_sm", 64 / 132),
        (TILE_2D, "local_spill_requests", 0),
        (TF32, "local_spill_requests", 1024),
        (TILE_2D, "instructions_issued", 38_796_800),
        (TILE_2D, "issue_active_pct", 39.170911),
        (TILE_2D, "warp_cycles_per_instruction", 5.102528),
        (TILE_2D, "warps_active", 1.998707),
        (TILE_2D, "elapsed_to_active", 391_938 / 187_960.598485),
        (TILE_2D, "sm_clock_hz", 1_978_816_470),
        (TILE_2D, "fma_pipe_pct", 16.655637),
        (WMMA, "tensor_pipe_pct", 3.983691),
    ],
)
def test_values_worked_out_by_hand(readings, launch, key, expected):
    # Some of the export's columns carry two decimals only, and so do some of the values above.
    assert readings[launch][key].value == pytest.approx(expected, rel=3e-3, abs=0.005)


def test_what_a_kernel_does_not_do_is_undefined_and_not_missing(readings):
    reading = readings[NAIVE]["shared_load_wavefronts_over_ideal"]
    assert reading.value is None
    assert reading.missing == ()


def test_what_was_not_collected_is_missing_by_name():
    reading = metrics.read("dram_bytes", {"dram__bytes_read.sum": 1.0}.get)
    assert reading.value is None
    assert reading.missing == ("dram__bytes_write.sum",)


def test_nan_is_missing_and_older_names_are_found():
    values = {"gpu__time_duration.sum": math.nan, "gpu__time_duration.avg": 7.0}
    reading = metrics.read("duration_ns", values.get)
    assert (reading.value, reading.metric) == (7.0, "gpu__time_duration.avg")


def test_stalls_are_in_stacking_order_and_add_up(exported, readings):
    stalls = metrics.stall_cycles(exported[TILE_2D].items())
    assert list(stalls) == [reason for reason in metrics.STALL_ORDER if reason in stalls]
    assert len(stalls) == 19
    assert sum(stalls.values()) == pytest.approx(readings[TILE_2D]["warp_cycles_per_instruction"].value, rel=0.01)


@pytest.mark.parametrize("zero", ["smsp__cycles_elapsed.avg.per_second", "gpu__time_duration.sum"])
def test_without_a_cycle_no_work_is_made_of_work_per_cycle(exported, zero):
    assert metrics.read("flop", exported[TILE_2D].get).value > 0
    assert metrics.read("flop", {**exported[TILE_2D], zero: 0.0}.get).value is None


def test_some_stall_reasons_have_no_shares():
    """``--metrics`` of two reasons: they are not all there is to wait for."""
    some = {metrics.stall_metric(reason): 1.0 for reason in ("long_scoreboard", "barrier")}
    assert metrics.stall_cycles(some.items()) == {}
    every = {metrics.stall_metric(reason): 1.0 for reason in metrics.STALL_ORDER if reason != "gmma"}  # before Hopper
    assert len(metrics.stall_cycles(every.items())) == 18
    assert metrics.stall_cycles({**every, metrics.stall_metric("wait"): math.nan}.items()) == {}


def test_keys_are_unique_and_sections_known():
    assert len(metrics.METRICS) == len(metrics.CATALOGUE)
    asked_for = {"SpeedOfLight_HierarchicalDoubleRooflineChart"}  # no stage works in FP64
    assert {metric.section for metric in metrics.CATALOGUE} - asked_for <= set(metrics.TARGETED_SECTIONS)


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("breakdown:sm__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
        ("derived__sm__sass_thread_inst_executed_op_ffma_pred_on_x2", "thread"),
        ("derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x4", "thread"),
        ("derived__memory_l2_theoretical_sectors_global_excessive", "sector"),
        ("sass__inst_executed_register_spilling_mem_local", "inst"),
        ("sm__throughput.avg.pct_of_peak_sustained_elapsed", None),
        ("dram__bytes_read.sum", None),
    ],
)
def test_units_that_the_reader_tells_now_so_now_so(metric, unit):
    assert metrics.fixed_unit(metric) == unit


@pytest.mark.parametrize(
    ("key", "values", "expected", "expression"),
    [
        ("dram_bytes", {"dram__bytes.sum": 96.0}, 96.0, "dram__bytes.sum"),
        (
            "dram_bytes",
            {"dram__sectors_read.sum": 2.0, "dram__sectors_write.sum": 1.0},
            96.0,
            "(dram__sectors_read.sum + dram__sectors_write.sum) * 32",
        ),
        (
            "dram_bytes",
            {"dram__bytes.sum.per_second": 3e9, "gpu__time_duration.sum": 32.0},
            96.0,
            "dram__bytes.sum.per_second * gpu__time_duration.sum",
        ),
        (
            "flop",
            {f"sm__sass_thread_inst_executed_op_{op}_pred_on.sum": 2**n for n, op in enumerate(FP32_OPS)},
            11,
            "sm__sass_thread_inst_executed_op_fadd_pred_on.sum + sm__sass_thread_inst_executed_op_fmul_pred_on.sum"
            " + 2 * sm__sass_thread_inst_executed_op_ffma_pred_on.sum",
        ),
        (
            "global_load_sectors_per_request",
            {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": 16.5},
            16.5,
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
        ),
        (
            "achieved_occupancy_pct",
            {"sm__warps_active.avg.per_cycle_active": 8.0, "device__attribute_max_warps_per_multiprocessor": 64.0},
            12.5,
            "sm__warps_active.avg.per_cycle_active / device__attribute_max_warps_per_multiprocessor * 100",
        ),
        (
            "shared_memory_per_block",  # of 2019, when the driver kept nothing for itself
            {"launch__shared_mem_per_block_static": 512.0, "launch__shared_mem_per_block_dynamic": 64.0},
            576.0,
            "launch__shared_mem_per_block_static + launch__shared_mem_per_block_dynamic",
        ),
        (
            "local_spill_requests",
            {"sass__inst_executed_register_spilling": 7.0},
            7.0,
            "sass__inst_executed_register_spilling",
        ),
    ],
)  # fmt: skip
def test_other_ways_to_a_quantity(key, values, expected, expression):
    reading = metrics.read(key, values.get)
    assert (reading.value, reading.missing) == (pytest.approx(expected), ())
    assert reading.metric == expression


def test_the_first_way_wins_and_names_what_is_missing():
    both = {"dram__bytes_read.sum": 1.0, "dram__bytes_write.sum": 2.0, "dram__bytes.sum": 99.0}
    assert metrics.read("dram_bytes", both.get).value == 3.0
    assert metrics.read("dram_bytes", {}.get).missing == ("dram__bytes_read.sum", "dram__bytes_write.sum")


def test_other_ways_agree_where_a_report_has_several(exported):
    checked = 0
    for values in exported:
        for metric in metrics.CATALOGUE:
            first = metric.read(values.get)
            for way in metric.others:
                only = replace(metric, counters=way.counters, formula=way.formula, expression=way.expression, others=())
                other = only.read(values.get)
                before_driver_share = way.expression == "{0} + {1}" and metric.key == "shared_memory_per_block"
                if first.value is not None and other.value is not None and not before_driver_share:
                    checked += 1
                    # Counters of two replays; the export has two decimals of some, which are percents after this.
                    close = pytest.approx(first.value, rel=0.01, abs=0.5 if metric.unit == "%" else 0.01)
                    assert other.value == close, (metric.key, way.expression)
    assert checked > 50


def test_sampled_stalls_have_the_names_of_counted_ones():
    samples = metrics.stall_samples(
        {
            "smsp__pcsamp_warps_issue_stalled_no_instructions": 2.0,
            "smsp__pcsamp_warps_issue_stalled_warpgroup_arrive": 3.0,
            "smsp__pcsamp_warps_issue_stalled_selected": 1.0,
            "smsp__pcsamp_warps_issue_stalled_wait": math.nan,
            "smsp__pcsamp_warps_issue_stalled_wait_not_issued": 9.0,
            "smsp__pcsamp_sample_count": 6.0,
        }.items()
    )
    assert samples == {"selected": 1.0, "gmma": 3.0, "no_instruction": 2.0}
    assert list(samples) == ["selected", "gmma", "no_instruction"]


def test_compute_is_the_busiest_pipe_but_not_that_of_loads(exported, readings):
    # coalesced: the SM's total is its pipe of loads and stores, while it issues in 41.9 % of all cycles
    pipe = "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed"
    assert readings[COALESCED]["sm_throughput_pct"].value == pytest.approx(exported[COALESCED][pipe])
    issue = exported[COALESCED]["sm__issue_active.avg.pct_of_peak_sustained_elapsed"]
    assert readings[COALESCED]["issue_slots_pct"].value == issue
    assert readings[COALESCED]["compute_throughput_pct"].value == issue < 45 < 70 < exported[COALESCED][pipe]
    # cuBLAS in TF32: the tensor pipe
    tensor = exported[TF32]["sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"]
    assert readings[TF32]["compute_throughput_pct"].value == tensor == readings[TF32]["tensor_pipe_pct"].value


def test_compute_of_gpus_with_fewer_pipes_and_of_exports_with_the_total_alone():
    elapsed = "avg.pct_of_peak_sustained_elapsed"
    turing = {
        f"sm__issue_active.{elapsed}": 25.0, f"sm__pipe_alu_cycles_active.{elapsed}": 61.0,
        f"sm__pipe_fma_cycles_active.{elapsed}": 22.0, f"sm__pipe_fp64_cycles_active.{elapsed}": 0.0,
        f"sm__pipe_tensor_cycles_active.{elapsed}": 0.0, f"sm__inst_executed_pipe_xu.{elapsed}": 3.0,
    }  # fmt: skip
    assert metrics.read("compute_throughput_pct", turing.get).value == 61.0
    assert metrics.read("compute_throughput_pct", {f"sm__instruction_throughput.{elapsed}": 1.1}.get).value == 1.1
    assert metrics.read("compute_throughput_pct", {f"sm__throughput.{elapsed}": 76.0}.get).value is None


def test_a_percentage_of_active_cycles_says_so():
    name = "l1tex__throughput.avg.pct_of_peak_sustained_active"
    assert metrics.read("l1_throughput_pct", {name: 93.0}.get).of_active_cycles
    assert not metrics.read("l1_throughput_pct", {name.replace("active", "elapsed"): 93.0}.get).of_active_cycles
