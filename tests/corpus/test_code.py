"""Accesses and hot spots of every public report: no exception, sums that agree, and bounds within the duration."""

from __future__ import annotations

import io
import math
from pathlib import Path

import pytest
from corpus import outcomes

from ncu_lab.metrics.names import SAMPLES
from ncu_lab.model import Access, HotSpots, Stake
from ncu_lab.render.access import access_lines
from ncu_lab.render.source import CodeChoice, print_source
from ncu_lab.render.terminal import Terminal
from ncu_lab.workflows.climbing import view
from ncu_lab.workflows.locating import hot_spots
from ncu_lab.workflows.reading import read_file

FOLDER = outcomes.corpus()
NAMES = [path.name for path in sorted(FOLDER.iterdir())] if FOLDER else []
READABLE = [name for name in NAMES if name != "INDEX.tsv" and outcomes.expected_refusal(name) is None]

pytestmark = pytest.mark.skipif(FOLDER is None, reason="no corpus here: NCU_LAB_CORPUS may name its folder")


@pytest.mark.parametrize("name", READABLE)
def test_accesses_and_code_of_every_file(name: str) -> None:
    assert FOLDER is not None
    run = read_file(Path(FOLDER, name))
    seen = view(run)
    totals = run.metrics[run.metrics["metric"] == SAMPLES].set_index("launch")["value"]
    for launch, found in hot_spots(run, [summary.launch for summary in seen.summaries]).items():
        check_sums(found, totals.get(launch))
        for choice in (CodeChoice(), CodeChoice(sass=True, sort="excess", lines=5)):
            stream = io.StringIO()
            print_source(found, Terminal(stream, 80), choice)
            assert max(map(len, stream.getvalue().splitlines())) <= 80
    for summary in seen.summaries:
        accesses = seen.accesses[summary.launch]
        for access in accesses.accesses:
            check_access(access)
        for stake in accesses.stakes.values():
            check_stake(stake)
        for label, parts in access_lines(summary, accesses):
            text = "".join(part if isinstance(part, str) else part[0] for part in parts)
            assert len(text) <= 60 or "not collected" in text, label


def check_sums(found: HotSpots, total: float | None) -> None:
    if found.samples is None:
        assert found.missing
        return
    for spots in (found.lines, found.instructions):
        assert math.fsum(spot.samples or 0.0 for spot in spots) == found.samples
        assert math.fsum(sum(spot.stalls.values()) for spot in spots) == found.samples
    assert total is None or total == found.samples


def check_access(access: Access) -> None:
    known = (access.requests, access.amount, access.ideal, access.excess, access.excess_share)
    assert all(value is None or (value >= 0 and math.isfinite(value)) for value in known), access
    assert access.excess_share is None or access.excess_share <= 1, access
    assert access.ideal is not None or access.missing or access.kind == "tma", access
    if access.culprits:
        assert math.fsum(one.excess for one in access.culprits) == pytest.approx(access.excess)


def check_stake(stake: Stake) -> None:
    bound = stake.upper_bound_ns
    assert bound is not None or stake.missing, stake
    assert bound is None or stake.duration_ns is None or 0 <= bound <= stake.duration_ns
