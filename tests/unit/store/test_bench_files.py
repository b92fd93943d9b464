"""Records of benches on disk."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import bench_records
import pytest

from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.model import Problem, TimingSample
from ncu_lab.model.bench_record import ReferenceTrial
from ncu_lab.store import Store
from ncu_lab.store.bench_files import read_benches, write_bench

TRIALS = (
    ReferenceTrial("cublas-fp32", "cublasGemmEx, pedantic math", ("a_ffma_kernel",), 2.7e6, process=1),
    ReferenceTrial("cublas-fp32", "cublasLt, algorithm 2", refused="TF32"),
)
MADE = bench_records.record(
    Problem(64, 64, 16384), {"splitk": (15e3, 14e3), "cublas-fp32": (16e3, 16e3)}, trials=TRIALS
)
RECORD = replace(MADE, samples=tuple(replace(one, ns=round(one.ns, 1)) for one in MADE.samples))


def test_a_record_comes_back_as_it_was_with_a_line_for_each_sample(tmp_path: Path) -> None:
    file = write_bench(tmp_path, RECORD)
    assert file.parent == tmp_path / "bench"
    assert re.fullmatch(r"20261130T081500-64x64x16384-[0-9a-f]{4}\.json", file.name)
    assert read_benches(tmp_path) == ([RECORD], [])
    assert json.loads(file.read_text())["schema"] == 1
    assert len(re.findall(r"^  \[", file.read_text(), re.MULTILINE)) == len(RECORD.samples) == 80


def test_what_nvml_did_not_tell_stays_missing(tmp_path: Path) -> None:
    untold = TimingSample(0, 0, 0, "splitk", "alone", 15000.0, None, None, None)
    write_bench(tmp_path, replace(RECORD, stages=("splitk",), samples=(untold,)))
    [record], _ = read_benches(tmp_path)
    assert record.samples == (untold,)


def test_the_folder_is_no_run_of_the_store(tmp_path: Path) -> None:
    write_bench(tmp_path, RECORD)
    assert Store(tmp_path).metas() == ([], [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "is no record of a bench"),
        ('{"created": "2026"}', "'sample_columns' is missing"),
        ('{"created": "2026", "sample_columns": ["ns"], "samples": [[1, 2]]}', "longer"),
        ('{"created": "2026", "sample_columns": [], "samples": []}', "problem, device"),
        (json.dumps({"schema": 99}), "has schema 99, this version reads up to 1"),
    ],
)
def test_what_cannot_be_read_is_passed_over_and_named(tmp_path: Path, text: str, words: str) -> None:
    write_bench(tmp_path, RECORD)
    (tmp_path / "bench" / "bad.json").write_text(text)
    records, [notice] = read_benches(tmp_path)
    assert records == [RECORD]
    assert "bad.json" in notice.message
    assert words in notice.message


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"samples": []}, "no samples of splitk, cublas-fp32"),
        ({"stages": ["splitk", "2d"]}, "no samples of 2d"),
        ({"stages": []}, "it is of no stage"),
        ({"ns": -1.0}, "samples[3].ns is -1, no time"),
        ({"ns": 0}, "samples[3].ns is 0, no time"),
        ({"ns": float("nan")}, "samples[3].ns is nan, no time"),
        ({"ns": "inf"}, "samples[3].ns is inf, no time"),
        ({"power_w": float("nan")}, "samples[3] has a clock, power or temperature that is no finite number"),
        ({"problem": {"m": 0, "n": 1, "k": 1}}, "size m = 0 is too small"),
    ],
)
def test_what_no_bench_can_have_measured_is_passed_over(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    file = write_bench(tmp_path, RECORD)
    document = json.loads(file.read_text())
    for name, value in change.items():
        if name in document:
            document[name] = value
        else:
            document["samples"][3][document["sample_columns"].index(name)] = value
    file.write_text(json.dumps(document))
    records, [notice] = read_benches(tmp_path)
    assert records == []
    assert notice.message == f"{file} is no record of a bench: {words}; what it measured is left out"


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "bench").write_text("a file")
    with pytest.raises(EnvironmentLacksError, match="cannot be written"):
        write_bench(tmp_path, RECORD)
    assert [path.name for path in tmp_path.iterdir()] == ["bench"]
