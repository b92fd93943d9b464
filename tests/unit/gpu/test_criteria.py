"""The numeric judgement, with numpy on the CPU in the place of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ncu_lab.gpu.criteria import U, cases, errors, explain, limit
from ncu_lab.gpu.inputs import decode, encode, normal
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Dtype, Problem

SHAPES = [(64, 48, 1), (64, 48, 7), (64, 48, 129), (64, 48, 2048), (16, 16, 16384)]


def truth(m: int, n: int, k: int, dtype: Dtype) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    a, b = encode(normal(m, k, 1), dtype), encode(normal(k, n, 2), dtype)
    a64, b64 = decode(a), decode(b)
    return a, b, a64 @ b64, abs(a64) @ abs(b64)


def in_tf32(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Round to ten bits of mantissa, to nearest and ties away from zero, as ``cvt.rna.tf32`` does."""
    rounded: NDArray[np.uint32] = (values.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return rounded.view(np.float32)


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_fp32_arithmetic_passes_with_room(m: int, n: int, k: int) -> None:
    a, b, reference, scale = truth(m, n, k, "fp32")
    in_order = np.zeros((m, n), dtype=np.float32)
    for p in range(k):  # the plainest order of summation, as the naive kernel has it
        in_order += np.outer(a[:, p], b[p])
    found = errors(in_order, reference, scale, limit("fp32", k))
    assert found.passed
    assert found.first_bad is None
    assert found.max_rel_error <= limit("fp32", k) / 2


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_tf32_inputs_fail_the_fp32_limit(m: int, n: int, k: int) -> None:
    a, b, reference, scale = truth(m, n, k, "fp32")
    rounded = (in_tf32(a).astype(np.float64) @ in_tf32(b).astype(np.float64)).astype(np.float32)
    assert not errors(rounded, reference, scale, limit("fp32", k)).passed
    assert errors(rounded, reference, scale, limit("tf32", k)).passed


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_half_inputs_pass_with_fp32_sums_and_fail_with_other_inputs(m: int, n: int, k: int, dtype: Dtype) -> None:
    a, b, reference, scale = truth(m, n, k, dtype)
    good = (decode(a).astype(np.float32) @ decode(b).astype(np.float32)).astype(np.float32)
    assert errors(good, reference, scale, limit(dtype, k)).passed
    other = decode(encode(normal(m, k, 1), "bf16" if dtype == "fp16" else "fp16")) @ decode(b)
    assert not errors(other.astype(np.float32), reference, scale, limit(dtype, k)).passed


def test_fp16_sums_fail() -> None:
    a, b, reference, scale = truth(32, 32, 2048, "fp16")
    total = np.zeros((32, 32), dtype=np.float16)
    for p in range(2048):
        total = (total + np.outer(a[:, p], b[p]).astype(np.float16)).astype(np.float16)
    assert not errors(total.astype(np.float32), reference, scale, limit("fp16", 2048)).passed


@pytest.mark.parametrize("k", [7, 584, 4096])
def test_the_diagonal_of_a_square_grows_and_still_tells_tf32(k: int) -> None:
    a = normal(64, k, 1)
    reference = a.astype(np.float64) @ a.T.astype(np.float64)
    scale = abs(a).astype(np.float64) @ abs(a).T.astype(np.float64)
    in_order = np.zeros((64, 64), dtype=np.float32)
    for p in range(k):
        in_order += np.outer(a[:, p], a[:, p])
    assert errors(in_order, reference, scale, limit("fp32", k, "aat")).passed
    rounded = (in_tf32(a).astype(np.float64) @ in_tf32(a).T.astype(np.float64)).astype(np.float32)
    assert not errors(rounded, reference, scale, limit("fp32", k, "aat")).passed


def test_nan_fails_and_is_found() -> None:
    _, _, reference, scale = truth(8, 8, 8, "fp32")
    c = reference.astype(np.float32)
    assert errors(c, reference, scale, limit("fp32", 8)).passed
    c[3, 5] = np.nan
    found = errors(c, reference, scale, limit("fp32", 8))
    assert (found.passed, found.bad, found.first_bad) == (False, 1, (3, 5))
    assert np.isnan(found.max_rel_error)
    assert explain(found, c, reference) == "1 of 64 elements wrong; C[3, 5] is not written, or NaN"


def test_rows_off_by_one_fail() -> None:
    _, _, reference, scale = truth(16, 16, 32, "fp32")
    found = errors(np.roll(reference, 1, axis=0).astype(np.float32), reference, scale, limit("fp32", 32))
    assert found.bad > 200
    assert found.first_bad == (0, 0)


def test_where_nothing_is_summed_the_result_is_exact() -> None:
    zero = np.zeros((2, 2))
    assert errors(np.zeros((2, 2), dtype=np.float32), zero, zero, limit("fp32", 0)).passed
    assert errors(-np.zeros((2, 2), dtype=np.float32), zero, zero, limit("fp32", 0)).passed
    tiny = np.array([[0, 0], [0, 1e-30]], dtype=np.float32)
    assert errors(tiny, zero, zero, limit("fp32", 0)).first_bad == (1, 1)


def test_limits() -> None:
    assert limit("fp32", 0) == 3 * U
    assert limit("fp32", 1) == 4 * U
    assert limit("fp32", 100_000) == 32 * U
    assert limit("fp16", 1) == 8 * U
    assert limit("fp16", 1024) == pytest.approx(2 * U * (4 * 32 + 3))
    assert limit("tf32", 1) == pytest.approx(2**-9, rel=1e-3)


def test_quick_cases_are_the_problem_and_fourteen() -> None:
    for stage in load_stages().values():
        quick = cases(stage, Problem(2048, 2048, 2048), quick=True)
        assert len(quick) == 15, stage.id
        assert quick[0].problem == Problem(2048, 2048, 2048)


def test_all_cases_cover_what_a_kernel_may_meet() -> None:
    stage = load_stages()["2d"]
    every = cases(stage, Problem(512, 512, 512), quick=False, shapes=[Problem(5, 6, 7)])
    shapes = {(case.problem.m, case.problem.n, case.problem.k) for case in every}
    bm, bn, bk = stage.tile["BM"], stage.tile["BN"], stage.tile["BK"]
    assert {
        (1, 1, 1),
        (127, 131, 137),
        (bm + 1, bn + 1, bk + 1),
        (64, 96, 1),
        (35, 79, 19),
        (3, 3, 431),
        (30000, 64, 64),
        (1752, 4720, 584),
        (64, 64, 16384),
        (5, 6, 7),
    } <= shapes
    assert any(case.problem.k == 0 and case.problem.beta for case in every)
    assert any(case.problem.k == 0 and not case.problem.beta for case in every)
    assert any(case.problem.alpha == 0 for case in every)
    assert any(case.pad % 4 and not case.offset for case in every)
    assert any(case.offset == 1 for case in every)
    assert sum(case.repetitions == 20 for case in every) == 4


def test_repeating_is_of_the_problem_and_of_the_cases_meant_for_it() -> None:
    every = cases(load_stages()["2d"], Problem(512, 512, 512), quick=False, repeat=7)
    assert [case.name for case in every if case.repetitions == 7] == [
        "as asked",
        "bit-equal, whole tiles",
        "bit-equal, odd shape",
        "bit-equal, odd k",
        "bit-equal, many slices",
    ]
    assert {case.repetitions for case in every} == {1, 7}


def test_squares_of_tall_matrices_stay_modest() -> None:
    stage = load_stages()["smem-conflict"]
    every = cases(stage, Problem(512, 256, 128), quick=False)
    assert every[0].problem == Problem(512, 512, 128)
    assert all(case.problem.m == case.problem.n for case in every)
    assert max(case.problem.m for case in every) < 30000
