"""``diff`` and ``ladder --steps`` as they are typed, on the bundled runs."""

import csv
import io
import json
import math

import pytest
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.cli.containment import foreign_file
from ncu_lab.errors import InputError, UsageError
from ncu_lab.render.tables import Row

LADDER = ["naive", "coalesced", "smem", "1d", "2d", "vectorized", "double-buffered", "warptiled"]
FACTORS = ("instructions", "stalls", "warps", "imbalance", "clock", "residual")


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def run(*arguments):
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


def read_csv(text) -> list[Row]:
    return list(csv.DictReader(io.StringIO(text)))


def test_two_stages():
    lines = run("diff", "1d", "2d", "--example").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("1d → 2d · 20261130T031421-ladder-50aa8cf-b366")
    told = lines.index("1d → 2d   ▼ 1.86× shorter   8.47 → 4.55 ms (−3.92 ms, −46.3 %)")
    assert lines[told + 1].split()[:7] == ["instructions", "6.62", "→", "4.64", "M", "−2.24", "ms"]
    assert any(line.startswith("  └ stalls ÷ warps") for line in lines)
    assert any(line.startswith("    residual") for line in lines)
    assert lines[-1] == "Next: ncu-lab show 20261130T031421-ladder-50aa8cf-b366 --stage 2d --example"


def test_what_did_not_change_takes_one_line_and_what_is_in_one_run_alone_is_named():
    same = run("diff", "@last~1", "@last~1", "--example").splitlines()
    assert sum("= same length" in line for line in same) == 15
    assert not any("residual" in line for line in same)
    assert "15 matched." in same
    chosen = run("diff", "@last~1", "@last~1", "--stage", "2d", "--example")
    assert "residual" in chosen
    none = " ".join(run("diff", "--example").split())
    assert "0 matched; only in A: naive, coalesced," in none
    assert "only in B: scale_and_add<<<131 072, 128>>>, column_sums<<<128, 512>>>," in none


def test_a_change_of_the_problem_is_told_and_a_large_one_is_a_factor():
    text = run("diff", "20261130T031317", "20261130T031421", "--stage", "2d", "--example")
    assert "another problem: 1024³ and 4096³; the change is not of the kernels alone" in text
    assert "2d   ▲ 21.6× longer   0.21 → 4.55 ms (+4.34 ms, ×21.6)" in text


def test_other_formats():
    document = json.loads(run("diff", "1d", "2d", "--example", "--format", "json"))
    (only,) = document["pairs"]
    assert (document["schema"], document["a"]["stage"], document["b"]["stage"]) == (1, "1d", "2d")
    assert only["duration"]["delta_ns"] == -3921952.0
    why = only["attribution"]
    assert sum(part["ns"] for part in why["parts"]) + why["residual_ns"] == pytest.approx(-3921952.0)
    rows = read_csv(run("diff", "1d", "2d", "--example", "--format", "csv"))
    assert [row["factor"] for row in rows] == [*(part["factor"] for part in why["parts"]), "residual"]
    assert sum(float(row["ns"]) for row in rows) == pytest.approx(-3921952.0)
    page = run("diff", "1d", "2d", "--example", "--format", "markdown")
    assert "| stalls ÷ warps | net | −1.74 ms | −20.6 % |" in page


def test_one_name_is_wrong_usage_and_an_unreadable_file_is_unusable(tmp_path):
    with pytest.raises(UsageError):
        run("diff", "2d", "--example")
    file = tmp_path / "bad.ncu-rep"
    file.write_text("garbage")
    with pytest.raises(InputError):
        run("diff", "2d", str(file), "--example")
    assert foreign_file(["diff", "2d", str(file)]) == str(file)  # read in a process of its own: it may crash


def test_the_steps_of_the_ladder_add_up_to_the_whole():
    lines = run("ladder", "--steps", "--example").splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split()[:4] == ["1d", "▼", "1.89×", "−0.95"] for line in lines)
    assert any(line.startswith("naive → warptiled  ▼ 89.7×") for line in lines)
    assert lines[-1] == "Next: ncu-lab diff double-buffered warptiled --example"
    document = json.loads(run("ladder", "--example", "--format", "json"))
    stages = {row["stage"]: row for row in document["stages"]}
    assert document["chain"]["stages"] == LADDER
    assert stages["naive"]["attribution"] is None
    steps = [stages[stage]["attribution"] for stage in LADDER[1:]]
    for factor in FACTORS:
        total = math.fsum(step["log2"][factor] for step in steps)
        assert document["chain"]["log2"][factor] == pytest.approx(total)
    whole = math.log2(steps[-1]["b_ns"] / steps[0]["a_ns"])
    assert document["chain"]["total_log2"] == pytest.approx(whole)
    assert all(abs(step["residual_ns"]) < 0.01 * max(step["a_ns"], step["b_ns"]) for step in steps)


def test_steps_in_other_formats():
    rows = read_csv(run("ladder", "--steps", "--example", "--format", "csv"))
    assert [row["stage"] for row in rows][-1] == "naive → warptiled"
    first = rows[0]
    assert sum(float(first[f"log2_{factor}"]) for factor in FACTORS) == pytest.approx(-math.log2(float(first["step"])))
    page = run("ladder", "--steps", "--example", "--format", "markdown")
    assert "| coalesced | ▼ 12.8× | 0.00 | −3.67 |" in page
    with pytest.raises(UsageError):
        run("ladder", "--steps", "--expectations", "--example")
