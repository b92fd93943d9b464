from dataclasses import replace
from functools import cache

import pytest
from builders import golden_counters, summary

from ncu_lab.analyze.roofline import (
    charts,
    common_roofs,
    datasheet_roofs,
    family_of,
    launch_roofline,
    precision_label,
    uses_tensor_cores,
)
from ncu_lab.analyze.summary import counters, summarize
from ncu_lab.gpu.datasheets import find_datasheet
from ncu_lab.metrics.operations import read_operations
from ncu_lab.model import MeasuredPeak, Roof
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.climbing import ladder

FP32_STAGES = (
    "naive", "coalesced", "smem", "smem-conflict", "smem-padded", "1d", "2d", "vectorized", "autotuned",
    "double-buffered", "warptiled", "sgemm-hopper", "splitk", "cublas-fp32", "cutlass-fp32",
)  # fmt: skip
TENSOR_STAGES = {
    "wmma": "fp16", "wmma-tiled": "fp16", "mma-sync": "fp16", "wgmma": "bf16", "wgmma-fp16": "fp16",
    "cublas-tf32": "tf32", "cublas-fp16": "fp16", "cublas-bf16": "bf16", "cutlass-bf16": "bf16",
}  # fmt: skip
SIZES = (1024, 4096)


def values(stage):
    return golden_counters()[stage]["metrics"]


def placed(stage, without=()):
    return launch_roofline(summary(stage, without=without), values(stage))


def roofs(stage="2d"):
    return {roof.level: roof.per_second for roof in placed(stage).roofs}


def levels(roofline):
    return [point.level for point in roofline.points]


@cache
def example_launches(size):
    """Stage -> its summary and counters in the bundled H200 run of a size."""
    store = Store(data_dir("examples"))
    metas = [meta for meta in store.metas()[0] if meta.problem and meta.problem.m == size]
    run = store.read_whole(metas[0].id)
    by_launch = counters(run.metrics)
    return {one.stage: (one, by_launch[one.launch]) for one in summarize(run)}


def test_roofs_by_hand():
    # Of the golden targeted report, launch 2d: 132 SMs at 1.984151 GHz, L2 at 1.706183 GHz, memory at 3.199046 GHz.
    found = roofs()
    assert found["fp32"] == pytest.approx(132 * 128 * 2 * 1_984_150_999.65, rel=1e-9)  # 67.0 TFLOP/s
    assert found["l1"] == pytest.approx(132 * 128 * 1_984_150_999.65, rel=1e-9)  # 33.5 TB/s
    assert found["shared"] == found["l1"]  # the same banks
    assert found["l2"] == pytest.approx(6016 * 1_706_183_327.9456925, rel=1e-9)  # 94 slices x 64 byte: 10.3 TB/s
    assert found["dram"] == pytest.approx(1504 * 3_199_046_387.5868754, rel=1e-9)  # 4.81 TB/s
    assert [roof.kind for roof in placed("2d").roofs] == ["memory"] * 4 + ["compute"]


def test_a_roof_without_its_counters_is_absent():
    without = {name: value for name, value in values("2d").items() if not name.startswith("dram__")}
    found = launch_roofline(summary("2d"), without)
    assert [roof.level for roof in found.roofs] == ["l1", "shared", "l2", "fp32"]
    assert levels(found) == ["l1", "shared", "l2"]
    assert launch_roofline(summary("2d"), {}).roofs == ()


def test_points_stand_under_the_lower_roof():
    points = {point.level: point for point in placed("2d").points}
    assert list(points) == ["l1", "shared", "l2", "dram"]
    # Under the L1 roof the share is the pipe's own utilisation; at 171 FLOP/byte DRAM is no limit, FP32 is.
    assert points["l1"].share_of_roof == pytest.approx(0.25039293, rel=1e-4)
    assert points["l1"].bound == "l1"
    assert points["dram"].intensity == pytest.approx(170.66, rel=1e-3)
    assert points["dram"].share_of_roof == pytest.approx(10.863e12 / roofs()["fp32"], rel=1e-3)
    assert points["dram"].bound == "fp32"


def test_shared_memory_alone_counts_its_own_wavefronts():
    # 2d at 1024: 10 485 760 loads + 524 288 stores + what the system adds = l1tex__…_mem_shared.sum, x 128 bytes;
    # 2 x 1024^3 FLOP over those bytes.
    wavefronts = values("2d")["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"]
    (point,) = (point for point in placed("2d").points if point.level == "shared")
    assert point.intensity == pytest.approx(2 * 1024**3 / (wavefronts * 128), rel=0.007)
    assert point.intensity > next(point for point in placed("2d").points if point.level == "l1").intensity


