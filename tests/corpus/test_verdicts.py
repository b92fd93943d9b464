"""Every launch of the corpus gets a verdict, and docs/verdict.md tells how they compare with people and with ncu."""

from __future__ import annotations

import pytest
from corpus import outcomes
from verdict_tables import CORPUS, PAGE, judged, labelled, renewed

from ncu_lab.metrics import METRICS
from ncu_lab.render.verdict import verdict_document, verdict_words

pytestmark = pytest.mark.skipif(outcomes.corpus() is None, reason="no corpus here: NCU_LAB_CORPUS may name its folder")


def test_every_launch_gets_a_verdict_that_can_be_said() -> None:
    launches = judged("corpus")
    assert len(launches) > 130
    for one in launches:
        assert verdict_words(one.verdict).endswith(".")
        document = verdict_document(one.verdict)
        assert document is not None
        assert document["because"]
        if one.verdict.bound == "unknown":
            assert {missing.subject for missing in one.verdict.missing} <= {
                metric.section for metric in METRICS.values()
            }
            assert one.verdict.missing


def test_labels_are_of_the_kernels_that_they_name() -> None:
    for label, launch in labelled(CORPUS):
        assert label.function == launch.summary.function


def test_the_tables_are_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert renewed(page, ["corpus"]) == page, "run: PYTHONPATH=tests python -m verdict_tables --write"
