"""What a gate is told of two sides: the advice to take more samples is for times that have some."""

from typing import Literal

import pytest
from builders import summary

from ncu_lab.analyze.comparison_changes import comparison_changes
from ncu_lab.model import RunMeta
from ncu_lab.model.comparison import ComparedSide, Comparison, Pair, TimeChange


@pytest.mark.parametrize(("source", "hint"), [("timings", "take more: --samples 20"), ("profiler", ""), (None, "")])
def test_more_samples_are_asked_for_where_there_are_some(
    source: Literal["timings", "profiler"] | None, hint: str
) -> None:
    time = TimeChange(1.0, 2.0, 1, 1, source, "inconclusive")
    launch = summary("2d")
    pair = Pair("matched", "stage", (launch,), (launch,), launch, launch, duration=time)
    side = ComparedSide((RunMeta("run", "complete", "2026-11-01T00:00:00+00:00", "profile", ("2d",)),))
    (change,) = comparison_changes(Comparison(side, side, (pair,)))
    assert change.hint == hint
