from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.gpu.arithmetic import evaluate, names

SIZES = {"BM": 128, "BN": 64, "BK": 8, "TM": 8}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(BM / TM) * BN", 16 * 64),
        ("4 * BK * (BM + BN)", 6144),
        ("BM % TM == 0 and BN % TM == 0", 1),
        ("BM % 3 == 0 or BN % 3 == 0", 0),
        ("not BM % 3", 0),
        ("32 <= BN < 64", 0),
        ("BM // 3 - 2", 40),
    ],
)
def test_integer_arithmetic(expression: str, value: int) -> None:
    assert evaluate(expression, SIZES) == value


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("BM / 3", "leaves a remainder"),
        ("BM // 0", "divides by 0"),
        ("BM % (TM - 8)", "divides by 0"),
        ("XY + 1", "XY is no size"),
        ("BM +", "no arithmetic"),
        ("BM ** 2", "Pow is no operation"),
        ("BM in BN", "In is no comparison"),
        ("1.5 * BM", "no integer arithmetic"),
        ("True", "no integer arithmetic"),
        ("__import__('os').getpid()", "no integer arithmetic"),
        ("[BM][0]", "no integer arithmetic"),
    ],
)
def test_all_else_is_refused(expression: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        evaluate(expression, SIZES)


def test_knows_which_sizes_are_named() -> None:
    assert names("(BM / TM) * 32 + BM") == {"BM", "TM"}


@given(st.integers(1, 512), st.integers(1, 64))
def test_a_division_is_exact_or_refused(whole: int, part: int) -> None:
    sizes = {"BM": whole, "TM": part}
    if whole % part:
        with pytest.raises(ValueError):
            evaluate("BM / TM", sizes)
    else:
        assert evaluate("(BM / TM) * TM == BM", sizes)
