"""What one run tells of each kernel: medians with intervals, repeated launches as samples of one kernel."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from builders import STAGES, golden_counters
from golden_runs import golden_run
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.analyze.series import estimate, kernel_readings, median_interval
from ncu_lab.model import Estimate, KernelIdentity

NAN = float("nan")


def coverage(n: int, k: int) -> Fraction:
    """Probability that the median lies between the k-th smallest and the k-th largest of n."""
    return 1 - 2 * sum(Fraction(math.comb(n, i), 2**n) for i in range(k))


@pytest.mark.parametrize(
    ("n", "k"),
    [(8, 1), (10, 1), (12, 2), (20, 4), (100, 37)],  # as tabulated for the sign test at 0.01, two-sided
)
def test_the_interval_of_the_median(n: int, k: int) -> None:
    assert median_interval([float(one) for one in range(n, 0, -1)]) == (float(k), float(n + 1 - k))


@given(st.integers(0, 300))
def test_it_is_the_shortest_that_keeps_the_confidence(n: int) -> None:
    low, high = median_interval([float(one) for one in range(1, n + 1)])
    if low is None:
        assert n < 8
        return
    assert high == n + 1 - low
    assert coverage(n, int(low)) >= Fraction(99, 100)
    assert coverage(n, int(low) + 1) < Fraction(99, 100)


def test_what_is_no_number_counts_for_nothing() -> None:
    assert estimate([]) is None
    assert estimate([NAN, math.inf]) is None
    assert estimate([3.0, NAN, 1.0]) == Estimate(2.0, 2)


def test_a_profiled_and_timed_stage() -> None:
    samples = {"2d": [5.0, 4.0, 6.0, 5.0], "cublas-fp32": [2.0, 2.0, 2.0, 2.0]}
    found = kernel_readings(golden_run(["2d"], samples=samples), STAGES)
    kernel, reference = found
    golden = golden_counters()["2d"]
    assert (kernel.stage, kernel.dtype, kernel.kernel, kernel.grid) == (
        "2d", "fp32", golden["kernel"], tuple(golden["grid"]),
    )  # fmt: skip
    assert found[kernel]["duration_ns"] == Estimate(golden["metrics"]["gpu__time_duration.sum"])
    assert found[kernel]["time_ns"] == Estimate(5.0, 4)
    assert found[kernel]["pct_of_reference"].value == pytest.approx(100 * 2.0 / 5.0)
    assert reference == KernelIdentity("cublas-fp32", "fp32")  # timed, not profiled
    assert found[reference]["time_ns"].value == 2.0


def test_repeated_launches_are_samples_of_one_kernel() -> None:
    run = golden_run(["2d"])
    values = {"gpu__time_duration.sum": (7.0, 10.0, 9.0), "launch__registers_per_thread": (128.0, NAN, 128.0)}
    tables = []
    for number in range(3):
        tables.append(run.metrics.assign(launch=number))
        for name, three in values.items():
            tables[-1].loc[tables[-1]["metric"] == name, "value"] = three[number]
    launches = pd.concat([run.launches.assign(launch=number, execution=number) for number in range(3)])
    [found] = kernel_readings(replace(run, launches=launches, metrics=pd.concat(tables)), STAGES).values()
    assert found["duration_ns"] == Estimate(9.0, 3)
    assert found["registers_per_thread"] == Estimate(128.0, 2)


def test_times_that_are_nan_are_absent() -> None:
    found = kernel_readings(golden_run(["2d"], samples={"2d": [NAN, NAN], "other": [NAN]}), {})
    [(kernel, values)] = found.items()
    assert kernel.dtype is None
    assert "time_ns" not in values
    assert values["duration_ns"].value > 0


def test_many_samples_have_an_interval_too() -> None:
    low, high = median_interval([float(one) for one in range(1, 5001)])
    assert low is not None
    assert low + high == 5001
    # Of 5000 draws the standard deviation is 35.4; 2.576 of them hold 99%.
    assert low == pytest.approx(2500 - 2.576 * 35.36, abs=1.5)
