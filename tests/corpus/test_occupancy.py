"""The calculator agrees with what public reports of compute capability 7.2 to 12.0 say of their launches."""

from __future__ import annotations

from collections import Counter

import pytest
from corpus import outcomes
from occupancy_agreement import SHARE, Agreement, compare_occupancy

FOLDER = outcomes.corpus()

pytestmark = pytest.mark.skipif(FOLDER is None, reason="no corpus here: NCU_LAB_CORPUS may name its folder")

OLD = (
    "iamcoleman+monte-carlo-pi__30405468__profile.ncu-rep",
    "skycs97+darknet__d8f152f2__profile.nsight-cuprof-report",
)
"""ncu of 2019 and 2020 counts with the most shared memory an SM can have, not with what it was configured to have."""


def agreements() -> dict[str, Agreement]:
    assert FOLDER is not None
    found = {}
    for path in sorted(FOLDER.iterdir()):
        parsed = outcomes.read(path).parsed if path.suffix != ".tsv" else None
        device = parsed.device if parsed else None
        if parsed is None or device is None or device.compute_capability is None or path.suffix == ".csv":
            continue  # exports scale and round the sizes, and hold no curves
        compared = compare_occupancy(
            device.compute_capability, parsed.metrics, parsed.instances, largest=path.name in OLD
        )
        if compared.launches:
            found[f"{path.name} {device.compute_capability}"] = compared
    return found


def test_every_report_agrees() -> None:
    found = agreements()
    assert {name: one.differing for name, one in found.items() if one.differing} == {}
    launches: Counter[str] = Counter()
    for name, one in found.items():
        launches[name.partition(" (")[2].rstrip(")")] += one.launches
        assert one.same[SHARE] == one.launches, name
    assert launches == {"7, 2": 7, "7, 5": 14, "8, 6": 27, "9, 0": 8, "10, 0": 1, "12, 0": 50}
    assert sum(sum(one.same.values()) for one in found.values()) > 50_000
