"""``diff`` and ``ladder --steps`` as they are typed, on the bundled runs."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import pytest
from example_runs import example
from golden_runs import golden_run
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.cli.containment import foreign_file
from ncu_lab.errors import InputError, UsageError
from ncu_lab.render.numbers import plain_spaces
from ncu_lab.render.tables import Row
from ncu_lab.store import Store

LADDER = ["naive", "coalesced", "smem", "1d", "2d", "vectorized", "double-buffered", "warptiled", "sgemm-hopper"]
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


@pytest.fixture(scope="module")
def bundled():
    """Ids of the bundled runs of the ladder: at 1024 and at 4096."""
    return example("ladder 1024").id, example("ladder 4096").id


def test_two_stages(bundled):
    lines = run("diff", "1d", "2d", "--example").splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == f"1d → 2d · {bundled[1]}"
    assert lines[1].endswith("comparable ✓")
    assert re.fullmatch(
        r"2d is 1\.8\d× faster than 1d, because of 29\.\d % fewer instructions; p = \de-\d+", plain_spaces(lines[3])
    )
    assert re.fullmatch(
        r"  ▼ 1\.8\d× faster   8\.\d+ → 4\.\d+ ms \(−3\.\d+ ms, −4\d\.\d % ± 0\.\d+\)", plain_spaces(lines[4])
    )
    assert re.fullmatch(r"  p = \de-\d+, n = 20 \+ 20", lines[5])
    assert lines[6].split()[0] == "instructions"
    assert any(line.startswith("  └ stalls ÷ warps") for line in lines)
    assert any(line.startswith("    residual") for line in lines)
    assert any(line.startswith("  exact ≠ registers 52 → 125") for line in lines)
    assert any(line.startswith("  lines kernels/gemm/") for line in lines)
    assert "1 faster, 0 slower, 0 same, 0 inconclusive; 0 added, 0 removed." in lines
    assert lines[-1] == f"Next: ncu-lab show {bundled[1]} --stage 2d --example"


def test_what_did_not_change_takes_one_line_and_what_is_in_one_run_alone_is_named():
    same = run("diff", "@last~1", "@last~1", "--example").splitlines()
    stages = sum("= same" in line for line in same)
    assert stages > 10
    assert f"0 faster, 0 slower, {stages} same, 0 inconclusive; 0 added, 0 removed." in same
    assert not any("residual" in line for line in same)
    assert "residual" in run("diff", "@last~1", "@last~1", "--stage", "2d", "--example")
    none = " ".join(run("diff", "--example").split())
    assert "3 added (scale_and_add<<<131 072, 128>>>, column_sums<<<128, 512>>>," in none
    assert "removed (naive, coalesced," in none


def _stored(folder, day, stages=("naive", "1d", "2d"), driver="580.159", longer=1.0):
    """Store a run, of whose counters not all were collected that split a time."""
    run = golden_run(stages, run_id=f"2026120{day}T000000-x", created=f"2026-12-0{day}T00:00:00+00:00")
    environment, metrics = replace(run.meta.environment, driver=driver), run.metrics.copy()
    metrics.loc[metrics["metric"] == "gpu__time_duration.sum", "value"] *= longer
    Store(folder).write(replace(run, meta=replace(run.meta, environment=environment), metrics=metrics))
    return run.meta.id


def test_a_reason_that_every_pair_has_is_said_once(tmp_path):
    plain, other = _stored(tmp_path, 1), _stored(tmp_path, 2, driver="999.1")
    longer, one = _stored(tmp_path, 3, longer=1.1), _stored(tmp_path, 4, ["2d"], driver="999.1")
    words = plain_spaces(run("diff", plain, other, "--store", str(tmp_path)))
    assert " ".join(words.split()).count("another driver (580.159 and 999.1)") == 1
    assert [line for line in words.splitlines() if "⊘ not comparable  " in line] == [
        "naive   ⊘ not comparable   4.42 → 4.42 ms",
        "1d   ⊘ not comparable   127 → 127 µs",
        "2d   ⊘ not comparable   198 → 198 µs",
    ]
    for format in ("table", "markdown"):
        words = " ".join(run("diff", plain, longer, "--store", str(tmp_path), "--format", format).split())
        assert words.count("? inconclusive") == 3
        assert words.count("Why is told of no pair: not collected: --section") == words.count("not collected") == 1
    alone = " ".join(run("diff", plain, one, "--store", str(tmp_path)).split())
    assert "because of another driver (580.159 and 999.1)" in alone  # of one pair it stands with the verdict


def test_another_problem_is_not_comparable_unless_forced(bundled):
    text = " ".join(run("diff", *bundled, "--stage", "2d", "--example").split())
    assert "not comparable ⊘: another problem (1024³ and 4096³) forbids times," in text
    assert "2d ⊘ not comparable 0.21 → 4.5" in text
    assert "0 inconclusive, 1 not comparable;" in text
    forced = " ".join(run("diff", *bundled, "--stage", "2d", "--example", "--force").split())
    assert "compared by force, although not comparable: another problem" in forced
    assert "2d is 2" in forced
    assert " slower than in A, " in forced
    assert re.search(r"▲ 2\d\.\d× slower 0\.21 → 4\.5\d ms \(\+4\.3\d ms, ×2\d\.\d\)", forced)
    for words in ("json", "markdown"):
        said = run("diff", *bundled, "--stage", "2d", "--example", "--force", "--format", words)
        assert ('"forced": true' if words == "json" else "compared by force") in said


def test_kernels_are_paired_by_hand(bundled):
    text = run("diff", *bundled, "--pair", "1d=2d", "--example", "--force")
    assert re.search(r"^2d is \S+ slower than 1d, ", text, re.MULTILINE)


def test_the_document():
    document = json.loads(run("diff", "1d", "2d", "--example", "--format", "json"))
    (only,) = document["pairs"]
    assert (document["schema"], document["a"]["stage"], document["b"]["stage"]) == (1, "1d", "2d")
    assert (document["comparable"], document["forced"], document["reasons"]) == (True, False, [])
    assert (only["status"], only["confidence"], only["kernels_a"]) == ("matched", 1.0, ["sgemm_1d"])
    time = only["duration"]
    assert (time["verdict"], time["source"], time["method"], time["n_a"], time["n_b"]) == (
        "faster", "timings", "ranks", 20, 20,
    )  # fmt: skip
    assert time["delta_ns"] == pytest.approx(time["b_ns"] - time["a_ns"])
    assert time["low_pct"] < (time["ratio"] - 1.0) * 100.0 < time["high_pct"] < 0
    why = only["attribution"]
    assert sum(part["ns"] for part in why["parts"]) + why["residual_ns"] == pytest.approx(why["b_ns"] - why["a_ns"])
    registers = next(one for one in only["metrics"] if one["key"] == "registers_per_thread")
    assert (registers["a"], registers["b"], registers["class"], registers["verdict"]) == (
        52.0,
        125.0,
        "exact",
        "changed",
    )
    assert {line["file"] for line in only["lines"]} >= {"kernels/gemm/06_1d.cu", "kernels/gemm/07_2d.cu"}
    empty = json.loads(run("diff", "@last~1", "@last~1", "--example", "--format", "json"))
    assert all(one["metrics"] == [] and one["lines"] == [] for one in empty["pairs"])
    assert {one["duration"]["verdict"] for one in empty["pairs"]} == {"same"}


def test_of_a_run_and_itself_no_part_of_a_time_is_told(bundled):
    rows = read_csv(run("diff", bundled[0], bundled[0], "--example", "--format", "csv"))
    assert {row["what"] for row in rows} == {"time"}


def test_help_names_both_arguments():
    shown = run("diff", "--help")
    assert "[OPTIONS] [A] [B]" in shown
    assert "[A <" not in shown


def test_other_formats():
    rows = read_csv(run("diff", "1d", "2d", "--example", "--format", "csv"))
    assert {row["what"] for row in rows} == {"time", "metric", "part", "line"}
    (time,) = [row for row in rows if row["what"] == "time"]
    assert (time["verdict"], time["unit"], time["key"]) == ("faster", "ns", "timings")
    assert {row["key"] for row in rows if row["what"] == "part"} >= {"instructions", "warps", "residual"}
    page = run("diff", "1d", "2d", "--example", "--format", "markdown")
    assert page.startswith("### 1d → 2d")
    assert "| stalls ÷ warps | net | −1." in page
    assert "- exact: ≠ registers 52 → 125" in page


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
    (step,) = (line.split() for line in lines if line.split()[:2] == ["1d", "▼"])
    assert step[3] == "−0.95"  # instructions, which every recording counts alike
    assert 1.8 < float(step[2].removesuffix("×")) < 2.0
    chain = next(line.split() for line in lines if line.startswith("naive → sgemm-hopper "))
    assert 105 < float(chain[4].removesuffix("×")) < 125
    assert lines[-1] == "Next: ncu-lab diff warptiled sgemm-hopper --example"
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
    assert [row["stage"] for row in rows][-1] == "naive → sgemm-hopper"
    first = rows[0]
    assert sum(float(first[f"log2_{factor}"]) for factor in FACTORS) == pytest.approx(-math.log2(float(first["step"])))
    page = run("ladder", "--steps", "--example", "--format", "markdown")
    assert "| coalesced | ▼ 13.0× | 0.00 | −3.69 |" in page
    with pytest.raises(UsageError):
        run("ladder", "--steps", "--expectations", "--example")
