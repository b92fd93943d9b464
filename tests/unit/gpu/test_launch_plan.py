from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.errors import UsageError
from ncu_lab.gpu.kernel_launch import Float, Int, Pointer
from ncu_lab.gpu.launch_plan import LaunchPlan, grid_of
from ncu_lab.gpu.launch_plan import plan as plan_for
from ncu_lab.gpu.layout import Layout
from ncu_lab.model import Problem, Stage

ALIGNED = Layout(256, 512, 512)


def stage(**fields: object) -> Stage:
    values = {
        "id": "x",
        "title": "x",
        "change": "x",
        "bottleneck": "x",
        "dtype": "fp32",
        "file": "x.cu",
        "entry": "x",
        "block": (256, 1, 1),
        "tile": {"BM": 128, "BN": 64, "BK": 8},
        "multiples": (128, 64, 8),
        "align_bytes": 16,
        "has_guarded": True,
    }
    return Stage(**{**values, **fields})  # type: ignore[arg-type]  # fields vary by test


def plan(stage: Stage, problem: Problem, layout: Layout, fallback: Stage | None = None) -> LaunchPlan:
    return plan_for(stage, problem, layout, sm_count=132, capability=90, fallback=fallback)


def test_fast_path_and_its_grid() -> None:
    how = plan(stage(), Problem(384, 512, 256), ALIGNED)
    assert (how.variant, how.reason, how.workspace_bytes) == ("fast", "", 0)
    [kernel] = how.kernels
    assert (kernel.entry, kernel.grid, kernel.block, kernel.role) == ("x", (8, 3, 1), (256, 1, 1), "main")
    assert how.main is kernel


def test_arguments_are_in_the_kernels_order() -> None:
    [kernel] = plan(stage(), Problem(1, 2, 3, 0.5, -2.0), Layout(4, 5, 6, 0x10, 0x20, 0x30)).kernels
    head = (Int(1), Int(2), Int(3), Float(0.5))
    assert kernel.arguments == (
        *head,
        *(Pointer(0x10), Int(4), Pointer(0x20), Int(5)),
        *(Float(-2.0), Pointer(0x30), Int(6)),
    )


def test_a_library_reference_has_no_kernel_of_ours() -> None:
    assert LaunchPlan("library").main is None


def test_a_fallback_serves_with_its_own_entry_and_geometry() -> None:
    other = stage(id="y", entry="y", tile={"BM": 32, "BN": 32}, block=(32, 4, 1))
    how = plan(stage(has_guarded=False, fallback="y"), Problem(65, 64, 8), ALIGNED, other)
    assert (how.variant, how.reason) == ("guarded", "m = 65 is no multiple of 128")
    [kernel] = how.kernels
    assert (kernel.entry, kernel.grid, kernel.block) == ("y", (2, 3, 1), (32, 4, 1))
    fast = plan(stage(has_guarded=False, fallback="y"), Problem(128, 64, 8), ALIGNED, other)
    assert (fast.variant, fast.kernels[0].entry) == ("fast", "x")


def test_only_what_must_be_aligned_is_asked_to_be() -> None:
    odd_rows = Layout(257, 512, 512, a=4)
    assert plan(stage(aligned=("B", "C")), Problem(384, 512, 256), odd_rows).variant == "fast"
    assert plan(stage(aligned=("A",)), Problem(384, 512, 256), odd_rows).variant == "guarded"


def test_grid_where_x_walks_rows() -> None:
    assert grid_of(stage(grid=("m", "n")), Problem(129, 64, 1)) == (2, 1, 1)


@pytest.mark.parametrize(
    ("problem", "layout", "reason"),
    [
        (Problem(385, 512, 256), ALIGNED, "m = 385 is no multiple of 128"),
        (Problem(384, 500, 256), ALIGNED, "n = 500 is no multiple of 64"),
        (Problem(384, 512, 255), ALIGNED, "k = 255 is no multiple of 8"),
        (Problem(384, 512, 256), Layout(257, 512, 512), "the row of A is not aligned to 16 bytes"),
        (Problem(384, 512, 256), Layout(256, 513, 512), "the row of B is not aligned to 16 bytes"),
        (Problem(384, 512, 256), Layout(256, 512, 514), "the row of C is not aligned to 16 bytes"),
        (Problem(384, 512, 256), Layout(256, 512, 512, a=4), "the base of A is not aligned to 16 bytes"),
        (Problem(384, 512, 256), Layout(256, 512, 512, c=516), "the base of C is not aligned to 16 bytes"),
    ],
)
def test_what_does_not_fit_takes_the_guarded_path_and_says_why(problem: Problem, layout: Layout, reason: str) -> None:
    how = plan(stage(), problem, layout)
    assert (how.variant, how.reason) == ("guarded", reason)


def test_rows_of_half_precision_are_counted_in_its_bytes() -> None:
    half = stage(dtype="fp16")
    assert plan(half, Problem(128, 64, 8), Layout(8, 64, 64)).variant == "fast"
    assert plan(half, Problem(128, 64, 8), Layout(4, 64, 64)).variant == "guarded"


def test_a_stage_without_guarded_path() -> None:
    plain = stage(multiples=(1, 1, 1), has_guarded=False)
    assert plan(plain, Problem(1, 1, 1), Layout(1, 1, 1, a=4)).variant == "fast"
    with pytest.raises(UsageError, match="no guarded path"):
        plan(stage(has_guarded=False), Problem(1, 64, 8), ALIGNED)


def test_refuses_a_grid_beyond_the_limit() -> None:
    tall = stage(tile={"BM": 16, "BN": 16}, multiples=(1, 1, 1))
    assert plan(tall, Problem(16 * 65535, 16, 1), ALIGNED).kernels[0].grid == (1, 65535, 1)
    with pytest.raises(UsageError, match="65536 blocks in y, the limit is 65535"):
        plan(tall, Problem(16 * 65536, 16, 1), ALIGNED)


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_the_grid_covers_c_and_no_block_is_idle(m: int, n: int) -> None:
    x, y, z = grid_of(stage(), Problem(m, n, 1))
    assert (x - 1) * 64 < n <= x * 64
    assert (y - 1) * 128 < m <= y * 128
    assert z == 1
