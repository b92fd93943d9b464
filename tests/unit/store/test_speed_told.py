"""The benchmark of a large store tells what it does, and each figure when it is known: it takes minutes."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "store_speed.py"


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(SCRIPT.parent), *sys.path])
    spec = importlib.util.spec_from_file_location("store_speed", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_figures_are_printed_as_soon_as_they_are_known(
    benchmark: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmark, "series", stopped)  # the reading of tables, which takes longest
    told = benchmark.Told()
    benchmark.make_store(tmp_path / "store", 20, told)
    capsys.readouterr()
    with pytest.raises(KeyboardInterrupt):
        benchmark.measure(tmp_path / "store", 20, told)
    printed = capsys.readouterr()
    assert [line.split("  ")[0] for line in printed.out.splitlines()] == [
        "bare parse of every run.json (floor)",
        "first indexing, for listings",
    ]
    assert printed.err.splitlines()[-1].endswith("first reading of tables")


def test_a_goal_that_is_missed_is_told_and_remembered(
    benchmark: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    told = benchmark.Told()
    told.figure("floor", 0.5)
    told.figure("listed", 0.25, held=True)
    assert told.met
    told.figure("filtered", 1.5, held=True)
    assert not told.met
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["floor", "0.500", "s", "1.00"],
        ["listed", "0.250", "s", "0.50", "(goal:", "1.0", "s)"],
        ["filtered", "1.500", "s", "3.00", "MISSED", "(goal:", "1.0", "s)"],
    ]
