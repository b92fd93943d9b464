"""Records of searches on disk: what no search can have come to is left out, whoever wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ncu_lab.model import Candidate, Problem, Rung, TuningRecord
from ncu_lab.store.tuning_files import new_tuning_file, read_tuning, write_tuning

FAST = Candidate("BM64", {"BM": 64}, "best", samples_ns=((1e6, 1.1e6), (1e6, 1e6)))
PLAIN = Candidate("BM128", {"BM": 128}, "outpaced", samples_ns=((2e6, 2e6),))
RECORD = TuningRecord(
    stage="autotuned",
    device="NVIDIA H200",
    problem=Problem(4096, 4096, 4096),
    shape_class="m4096-n4096-k4096",
    created="2026-11-30T08:15:00+00:00",
    key="0" * 32,
    default="BM128",
    candidates=(PLAIN, FAST),
    rungs=(Rung(("BM128", "BM64"), 2, 1), Rung(("BM64",), 2, 1)),
    best="BM64",
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = new_tuning_file(tmp_path, RECORD)
    write_tuning(made, RECORD)
    return made


def change(file: Path, *place: str | int, value: Any) -> None:
    """Set what lies at a place of a record."""
    document = json.loads(file.read_text())
    parent = document
    for step in place[:-1]:
        parent = parent[step]
    parent[place[-1]] = value
    file.write_text(json.dumps(document))


def test_a_record_comes_back_as_it_was(tmp_path: Path, file: Path) -> None:
    assert read_tuning(tmp_path) == ([(file, RECORD)], [])


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("candidates",), [], "default 'BM128' is none of its 0 candidates"),
        (("default",), "zz", "default 'zz' is none of its 2 candidates"),
        (("best",), "zz", "best 'zz' is no candidate that won"),
        (("best",), "BM128", "best 'BM128' is no candidate that won"),
        (("candidates", 1, "samples_ns", 0), [], "candidate BM64 has a rung without samples, or a sample that is no"),
        (("candidates", 1, "samples_ns", 0, 1), 0, "candidate BM64 has a rung without samples, or a sample that is no"),
        (("candidates", 1, "samples_ns", 0, 1), -1.0, "or a sample that is no time"),
        (("candidates", 1, "samples_ns", 0, 1), float("nan"), "or a sample that is no time"),
        (("candidates", 1, "samples_ns", 0, 1), "inf", "or a sample that is no time"),
        (("rungs", 1, "entrants"), ["BM32"], "rung 2 has 'BM32', which is no candidate that was timed"),
        (("candidates", 0, "samples_ns"), [], "rung 1 has 'BM128', which is no candidate that was timed"),
        (("problem", "m"), 0, "size m = 0 is too small"),
    ],
)
def test_what_no_search_can_have_come_to_is_passed_over(
    tmp_path: Path, file: Path, place: tuple[str | int, ...], value: Any, words: str
) -> None:
    change(file, *place, value=value)
    found, [notice] = read_tuning(tmp_path)
    assert found == []
    assert notice.message.startswith(f"{file} is no record of a search: ")
    assert words in notice.message
    assert notice.message.endswith("; what it found does not count")


def test_json_too_deep_to_be_read_is_passed_over(tmp_path: Path, file: Path) -> None:
    file.write_text("[" * 100_000)
    found, [notice] = read_tuning(tmp_path)
    assert found == []
    assert "is no JSON" in notice.message
