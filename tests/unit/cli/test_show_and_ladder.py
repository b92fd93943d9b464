import csv
import io
import json
import re
import shlex
from dataclasses import replace

import pytest
from golden_runs import golden_run
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import Notice
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


def test_a_stage_is_shown_in_full_and_its_run_named(store):
    lines = run("show", "stage:2d", "--store", store).splitlines()
    assert lines == run("show", "2d", "--store", store).splitlines()
    assert lines[: lines.index("")] == run("show", "@last", "--stage", "2d", "--store", store).splitlines()
    told = lines.index(f"of run {RUN}; all of it:") + 1
    command = shlex.split("\n".join(lines[told:]).replace("\\\n", ""))  # goes on in the next line where it is long
    assert command[:3] == ["ncu-lab", "show", "20261130T011207"]
    assert run(*command[1:]).splitlines()[:20] == run("show", RUN, "--store", store).splitlines()[:20]
    other = run("show", "stage:2d", "--stage", "1d", "--store", store)
    assert other.splitlines()[0].startswith("1d · ")


def test_show_as_markdown_tells_of_each_launch_what_the_terminal_does(store):
    text = run("show", "@last", "--store", store, "--format", "markdown")
    assert text.startswith(f"**{RUN} · 1024³ · NVIDIA H200 · ncu 2025.3.1 · clocks not locked · 14 launches**\n\n| # |")
    assert text.count("\n### ") == 14
    part = text[text.index("### 2d · 1024³ FP32") :].splitlines()
    assert part[2].startswith("Bound by its launch: 64 blocks for 132 SMs; ")
    assert part[4:7] == [
        "- duration: 198 µs · SM 19 % · memory 25 % · DRAM 1.3 %",
        "- waits: long scoreboard 31 % · dispatch 14 % · not selected 13 %",
        "- occupancy: 12.5 % of 12.5 % possible",
    ]
    assert "- roofline: 10.9 TFLOP/s, 25 % of the L1 / shared roof, 16 % of peak" in part
    one = run("show", "stage:2d", "--store", store, "--format", "markdown")
    assert "1 of 14 launches" in one.splitlines()[0]
    launch, *sentences = [line for line in one.splitlines()[-7:] if line]
    assert launch.startswith("- launch: ")
    begin = ["Against theory: ", "To gain: at most 3.99× faster", "Next: more, smaller blocks, "]
    assert [told.startswith(words) for told, words in zip(sentences, begin, strict=True)] == [True] * 3


def test_a_stage_alone_means_the_newest_run_that_has_it(store, tmp_path):
    for run_id, created, stages in (
        ("20261130T000000-a-4f2c9ab-0001", "2026-11-30T00:00:00+00:00", ["1d", "2d"]),
        ("20261201T000000-b-4f2c9ab-0002", "2026-12-01T00:00:00+00:00", ["2d"]),
        ("20261202T000000-c-4f2c9ab-0003", "2026-12-02T00:00:00+00:00", ["naive"]),
    ):
        Store(tmp_path).write(golden_run(stages, run_id=run_id, created=created))
    assert "of run 20261201T000000-b-4f2c9ab-0002; all of it:" in run("show", "--stage", "2d", "--store", str(tmp_path))
    both = run("show", "--stage", "2d", "--stage", "1d", "--store", str(tmp_path))
    assert "of run 20261130T000000-a-4f2c9ab-0001; all of it:" in both
    with pytest.raises(InputError, match=r"no complete run in .* has all of 2d, naive"):
        run("show", "--stage", "2d", "--stage", "naive", "--store", str(tmp_path))
    with pytest.raises(InputError, match='there is no complete run of stage "wgmma"'):
        run("show", "--stage", "wgmma", "--store", str(tmp_path))


def test_what_is_advised_can_be_typed(store):
    shown = run("show", "1d", "--store", store).replace(" \\\n   ", "")
    assert f"  ncu-lab show 20261130T011207 --stage 2d --store {store}\n" in shown
    lacking = run("show", "2d", "--store", store).replace(" \\\n   ", "")
    assert f"  ncu-lab profile --stage splitk --size 1024 --store {store}\n" in lacking


