from __future__ import annotations

from ncu_lab.gpu.timing import abba


def test_subjects_take_turns() -> None:
    assert abba(3) == [0, 1, 1, 0, 0, 1]
    order = abba(10)
    assert order.count(0) == order.count(1) == 10
