from __future__ import annotations

import pytest

from ncu_lab.gpu.timing import abba, half_spread, summary
from ncu_lab.model import TimingSample


def sample(subject: str, mode: str, ns: float, order: int = 0) -> TimingSample:
    return TimingSample(0, 0, order, subject, mode, ns, None, None, None)  # type: ignore[arg-type]  # modes by word


def test_subjects_take_turns() -> None:
    assert abba(3) == [0, 1, 1, 0, 0, 1]
    order = abba(10)
    assert order.count(0) == order.count(1) == 10


def test_half_spread_is_half_the_interquartile_range() -> None:
    assert half_spread([1.0, 2.0, 3.0, 4.0, 5.0]) == 1.0
    assert half_spread([7.0]) == 0.0
    assert half_spread([10.0, 10.0, 10.0, 10.0, 1000.0]) == 0.0


def test_the_smaller_share_is_claimed() -> None:
    samples = [
        sample("x", "interleaved", 100.0),
        sample("library", "interleaved", 50.0),
        sample("x", "alone", 100.0),
        sample("library", "alone", 45.0),
    ]
    found = summary(samples, "x", "library")
    assert found["share_of_reference"] == pytest.approx(0.45)
    assert (found["median_ns"], found["n"]) == (100.0, 2)
    assert summary(samples, "library", None)["share_of_reference"] is None


def test_only_the_reference_samples_beside_a_stage_count() -> None:
    samples = [
        sample("first", "interleaved", 10.0, 0),
        sample("library", "interleaved", 1.0, 1),
        sample("x", "interleaved", 100.0, 2),
        sample("library", "interleaved", 50.0, 3),
        sample("last", "interleaved", 10.0, 4),
        sample("library", "interleaved", 1.0, 5),
    ]
    assert summary(samples, "x", "library")["share_of_reference"] == pytest.approx(0.5)
