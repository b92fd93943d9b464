from __future__ import annotations

import numpy as np

from ncu_lab.gpu.inputs import CHUNK, decode, encode, normal, to_bf16


def test_normal_depends_on_seed_and_shape_alone() -> None:
    a = normal(64, 32, 7)
    assert a.shape == (64, 32)
    assert a.dtype == np.float32
    assert (a == normal(64, 32, 7)).all()
    assert not (a == normal(64, 32, 8)).any()
    assert abs(float(a.mean())) < 0.1
    assert abs(float(a.std()) - 1) < 0.1


def test_chunks_differ_and_do_not_depend_on_cores() -> None:
    rows = CHUNK // 1024 + 1
    a = normal(rows, 1024, 7)
    assert not (a[0] == a[-1]).any()
    assert (a == normal(rows, 1024, 7)).all()


def test_nothing_for_k_of_zero() -> None:
    assert normal(3, 0, 1).shape == (3, 0)
    assert decode(normal(3, 0, 1)).shape == (3, 0)


def test_bf16_rounds_to_nearest_even() -> None:
    # bf16 has 7 bits of mantissa: neighbours of 1 are 1 + 2^-7.
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -2.5, np.nan, np.inf], dtype=np.float32)
    expected = np.array([1.0, 1.0, 1 + 2**-6, 1 + 2**-7, -2.5, np.nan, np.inf])
    np.testing.assert_array_equal(decode(to_bf16(values)), expected)


def test_encoded_types() -> None:
    a = normal(4, 4, 1)
    assert encode(a, "fp32") is a
    assert encode(a, "tf32") is a
    assert encode(a, "fp16").dtype == np.float16
    assert encode(a, "bf16").dtype == np.uint16
    np.testing.assert_array_equal(decode(encode(a, "fp16")), a.astype(np.float16).astype(np.float64))
