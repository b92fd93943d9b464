"""What diff says of neighbours in the recorded history."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import history_repo
import pytest
from recorded_history import NEIGHBOURS, SENTENCE, STEPS, STORE, run, run_of, told

from ncu_lab.metrics.names import SHARED_WAVEFRONTS
from ncu_lab.model import Attribution
from ncu_lab.model.comparison import Comparison
from ncu_lab.render.cause_words import change_sentence
from ncu_lab.render.change_words import pair_name
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.store import Store
from ncu_lab.workflows.comparing import compare
from ncu_lab.workflows.exporting import gather
from ncu_lab_dash.compare_data import CompareData
from ncu_lab_dash.compare_view import CompareView
from ncu_lab_dash.run_data import RunData

pytestmark = pytest.mark.git

WARP_STEPS = 128 * 128 * 8 * 128
"""Warps of all blocks of 16 x 16 at 2048, times steps of 16 along k."""


def between(commits: Mapping[str, str], a: str, b: str, stage: str = "gram") -> Comparison:
    return compare(f"run:{run_of(commits[a], stage)}", f"run:{run_of(commits[b], stage)}", STORE, stages=(stage,))


def test_the_runs_are_of_these_very_commits(commits: dict[str, str]) -> None:
    metas = Store(STORE).metas()[0]
    assert {one.git.commit for one in metas} == {commits[name] for name in history_repo.main_line() if name != "begin"}
    assert not any(one.git.dirty for one in metas)


@pytest.mark.parametrize(("a", "b"), list(pairwise(NEIGHBOURS)))
def test_every_verdict(commits: dict[str, str], a: str, b: str) -> None:
    (gram,) = between(commits, a, b).pairs
    assert gram.duration is not None
    assert gram.duration.verdict == STEPS.get(b, "same")
    assert gram.same_code == (b not in STEPS)
    if b not in STEPS:
        assert {one.verdict for one in gram.metrics if one.kind == "exact"} == {"same"}
        assert {one.verdict for one in gram.metrics} <= {"same", "inconclusive"}
    (product,) = between(commits, a, b, "product").pairs
    assert product.duration is not None
    assert (product.duration.verdict, product.same_code) == ("same", True)


def test_the_rename_is_seen_and_does_no_harm(commits: dict[str, str]) -> None:
    (pair,) = between(commits, "fixed", "renamed").pairs
    assert (pair.status, pair.matched_by, pair.confidence) == ("renamed", "stage", 0.95)
    assert [one.function for one in (*pair.launches_a, *pair.launches_b)] == ["gram", "times_transpose"]
    for a, b in (("padded", "merge"), ("renamed", "unpadded")):
        (pair,) = between(commits, a, b).pairs
        assert (pair.status, pair.confidence) == ("matched", 1.0)


def test_pages_and_exports_say_since_where_b_is_the_commit_after_a_as_diff_does(
    repository: Path, commits: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    store = tmp_path / "store"  # in no repository, so that the one of the current folder counts
    shutil.copytree(STORE, store)
    served = CompareData(RunData(store, lambda: "one state", lambda key: None))
    for a, b, words in (("renamed", "unpadded", "since fb5c188"), ("tile", "unpadded", "than at cffc76a")):
        references = [f"run:{run_of(commits[name], 'gram')}" for name in (a, b)]
        exported = gather(references, store, in_full=False).comparison
        for found in (exported, served.comparison(CompareView(a=references[0], b=(references[1],)))):
            assert found is not None
            gram = next(pair for pair in found.pairs if "gram" in pair_name(pair))
            assert words in change_sentence(found, gram)


def test_why_unpadded_is_slower(commits: dict[str, str]) -> None:
    (pair,) = between(commits, "renamed", "unpadded").pairs
    assert isinstance(pair.attribution, Attribution)
    parts = {part.factor: part.ns for part in pair.attribution.parts}
    change = pair.attribution.b_ns - pair.attribution.a_ns
    assert sum(parts.values()) + pair.attribution.residual_ns == pytest.approx(change)
    assert max(parts, key=lambda factor: parts[factor]) == "stall:mio_throttle"
    assert parts["stall:mio_throttle"] > 0.75 * change
    assert abs(pair.attribution.residual_ns) < 0.005 * change
    assert parts["instructions"] == pytest.approx(0.0, abs=0.001 * change)
    ideal, conflicts = pair.metric("shared_store_wavefronts_over_ideal"), pair.metric("shared_store_bank_conflicts")
    assert ideal is not None
    assert (ideal.a, ideal.b, ideal.verdict) == (1.5, 4.5, "worse")
    assert conflicts is not None
    assert conflicts.verdict == "worse"
    memory = pair.metric("shared_memory_per_block")
    assert memory is not None
    assert memory.delta == -64.0


def test_wavefronts_are_those_that_the_instructions_predict(commits: dict[str, str]) -> None:
    counted = []
    for name in ("renamed", "unpadded"):
        found = Store(STORE).read(run_of(commits[name]))
        launch = found.launches.set_index("stage").loc["gram", "launch"]
        own = found.metrics[found.metrics["launch"] == launch].set_index("metric")["value"]
        counted.append(own["l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"])
        by_instruction = found.instances[
            (found.instances["launch"] == launch) & (found.instances["metric"] == SHARED_WAVEFRONTS)
        ]["value"].sum()
        assert by_instruction == {"renamed": 27, "unpadded": 33}[name] * WARP_STEPS
    assert counted[1] / counted[0] == pytest.approx(33 / 27, rel=0.005)


def test_one_sentence_tells_what_happened_wherever_it_is_told(repository: Path) -> None:
    stage = ("--stage", "gram")
    bisected = ("bisect", "--good", "8bb91d8", "--bad", "main", "--stored-only")
    for arguments in (
        ("diff", "d65bf95", "fb5c188"),
        ("gate", "fb5c188", "--against", "d65bf95"),
        ("history",),
        bisected,
    ):
        lines = [plain_spaces(line) for line in run(repository, *arguments, *stage).stdout.splitlines()]
        assert [line.lstrip("✗▲ ") for line in lines].count(SENTENCE) == 1, arguments
    # Four commits apart nobody knows since when, and the other way about the same words are of the other commit.
    apart = plain_spaces(run(repository, "diff", "8bb91d8", "b053a09", *stage).stdout)
    assert "gram is 1.34× slower than at 8bb91d8, because of 18.1 % more instructions; p = 1e-5" in apart
    back = plain_spaces(run(repository, "diff", "fb5c188", "d65bf95", *stage).stdout)
    assert "gram is 1.18× faster than at fb5c188, because of 18.4 % fewer shared-memory wavefronts; p = 1e-5" in back
    (change,) = told(repository, "diff", "d65bf95", "fb5c188", *stage)["pairs"]
    assert plain_spaces(change["sentence"]) == SENTENCE
    assert (change["cause"]["factor"], change["cause"]["key"]) == ("stalls/warps", "shared_bytes")
    assert change["cause"]["b"] / change["cause"]["a"] == pytest.approx(33 / 27, rel=0.005)
    same = run(repository, "diff", "fb5c188", "b053a09", *stage).stdout
    assert "because of" not in same


def test_a_stage_that_did_not_build_was_not_removed(repository: Path, commits: dict[str, str]) -> None:
    """The store has a run of the other stage of that commit, and a failed one of this."""
    why = 'kernels/gram.cu:6: expected a ";"'
    done = run(repository, "diff", commits["tile"], commits["broken"], columns=200)
    assert done.returncode == 0, done.stderr
    assert f"0 added, 0 removed, gram: build failed at {commits['broken'][:7]}: {why}." in done.stdout
    document = told(repository, "diff", commits["tile"], commits["broken"])
    assert document["failed"] == [
        {
            "side": "b",
            "stage": "gram",
            "status": "build_failed",
            "commit": commits["broken"],
            "why": f"does not compile: {why}",
        }
    ]
    mended = run(repository, "diff", commits["broken"], commits["fixed"], columns=200)
    assert f"0 added, 0 removed, gram: build failed at {commits['broken'][:7]}: {why}." in mended.stdout


def test_a_diff_to_a_commit_says_which_of_its_runs_cannot_be_read(
    repository: Path, commits: dict[str, str], damaged: tuple[Path, Path]
) -> None:
    store, table = damaged
    older = Store(store).read_whole(table.parent.name)
    Store(store).write(replace(older, meta=replace(older.meta, id="20261129T000000-ladder-d65bf95-0001")))
    table.write_bytes(table.read_bytes()[:-30])
    about = f"run {table.parent.name} is corrupt"
    to_it = run(repository, "diff", commits["fixed"], commits["renamed"], "--store", str(store))
    assert to_it.returncode == 0, to_it.stderr
    assert about in to_it.stderr
    beside = run(repository, "diff", commits["fixed"], commits["unpadded"], "--store", str(store))
    assert (beside.returncode, about in beside.stderr) == (0, False)
