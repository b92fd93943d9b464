"""What diff, history and bisect say of the demonstration history, recorded on an H200 commit by commit."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import history_repo
import pytest
from lab_command import Done, ncu_lab

from ncu_lab.metrics.names import SHARED_WAVEFRONTS
from ncu_lab.model import Attribution
from ncu_lab.model.comparison import Comparison
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.store import Store
from ncu_lab.store.index import is_kept
from ncu_lab.workflows.comparing import compare
from ncu_lab.workflows.indexing import series

pytestmark = pytest.mark.git

RECORDED = Path(__file__).parents[1] / "data" / "history"
STORE = RECORDED / "commits"
NEIGHBOURS = ["conflict", "padded", "merge", "tile", "fixed", "renamed", "unpadded", "comment"]
"""Commits of the main line that build, in order."""
STEPS = {"padded": "faster", "tile": "slower", "unpadded": "slower"}
SENTENCE = "gram is 1.18× slower since fb5c188, because of 22.5 % more shared-memory wavefronts; p = 1e-5"
WARP_STEPS = 128 * 128 * 8 * 128
"""Warps of all blocks of 16 x 16 at 2048, times steps of 16 along k."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    folder = tmp_path_factory.mktemp("gram")
    commits = history_repo.make(folder)
    (folder / ".git" / "info" / "exclude").write_text("tmp/\n")
    return folder, commits


@pytest.fixture
def repository(made: tuple[Path, dict[str, str]]) -> Path:
    return made[0]


