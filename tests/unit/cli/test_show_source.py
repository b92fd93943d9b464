"""``show --source``: the bundled runs' hot lines in every format, at every width."""

import csv
import io
import json
import re

import pytest
from example_runs import example
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.errors import UsageError

AT_4096 = ("show", example("ladder 4096").id, "--example")


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.stdout


def share(line):
    """Return the share of samples that a line of the table has, in percent."""
    return float(re.search(r"([\d.]+) %", line)[1])


def test_the_line_that_causes_conflicts_and_the_line_that_waits():
    lines = run(*AT_4096, "--stage", "smem-conflict", "--source").splitlines()
    stake = next(line for line in lines if line.startswith("  conflicts cost  "))
    assert re.fullmatch(r"  conflicts cost    at most 8\.0\d ms of 23\.0 ms at stake; waits for it 5\d %", stake)
    assert "  mostly by         kernels/gemm/04_smem_conflict.cu:31, STS 32.0×" in lines
    cause, victim = (next(line for line in lines if line.startswith(f"  {number}  ")) for number in (31, 37))
    assert "32.0× ✗" in cause
    assert "1.00×" in victim
    assert share(victim) > 4 * share(cause) > 40  # percent: nine of ten samples are of the two lines, and most wait
    assert re.fullmatch(r"… and \d+ more lines \(0\.\d % of samples\); all: --lines 0", lines[-1])
    assert max(map(len, lines)) <= 80


def test_wide_terminals_show_more(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    lines = run(*AT_4096, "--stage", "2d", "--source", "--lines", "0").splitlines()
    assert not any(line.startswith(("no room", "…")) for line in lines)
    assert 80 < max(map(len, lines)) <= 200
    hot = next(line for line in lines if line.startswith("  70"))
    assert re.search(r"2\d % dispatch", hot)
    assert "2.15 G" in hot


def test_instructions_by_samples():
    lines = run(*AT_4096, "--stage", "2d", "--sass", "--sort", "samples", "--lines", "3").splitlines()
    rows = lines[lines.index(next(line for line in lines if line.startswith("offset"))) + 1 :][:3]
    shares = [float(row.split("%")[0].split()[-1]) for row in rows]
    assert shares == sorted(shares, reverse=True)
    assert len(set(rows)) == 3


def test_json_has_all_lines_and_their_sum_is_the_launch():
    document = json.loads(run(*AT_4096, "--stage", "2d", "--source", "--format", "json"))
    (launch,) = document["launches"]
    assert sum(one["samples"] for one in launch["source"]) == launch["samples"] > 1e5
    assert sum(one["share"] for one in launch["source"]) == pytest.approx(1.0)
    assert "instructions" not in launch
    assert {one["kind"]: one["over_ideal"] for one in launch["access"] if one["space"] == "shared"} == {
        "ld": pytest.approx(5 / 3), "st": 1.0,
    }  # fmt: skip
    shared = next(one for one in launch["at_stake"] if one["space"] == "shared")
    assert 0.2 < shared["upper_bound_share"] < 0.25


def test_json_without_source_has_accesses_alone():
    document = json.loads(run(*AT_4096, "--stage", "2d", "--format", "json"))
    assert "source" not in document["launches"][0]
    assert document["launches"][0]["access"]


def test_csv_and_markdown():
    rows = list(csv.DictReader(io.StringIO(run(*AT_4096, "--stage", "2d", "--sass", "--format", "csv"))))
    assert len(rows) == 1120
    assert rows[0]["sass"].startswith("LDC")
    text = run(*AT_4096, "--stage", "2d", "--source", "--format", "markdown")
    assert re.search(r"^- conflicts cost: at most 1\.0\d ms of 4\.5\d ms at stake; waits for it ", text, re.MULTILINE)
    assert "| 07_2d.cu:70 |" in text


def test_every_bundled_run_is_shown():
    for one in ("ladder 1024", "cupy-three-launches"):
        assert "samples: they land where warps wait" in run("show", example(one).id, "--example", "--source")


def test_options_of_lines_need_lines():
    for option in (("--sort", "samples"), ("--lines", "3")):
        with pytest.raises(UsageError, match="of the lines of source"):
            run(*AT_4096, *option)
