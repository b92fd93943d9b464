"""``ncu-lab tune`` as it is typed: lists, refusals, exit codes, and what a finished search prints."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from example_runs import example
from lab_command import ncu_lab
from tuning_records import FakeGpu

from ncu_lab.gpu.devices import gpu_problem

without_gpu = pytest.mark.skipif(gpu_problem() is None, reason="a GPU is here")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> FakeGpu:
    return FakeGpu(monkeypatch, lambda tile: 1e6 + 1e4 * abs(tile["BN"] - 64) + 1e3 * tile["BK"])


def test_a_dry_run_lists_what_would_be_tried_and_why_others_are_not(tmp_path: Path) -> None:
    done = ncu_lab(tmp_path, "tune", "--stage", "autotuned", "--size", "4096", "--dry-run", "--budget", "5")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    title = "autotuned · 4096³ · sm_90 · 576 tiles: 271 rejected, 300 left out by the budget, 5 to try"
    assert " ".join(lines).startswith(title)
    rows = [line.split() for line in lines if "×" in line]
    assert rows[:2] == [["BM×BN×BK×TM×TN", "outcome"], ["128×128×16×8×8", "default"]]
    assert "rejected before compiling:" in lines
    assert "72 as BM32-BN256-BK64-TM4-TN4: 73728 bytes of static shared memory, a block" in done.stdout
    assert not (tmp_path / "reports" / "tuning").exists()


def test_a_dry_run_holds_every_tile_as_data(tmp_path: Path) -> None:
    done = ncu_lab(tmp_path, "tune", "--stage", "warptiled", "--size", "4096", "--dry-run", "--format", "json")
    document = json.loads(done.stdout)
    assert len(document["candidates"]) == 3 * 3 * 3 * 3 * 3
    assert (document["stage"], document["device"], document["best"]) == ("warptiled", "sm_90", None)
    rejected = [one for one in document["candidates"] if one["outcome"] == "rejected"]
    assert len(rejected) == 243 - 76
    assert all(one["why"] and one["registers"] is None for one in rejected)


@without_gpu
def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    done = ncu_lab(tmp_path, "tune", "--stage", "autotuned", "--size", "4096")
    assert done.returncode == 4
    assert "error: " in done.stderr


@pytest.mark.parametrize(
    ("options", "next_options"),
    [
        (("--size", "4096"), "--size 4096 --dry-run --compile"),
        (("--size", "4096", "-k", "64", "--arch", "sm_80"), "--size 4096 -k 64 --dry-run --compile --arch sm_80"),
        (("--budget", "7"), "--budget 7 --dry-run --compile"),
        (("--store", "my runs"), "--store 'my runs' --dry-run --compile"),
        ((), "--dry-run --compile"),
    ],
)
def test_what_follows_a_dry_run_is_of_the_same_request(
    tmp_path: Path, options: tuple[str, ...], next_options: str
) -> None:
    done = ncu_lab(tmp_path, "tune", "--stage", "autotuned", *options, "--dry-run")
    assert done.stdout.splitlines()[-1] == f"Next: ncu-lab tune --stage autotuned {next_options}"


def test_a_store_that_was_named_must_be_there(tmp_path: Path) -> None:
    done = ncu_lab(tmp_path, "tune", "--store", "nope")
    assert (done.returncode, done.stdout) == (3, "")
    assert "the store nope does not exist" in done.stderr
    (tmp_path / "file").write_text("")
    done = ncu_lab(tmp_path, "tune", "--store", "file")
    assert (done.returncode, done.stdout) == (3, "")
    assert "the store file is a file, not a folder" in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--stage", "naive"), "stage naive has no search space"),  # also where there is no GPU
        (("--stage", "autotuned", "--budget", "0"), "--budget 0 is too small"),
        (("--stage", "naive", "--dry-run"), "stage naive has no search space"),
        (("--dry-run",), "no stage was named"),
        (("--stage", "autotuned", "--example"), "--example lists the bundled searches"),
        (("--stage", "autotuned", "--compile"), "--compile and --arch belong to --dry-run"),
        (("--stage", "autotuned", "--dry-run", "--arch", "sm_42"), "what an SM of sm_42 holds is not known"),
        (("--stage", "autotuned", "--dry-run", "--size", "1001"), "no tile of autotuned fits 1001³"),
    ],
)
def test_wrong_use_is_told(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    done = ncu_lab(tmp_path, "tune", *options)
    assert done.returncode == 2
    assert words in done.stderr


def test_a_search_ends_with_its_best_and_is_listed(tmp_path: Path, gpu: FakeGpu) -> None:
    done = ncu_lab(tmp_path, "tune", "--stage", "autotuned", "--size", "4096", "--budget", "24", COLUMNS="100")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("autotuned · 4096³ · NVIDIA H200 · 576 tiles: 271 rejected")
    assert "rungs, tiles × samples: 24 × 4 → " in done.stdout
    assert "as fast as the default beside it" in " ".join(lines)
    assert lines[-1] == "Next: ncu-lab profile --stage autotuned -m 4096 -n 4096 -k 4096"
    assert "stored   " in done.stderr
    listed = ncu_lab(tmp_path, "tune", "--format", "json")
    [search] = json.loads(listed.stdout)["searches"]
    assert (search["stage"], search["device"], search["tried"]) == ("autotuned", "NVIDIA H200", 24)
    assert search["speedup_over_default"] > 1.0
    assert Path(search["file"]).is_file()


def test_csv_has_every_tile_and_json_every_sample(tmp_path: Path, gpu: FakeGpu) -> None:
    command = ("tune", "--stage", "autotuned", "--size", "4096", "--budget", "6", "--format")
    rows = list(csv.DictReader(io.StringIO(ncu_lab(tmp_path, *command, "csv").stdout)))
    assert len(rows) == 271 + 6
    assert rows[0]["outcome"] == "best"
    document = json.loads(ncu_lab(tmp_path, *command, "json").stdout)
    best = document["candidates"][0]
    assert [len(rung) for rung in best["samples_ns"]] == [rung["samples"] for rung in document["rungs"]]
    assert document["best"] == best["label"]


def test_nothing_stored_is_said(tmp_path: Path) -> None:
    done = ncu_lab(tmp_path, "tune")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no search is stored here" in done.stderr
    assert "ncu-lab tune --example lists bundled ones" in done.stderr
    assert json.loads(ncu_lab(tmp_path, "tune", "--format", "json").stdout) == {"schema": 1, "searches": []}


def test_the_searches_that_the_bundled_runs_were_built_with(tmp_path: Path) -> None:
    searches = json.loads(ncu_lab(tmp_path, "tune", "--example", "--format", "json").stdout)["searches"]
    best = {search["problem"]: search["best"] for search in searches}
    assert set(best) == {"1024³", "4096³"}
    for size in (1024, 4096):
        built = example(f"ladder {size}").tiles["autotuned"]
        assert built.source == "search"
        assert best[f"{size}³"] == "-".join(f"{name}{value}" for name, value in built.tile.items())
