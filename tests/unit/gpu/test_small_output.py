"""When `sgemm_small` takes a stage's place, and how it shares K out; every figure is worked out by hand for 132 SMs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.gpu import small_output
from ncu_lab.gpu.kernel_launch import Float, Int, Pointer, Scratch, TensorMap
from ncu_lab.gpu.launch_plan import LaunchPlan, plan
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.small_output import SPLIT, WHOLE, Division, division
from ncu_lab.model import Problem
from ncu_lab.resources import data_dir

SMS = 132
STAGES = load_stages()
SOURCE = (data_dir("kernels") / "small_output.cuh").read_text()


def planned(id: str, problem: Problem, layout: Layout | None = None, capability: int = 90) -> LaunchPlan:
    dense = layout or Layout(problem.k, problem.n, problem.n, 0x1000, 0x2000, 0x3000)
    stage = STAGES[id]
    fallback = STAGES[stage.fallback] if stage.fallback else None
    return plan(stage, problem, dense, sm_count=SMS, capability=capability, fallback=fallback)


def entries(how: LaunchPlan) -> list[str]:
    return [kernel.entry for kernel in how.kernels]


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        # 256 tiles of 32 stages: 264 places hold one block a tile.
        (Problem(1024, 1024, 1024), Division(WHOLE, 32)),
        # 64 tiles of 8 stages of 64 k: 66 clusters of two, a block an SM.
        (Problem(512, 512, 512), Division(SPLIT, 4, 2)),
        (Problem(64, 4096, 4096), Division(SPLIT, 32, 2)),
        # 16 tiles of 4: 30 clusters of four run at once, 12 of eight.
        (Problem(256, 256, 256), Division(SPLIT, 1, 4)),
        # One tile of 256: a block of each of 128 SMs, and the second kernel; 12 clusters of eight would take 3 each.
        (Problem(64, 64, 16384), Division(SPLIT, 2, 1, 128)),
        # 100 tiles: an SM each.
        (Problem(640, 640, 640), Division(SPLIT, 10)),
        # 1024 tiles: four rounds of two an SM, as eight of one.
        (Problem(2048, 2048, 2048), Division(WHOLE, 64)),
        # 324 tiles: three rounds of one an SM, not two of two.
        (Problem(1152, 1152, 1152), Division(SPLIT, 18)),
        # 33 tiles of 17: four slices of 5, 5, 5 and 2 by the second kernel, not two blocks of 9.
        (Problem(33 * 64, 64, 1050), Division(SPLIT, 5, 1, 4)),
        # 65 tiles: clusters of two, of 9 and 8.
        (Problem(65 * 64, 64, 1050), Division(SPLIT, 9, 2)),
    ],
)
def test_division(problem: Problem, expected: Division) -> None:
    assert division(problem, SMS) == expected


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 20000), st.integers(1, 200))
def test_divisions_cover_k_and_slices_run_at_once(m: int, n: int, k: int, sm_count: int) -> None:
    shared_out = division(Problem(m, n, k), sm_count)
    entry, blocks, slices = shared_out.entry, shared_out.blocks, shared_out.slices
    tiles, steps = -(-m // 64) * -(-n // 64), -(-k // entry.step)
    assert blocks * slices * shared_out.steps >= steps
    assert (slices - 1) * blocks * shared_out.steps < steps  # no cluster has nothing to do
    assert blocks in (1, 2, 4, 8)
    assert entry is SPLIT or (blocks, slices) == (1, 1)
    assert slices == 1 or tiles * blocks * slices <= sm_count


@pytest.mark.parametrize(
    ("id", "problem", "small"),
    [
        ("sgemm-hopper", Problem(512, 512, 512), True),
        ("sgemm-hopper", Problem(1024, 1024, 1024), True),
        ("sgemm-hopper", Problem(64, 4096, 4096), True),
        ("sgemm-hopper", Problem(1536, 1536, 1536), False),
        ("sgemm-hopper", Problem(1024, 1024, 16384), False),  # few tiles, but enough to share
        ("sgemm-hopper", Problem(4096, 4096, 64), False),
        ("sgemm-hopper", Problem(8192, 1024, 2048), False),
        ("splitk", Problem(512, 512, 512), True),
        ("splitk", Problem(1024, 1024, 1024), True),
        ("splitk", Problem(64, 64, 16384), True),
        ("splitk", Problem(2048, 2048, 2048), False),  # 1024 tiles: four rounds
        ("splitk", Problem(65, 64, 64), False),  # the guarded cubin has no such kernel
        ("warptiled", Problem(512, 512, 512), False),
    ],
)
def test_it_takes_the_place_of_slower_kernels(id: str, problem: Problem, small: bool) -> None:
    names = entries(planned(id, problem))
    assert (names in (["sgemm_small"], ["sgemm_small_split"], ["sgemm_small_split", "add_slices"])) is small


def test_the_estimates_of_the_summit_are_those_of_the_runs_they_are_fitted_to() -> None:
    # Microseconds at 1.98 GHz on an H200, from the tables of kernels/experiments/sgemm_small/README.md.
    stage = STAGES["sgemm-hopper"]
    for shape, summit in (((1024, 1024, 1024), 63.0), ((64, 4096, 4096), 102.0), ((512, 512, 512), 46.7)):
        assert small_output.summit_cycles(stage, Problem(*shape), SMS) / 1980 == pytest.approx(summit, rel=0.05)


@pytest.mark.parametrize(
    ("shape", "us"),
    [((256, 256, 256), 8.8), ((512, 512, 512), 13.8), ((1024, 1024, 1024), 53.5), ((64, 4096, 4096), 54.8)],
)
def test_the_estimates_are_those_of_the_run_they_are_fitted_to(shape: tuple[int, int, int], us: float) -> None:
    # At 1.98 GHz on an H200: kernels/experiments/results/2026-11-30-24cf028-shapes.csv.
    assert small_output.small_cycles(Problem(*shape), SMS) / 1980 == pytest.approx(us, rel=0.04)


def test_the_estimate() -> None:
    # A stage of the two blocks of an SM: 2 x 64 x 64 x 32 / (128 x 0.71) cycles; as long as one of 64 k of one block.
    stage = 262_144 / 90.88
    for shape, cycles in (
        ((1024, 1024, 1024), 13_000 + 32 * stage),
        ((512, 512, 512), 13_000 + 4 * stage + 2_000),
        ((64, 64, 16384), 13_000 + 2 * stage + 8_000),
        ((2048, 2048, 2048), 4 * (13_000 + 64 * stage)),
    ):
        assert small_output.small_cycles(Problem(*shape), SMS) == pytest.approx(cycles), shape


@pytest.mark.parametrize("layout", [Layout(512, 512, 512, a=4), Layout(513, 512, 512)])
def test_the_summit_transposes_what_the_copy_engine_cannot_take(layout: Layout) -> None:
    how = planned("sgemm-hopper", Problem(512, 512, 512), layout)
    assert (how.variant, entries(how)) == ("fast", ["transpose_a", "sgemm_hopper"])


def test_other_gpus_keep_the_kernels_of_split_k() -> None:
    assert entries(planned("splitk", Problem(512, 512, 512), capability=80)) == ["sgemm_splitk", "reduce_slices"]
    assert entries(planned("splitk", Problem(512, 512, 512), capability=120)) == ["sgemm_splitk", "reduce_slices"]


def test_the_launch_of_whole_tiles() -> None:
    problem = Problem(1020, 1024, 1000, 1.5, -0.5)
    [kernel] = planned("sgemm-hopper", problem, Layout(1004, 1028, 1032, 0x1000, 0x2000, 0x3000)).kernels
    assert (kernel.entry, kernel.grid, kernel.block) == ("sgemm_small", (16, 16, 1), (128, 1, 1))
    assert (kernel.cluster, kernel.role, kernel.second) == (1, "main", True)
    assert kernel.arguments == (
        TensorMap("fp32", 0x1000, 1000, 1020, 1004 * 4, (32, 64), 128),
        TensorMap("fp32", 0x2000, 1024, 1000, 1028 * 4, (64, 32)),
        *(Pointer(0x3000), Int(1020), Int(1024), Int(1000), Int(1032), Float(1.5), Float(-0.5)),
    )


def test_the_launch_of_a_cluster_a_tile() -> None:
    how = planned("sgemm-hopper", Problem(500, 512, 511, 1.5, -0.5), Layout(516, 520, 524, 0x1000, 0x2000, 0x3000))
    [kernel] = how.kernels
    assert (kernel.entry, kernel.grid, kernel.block) == ("sgemm_small_split", (2, 8, 8), (256, 1, 1))
    assert (kernel.cluster, kernel.role, how.workspace_bytes) == (2, "main", 0)
    assert kernel.second  # of the cubin that is compiled for it
    assert kernel.arguments == (
        TensorMap("fp32", 0x1000, 511, 500, 516 * 4, (32, 64), 128),
        TensorMap("fp32", 0x2000, 512, 511, 520 * 4, (64, 64)),
        *(Pointer(0x3000), Int(500), Int(512), Int(511), Int(524), Float(1.5), Float(-0.5)),
        *(Int(2), Int(4), Pointer(Scratch(0))),
    )


def test_the_launch_of_slices() -> None:
    how = planned("splitk", Problem(128, 64, 16384, 1.5, -0.5))
    multiply, add_up = how.kernels
    # Two tiles of 256 stages: 66 slices of 4 would be 64 and two of nothing.
    assert (multiply.grid, multiply.cluster) == ((64, 2, 1), 1)
    assert multiply.arguments[-3:] == (Int(1), Int(4), Pointer(Scratch(0)))
    assert how.workspace_bytes == 64 * 2 * 64 * 64 * 4
    # 2048 places of four; eight threads take eight slices each.
    assert (add_up.entry, add_up.grid, add_up.block) == ("add_slices", (64, 1, 1), (32, 8, 1))
    assert (add_up.role, add_up.early, add_up.second) == ("auxiliary", True, True)
    assert add_up.arguments == (
        *(Pointer(0x3000), Int(128), Int(64), Int(64), Float(-0.5), Int(64), Int(2048), Pointer(Scratch(0))),
    )


@pytest.mark.parametrize("problem", [Problem(65_535 * 64 + 1, 4, 1), Problem(1, 65_535 * 64 + 4, 1)])
def test_more_tiles_than_a_grid_has(problem: Problem) -> None:
    assert entries(planned("sgemm-hopper", problem))[0] == "transpose_a"


def test_sizes_are_those_of_the_source() -> None:
    for name, value in (
        ("TILE", small_output.TILE),
        ("BOX_K", small_output.BOX_K),
        ("GROUP_K", 16),
        ("EDGE", 8),
        ("DEPTH", 4),
    ):
        assert re.search(rf"\b{name} = {value}\b", SOURCE), name
    for entry, groups in ((WHOLE, 2), (SPLIT, 4)):
        assert f"Sizes<{groups}>::BLOCK, {entry.blocks_per_sm})\n    {entry.name}(" in SOURCE
        assert entry.threads == groups * (64 // 8) ** 2
        assert entry.step == groups * 16
        # Four stages of boxes of both operands, the sums of a tile, nine barriers; and no room for one block more.
        assert entry.shared_bytes >= 4 * 2 * 64 * entry.step * 4 + 64 * 64 * 4 + 9 * 8
        blocks = entry.blocks_per_sm
        assert blocks * (entry.shared_bytes + 1024) <= 228 * 1024 < (blocks + 1) * (entry.shared_bytes + 1024)
