"""Grids, workspaces and tensor maps of planned launches; every figure is worked out by hand for an H200 of 132 SMs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.gpu import plans
from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer, Scratch, TensorMap
from ncu_lab.gpu.launch_plan import LaunchPlan, plan
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Problem

SMS = 132
SHARED_BYTES_PER_SM = 228 * 1024
STAGES = load_stages()
SUMMITS = ("sgemm-hopper", "wgmma", "wgmma-fp16")


def planned(id: str, problem: Problem, layout: Layout | None = None, capability: int = 90) -> LaunchPlan:
    stage = STAGES[id]
    dense = Layout(max(1, problem.k), problem.n, problem.n, 0x1000, 0x2000, 0x3000)
    fallback = None if stage.fallback is None else STAGES[stage.fallback]
    return plan(stage, problem, layout or dense, sm_count=SMS, capability=capability, fallback=fallback)


def clustered(id: str, problem: Problem, layout: Layout | None = None) -> tuple[KernelLaunch, ...]:
    """What the plan says where no other kernel takes its place."""
    dense = Layout(problem.k, problem.n, problem.n, 0x1000, 0x2000, 0x3000)
    return plans.clustered(STAGES[id], problem, layout or dense, SMS)[0]


def maps(kernel: KernelLaunch) -> list[TensorMap]:
    return [argument for argument in kernel.arguments if isinstance(argument, TensorMap)]


def test_fp32_at_4096_transposes_then_multiplies_and_splits_the_last_wave() -> None:
    how = planned("sgemm-hopper", Problem(4096, 4096, 4096))
    transpose, multiply = how.kernels
    assert (transpose.entry, transpose.role) == ("transpose_a", "auxiliary")
    assert (multiply.entry, multiply.role) == ("sgemm_hopper", "main")
    assert how.main is multiply
    # 32 x 128 pieces of 128 x 32; 8 blocks on each of 132 SMs at most.
    assert (transpose.grid, transpose.block) == ((1056, 1, 1), (256, 1, 1))
    # 16 x 32 tiles of 256 x 128 on 132 pairs of blocks: 3 whole rounds, 512 - 3 * 132 = 116 tiles are shared out.
    assert (multiply.grid, multiply.block, multiply.cluster) == ((264, 1, 1), (128, 1, 1), 2)
    assert multiply.early
    assert not transpose.early
    # transposed A 64 MiB, then 264 tiles of sums of 64 KiB, then 264 x 4 flags.
    at, partial, flags = Scratch(0), Scratch(64 * 2**20), Scratch(64 * 2**20 + 264 * 65536)
    assert how.workspace_bytes == flags.offset + 4352  # 4224 bytes, to the next multiple of 256
    size = Int(4096)
    assert multiply.arguments == (
        TensorMap("fp32", at, 4096, 4096, 16384, (128, 24)),
        TensorMap("fp32", 0x2000, 4096, 4096, 16384, (128, 12)),
        *(Pointer(0x3000), size, size, size, size, Float(1.0), Float(0.0), Int(116), Pointer(partial), Pointer(flags)),
    )
    assert transpose.arguments == (Pointer(0x1000), Pointer(at), size, size, size, size, Pointer(flags), Int(1056))


def test_fp32_of_an_odd_number_of_row_tiles_works_without_pairs() -> None:
    # 33 x 32 = 1056 tiles on 264 single blocks: four whole rounds, nothing is left.
    _, multiply = planned("sgemm-hopper", Problem(4097, 4096, 4096)).kernels
    assert (multiply.entry, multiply.grid, multiply.cluster) == ("sgemm_hopper_single", (264, 1, 1), 1)
    assert multiply.arguments[9] == Int(0)


def test_fp32_pads_the_transposed_rows_and_keeps_the_matrix_width() -> None:
    _, multiply = planned("sgemm-hopper", Problem(65, 8, 5)).kernels
    at, b = maps(multiply)
    assert (at.columns, at.rows, at.pitch_bytes) == (65, 5, 96 * 4)
    assert (b.columns, b.rows, b.pitch_bytes) == (8, 5, 32)


def test_fp32_of_more_tiles_than_a_list_holds_splits_nothing_and_nobody_waits() -> None:
    # 181 x 181 = 32761 tiles; 77 of them fit into a list of 80 that keeps 3 places for stretches.
    _, multiply = planned("sgemm-hopper", Problem(181 * 128, 181 * 128, 8)).kernels
    assert multiply.grid == (426, 1, 1)  # 32761 / 77 = 425.5
    assert multiply.arguments[9] == Int(0)


@pytest.mark.parametrize(
    ("problem", "grid"),
    [
        # 16 x 16 pairs of tiles on 66 clusters are 4 waves; 64 clusters need no more.
        (Problem(4096, 4096, 4096), 128),
        (Problem(8192, 8192, 8192), 128),  # 32 x 32 = 1024: 16 waves of 64
        (Problem(2048, 2048, 2048), 128),  # 8 x 8 = 64: one wave
        (Problem(512, 512, 512), 8),
        (Problem(1, 8, 8), 2),
        (Problem(16384, 16384, 64), 132),  # 64 x 64 = 4096: 63 waves of 65.02, so 66
    ],
)
def test_tensor_cores_use_as_few_clusters_as_need_no_more_waves(problem: Problem, grid: int) -> None:
    [multiply] = clustered("wgmma", problem)
    assert (multiply.grid, multiply.block, multiply.cluster) == ((grid, 1, 1), (384, 1, 1), 2)


def test_tensor_core_maps() -> None:
    layout = Layout(72, 520, 516, 0x1000, 0x2000, 0x3000)
    [multiply] = clustered("wgmma", Problem(300, 512, 64, 2.0, 0.5), layout)
    assert multiply.arguments == (
        TensorMap("bf16", 0x1000, 64, 300, 144, (64, 128), 128),
        TensorMap("bf16", 0x2000, 512, 64, 1040, (64, 64), 128),
        TensorMap("fp32", 0x3000, 512, 300, 2064, (32, 64), 128),
        *(Pointer(0x3000), Int(300), Int(512), Int(64), Int(516), Float(2.0), Float(0.5)),
    )
    assert maps(clustered("wgmma-fp16", Problem(300, 512, 64))[0])[0].dtype == "fp16"


@pytest.mark.parametrize(
    ("problem", "slices", "slice_k", "rows"),
    [
        # 264 blocks run at once. 8 x 8 tiles: four slices of 16 / 4 = 4 steps of 32.
        (Problem(512, 512, 512), 4, 128, 1),
        # One tile: 264 slices would fit, but each takes 4 of 512 steps; 128 of them, 8 by each of 16 threads.
        (Problem(64, 64, 16384), 128, 128, 16),
        # 64 tiles of 128 steps each: 264 / 64 = 4 slices of 32 steps.
        (Problem(64, 4096, 4096), 4, 1024, 1),
        # 9 x 9 = 81 tiles, 3 fit; 35 steps in slices of 12, 12 and 11. The guarded path is cut alike.
        (Problem(513, 513, 1100), 3, 384, 1),
        # 16 tiles of 9 slices of 4 steps: two threads add up 5 and 4.
        (Problem(256, 256, 1152), 9, 128, 2),
    ],
)
def test_split_k_fills_the_gpu_once(problem: Problem, slices: int, slice_k: int, rows: int) -> None:
    how = planned("splitk", problem, capability=80)
    multiply, add_up = how.kernels
    tiles_m, tiles_n = -(-problem.m // 64), -(-problem.n // 64)
    quads = tiles_m * tiles_n * 1024
    assert (multiply.grid, multiply.block, multiply.role) == ((tiles_n, tiles_m, slices), (256, 1, 1), "main")
    assert multiply.arguments[-2:] == (Int(slice_k), Pointer(Scratch(0)))
    assert (add_up.entry, add_up.role, add_up.early) == ("reduce_slices", "auxiliary", True)
    assert (add_up.grid, add_up.block) == ((quads * rows // 256, 1, 1), (256 // rows, rows, 1))
    assert add_up.arguments == (
        *(Int(problem.m), Int(problem.n), Float(0.0), Pointer(0x3000), Int(problem.n)),
        *(Int(slices), Int(tiles_n), Int(quads), Pointer(Scratch(0))),
    )
    assert how.workspace_bytes == slices * tiles_m * tiles_n * 64 * 64 * 4


@pytest.mark.parametrize("problem", [Problem(1024, 1024, 1024), Problem(64, 64, 128), Problem(65, 33, 0)])
def test_one_slice_needs_no_second_kernel(problem: Problem) -> None:
    # 16 x 16 tiles fill 264 places; 128 is one slice of four steps; and of nothing there are no slices.
    how = planned("splitk", problem, capability=80)
    [multiply] = how.kernels
    assert (multiply.grid[2], how.workspace_bytes) == (1, 0)


def test_the_guarded_path_of_a_plan_is_its_own() -> None:
    how = planned("splitk", Problem(65, 64, 512))
    assert (how.variant, how.reason) == ("guarded", "m = 65 is no multiple of 64")
    assert [kernel.entry for kernel in how.kernels] == ["sgemm_splitk", "reduce_slices"]


@given(st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 20000), st.integers(1, 200))
def test_slices_cover_k_and_none_is_empty(m: int, n: int, k: int, sm_count: int) -> None:
    stage = STAGES["splitk"]
    how = plan(stage, Problem(m, n, k), Layout(max(1, k), n, n), sm_count=sm_count, capability=80)
    multiply = how.kernels[0]
    tiles, slices = multiply.grid[0] * multiply.grid[1], multiply.grid[2]
    slice_k = multiply.arguments[-2]
    assert isinstance(slice_k, Int)
    assert slice_k.value % stage.tile["BK"] == 0
    assert slices * slice_k.value >= k
    assert (slices - 1) * slice_k.value < max(k, 1)
    assert slices == 1 or tiles * slices <= 2 * sm_count
    for kernel in how.kernels[1:]:
        assert kernel.grid[0] * kernel.block[0] >= tiles * 1024
        assert kernel.block[0] * kernel.block[1] == 256


@pytest.mark.parametrize(
    ("id", "problem", "layout", "reason"),
    [
        ("sgemm-hopper", Problem(8, 6, 8), None, "n = 6 is no multiple of 4"),
        ("sgemm-hopper", Problem(8, 8, 0), None, "k = 0 leaves nothing to multiply"),
        ("sgemm-hopper", Problem(8, 8, 8), Layout(8, 9, 8), "the row of B is not aligned to 16 bytes"),
        ("sgemm-hopper", Problem(8, 8, 8), Layout(8, 8, 8, c=4), "the base of C is not aligned to 16 bytes"),
        ("wgmma", Problem(8, 8, 12), None, "k = 12 is no multiple of 8"),
        ("wgmma", Problem(8, 8, 8), Layout(9, 8, 8), "the row of A is not aligned to 16 bytes"),
        ("wgmma-fp16", Problem(8, 8, 8), Layout(8, 8, 8, b=2), "the base of B is not aligned to 16 bytes"),
    ],
)
def test_what_the_copy_engine_cannot_take_falls_back(
    id: str, problem: Problem, layout: Layout | None, reason: str
) -> None:
    how = planned(id, problem, layout)
    assert (how.variant, how.reason, how.workspace_bytes) == ("guarded", reason, 0)
    assert [kernel.entry for kernel in how.kernels] == [STAGES[STAGES[id].fallback or ""].entry]


def test_a_misplaced_a_does_not_hinder_the_transpose() -> None:
    assert planned("sgemm-hopper", Problem(8, 8, 7), Layout(7, 8, 8, a=4)).variant == "fast"


@given(
    st.sampled_from(SUMMITS),
    st.integers(1, 40000),
    st.integers(1, 5000),
    st.integers(1, 5000),
    st.floats(-2, 2),
    st.data(),
)
def test_every_launch_keeps_the_rules_of_cuda(
    id: str, m: int, n: int, k: int, beta: float, data: st.DataObject
) -> None:
    stage = STAGES[id]
    n, k = n * stage.multiples[1], k * stage.multiples[2]
    how = planned(id, Problem(m, n, k, beta=beta))
    assert how.variant == "fast"
    helpers = [kernel.entry for kernel in how.kernels if kernel.role == "auxiliary"]
    assert set(helpers) <= set(stage.auxiliary)
    for kernel in how.kernels:
        blocks, threads = kernel.grid[0], kernel.block[0]
        assert 1 <= blocks <= 2**31 - 1
        assert blocks % kernel.cluster == 0
        assert threads <= 1024
        assert kernel.shared_bytes + 1024 <= SHARED_BYTES_PER_SM
        for tensor in maps(kernel):
            size = 4 if tensor.dtype == "fp32" else 2
            address = tensor.address.offset if isinstance(tensor.address, Scratch) else tensor.address
            assert address % 16 == tensor.pitch_bytes % 16 == 0
            assert tensor.columns * size <= tensor.pitch_bytes < 2**40
            assert max(tensor.box) <= 256
            assert tensor.box[0] * size % 16 == 0
            if tensor.swizzle_bytes:
                assert tensor.box[0] * size <= tensor.swizzle_bytes
