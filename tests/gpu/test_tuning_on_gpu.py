"""A search of tiles, and CUTLASS's kernels, on a real GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.gpu.compile import default_arch
from ncu_lab.gpu.cutlass_build import lacking
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Problem
from ncu_lab.workflows.benching import time_stages
from ncu_lab.workflows.best_tiles import best_tiles
from ncu_lab.workflows.checking import check_stages
from ncu_lab.workflows.tuning import tune

pytestmark = pytest.mark.gpu

CUBE = Problem(1024, 1024, 1024)


def test_a_small_search_ends_with_a_tile_that_is_right_and_no_slower_than_the_default(tmp_path: Path) -> None:
    record = tune("autotuned", CUBE, tmp_path, budget=6).record
    winner = record.winner
    assert winner is not None
    tried = [one for one in record.candidates if one.outcome != "rejected"]
    assert {one.outcome for one in tried} <= {"best", "finalist", "outpaced"}  # none wrong, none crashed
    default = record.candidate(record.default)
    assert sorted(winner.samples_ns[-1])[16] <= sorted(default.samples_ns[-1])[16]
    with best_tiles(["autotuned"], CUBE, tmp_path) as choices:
        assert choices["autotuned"].source == "search"
        assert load_stages()["autotuned"].tile == winner.tile
        assert all(case.passed for case in check_stages(["autotuned"], CUBE, quick=True))


@pytest.mark.parametrize("id", ["cutlass-fp32", "cutlass-bf16"])
def test_cutlass_is_right_and_proven_by_name(id: str) -> None:
    if (why := lacking(load_stages()[id], default_arch())) is not None:
        pytest.skip(f"{id}: {why}")
    wrong = [f"{case.problem.label} {case.case}: {case.detail}" for case in check_stages([id], CUBE) if not case.passed]
    assert wrong == []
    timed = time_stages([id], CUBE, samples=6)
    assert timed.notices == ()
    assert timed.timings[id].time_ratio is not None  # beside cuBLAS
