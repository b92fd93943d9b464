"""``shapes``, and ``bench`` where it keeps what it measured; what runs on the GPU is stood in for."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from bench_records import H200, record, taken
from lab_command import ncu_lab
from typer.testing import CliRunner, Result

from ncu_lab.analyze.timings import timing
from ncu_lab.cli.app import app
from ncu_lab.errors import UsageError
from ncu_lab.model import Problem
from ncu_lab.store.bench_files import read_benches, write_bench
from ncu_lab.workflows import benching

CUBE = Problem(4096, 4096, 4096)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    flop = 2.0 * 4096**3
    times = {"sgemm-hopper": (flop / 56e3,) * 3, "cublas-fp32": (flop / 50e3,) * 3}
    write_bench(tmp_path, record(CUBE, times))
    return tmp_path


def test_a_row_fits_80_columns(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("shapes", "--store", str(store)).stdout.replace("\u2009", " ").splitlines()
    assert lines[0] == "NVIDIA H200 · driver 580.159 · ratio: 1 is the library's speed"
    # 10 samples a side, 0.1 % apart: of 100 sorted differences the 17th (U of Mann and Whitney is 16 at 1 %) is 0.4 %.
    assert re.fullmatch(r"4096³ +sgemm-hopper +56\.0 TFLOP/s +1\.120 +1\.116 – 1\.124 +cublas-fp32 .*", lines[2])
    assert max(map(len, lines)) <= 80


def test_markdown_has_a_row_a_shape(store: Path) -> None:
    lines = run("shapes", "--store", str(store), "--format", "markdown").stdout.splitlines()
    assert lines[0] == "| m×n×k | sgemm-hopper : cublas-fp32 | end clock | power |"
    assert lines[2] == "| 4096³ | 56.0 TFLOP/s, 1.120 (1.116 – 1.124) | 1.98 GHz | 600 W |"
    assert len(lines) == 3


def test_a_shape_of_another_commit_is_told_below_the_table(store: Path) -> None:
    assert "commit 0bf9cc4" not in run("shapes", "--store", str(store)).stdout  # all of one: nothing to tell apart
    times = {"sgemm-hopper": (1e5,), "splitk": (1e5,), "cublas-fp32": (1e5,)}
    at = {"created": "2026-12-01T00:00:00+00:00", "commit": "952a7c3104ad"}
    write_bench(store, record(CUBE, {"splitk": (1e6,), "cublas-fp32": (1e6,)}, **at))
    write_bench(store, record(Problem(1024, 1024, 1024), times, **at))
    for size in (256, 512):
        write_bench(store, record(Problem(size, size, size), times))
    told = "commit 0bf9cc4; 1024³, 4096³ (splitk) at 952a7c3"
    assert run("shapes", "--store", str(store)).stdout.splitlines()[-1] == told
    assert run("shapes", "--store", str(store), "--format", "markdown").stdout.endswith(f" |\n\n{told}\n")
    assert told not in run("shapes", "--store", str(store), "--format", "csv").stdout


def test_json_and_csv_hold_every_value(store: Path) -> None:
    document = json.loads(run("shapes", "--store", str(store), "--format", "json").stdout)
    assert (document["device"], document["drivers"]) == ("NVIDIA H200", ["580.159"])
    [row] = document["shapes"]
    assert row["pct_of_reference"] == pytest.approx(112.0)
    [line] = csv.DictReader(io.StringIO(run("shapes", "--store", str(store), "--format", "csv").stdout))
    assert (line["processes"], line["m"], line["commit"]) == ("3", "4096", "0bf9cc4")


def test_bench_keeps_what_it_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def fake(ids: list[str], problem: Problem, samples: int, **how: Any) -> benching.Bench:
        asked.update(
            ids=ids, samples=samples, **{name: how[name] for name in ("processes", "fastest_reference", "cutlass")}
        )
        times = {"2d": (2e6, 2.1e6), "cublas-fp32": (1e6, 1e6)}
        made = taken(times, "cublas-fp32")
        found = {id: timing(made, id, "cublas-fp32" if id == "2d" else None) for id in times}
        return benching.Bench(made, {id: one for id, one in found.items() if one}, problem, H200, nvcc="13.0.88")

    monkeypatch.setattr(benching, "time_stages", fake)
    options = ("--size", "4096", "--processes", "2", "--fastest-reference", "--no-cutlass", "--save")
    options += ("--store", str(tmp_path))
    result = run("bench", "--stage", "2d", *options)
    assert asked == {"ids": ["2d"], "samples": 10, "processes": 2, "fastest_reference": True, "cutlass": False}
    assert "lowest of 2 processes" in result.stdout
    [kept], notices = read_benches(tmp_path)
    assert str(next((tmp_path / "bench").iterdir())) in result.stderr
    assert (kept.problem, kept.stages, len(kept.samples)) == (CUBE, ("2d", "cublas-fp32"), 80)
    assert (kept.environment.nvcc, notices) == ("13.0.88", [])


def test_a_store_whose_records_are_all_broken_says_so(store: Path) -> None:
    [file] = (store / "bench").iterdir()
    file.write_text(re.sub(r'"samples": \[.*\]', '"samples": []', file.read_text(), flags=re.DOTALL))
    done = ncu_lab(store, "shapes", "--store", str(store))
    assert (done.returncode, done.stdout) == (3, "")
    words = "no samples of sgemm-hopper, cublas-fp32; what it measured is left out"
    assert done.stderr.splitlines()[:2] == [
        f"warning: {file} is no record of a bench: {words}",
        f"error: no saved benches in {store}",
    ]


def test_a_store_without_save_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--store is where --save keeps"):
        run("bench", "--stage", "2d", "--store", str(tmp_path))
