"""Verdicts of recorded launches: every one gets one, and docs/verdict.md tells how they compare."""

from __future__ import annotations

from collections import Counter

import pytest
import verdict_tables
from verdict_tables import BOUNDS, HERE, PAGE, judged, labelled, labels, renewed

from ncu_lab.analyze import verdict
from ncu_lab.metrics import METRICS
from ncu_lab.render.verdict import verdict_document, verdict_words


@pytest.mark.parametrize("where", HERE)
def test_every_launch_gets_a_verdict_that_can_be_said(where):
    launches = judged(where)
    assert len(launches) >= {"golden": 30, "examples": 47}[where]
    for one in launches:
        words = verdict_words(one.verdict)
        assert words.endswith("."), words
        assert verdict_document(one.verdict)["because"]
        assert {METRICS[missing.key].section for missing in one.verdict.missing} == {
            missing.subject for missing in one.verdict.missing
        }


def test_forty_launches_and_more_are_labelled_with_a_reason():
    known = labels()
    assert len(known) >= 40
    assert len({one.place for one in known}) == len(known)
    assert {one.label for one in known} <= set(BOUNDS)
    assert all(one.reason.endswith(".") for one in known)
    assert len(Counter(one.label for one in known)) >= 7


def test_labels_are_of_the_kernels_that_they_name():
    for label, launch in labelled(HERE):
        assert label.function == launch.summary.function


def test_what_the_ladder_teaches():
    """The steps of the ladder at 4096 on an H200, as its counters have them (docs/verdict.md)."""
    bounds = {one.summary.stage: one.verdict.bound for one in judged("examples") if one.file == "ladder 4096"}
    assert (bounds["naive"], bounds["smem"], bounds["2d"]) == ("memory", "shared", "shared")
    assert (bounds["warptiled"], bounds["cublas-bf16"]) == ("compute", "compute")
    assert (bounds["wmma"], bounds["wmma-tiled"], bounds["mma-sync"]) == ("memory", "memory", "compute")


def test_the_tables_are_up_to_date():
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page, ["golden and examples"]) == page, "run: PYTHONPATH=tests python -m verdict_tables --write"
    assert page.count("<!-- verdicts: ") == len(verdict_tables.TABLES) * len(verdict_tables.PLACES)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("near its peak", f"{verdict.NEAR_PEAK:g} %"),
        ("at its peak", f"{verdict.AT_PEAK:g} %"),
        ("near each other", f"{verdict.NEAR_EACH_OTHER:g} points"),
        ("most of L1", f"{verdict.MOST:.0%}".replace("%", " %")),
        ("lost SM time", f"{verdict.LOST:.0%}".replace("%", " %")),
        ("much lost SM time", f"{verdict.MUCH_LOST:.0%}".replace("%", " %")),
        ("short", f"{verdict.SHORT_NS / 1e3:g} µs"),
        ("few waves", f"{verdict.FEW_WAVES:g}"),
    ],
)
def test_the_page_has_the_thresholds_of_the_code(name, value):
    assert f"| {name} | {value} | " in PAGE.read_text(encoding="utf-8")
