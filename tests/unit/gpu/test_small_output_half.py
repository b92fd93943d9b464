"""When `wgmma_small` takes the place of `gemm_wgmma`, and how it divides; figures worked out by hand for 132 SMs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.gpu import small_output_half
from ncu_lab.gpu.kernel_launch import Float, Int, Pointer, Scratch, TensorMap
from ncu_lab.gpu.launch_plan import LaunchPlan, plan
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.small_output_half import Division, divide
from ncu_lab.model import Problem
from ncu_lab.resources import data_dir

SMS = 132
STAGES = load_stages()
SOURCE = (data_dir("kernels") / STAGES["wgmma"].second_file).read_text()


def planned(id: str, problem: Problem, layout: Layout | None = None) -> LaunchPlan:
    dense = layout or Layout(problem.k, problem.n, problem.n, 0x1000, 0x2000, 0x3000)
    stage = STAGES[id]
    assert stage.fallback is not None
    return plan(stage, problem, dense, sm_count=SMS, capability=90, fallback=STAGES[stage.fallback])


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (Problem(64, 64, 64), Division(64, 1, 1, 1, 1)),
        # 8 x 8 narrow tiles of 8 steps of 16 KiB, 293 cycles each at 56 bytes a cycle: 2,341; two slices would save
        # half of that, less than their sums take.
        (Problem(512, 512, 512), Division(64, 1, 1, 1, 1)),
        # 16 x 8 tiles are a block an SM, which takes 439 cycles a step. From L2 128 x 24 KiB would be 629, with B
        # shared by two 419. Narrow tiles are two blocks an SM and take 586.
        (Problem(1024, 1024, 1024), Division(128, 2, 1, 1, 1)),
        # One tile of 256 steps: four clusters of eight slices have eight steps each, 2,341 cycles; DRAM takes 2,330.
        (Problem(64, 64, 16384), Division(64, 1, 8, 4, 1)),
        # 24 x 12 tiles, three on some SMs, with three stages each.
        (Problem(1536, 1536, 1536), Division(128, 2, 1, 1, 3)),
        # 32 x 16 tiles are more than three blocks an SM.
        (Problem(2048, 2048, 2048), None),
    ],
)
def test_division(problem: Problem, expected: Division | None) -> None:
    assert divide(problem, SMS) == expected


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 20000), st.integers(1, 200))
def test_a_division_runs_at_once_and_leaves_no_slice_empty(m: int, n: int, k: int, sm_count: int) -> None:
    division = divide(Problem(m, n, k), sm_count)
    if division is None:
        return
    rows, columns, steps = -(-m // 64), -(-n // division.width), -(-k // 64)
    groups = -(-rows // division.share)
    assert division.size <= 8
    assert division.slices * division.clusters <= steps
    assert division.slices > 1 or division.clusters == 1
    assert (groups - 1) * division.share < rows  # no group of rows lies outside
    assert groups * division.size * columns * division.clusters <= division.per_sm * sm_count
    assert division.per_sm * (division.shared_bytes + 1024) <= 228 * 1024
    assert division.shared_bytes <= 227 * 1024
    assert 3 <= division.stages <= 12
    counters = re.search(r"MOST_ARRIVALS = (\d+)", (data_dir("kernels") / "cluster.cuh").read_text())
    assert counters is not None
    assert int(counters[1]) == small_output_half.MOST_ARRIVALS
    assert division.clusters == 1 or groups * division.size * columns <= small_output_half.MOST_ARRIVALS


@pytest.mark.parametrize(
    ("problem", "small"),
    [
        (Problem(256, 256, 256), True),
        (Problem(512, 512, 512), True),
        (Problem(1024, 1024, 1024), True),
        (Problem(64, 4096, 4096), True),
        (Problem(64, 64, 16384), True),
        (Problem(1, 8, 8), True),
        (Problem(1536, 1536, 1536), True),
        (Problem(2048, 2048, 2048), False),
        (Problem(4096, 4096, 64), False),
        (Problem(8192, 1024, 2048), False),
        (Problem(1, 7, 8), False),  # the guarded path
    ],
)
@pytest.mark.parametrize("id", ["wgmma", "wgmma-fp16"])
def test_it_takes_the_place_of_the_large_kernel(id: str, problem: Problem, small: bool) -> None:
    assert (planned(id, problem).kernels[0].entry in small_output_half.ENTRIES.values()) is small


def test_the_estimates_of_the_large_kernel_are_those_of_the_run_they_are_fitted_to() -> None:
    # Microseconds at 1.98 GHz on an H200: kernels/experiments/results/2026-11-30-952a7c3-shapes.csv.
    for shape, us in (
        *(((256, 256, 256), 11.9), ((512, 512, 512), 14.8), ((1024, 1024, 1024), 20.2), ((1536, 1536, 1536), 25.0)),
        *(((2048, 2048, 2048), 31.1), ((64, 4096, 4096), 46.6), ((64, 64, 16384), 154.7)),
    ):
        estimate = small_output_half.large_cycles(STAGES["wgmma"], Problem(*shape), SMS) / 1980
        assert estimate == pytest.approx(us, rel=0.075), shape


def test_the_estimate_of_the_small_kernels() -> None:
    # 2 x 4160 x 4096 bytes at 1800 a cycle are slower than 16 steps; sums of slices meet.
    cycles = small_output_half.small_cycles(Problem(64, 4096, 4096), Division(128, 1, 4, 1, 2), SMS)
    assert cycles == pytest.approx(14_000 + 2 * 4160 * 4096 / 1800 + 2_200)
    # Eight steps of 16 KiB at 56 bytes a cycle; four clusters meet.
    cycles = small_output_half.small_cycles(Problem(64, 64, 16384), Division(64, 1, 8, 4, 1), SMS)
    assert cycles == pytest.approx(14_000 + 8 * 16384 / 56 + 2_200 + 3_900)
    # Three stages of 24 KiB under way for 1,500 cycles are 49 bytes a cycle.
    cycles = small_output_half.small_cycles(Problem(64, 64, 4096), Division(128, 1, 8, 1, 2), SMS)
    assert cycles == pytest.approx(14_000 + 8 * 1_500 / 3 + 2_200)


def test_the_launch() -> None:
    layout = Layout(16392, 72, 76, 0x1000, 0x2000, 0x3000)
    how = planned("wgmma", Problem(60, 64, 16384 + 128, 1.5, -0.5), layout)
    [kernel] = how.kernels
    assert (kernel.entry, kernel.grid, kernel.block, kernel.cluster) == (
        "wgmma_small_narrow",
        (8, 1, 4),
        (160, 1, 1),
        8,
    )
    assert (kernel.second, kernel.role) == (True, "main")
    assert how.workspace_bytes == 4 * 64 * 64 * 4
    assert kernel.arguments == (
        TensorMap("bf16", 0x1000, 16512, 60, 16392 * 2, (64, 64), 128),
        TensorMap("bf16", 0x2000, 64, 16512, 72 * 2, (64, 64), 128),
        *(Pointer(0x3000), Int(60), Int(64), Int(76), Float(1.5), Float(-0.5)),
        *(Int(0), Int(3), Int(8), Int(2), Int(12), Pointer(Scratch(0))),  # 258 steps: 32 slices of 8, two of them of 9
    )
    # Twelve stages of 16 KiB, sums of 64 x 64, and the barriers.
    assert kernel.shared_bytes == (12 * 16 + 16 + 1) * 1024


def test_blocks_that_share_b_load_a_part_of_it_each() -> None:
    how = small_output_half.launch(
        STAGES["wgmma-fp16"], Problem(1024, 1024, 1024), Layout(1024, 1024, 1024, b=2), Division(128, 4, 1, 1, 2)
    )
    [kernel] = how[0]
    assert (kernel.entry, kernel.grid, kernel.cluster) == ("wgmma_small", (16, 8, 1), 4)
    assert kernel.arguments[1] == TensorMap("fp16", 2, 1024, 1024, 2048, (64, 32), 128)
    assert kernel.arguments[8:13] == (Int(2), Int(0), Int(16), Int(0), Int(4))
    assert kernel.shared_bytes == (4 * 24 + 1) * 1024


def test_sizes_are_those_of_the_source() -> None:
    assert f"TILE_M = {small_output_half.TILE_M}, STEP = {small_output_half.STEP};" in SOURCE
    assert "WARPGROUP = 128, BLOCK = WARPGROUP + WARP_SIZE" in SOURCE
    assert small_output_half.THREADS == 128 + 32
    assert f"HEAD = {small_output_half.HEAD_BYTES};" in SOURCE
    assert f"MOST_STAGES = {small_output_half.MOST_STAGES}," in SOURCE
    for width, entry in small_output_half.ENTRIES.items():
        assert re.search(rf"\b{entry}\([^{{]*{{\s*small_output_half::multiply_tile<{width}>", SOURCE)
    assert Division(128, 1, 1, 1, 1).stage_bytes == (64 + 128) * 128
    assert Division(64, 1, 2, 1, 1).sums_bytes == 64 * 64 * 4
