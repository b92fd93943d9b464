"""docs/expectations.md explains what the bundled run misses: nothing is left unexplained, and nothing is stale."""

import re
from pathlib import Path

import pytest

from ncu_lab.gpu.registry import load_stages
from ncu_lab.render.expectations import expectation_words
from ncu_lab.resources import data_dir
from ncu_lab.workflows.climbing import ladder

PAGE = Path(__file__).parents[2] / "docs" / "expectations.md"


@pytest.fixture(scope="module")
def rows():
    found = ladder(data_dir("examples"), size=4096)
    return (*found.rows, *found.references)


def section(title: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    return text.split(f"\n## {title}\n")[1].split("\n## ")[0]


def explained() -> dict[str, str]:
    """Heading -> explanation, of the section of what is missed."""
    parts = re.split(r"^### (.+)$", section("Missed, and why"), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (text.strip() for text in parts[1::2]), strict=True))


def test_every_missed_expectation_is_explained_under_its_own_words_and_no_other(rows):
    missed = [
        f"{row.stage.id}: {expectation_words(finding.expectation)}"
        for row in rows
        for finding in row.findings
        if finding.status == "missed"
    ]
    assert missed, "the published story differs on this chip"
    assert list(explained()) == missed  # in the ladder's order
    assert all(len(text) > 80 for text in explained().values())


def test_the_bundled_run_leaves_nothing_uncollected(rows):
    lacking = [(row.stage.id, one) for row in rows for one in row.findings if one.status == "not_collected"]
    # A stage that launches another kernel for a small C shows nothing of that at 4096.
    assert [(id, one) for id, one in lacking if one.expectation.kernel not in ("sgemm_small", "wgmma_small")] == []


def test_what_was_changed_later_is_of_an_expectation_that_is_there():
    known = {f"{stage.id}, {expectation_words(one)}" for stage in load_stages().values() for one in stage.expect}
    changed = re.findall(r"^- (.+?): ", section("Changed later"), flags=re.MULTILINE)
    assert set(changed) <= known
