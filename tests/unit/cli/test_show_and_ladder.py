import csv
import io
import json
from dataclasses import replace

import pytest
from golden_runs import golden_run
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.errors import UsageError
from ncu_lab.store import Store

RUN = "20261130T011207-ladder-4f2c9ab-91c3"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("store")
    Store(folder).write(golden_run(run_id=RUN, extra=[{"kernel": "warmup", "metrics": {}}]))
    return str(folder)


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def test_show_prints_the_launches_then_the_longest(store):
    lines = run("show", "@last", "--store", store).splitlines()
    assert lines[0].startswith(RUN)
    assert "naive · 1024³ FP32" in lines
    assert "This is the longest launch; another: --stage ID" in " ".join(lines)


def test_show_takes_the_beginning_of_an_id_a_stage_and_a_launch(store):
    by_stage = run("show", RUN[:12], "--stage", "2d", "--store", store)
    assert by_stage == run("show", RUN, "--launch", "6", "--store", store)
    assert by_stage.splitlines()[0] == "2d · 1024³ FP32 · NVIDIA H200 · ncu 2025.3.1 · clocks not locked"


def test_show_refuses_what_is_not_there(store):
    with pytest.raises(UsageError, match='has no profiled stage "wgmma"') as caught:
        run("show", "@last", "--stage", "wgmma", "--store", store)
    assert caught.value.hint.startswith("It has naive, coalesced")
    with pytest.raises(UsageError, match="has no launch 99") as caught:
        run("show", "@last", "--launch", "99", "--store", store)
    assert caught.value.hint == "It has launches 0 to 13."


def test_raw_adds_every_metric(store):
    text = run("show", "@last", "--stage", "2d", "--raw", "--store", store)
    assert "  gpu__time_duration.sum  197984" in text.splitlines()
    document = json.loads(run("show", "@last", "--stage", "2d", "--raw", "--store", store, "--format", "json"))
    assert document["launches"][0]["raw"]["gpu__time_duration.sum"]["value"] == 197_984.0


def test_show_as_csv_holds_every_key(store):
    rows = list(csv.DictReader(io.StringIO(run("show", "@last", "--store", store, "--format", "csv"))))
    assert len(rows) == 14
    tile = next(row for row in rows if row["stage"] == "2d")
    assert (tile["duration_ns"], tile["grid"], tile["global_load_sectors_ideal"]) == ("197984.0", "[8, 8, 1]", "")


def test_ladder_in_every_format(store):
    text = run("ladder", "--store", store)
    assert text.splitlines()[0] == "1024³ · NVIDIA H200 · ncu 2025.3.1 · clocks not locked · profiled durations"
    assert "1 launch of run" in " ".join(text.splitlines())
    document = json.loads(run("ladder", "--store", store, "--format", "json"))
    assert len(document["stages"]) == 11
    assert [notice["code"] for notice in document["omitted"]] == ["no_stage", "not_measured"]
    rows = list(csv.DictReader(io.StringIO(run("ladder", "--store", store, "--format", "csv"))))
    assert [row["stage"] for row in rows][-2:] == ["cublas-fp32", "cublas-tf32"]
    assert run("ladder", "--store", store, "--format", "markdown").startswith("| stage | time |")


def test_a_run_that_stopped_says_where_and_why(tmp_path):
    stopped = golden_run([], run_id="20261201T000000-2d-4f2c9ab-0001", status="check_failed")
    meta = replace(stopped.meta, error="2d: 1x1x1 is wrong by 3.1")
    Store(tmp_path).write(replace(stopped, meta=meta))
    assert run("show", "@last", "--store", str(tmp_path)).splitlines() == [
        "20261201T000000-2d-4f2c9ab-0001 is check failed: 2d: 1x1x1 is wrong by 3.1",
        "20261201T000000-2d-4f2c9ab-0001 has no profiled launches.",
    ]