def test_a_kernel_without_shared_memory_has_no_point_there():
    # The golden report counts 65 536 wavefronts of naive, which has no shared memory.
    launch, found = example_launches(4096)["naive"]
    assert found["launch__shared_mem_per_block_static"] + found["launch__shared_mem_per_block_dynamic"] == 0
    assert levels(launch_roofline(launch, found)) == ["l1", "l2", "dram"]


def test_every_launch_is_below_its_roofs():
    for size in SIZES:
        for launch, found in example_launches(size).values():
            roofline = launch_roofline(launch, found)
            assert roofline.points
            assert all(0 < point.share_of_roof < 1 for point in roofline.points)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stage", FP32_STAGES)
def test_flop_of_fp32_are_two_m_n_k(stage, size):
    _, found = example_launches(size)[stage]
    work = read_operations(found)["fp32"]
    k = -(-size // 24) * 24 if stage == "sgemm-hopper" else size  # multiplies whole stages of 24 k, zeros included
    assert work.flop == pytest.approx(2 * size**2 * k, rel=0.007)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stage", TENSOR_STAGES)
def test_flop_of_tensor_cores_are_two_m_n_k(stage, size):
    launch, found = example_launches(size)[stage]
    operations = read_operations(found)
    precision = TENSOR_STAGES[stage]
    assert operations[precision].flop == pytest.approx(2 * size**3, rel=0.007)
    assert launch.value("tensor_flop") == operations[precision].flop
    assert all(not work.flop for name, work in operations.items() if work.tensor and name != precision)
    points = launch_roofline(launch, found).points
    assert {point.precision for point in points} == {precision}
    assert points[0].flop_per_s == pytest.approx(2 * size**3 / launch.value("duration_ns") * 1e9, rel=0.02)


def test_the_tensor_roof_is_the_dense_one_at_the_clock_of_the_launch():
    # An H200 has 132 SMs of 4096 FLOP a cycle for wgmma in FP16; power lowered the clock of cuBLAS BF16 to 1.60 GHz.
    launch, found = example_launches(4096)["cublas-bf16"]
    peaks = {roof.level: roof.per_second for roof in launch_roofline(launch, found).roofs if roof.kind == "compute"}
    clock = peaks["bf16"] / (132 * 4096)
    assert 1.55e9 < clock < 1.65e9
    assert peaks["bf16"] < 989.4e12
    assert found["sm__ops_path_tensor_src_bf16_dst_fp32.sum.peak_sustained"] == 2 * 132 * 4096  # sparse: not the roof
    assert list(peaks) == ["fp32", "bf16"]


def test_an_instruction_that_cannot_reach_the_peak_has_its_own_roof():
    # WMMA becomes HMMA: two thirds of what wgmma makes, 2730.67 FLOP a cycle and SM.
    launch, found = example_launches(4096)["wmma"]
    peaks = {roof.level: roof for roof in launch_roofline(launch, found).roofs}
    assert peaks["fp16_hmma"].per_second == pytest.approx(peaks["fp16"].per_second * 2 / 3)
    assert peaks["fp16_hmma"].label == "FP16 by HMMA"
    assert [point.bound for point in launch_roofline(launch, found).points] == ["l1", "l2", "fp16_hmma"]


def test_a_launch_stands_under_the_instruction_that_it_used():
    # mma.sync's 2730.67 FLOP a cycle and SM are nearer than any memory: what wgmma would reach is no room of it.
    launch, found = example_launches(4096)["mma-sync"]
    roofline = launch_roofline(launch, found)
    hmma = next(roof.per_second for roof in roofline.roofs if roof.level == "fp16_hmma")
    assert {point.bound for point in roofline.points} == {"fp16_hmma"}
    for point in roofline.points:
        assert point.share_of_roof == pytest.approx(2 * 4096**3 / launch.value("duration_ns") * 1e9 / hmma, rel=0.01)
    assert {point.bound for point in launch_roofline(*example_launches(4096)["wgmma-fp16"]).points} >= {"fp16"}


def test_the_datasheets_tensor_peak_is_at_a_lower_clock_than_its_fp32_peak():
    # 989.4e12 / (132 x 4096) = 1.830 GHz; 66.9e12 / (132 x 256) = 1.980 GHz.
    found = {roof.level: roof.per_second for roof in datasheet_roofs(find_datasheet("h200"))}
    assert found["fp16"] / (132 * 4096) == pytest.approx(1.83e9, rel=1e-3)
    assert found["fp32"] / (132 * 256) == pytest.approx(1.98e9, rel=1e-3)
    assert found["dram"] == 4.8e12
    assert found["tf32"] == pytest.approx(found["fp16"] / 2)


@pytest.mark.parametrize("stage", ["wmma", "cublas-tf32"])
def test_tensor_work_that_was_not_counted_has_no_point(stage):
    assert uses_tensor_cores(summary(stage))
    assert placed(stage).points == ()
    assert placed(stage).family is None


def test_a_level_that_was_not_counted_has_no_point():
    assert levels(placed("2d", without=("l2_bytes",))) == ["l1", "shared", "dram"]
    without = {name: value for name, value in values("2d").items() if "_op_ffma_" not in name}
    assert launch_roofline(summary("2d"), without).points == ()


def test_fp64_work_stands_under_the_fp64_roof():
    # 64 DFMA a cycle and SM: 132 x 64 x 2 x 2 GHz = 33.8 TFLOP/s; the launch makes 1000 DFMA + 500 DADD a cycle.
    op = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed".format
    found = {
        **values("2d"),
        **{op(name): 0.0 for name in ("fadd", "fmul", "ffma")},
        op("dfma"): 1000.0, op("dadd"): 500.0, op("dmul"): 0.0,
        "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 132 * 64.0,
        "sm__cycles_elapsed.avg.per_second": 2e9,
        "smsp__cycles_elapsed.avg.per_second": 2e9,
    }  # fmt: skip
    roofline = launch_roofline(summary("2d"), found)
    assert roofline.family == "fp64"
    assert roofline.points[0].flop_per_s == pytest.approx(2500 * 2e9)
    (peak,) = (roof.per_second for roof in roofline.roofs if roof.level == "fp64")
    assert peak == pytest.approx(33.792e12)


def test_fp32_and_tensor_launches_never_share_a_chart():
    found = ladder(data_dir("examples"), size=4096)
    by_family = {chart.family: {point.stage for point in chart.points} for chart in found.rooflines}
    assert list(by_family) == ["fp32", "tensor"]
    assert by_family["tensor"] == set(TENSOR_STAGES)
    assert by_family["fp32"] == set(FP32_STAGES)
    assert [roof.level for roof in found.roofline("fp32").roofs] == ["l1", "shared", "l2", "dram", "fp32"]
    assert "fp32" not in {roof.level for roof in found.roofline("tensor").roofs}
    assert found.roofline("fp64") is None


def test_common_roofs_are_medians():
    one, two, three = ((Roof("l2", "L2", peak),) for peak in (1.0, 5.0, 3.0))
    assert common_roofs([one, two, three, ()]) == (Roof("l2", "L2", 3.0),)


def test_compute_roofs_are_brought_to_the_median_clock():
    # FP16 at 2 GHz and BF16 at 1 GHz, 32 FLOP per byte of L1 each: at the median, 1.5 GHz, both are the same.
    fast = (Roof("l1", "L1", 2.0), Roof("fp16", "FP16", 64.0, "compute"))
    slow = (Roof("l1", "L1", 1.0), Roof("bf16", "BF16", 32.0, "compute"))
    peaks = {roof.level: roof.per_second for roof in common_roofs([fast, slow])}
    assert peaks == {"l1": 1.5, "fp16": 48.0, "bf16": 48.0}


def test_a_chart_has_the_measured_peaks_of_its_family():
    copy = MeasuredPeak("dram_copy", "dram", "DRAM copy", "memory", (4.1e12, 4.2e12), 2e9)
    fma = MeasuredPeak("fp32_fma", "fp32", "FP32 FMA", "compute", (6e13,), 1e10)
    mma = MeasuredPeak("fp16_mma", "fp16_hmma", "FP16 mma.sync", "compute", (6e14,), 1e11)
    launches = [launch_roofline(*example_launches(4096)[stage]) for stage in ("2d", "wmma")]
    found = {chart.family: chart.measured for chart in charts(launches, (copy, fma, mma))}
    assert found == {"fp32": (copy, fma), "tensor": (copy, mma)}
    assert copy.per_second == 4.2e12


def test_names_of_precisions():
    assert [precision_label(one) for one in ("fp32", "fp64", "bf16", "fp64_tensor", "fp16_sparse")] == [
        "FP32", "FP64", "BF16 tensor", "FP64 tensor", "FP16 tensor sparse",
    ]  # fmt: skip
    assert [family_of(one) for one in ("fp32", "fp64", "fp64_tensor", "fp16_hmma")] == [
        "fp32", "fp64", "tensor", "tensor",
    ]  # fmt: skip


def test_an_empty_launch_has_nothing():
    nothing = replace(summary("2d"), readings=summary("2d", without=list(summary("2d").readings)).readings)
    found = launch_roofline(nothing, {})
    assert (found.roofs, found.points, found.family) == ((), (), None)
    assert charts([found]) == ()
