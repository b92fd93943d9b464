"""The calculator agrees with Nsight Compute for every kernel of the golden reports and of the bundled runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from occupancy_agreement import ALLOCATED, CURVES, SHARE, Agreement, compare_occupancy

from ncu_lab.parse.files import read_any
from ncu_lab.resources import data_dir
from ncu_lab.store.stored_run import read_directory

DATA = Path(__file__).parents[2] / "data"
SCALARS = 7
"""Five limits, the share of warps, the allocated shared memory."""


def expect_all(found: Agreement, launches: int) -> None:
    assert found.differing == []
    assert found.launches == launches
    assert found.same[SHARE] == found.same[ALLOCATED] == launches
    assert sum(count for metric, count in found.same.items() if metric not in CURVES) == SCALARS * launches


@pytest.mark.parametrize(
    ("file", "launches"),
    [("golden/ladder-full", 12), ("golden/cupy-nvtx", 3), ("exports/nvtx", 3), ("exports/source", 4)],
)
def test_golden_reports(file: str, launches: int) -> None:
    parsed = read_any(DATA / f"{file}.ncu-rep.gz")
    found = compare_occupancy((9, 0), parsed.metrics, parsed.instances)
    expect_all(found, launches)
    # block sizes 1, 16, 32 .. 1024; registers 0 .. 256; barriers 0 .. 64; shared memory in steps of 512 to 48 KiB
    assert found.same["launch__occupancy_per_block_size"] == 65 * launches
    assert found.same["launch__occupancy_per_register_count"] == 257 * launches
    assert found.same["launch__occupancy_per_barrier_count"] == 65 * launches
    assert found.same["launch__occupancy_per_shared_mem_size"] >= 97 * launches


def test_the_targeted_golden_report() -> None:
    folder = os.environ.get("NCU_LAB_GOLDEN")
    path = Path(folder or DATA / "golden") / "ladder-targeted.ncu-rep.gz"
    if not path.is_file():
        pytest.skip("too large to keep here: NCU_LAB_GOLDEN may name its folder")
    parsed = read_any(path)
    expect_all(compare_occupancy((9, 0), parsed.metrics, parsed.instances), 15)


@pytest.mark.parametrize("folder", sorted(data_dir("examples").glob("2*")), ids=lambda path: path.name)
def test_bundled_runs(folder: Path) -> None:
    run = read_directory(folder)
    assert run.meta.device is not None
    found = compare_occupancy(run.meta.device.compute_capability or (0, 0), run.metrics, run.instances)
    expect_all(found, len(run.launches))


def test_a_range_has_the_mean_of_several_configurations() -> None:
    # 2048 B a block: 16 blocks in 32 KiB, 32 in 64 KiB; a range of launches in both says 24
    parsed = read_any(DATA / "exports" / "range.ncu-rep.gz")
    found = compare_occupancy((9, 0), parsed.metrics, parsed.instances)
    assert len(found.differing) == 2
    assert all("limit_shared_mem" in words for words in found.differing)