def test_what_ncu_said_when_a_run_was_made_is_not_repeated(tmp_path, capsys):
    made = golden_run(["2d"])
    notices = (Notice("ncu", "No source files were imported."), Notice("damaged", "2 of 3 results"))
    Store(tmp_path).write(replace(made, meta=replace(made.meta, warnings=notices)))
    result = CliRunner().invoke(app, ["show", "--store", str(tmp_path)])
    assert result.stderr == "warning: 2 of 3 results\n"
    document = json.loads(run("show", "--store", str(tmp_path), "--format", "json"))
    assert len(document["warnings"]) == 2


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda whole: whole[:100], "metrics.parquet is cut or overwritten"),  # seen when the store is listed
        (lambda whole: whole[:50] + b"?" + whole[51:], "metrics.parquet does not match its checksum"),  # when read
    ],
)
@pytest.mark.parametrize("arguments", [["show"], ["show", "stage:2d"], ["ladder"]])
def test_a_corrupt_newest_run_is_named_and_the_rest_shown(arguments, damage, says, tmp_path):
    Store(tmp_path).write(golden_run(run_id=RUN))
    newest = "20261201T000000-ladder-4f2c9ab-0001"
    folder = Store(tmp_path).write(golden_run(run_id=newest, created="2026-12-01T00:00:00+00:00"))
    (folder / "metrics.parquet").write_bytes(damage((folder / "metrics.parquet").read_bytes()))
    result = CliRunner().invoke(app, [*arguments, "--store", str(tmp_path)])
    assert result.exit_code == 0
    assert result.stderr.startswith(f"warning: run {newest} is corrupt: {says}")
    assert len(result.stderr.splitlines()) == 1
    assert "1024³" in result.stdout
    with pytest.raises(InputError, match=re.escape(says)):
        run("show", newest, "--store", str(tmp_path))


def test_a_long_store_does_not_widen_what_is_to_be_typed(tmp_path):
    folder = tmp_path / "a folder with a rather long name" / "that goes on"
    Store(folder).write(golden_run(run_id=RUN))
    lines = run("ladder", "--store", str(folder)).splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("  ncu-lab show "))
    typed = "\n".join(lines[start:])
    shown, dashboard = shlex.split(typed.replace("\\\n", " ")), ["ncu-lab", "dashboard", "--store", str(folder)]
    expectations = ["ncu-lab", "ladder", "--expectations", "--store", str(folder)]
    asked = ["ncu-lab", "show", "20261130T011207", "--stage", "wmma", "--store", str(folder)]
    assert shown == [*asked, *expectations, *dashboard]
    assert lines[start] == "  ncu-lab show 20261130T011207 --stage wmma --store \\"


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


def test_expectations_in_every_format(store):
    lines = run("ladder", "--store", store, "--expectations").splitlines()
    assert lines[1].split() == ["stage", "expected", "measured", "from"]
    assert "smem-padded      shared stores/ideal ≤ 0.1× smem-conflict    0.0662× ✓  theory" in lines
    assert max(map(len, lines)) <= 80
    rows = list(csv.DictReader(io.StringIO(run("ladder", "--store", store, "--expectations", "--format", "csv"))))
    assert {row["status"] for row in rows} == {"met", "missed", "not_collected"}
    assert all((row["measured"] == "") == (row["status"] == "not_collected") == (row["lacks"] != "") for row in rows)
    text = run("ladder", "--store", store, "--expectations", "--format", "markdown")
    assert text.startswith("| stage | expected | measured | status | from | arithmetic |")
    document = json.loads(run("ladder", "--store", store, "--format", "json"))
    stages = {stage["stage"]: stage["expectations"] for stage in (*document["stages"], *document["references"])}
    assert sum(map(len, stages.values())) == len(rows)
    first = stages["naive"][0]
    assert (first["key"], first["status"]) == ("global_load_sectors_per_request", "met")
    assert first["measured"] == pytest.approx(16.5, rel=1e-3)
    shown = json.loads(run("show", "stage:naive", "--store", store, "--format", "json"))
    assert shown["launches"][0]["expectations"] == stages["naive"]


def test_a_run_that_stopped_says_where_and_why(tmp_path):
    stopped = golden_run([], run_id="20261201T000000-2d-4f2c9ab-0001", status="check_failed")
    meta = replace(stopped.meta, error="2d: 1x1x1 is wrong by 3.1")
    Store(tmp_path).write(replace(stopped, meta=meta))
    assert run("show", "@last", "--store", str(tmp_path)).splitlines() == [
        "20261201T000000-2d-4f2c9ab-0001 is check failed: 2d: 1x1x1 is wrong by 3.1",
        "20261201T000000-2d-4f2c9ab-0001 has no profiled launches.",
    ]


def test_published_figures_in_every_format(store):
    lines = run("ladder", "--store", store, "--published").splitlines()
    assert lines[1].split()[:4] == ["stage", "of", "ref", "step"]
    assert any(line.startswith("warptiled ") and "93.7 %" in line for line in lines)
    assert max(map(len, lines)) <= 80
    rows = list(csv.DictReader(io.StringIO(run("ladder", "--store", store, "--published", "--format", "csv"))))
    assert next(row for row in rows if row["stage"] == "naive")["A6000_value"] == "309.0"
    assert "| warptiled |" in run("ladder", "--store", store, "--published", "--format", "markdown")
    document = json.loads(run("ladder", "--store", store, "--format", "json"))
    published = {stage["stage"]: stage["published"] for stage in document["stages"]}
    assert published["double-buffered"] == []
    assert [figure["gpu"] for figure in published["smem"]] == ["NVIDIA Tesla V100", "NVIDIA RTX A6000"]
    with pytest.raises(UsageError, match="tables of their own"):
        run("ladder", "--store", store, "--published", "--expectations")
