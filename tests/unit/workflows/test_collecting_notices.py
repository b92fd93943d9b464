"""What of ncu's warnings reaches the user."""

from __future__ import annotations

from ncu_lab.workflows.collecting import _worth_telling

HEADLINE = "Failed to import the following source files:"


def test_missing_toolkit_headers_are_no_news() -> None:
    assert _worth_telling([HEADLINE, "cuda/include/crt/mma.hpp", "cuda/include/cuda_pipeline_helpers.h"]) == []


def test_a_missing_source_of_ones_own_is_told_without_the_toolkits() -> None:
    warnings = [HEADLINE, "cuda/include/crt/mma.hpp", "src/mine.cu", "Something else happened"]
    assert _worth_telling(warnings) == [HEADLINE, "src/mine.cu", "Something else happened"]


def test_what_ncu_says_of_every_run_is_left_out() -> None:
    assert _worth_telling(["Note: Running with unmodified GPU clocks. If not", "Disk is full"]) == ["Disk is full"]
