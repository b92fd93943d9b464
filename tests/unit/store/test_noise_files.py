"""Records of noise on disk."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.model.noise import Repeatability, default_repeatability
from ncu_lab.model.noise_record import NoiseRecord, noise_table
from ncu_lab.store import Store
from ncu_lab.store.noise_files import read_noise, write_noise

RECORD = NoiseRecord(
    "NVIDIA H200", "2026-11-30T08:15:00+00:00", 10, 1, "2048³", ("2d",), "580.159", "2025.3.1", "none",
    {"duration_ns": Repeatability(0.0017, 0.0002), "time_ns": Repeatability(0.002, 0.0003, 0.015, 4.0)},
)  # fmt: skip


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    file = write_noise(tmp_path, RECORD)
    assert file.parent == tmp_path / "noise"
    assert re.fullmatch(r"nvidia-h200-20261130T081500-[0-9a-f]{4}\.json", file.name)
    assert read_noise(tmp_path) == ([RECORD], [])
    assert json.loads(file.read_text())["schema"] == 1


def test_the_folder_is_no_run_of_the_store(tmp_path: Path) -> None:
    write_noise(tmp_path, RECORD)
    assert Store(tmp_path).metas() == ([], [])


def test_the_newest_record_of_a_quantity_counts_for_each_model() -> None:
    newer = replace(RECORD, created="2026-12-01T00:00:00+00:00", quantities={"duration_ns": Repeatability(0.01)})
    other = replace(RECORD, device="NVIDIA A100")
    table = noise_table([newer, other, RECORD])
    assert table.of("duration_ns", "NVIDIA H200") == Repeatability(0.01, absolute=50.0)  # 50 ns always
    assert table.of("time_ns", "NVIDIA H200") == Repeatability(0.002, 0.0003, 0.015, 4.0)
    assert table.of("duration_ns", "NVIDIA A100") == Repeatability(0.0017, 0.0002, absolute=50.0)
    assert table.of("duration_ns", "NVIDIA L4") == default_repeatability("duration_ns")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "is no record of noise"),
        ('{"device": "H200"}', "missing"),
        (json.dumps({"schema": 99}), "has schema 99, this version reads up to 1"),
    ],
)
def test_what_cannot_be_read_is_passed_over_and_named(tmp_path: Path, text: str, words: str) -> None:
    write_noise(tmp_path, RECORD)
    (tmp_path / "noise" / "bad.json").write_text(text)
    records, [notice] = read_noise(tmp_path)
    assert records == [RECORD]
    assert "bad.json" in notice.message
    assert words in notice.message


def test_no_store_holds_nothing(tmp_path: Path) -> None:
    assert read_noise(tmp_path / "none") == ([], [])


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "noise").write_text("a file")
    with pytest.raises(EnvironmentLacksError, match="cannot be written"):
        write_noise(tmp_path, RECORD)
    assert [path.name for path in tmp_path.iterdir()] == ["noise"]
