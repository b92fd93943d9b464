"""What history says of the recorded history: changes, gaps, ranges."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest
from recorded_history import NEIGHBOURS, SENTENCE, STEPS, run, told

from ncu_lab.render.numbers import plain_spaces

pytestmark = pytest.mark.git


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


def test_an_empty_store_says_how_to_make_a_run(repository: Path, tmp_path: Path) -> None:
    done = run(repository, "history", "--store", str(tmp_path))
    assert done.returncode == 3
    assert "Make some: ncu-lab profile --rev HEAD~5..HEAD --store" in done.stderr
