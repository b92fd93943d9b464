"""Every file of the corpus is read completely, or refused with the right reason; exports agree with their reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import outcomes

FOLDER = outcomes.corpus()
NOTES = outcomes.index(FOLDER) if FOLDER else {}

pytestmark = pytest.mark.skipif(FOLDER is None, reason="no corpus here: NCU_LAB_CORPUS may name its folder")


@pytest.fixture
def folder() -> Path:
    assert FOLDER is not None
    return FOLDER


def test_the_index_tells_of_every_file(folder: Path) -> None:
    assert set(NOTES) == {path.name for path in folder.iterdir()} - {"INDEX.tsv"}
    assert len(NOTES) > 40


@pytest.mark.parametrize("name", NOTES)
def test_file_is_read_or_refused_with_its_reason(name: str, folder: Path) -> None:
    found = outcomes.read(folder / name)
    reason = outcomes.expected_refusal(name)
    if reason is not None:
        assert found.outcome == "refused"
        assert reason in found.why
        return
    assert (found.outcome, found.parsed is not None) == ("read", True), found.why
    assert found.parsed is not None
    assert list(outcomes.differences(found.parsed, NOTES[name])) == []
    if name.endswith(".csv") and not found.parsed.launches.empty:
        assert outcomes.self_comparison(folder / name, found.parsed).wrong == []


def test_exports_agree_with_their_reports(folder: Path) -> None:
    for export, found in outcomes.pairs(folder):
        assert found.wrong == [], export
        assert found.compared >= 50, export
