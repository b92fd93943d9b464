"""A stage's time and its share of the reference: which samples count, and which comparison is claimed."""

from __future__ import annotations

import bench_records
import pytest

from ncu_lab.analyze.timings import claim, half_spread, share_of_reference, timing, timing_samples, timings_table
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Problem, TimingSample


def sample(subject: str, mode: str, ns: float, order: int = 0) -> TimingSample:
    return TimingSample(0, 0, order, subject, mode, ns, None, None, None)  # type: ignore[arg-type]  # modes by word


def test_half_spread_is_half_the_interquartile_range() -> None:
    assert half_spread([1.0, 2.0, 3.0, 4.0, 5.0]) == 1.0
    assert half_spread([7.0, 8.0, 9.0]) is None
    assert half_spread([10.0, 10.0, 10.0, 10.0, 1000.0]) == 0.0


def test_the_smaller_ratio_is_claimed() -> None:
    samples = [
        sample("x", "interleaved", 100.0, 0),
        sample("library", "interleaved", 50.0, 1),
        sample("x", "alone", 100.0, 2),
        sample("library", "alone", 45.0, 3),
    ]
    found = timing(samples, "x", "library")
    assert found is not None
    assert found.time_ratio == pytest.approx(0.45)
    assert (found.median_ns, found.samples_ns) == (100.0, (100.0, 100.0))


def test_a_reference_is_timed_by_itself() -> None:
    samples = [
        sample("library", "interleaved", 90.0, 0),
        sample("library", "alone", 45.0, 1),
        sample("library", "alone", 47.0, 2),
    ]
    found = timing(samples, "library")
    assert found is not None
    assert (found.median_ns, found.samples_ns, found.time_ratio) == (46.0, (45.0, 47.0), None)
    beside = timing(samples[:1], "library")
    assert beside is not None
    assert beside.median_ns == 90.0


def test_only_the_reference_samples_beside_a_stage_count() -> None:
    samples = [
        sample("first", "interleaved", 10.0, 0),
        sample("library", "interleaved", 1.0, 1),
        sample("library", "interleaved", 50.0, 2),
        sample("x", "interleaved", 100.0, 3),
        sample("x", "interleaved", 100.0, 4),
        sample("library", "interleaved", 50.0, 5),
        sample("last", "interleaved", 10.0, 6),
        sample("library", "interleaved", 1.0, 7),
    ]
    found = timing(samples, "x", "library")
    assert found is not None
    assert found.time_ratio == pytest.approx(0.5)


def test_nothing_timed_is_nothing() -> None:
    assert timing([], "x") is None
    assert timing([sample("y", "alone", 1.0)], "x", "y") is None


def test_share_counts_the_work() -> None:
    stages = load_stages()
    problem = Problem(1000, 500, 64)
    assert share_of_reference(stages["2d"], problem, 0.5, stages) == 0.5
    # C = A·Aᵀ is 1000 x 1000 here: twice the work of the reference's 1000 x 500.
    assert share_of_reference(stages["smem-padded"], problem, 0.5, stages) == 1.0
    assert share_of_reference(stages["cublas-fp32"], problem, 0.5, stages) is None
    assert share_of_reference(stages["2d"], problem, None, stages) is None


def test_samples_survive_the_table() -> None:
    samples = [TimingSample(0, 1, 2, "x", "alone", 3.5, 1980.0, None, 40.0)]
    assert timing_samples(timings_table(samples)) == samples


def test_of_several_processes_the_lowest_ratio_is_claimed_with_its_own_samples() -> None:
    samples = bench_records.taken({"x": (100.0, 110.0, 90.0), "library": (99.0, 99.0, 99.0)}, "library")
    found = timing(samples, "x", "library")
    assert found is not None
    assert found.time_ratio == pytest.approx(0.9)
    assert found.median_ns == pytest.approx(110.0)
    assert len(found.samples_ns) == 20
    library = timing(samples, "library")
    assert library is not None
    assert len(library.samples_ns) == 30  # a reference is compared with nothing: all its samples count


def test_the_claim_has_an_interval_and_tells_where_it_comes_from() -> None:
    samples = bench_records.taken({"x": (100.0, 110.0), "library": (99.0, 99.0)}, "library")
    claimed = claim(samples, "x", "library")
    assert claimed is not None
    assert claimed.process == 1
    assert claimed.each == pytest.approx((0.99, 0.9))
    assert claimed.low is not None
    assert claimed.high is not None
    # Both sides lie evenly within 0.45 % of their middle: the interval cannot be wider than both together.
    assert 0.9 * 0.991 < claimed.low < 0.9 < claimed.high < 0.9 * 1.0091
    wider = claim(samples, "x", "library", alpha=0.001)
    assert wider is not None
    assert wider.low is not None
    assert wider.low < claimed.low
    assert claim(samples, "library", None) is None
    assert claim(samples, "y", "library") is None


def test_too_few_samples_have_no_interval() -> None:
    claimed = claim(bench_records.taken({"x": (100.0,), "library": (50.0,)}, "library", n=2), "x", "library")
    assert claimed is not None
    assert claimed.time_ratio == pytest.approx(0.5)
    assert (claimed.low, claimed.high) == (None, None)
