"""Rooflines of public reports: whatever GPU and version of ncu, those that carry the counters have points and roofs."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import outcomes

from ncu_lab.analyze.roofline import LaunchRoofline
from ncu_lab.model import RunView
from ncu_lab.workflows.climbing import view
from ncu_lab.workflows.reading import read_file

FOLDER = outcomes.corpus()

pytestmark = pytest.mark.skipif(FOLDER is None, reason="no corpus here: NCU_LAB_CORPUS may name its folder")

# End of a name -> compute capability, levels with a point, FP32 FMAs a cycle of the whole GPU (SMs x lanes).
CARRIERS = {
    "adamw_coalsecing_shared.ncu-rep": ((8, 6), ["l1", "dram"], 38 * 128),  # RTX 3060 Ti, no L2 peak in the report
    "a62323b2__profile_output.ncu-rep": ((8, 6), ["l1", "l2", "dram"], 80 * 128),  # A10G, ncu 2023: L2 to L1
    "gemm__reps__naive.ncu-rep": ((7, 5), ["l1", "dram"], 22 * 64),  # GTX 1660 SUPER
}


def seen(end: str) -> RunView:
    assert FOLDER is not None
    (path,) = (path for path in FOLDER.iterdir() if path.name.endswith(end))
    return view(read_file(path))


@pytest.mark.parametrize("end", CARRIERS)
def test_reports_that_carry_the_counters_have_a_roofline(end: str) -> None:
    found = seen(end)
    capability, levels, fmas = CARRIERS[end]
    assert found.run.meta.device is not None
    assert found.run.meta.device.compute_capability == capability
    working = [one for one in found.summaries if one.value("flop_per_s")]
    assert working
    for one in working:
        points = found.points[one.launch]
        assert [point.level for point in points if point.level != "shared"] == levels
        assert all(0 < point.share_of_roof <= 1.01 for point in points), points
        peaks = {roof.level: roof.per_second for roof in found.roofs[one.launch]}
        clock = peaks["fp32"] / 2 / fmas
        assert 0.3e9 < clock < 2.2e9


def test_what_reports_do_not_tell_is_absent() -> None:
    assert FOLDER is not None
    for path in sorted(FOLDER.iterdir()):
        if outcomes.expected_refusal(path.name) is not None or path.name == "INDEX.tsv":
            continue
        found = view(read_file(Path(path)))
        for launch, points in found.points.items():
            roofs = {roof.level: roof.per_second for roof in found.roofs[launch]}
            assert LaunchRoofline(found.roofs[launch], points).family in (None, "fp32", "fp64", "tensor")
            for point in points:
                assert point.intensity > 0
                assert point.flop_per_s > 0
                assert {point.level, point.precision, point.bound} <= set(roofs)
                assert 0 < point.share_of_roof <= 1.01, (path.name, point)
