import pytest

from ncu_lab.metrics.operations import read_operations

PATH = "sm__ops_path_tensor_op_{}.sum".format


def counted(name, ops, peak, **more):
    return {PATH(name): ops, f"{PATH(name)}.peak_sustained_elapsed.per_second": peak, **more}


DURATION = {"gpu__time_duration.sum": 1000.0}


def test_a_sum_in_fp32_is_not_held_against_the_rate_of_a_sum_in_fp16():
    # GeForce: HMMA with FP32 accumulation runs at half the rate.
    values = {
        **DURATION,
        **counted("hmma_src_fp16_dst_fp32_sparsity_off", 5e8, 1e12),
        **counted("hmma_src_fp16_dst_fp16_sparsity_off", 0.0, 2e12),
    }
    work = read_operations(values)["fp16"]
    assert (work.flop, work.flop_per_s, work.peak_per_s) == (5e8, 5e14, 1e12)
    assert work.instructions == {"hmma": 1e12}


def test_sparse_work_is_told_apart_with_its_own_peak():
    values = {
        **DURATION,
        **counted("hgmma_src_fp16_sparsity_off", 0.0, 1e15),
        **counted("hgmma_src_fp16_sparsity_on", 4e8, 2e15),
    }
    found = read_operations(values)
    assert (found["fp16"].flop, found["fp16"].peak_per_s) == (0.0, 1e15)
    assert (found["fp16_sparse"].flop, found["fp16_sparse"].peak_per_s) == (4e8, 2e15)


def test_totals_of_a_type_tell_its_work_but_no_peak():
    # Their peak counts sparse instructions: twice what dense ones make.
    name = "sm__ops_path_tensor_src_fp16.sum"
    work = read_operations({**DURATION, name: 3e8, f"{name}.peak_sustained": 8192.0})["fp16"]
    assert (work.flop, work.flop_per_s, work.peak_per_s) == (3e8, 3e14, None)


def test_fp64_has_no_sparse_instructions_so_its_total_has_its_peak():
    name = "sm__ops_path_tensor_src_fp64.sum"
    values = {name: 3e8, f"{name}.peak_sustained": 33792.0, "sm__cycles_elapsed.avg.per_second": 2e9}
    work = read_operations(values)["fp64_tensor"]
    assert work.peak_per_s == pytest.approx(67.584e12)
    assert work.flop_per_s is None  # neither a rate nor a duration


def test_a_peak_per_cycle_takes_the_sm_clock():
    values = {PATH("hmma_src_bf16_dst_fp32_sparsity_off"): 1.0, "sm__cycles_elapsed.avg.per_second": 1.5e9}
    values[f"{PATH('hmma_src_bf16_dst_fp32_sparsity_off')}.peak_sustained"] = 1000.0
    assert read_operations(values)["bf16"].peak_per_s == 1.5e12


def test_nothing_is_read_from_a_launch_without_these_counters():
    assert read_operations({}) == {}
    assert read_operations({"sm__inst_executed_pipe_tensor.sum": 12.0, "smsp__warps_active.sum": 1.0}) == {}
    assert read_operations({PATH("hgmma_src_fp16_sparsity_off"): float("nan")}) == {}
