"""What bisect finds in the recorded history, alone and as a command of git bisect."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from recorded_history import SENTENCE, STORE, run, run_of, told

from ncu_lab.render.numbers import plain_spaces
from ncu_lab.store import Store

pytestmark = pytest.mark.git


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


@pytest.mark.parametrize("file", ["metrics.parquet", "run.json"])
def test_a_damaged_end_is_unusable_input_and_named(
    repository: Path, commits: dict[str, str], damaged: tuple[Path, Path], file: str
) -> None:
    store, table = damaged
    path = table.with_name(file)
    path.write_bytes(path.read_bytes()[:300])
    search = ("bisect", "--good", commits["renamed"], "--metric", "shared_bytes", "--stage", "gram", "--stored-only")
    done = run(repository, *search, "--store", str(store))
    assert done.returncode == 3
    assert f'{commits["renamed"][:7]} "Call the kernel what it computes" is needed' in done.stderr
    assert f"; run {table.parent.name} is corrupt: {file}" in plain_spaces(done.stderr)
    step = run(repository, *search, "--step", "--store", str(store))
    assert step.returncode == 128 + 3  # below 128 git would take the commit for a bad one


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
