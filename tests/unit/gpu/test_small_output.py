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
from ncu_lab.gpu.small_output import Slices, slices
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
        # 256 tiles of 32 steps: 264 places hold one block a tile.
        (Problem(1024, 1024, 1024), Slices(1, 1, 32)),
        # 64 tiles of 16 steps: four blocks a tile, but 61 clusters of four at once would be too few: two of two.
        (Problem(512, 512, 512), Slices(2, 2, 4)),
        (Problem(64, 4096, 4096), Slices(2, 2, 32)),
        # 16 tiles of 8 steps: four slices of two; eight would have one.
        (Problem(256, 256, 256), Slices(4, 1, 2)),
        # One tile of 512 steps: 24 clusters of eight fit, 16 at most are taken: 128 slices of four.
        (Problem(64, 64, 16384), Slices(8, 16, 4)),
        # 1024 tiles: rounds, whole.
        (Problem(2048, 2048, 2048), Slices(1, 1, 64)),
        # 65 tiles, two clusters of two; 33 steps in four slices of 9, 9, 9 and 6.
        (Problem(65 * 64, 64, 1050), Slices(2, 2, 9)),
    ],
)
def test_slices(problem: Problem, expected: Slices) -> None:
    assert slices(problem, SMS) == expected


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(1, 20000), st.integers(1, 200))
def test_slices_cover_k_and_run_at_once(m: int, n: int, k: int, sm_count: int) -> None:
    shared_out = slices(Problem(m, n, k), sm_count)
    blocks, clusters = shared_out.blocks, shared_out.clusters
    tiles, steps = -(-m // 64) * -(-n // 64), -(-k // 32)
    assert blocks * clusters * shared_out.steps >= steps
    assert (clusters - 1) * blocks * shared_out.steps < steps  # no cluster has nothing to do
    assert blocks in (1, 2, 4, 8)
    assert blocks * clusters == 1 or tiles * blocks * clusters <= 2 * sm_count
    counters = re.search(r"MOST_COUNTERS = (\d+)", SOURCE)
    assert counters is not None
    assert clusters == 1 or tiles * blocks <= int(counters[1])


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
        ("splitk", Problem(64, 64, 16384), False),  # 16 clusters: a second kernel adds up sooner
        ("splitk", Problem(2048, 2048, 2048), False),  # 1024 tiles: four rounds
        ("splitk", Problem(65, 64, 64), False),  # the guarded cubin has no such kernel
        ("warptiled", Problem(512, 512, 512), False),
    ],
)
def test_it_takes_the_place_of_slower_kernels(id: str, problem: Problem, small: bool) -> None:
    assert (entries(planned(id, problem)) == ["sgemm_small"]) is small


def test_the_estimates_are_those_of_the_runs_they_are_fitted_to() -> None:
    # Microseconds at 1.98 GHz on an H200, from the tables of kernels/experiments/README.md and its results.
    stage = STAGES["sgemm-hopper"]
    for shape, ours, summit in (
        ((1024, 1024, 1024), 55.1, 63.0),
        ((64, 4096, 4096), 60.1, 102.0),
        ((512, 512, 512), 16.8, 46.7),
    ):
        problem = Problem(*shape)
        assert small_output.small_cycles(problem, SMS) / 1980 == pytest.approx(ours, rel=0.2)
        assert small_output.summit_cycles(stage, problem, SMS) / 1980 == pytest.approx(summit, rel=0.05)


@pytest.mark.parametrize("layout", [Layout(512, 512, 512, a=4), Layout(513, 512, 512)])
def test_the_summit_transposes_what_the_copy_engine_cannot_take(layout: Layout) -> None:
    how = planned("sgemm-hopper", Problem(512, 512, 512), layout)
    assert (how.variant, entries(how)) == ("fast", ["transpose_a", "sgemm_hopper"])


def test_other_gpus_keep_the_kernels_of_split_k() -> None:
    assert entries(planned("splitk", Problem(512, 512, 512), capability=80)) == ["sgemm_splitk", "reduce_slices"]
    assert entries(planned("splitk", Problem(512, 512, 512), capability=120)) == ["sgemm_splitk", "reduce_slices"]


def test_the_launch() -> None:
    how = planned("sgemm-hopper", Problem(500, 512, 511, 1.5, -0.5), Layout(516, 520, 524, 0x1000, 0x2000, 0x3000))
    [kernel] = how.kernels
    assert (kernel.grid, kernel.block, kernel.cluster, kernel.role) == ((256, 1, 1), (128, 1, 1), 2, "main")
    assert kernel.second  # of the cubin that is compiled for it
    assert how.workspace_bytes == 64 * 2 * 64 * 64 * 4
    assert kernel.arguments == (
        TensorMap("fp32", 0x1000, 511, 500, 516 * 4, (32, 64), 128),
        TensorMap("fp32", 0x2000, 512, 511, 520 * 4, (64, 32)),
        *(Pointer(0x3000), Int(500), Int(512), Int(511), Int(524), Float(1.5), Float(-0.5)),
        *(Int(4), Int(2), Pointer(Scratch(0))),
    )


def test_sizes_are_those_of_the_source() -> None:
    for name, value in (
        *(("TILE", small_output.TILE), ("STEP", small_output.STEP)),
        *(("EDGE", 8), ("GROUPS_K", 2), ("DEPTH", 4)),
    ):
        assert re.search(rf"\b{name} = {value}\b", SOURCE), name
    assert small_output.THREADS == 2 * (64 // 8) ** 2
    # Four stages of two boxes of 8 KiB, their barriers, and a word; and no room for a third block in 227 KiB.
    assert small_output.SHARED_BYTES >= 4 * 2 * 64 * 32 * 4 + 4 * 16 + 8
    assert 2 * (small_output.SHARED_BYTES + 1024) <= 228 * 1024 < 3 * (small_output.SHARED_BYTES + 1024)
