"""The batch of shapes: which record counts for what, and what is claimed of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench_records import record

from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import Problem
from ncu_lab.model.bench_record import ReferenceTrial
from ncu_lab.store.bench_files import write_bench
from ncu_lab.workflows.batching import batch_of_shapes

CUBE, THIN = Problem(4096, 4096, 4096), Problem(64, 64, 16384)
CHOSEN = tuple(
    ReferenceTrial("cublas-fp32", f"cublasLt, algorithm {process + 1}", ("ffma",), 1.0, chosen=True, process=process)
    for process in range(3)
)


def test_rows_are_squares_first_and_claim_the_lowest_of_three(tmp_path: Path) -> None:
    write_bench(tmp_path, record(THIN, {"splitk": (10e3,), "cublas-fp32": (12e3,)}))
    times = {"sgemm-hopper": (2.4e6, 2.5e6, 2.45e6), "splitk": (3e6,) * 3, "cublas-fp32": (2.7e6,) * 3}
    write_bench(tmp_path, record(CUBE, times, trials=CHOSEN))
    found = batch_of_shapes(tmp_path)
    assert [(row["m"], row["stage"]) for row in found.rows] == [
        (4096, "sgemm-hopper"),
        (4096, "splitk"),
        (64, "splitk"),
    ]
    first = found.rows[0]
    assert first["pct_of_reference"] == pytest.approx(100 * 2.7 / 2.5)
    assert first["pct_of_reference_low"] < 108.0 < first["pct_of_reference_high"]
    assert first["reference_way"] == "cublasLt, algorithm 2"  # of the process whose ratio is claimed
    assert first["flop_per_s"] == pytest.approx(2 * 4096**3 / 2.5e6 * 1e9)
    assert (first["processes"], first["sm_clock_hz"], first["power_w"], first["variant"]) == (3, 1.98e9, 600.0, "fast")
    assert (found.device, found.drivers, found.notices) == ("NVIDIA H200", ("580.159",), ())


def test_the_newest_record_of_a_stage_counts_and_others_stay(tmp_path: Path) -> None:
    write_bench(tmp_path, record(CUBE, {"sgemm-hopper": (2e6,), "splitk": (3e6,), "cublas-fp32": (3e6,)}))
    later = record(CUBE, {"splitk": (2e6,), "cublas-fp32": (3e6,)}, created="2026-12-01T00:00:00+00:00")
    write_bench(tmp_path, later)
    rows = {row["stage"]: row["pct_of_reference"] for row in batch_of_shapes(tmp_path).rows}
    assert rows == {"sgemm-hopper": pytest.approx(150.0), "splitk": pytest.approx(150.0)}


def test_cutlass_is_a_row_beside_the_stages_and_cublas_is_what_all_are_compared_with(tmp_path: Path) -> None:
    write_bench(tmp_path, record(CUBE, {"sgemm-hopper": (2e6,), "cutlass-fp32": (4e6,), "cublas-fp32": (3e6,)}))
    rows = {row["stage"]: row for row in batch_of_shapes(tmp_path).rows}
    assert list(rows) == ["sgemm-hopper", "cutlass-fp32"]
    assert rows["cutlass-fp32"]["reference"] == "cublas-fp32"
    assert rows["cutlass-fp32"]["pct_of_reference"] == pytest.approx(75.0)


def test_a_device_of_no_sms_has_no_peak_to_compare_with(tmp_path: Path) -> None:
    made = record(CUBE, {"splitk": (3e6,), "cublas-fp32": (3e6,)})
    write_bench(tmp_path, replace(made, device=replace(made.device, sm_count=0)))
    [row] = batch_of_shapes(tmp_path).rows
    assert row["pct_of_peak"] is None
    assert row["pct_of_reference"] == pytest.approx(100.0)


def test_only_what_is_asked_for(tmp_path: Path) -> None:
    write_bench(tmp_path, record(CUBE, {"splitk": (3e6,), "cublas-fp32": (3e6,)}))
    assert [row["stage"] for row in batch_of_shapes(tmp_path, ["cublas-fp32"]).rows] == ["cublas-fp32"]
    with pytest.raises(UsageError, match="Did you mean splitk"):
        batch_of_shapes(tmp_path, ["splitkk"])
    with pytest.raises(InputError, match="no saved benches on NVIDIA A100"):
        batch_of_shapes(tmp_path, device="NVIDIA A100")


def test_a_store_without_benches_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no saved benches in") as error:
        batch_of_shapes(tmp_path)
    assert "bench --save" in error.value.hint