@pytest.fixture
def commits(made: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return made[1]


def run(folder: Path, *arguments: str, columns: int = 100) -> Done:
    return ncu_lab(folder, *arguments, NCU_LAB_STORE=str(STORE), COLUMNS=str(columns))


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    done = run(folder, *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def run_of(commit: str, stage: str = "gram") -> str:
    metas = Store(STORE).metas()[0]
    return next(
        one.id for one in metas if one.git.commit == commit and stage in one.stages and one.status == "complete"
    )


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


def test_history_changes_where_the_kernel_did_and_nowhere_else(repository: Path, commits: dict[str, str]) -> None:
    document = told(repository, "history", "--stage", "gram", "--stage", "product")
    assert (document["schema"], document["key"], document["unit"], document["order"]) == (1, "time_ns", "ns", "commits")
    gram = [one for one in document["points"] if one["stage"] == "gram"]
    assert [one["commit"] for one in gram] == [commits[name] for name in NEIGHBOURS]
    assert all(one["low"] <= one["value"] <= one["high"] and one["n"] == 10 for one in gram)
    assert sum(one["stage"] == "product" for one in document["points"]) == 9
    assert [(one["commit"], one["verdict"]) for one in document["changes"]] == [
        (commits[name], verdict) for name, verdict in STEPS.items()
    ]
    assert {one["stage"] for one in document["changes"]} == {"gram"}
    assert (document["breaks"], document["not_profiled"], document["warnings"]) == ([], [], [])
    (gap,) = document["gaps"]
    assert (gap["commit"], gap["status"], gap["stage"]) == (commits["broken"], "build_failed", "gram")
    assert gap["error"] == 'stage gram does not compile: kernels/gram.cu:6: expected a ";"'


def test_a_change_has_the_p_that_diff_prints(repository: Path) -> None:
    for change in told(repository, "history", "--stage", "gram")["changes"]:
        (pair,) = told(repository, "diff", f"run:{change['run_a']}", f"run:{change['run_b']}", "--stage", "gram")[
            "pairs"
        ]
        same = ("p", "low_pct", "high_pct", "verdict")
        assert {key: change[key] for key in same} == {key: pair["duration"][key] for key in same}


@pytest.mark.parametrize(
    ("key", "steps"),
    [
        ("duration_ns", ["padded", "tile", "unpadded"]),
        ("shared_store_bank_conflicts", ["padded", "tile", "unpadded"]),
        ("shared_store_wavefronts_over_ideal", ["padded", "tile", "unpadded"]),
        ("shared_bytes", ["padded", "tile", "unpadded"]),
        ("instructions_issued", ["tile"]),
        ("registers_per_thread", []),
    ],
)
def test_counters_change_where_they_must(repository: Path, commits: dict[str, str], key: str, steps: list[str]) -> None:
    document = told(repository, "history", "--metric", key)
    assert [(one["stage"], one["commit"]) for one in document["changes"]] == [("gram", commits[name]) for name in steps]


@pytest.mark.parametrize("key", ["time_ns", "shared_store_bank_conflicts", "shared_bytes"])
def test_bisect_finds_unpadded(repository: Path, commits: dict[str, str], key: str) -> None:
    arguments = ("--stage", "gram", "--metric", key, "--stored-only")
    document = told(repository, "bisect", "--good", commits["padded"], "--bad", "main", *arguments)
    assert document["commit"] == commits["unpadded"]
    assert document["before"]["commit"] == commits["renamed"]
    assert document["change"]["verdict"] in ("slower", "worse")
    assert 0.5 < document["share_of_whole"] < 0.8
    assert len(document["probes"]) <= 3


def test_bisect_takes_the_only_stage_that_differs(repository: Path, commits: dict[str, str], tmp_path: Path) -> None:
    search = (
        "bisect",
        "--good",
        "8bb91d8",
        "--bad",
        "main",
        "--metric",
        "shared_store_bank_conflicts",
        "--stored-only",
    )
    found = told(repository, *search)
    assert (found["stage"], found["commit"]) == ("gram", commits["unpadded"])
    step = run(repository, *search, "--step")
    assert step.returncode == 1, step.stderr  # HEAD is main, which is bad
    none = run(repository, *search, "--store", str(tmp_path))
    assert none.returncode == 2
    assert "which stage is meant? No run of 8bb91d8 and main" in none.stderr


def test_bisect_between_ends_that_do_not_differ_names_the_stages_looked_at(
    repository: Path, commits: dict[str, str]
) -> None:
    done = run(repository, "bisect", "--good", commits["fixed"], "--bad", commits["renamed"], "--stored-only")
    assert done.returncode == 3
    assert "in no stage of which both have runs (gram, product)" in plain_spaces(done.stderr)


def test_bisect_names_the_stages_that_may_be_meant(repository: Path, commits: dict[str, str], tmp_path: Path) -> None:
    for name, factor in (("padded", 1.0), ("comment", 2.0)):
        one = Store(STORE).read_whole(run_of(commits[name]))
        timings = one.timings.copy()
        timings.loc[timings["subject"] == "product", "ns"] *= factor  # beside gram, which did change
        Store(tmp_path).write(replace(one, timings=timings))
    search = ("bisect", "--good", commits["padded"], "--bad", "main", "--stored-only", "--store", str(tmp_path))
    done = run(repository, *search, columns=200)
    assert done.returncode == 2, done.stdout
    assert "in 2 stages: gram, product" in done.stderr
    assert "--stage gram" in done.stderr


def test_bisect_as_a_user_sees_it(repository: Path, commits: dict[str, str]) -> None:
    done = run(repository, "bisect", "--good", commits["padded"], "--stage", "gram", "--stored-only", columns=80)
    lines = done.stdout.splitlines()
    assert lines[0] == 'fb5c188 "Save 64 bytes of shared memory a block" moved time of gram'
    assert " ".join(lines[1:3]) == SENTENCE
    assert re.fullmatch(r"▲ \+18\.5 % ± 0\.\d   2\.17 ms → 2\.57 ms   p = 1e-5", lines[3])
    assert " ".join(lines[4:6]).startswith(
        "That is 58 % of the change, ▲ +34.3 % ± 0.3 from 8bb91d8 to b053a09: ncu-lab"
    )
    assert lines[-1] == "Next: ncu-lab diff d65bf95 fb5c188 --stage gram"
    assert max(map(len, lines)) <= 80
    diff = run(repository, *lines[-1].split()[2:])
    assert diff.returncode == 0
    assert "▲ 1.18× slower   2.17 → 2.57 ms" in diff.stdout


def test_bisect_skips_what_does_not_build(repository: Path, commits: dict[str, str], tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    for one in STORE.iterdir():
        if one.name != run_of(commits["tile"]):
            (store / one.name).symlink_to(one)
    search = ("bisect", "--good", commits["merge"], "--bad", commits["fixed"], "--stage", "gram", "--stored-only")
    needed = run(repository, *search, "--store", str(store))
    assert needed.returncode == 3
    assert 'cffc76a "Tiles of 16 x 16" is needed' in needed.stderr
    assert f"ncu-lab profile --rev cffc76a --stage gram --size 2048 --store {store}" in needed.stderr
    (store / "made").symlink_to(STORE / run_of(commits["tile"]))
    (store / "made").rename(store / run_of(commits["tile"]))
    found = told(repository, *search, "--store", str(store))
    assert found["commit"] == commits["tile"]
    later = told(
        repository, "bisect", "--good", commits["padded"], "--bad", commits["fixed"], "--stage", "gram", "--stored-only"
    )
    assert later["commit"] == commits["tile"]
    assert "broken" not in later


def test_it_is_a_command_of_git_bisect(made: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    whole, commits = made
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(whole), str(clone)], check=True)
    codes = {}
    for name in ("padded", "tile", "broken", "unpadded"):
        subprocess.run(["git", "checkout", "-q", commits[name]], cwd=clone, check=True)
        done = run(
            clone,
            "bisect",
            "--step",
            "--good",
            commits["padded"],
            "--bad",
            "origin/main",
            "--stage",
            "gram",
            "--stored-only",
        )
        codes[name] = done.returncode
    assert codes == {"padded": 0, "tile": 0, "broken": 125, "unpadded": 1}
    done = run(clone, "bisect", "--step", "--good", "nowhere", "--stage", "gram", "--stored-only")
    assert done.returncode == 131
    assert 'git knows no revision "nowhere"' in done.stderr


def test_an_error_stops_git_bisect_and_is_no_bad_commit(made: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    whole, commits = made
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(whole), str(clone)], check=True)
    step = ("bisect", "--good", commits["padded"], "--stage", "gram")
    for wrong in (("--step", "--stored-olny"), ("--step", "--samples", "0"), ("--step", "--metric", "tme_ns")):
        assert run(clone, *step, *wrong).returncode == 130, wrong
    assert run(clone, "bisect", "--step").returncode == 130
    assert run(clone, *step, "--stpe").returncode == 2
    subprocess.run(["git", "bisect", "start", "-q", "HEAD", commits["padded"]], cwd=clone, check=True)
    assert run(clone, *step, "--stpe").returncode == 130
    assert run(clone, "history", "--stpe").returncode == 2


def test_history_as_a_user_sees_it(repository: Path) -> None:
    done = run(repository, "history", "--stage", "gram", columns=80)
    lines = done.stdout.splitlines()
    assert lines[0] == "gram · 2048³ · NVIDIA H200 · time"
    assert lines[1].split() == ["commit", "subject", "time", "from", "0", "change"]
    assert [line[:7] for line in lines[2:11]] == [
        "d600eba", "8bb91d8", "95a54b1", "cffc76a", "8ab08b8", "8688f56", "d65bf95", "fb5c188", "b053a09"
    ]  # fmt: skip
    assert lines[6].endswith("✗ build failed")
    assert lines[9].endswith("▲ +18.5 % ± 0.2")
    assert lines[-1] == "Next: ncu-lab diff d65bf95 fb5c188 --stage gram"
    assert max(map(len, lines)) <= 80
    markdown = run(repository, "history", "--stage", "gram", "--format", "markdown").stdout
    assert f"- ▲ {SENTENCE}" in plain_spaces(markdown)
    rows = list(csv.DictReader(io.StringIO(run(repository, "history", "--stage", "gram", "--format", "csv").stdout)))
    assert [row["status"] for row in rows].count("build_failed") == 1
    assert [row["verdict"] for row in rows if row["verdict"]] == ["faster", "slower", "slower"]
    assert rows[4]["value"] == ""


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


@pytest.fixture
def damaged(tmp_path: Path, commits: dict[str, str]) -> tuple[Path, Path]:
    """A store whose index knows all runs, and a table of the run of "renamed" that is about to be damaged."""
    store = tmp_path / "store"
    shutil.copytree(STORE, store)
    series(store, "time_ns")
    assert is_kept(store)
    return store, store / run_of(commits["renamed"]) / "metrics.parquet"


@pytest.mark.parametrize("how", ["cut", "overwritten"])
def test_a_damaged_run_is_a_named_gap(
    repository: Path, commits: dict[str, str], damaged: tuple[Path, Path], how: str
) -> None:
    store, table = damaged
    whole = table.read_bytes()
    table.write_bytes(whole[:-30] if how == "cut" else whole[:5000] + bytes([whole[5000] ^ 1]) + whole[5001:])
    search = ("history", "--stage", "gram", "--store", str(store))
    done = run(repository, *search, columns=200)
    assert done.returncode == 0, done.stderr
    assert f"run {table.parent.name} is corrupt: metrics.parquet" in done.stderr
    short = commits["renamed"][:7]
    what = "metrics.parquet is cut or overwritten" if how == "cut" else "metrics.parquet does not match its checksum"
    assert f"– {short} run damaged: {what}" in plain_spaces(done.stdout)
    document = told(repository, *search)
    assert [(one["commit"], one["status"]) for one in document["gaps"]] == [
        (commits["broken"], "build_failed"),
        (commits["renamed"], "damaged"),
    ]
    assert document["not_profiled"] == []
    changed = [one["commit"] for one in document["changes"]]
    assert changed == [commits[name] for name in STEPS]  # across the gap as well


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


def test_without_git_runs_stand_in_time(tmp_path: Path) -> None:
    document = told(tmp_path, "history", "--stage", "gram")
    assert document["order"] == "time"
    assert [one["verdict"] for one in document["changes"]] == ["faster", "slower", "slower"]
    assert len(document["gaps"]) == 1
    done = run(tmp_path, "history", "--rev", "main")
    assert done.returncode == 3
    assert "no git repository" in done.stderr
    assert run(tmp_path, "bisect", "--good", "a", "--stage", "gram").returncode == 3


def test_a_range_and_a_shallow_clone(made: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    whole, commits = made
    part = told(whole, "history", "--stage", "gram", "--rev", f"{commits['renamed']}..main")
    assert [one["commit"] for one in part["points"]] == [commits["unpadded"], commits["comment"]]
    subprocess.run(["git", "clone", "-q", "--depth", "3", f"file://{whole}", str(tmp_path / "part")], check=True)
    done = run(tmp_path / "part", "history", "--stage", "gram", "--format", "json")
    document = json.loads(done.stdout)
    assert [one["commit"] for one in document["changes"]] == [commits["unpadded"]]
    assert "5 runs are of no commit on the line that ends in HEAD, and left out. This clone is shallow" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["history", "--rev", "nowhere"], 3, 'git knows no revision "nowhere"', "git log"),
        (["history", "--metric", "shared_store_bank_conflict"], 2, "there is no metric", "mean shared_store_bank_c"),
        (["history", "--stage", "grem"], 3, "no run in", "Did you mean gram? Make some: ncu-lab profile"),
        (["history", "--rev", "begin"], 3, "has no run of a commit of begin", "ncu-lab profile --rev begin"),
        (["bisect", "--good", "begin", "--stage", "gram", "--stored-only"], 3, 'b142d79 "Begin" is needed', "--rev b"),
        (["bisect", "--good", "main", "--bad", "begin", "--stage", "gram", "--stored-only"], 3, "is needed", ""),
        (["bisect", "--good", "main", "--stage", "gram", "--stored-only"], 3, "does not differ", "ncu-lab diff"),
        (["bisect", "--good", "main~2", "--metric", "times", "--stage", "gram"], 2, "there is no metric", "time_ns"),
        (["bisect", "--good", "main~2", "--metric", "pct_of_reference", "--stage", "gram"], 2, "moves with", "time_ns"),
    ],
)  # fmt: skip
def test_bad_input_is_named(repository: Path, arguments: list[str], code: int, message: str, hint: str) -> None:
    done = run(repository, *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_an_empty_store_says_how_to_make_a_run(repository: Path, tmp_path: Path) -> None:
    done = run(repository, "history", "--store", str(tmp_path))
    assert done.returncode == 3
    assert "Make some: ncu-lab profile --rev HEAD~5..HEAD --store" in done.stderr
