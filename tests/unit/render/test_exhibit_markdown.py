"""Markdown for a comment: what it holds, and that it never grows beyond what a comment takes."""

import re

import pytest
from golden_runs import golden_run

from ncu_lab.model.exhibit import Exhibit, ExhibitedRun
from ncu_lab.render.exhibit_markdown import COMMENT_LIMIT, exhibit_markdown
from ncu_lab.store import Store
from ncu_lab.workflows.climbing import ladder_of
from ncu_lab.workflows.comparing import compare
from ncu_lab.workflows.inspecting import inspect

OTHER = "20261130T021207-ladder-91be004-91c4"


def test_a_ladder_has_its_table_and_what_bounds_each_stage():
    run = golden_run()
    ladder = ladder_of([run])
    text = exhibit_markdown(Exhibit((ExhibitedRun(run, ladder, ()),)))
    assert len(text) < COMMENT_LIMIT
    for row in (*ladder.rows, *ladder.references):
        assert re.search(rf"^\| {re.escape(row.stage.id)} \|", text, re.MULTILINE)
        assert f"- **{row.stage.id}**: Bound by" in text or f"- **{row.stage.id}**: " in text
    assert "Left out" not in text


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    a = golden_run()
    b = golden_run(run_id=OTHER, created="2026-11-30T02:12:07+00:00")
    for run in (a, b):
        Store(folder).write(run)
    return Exhibit((ExhibitedRun(a, None, ()), ExhibitedRun(b, None, ())), compare(a.meta.id, b.meta.id, folder))


def test_two_runs_are_told_by_how_they_compare(comparison):
    text = exhibit_markdown(comparison)
    for pair in comparison.comparison.pairs:
        assert re.search(rf"^#### .*{re.escape(pair.chosen_b.stage)}", text, re.MULTILINE)
    assert text.rstrip().endswith("0 added, 0 removed.")


@pytest.mark.parametrize("most", [1000, 1300, 1600])
def test_what_does_not_fit_is_left_out_whole_and_named(comparison, most):
    whole = exhibit_markdown(comparison)
    text = exhibit_markdown(comparison, most)
    assert len(text) <= most
    headings = re.findall(r"(?m)^#### .*$", text)
    everything = re.findall(r"(?m)^#### .*$", whole)
    assert headings == everything[: len(headings)]
    left = len(everything) - len(headings)
    assert f"Left out, as a comment holds {most} characters: {left} section" in text
    assert text.rstrip().endswith("0 added, 0 removed.")


def test_a_run_of_no_stage_has_its_launches():
    run = golden_run(
        [], extra=[{"stage": None, "kernel": "saxpy", "metrics": {"gpu__time_duration.sum": 5000.0}}], problem=None
    )
    text = exhibit_markdown(Exhibit((ExhibitedRun(run, None, (inspect(run, 0),), left=2),)))
    assert "saxpy" in text
    assert "2 shorter launches of this run are not told of." in text
