"""``export`` as it is typed, on the bundled runs."""

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from ncu_lab.cli.app import app
from ncu_lab.cli.containment import foreign_file
from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import LAUNCH_COLUMNS, METRIC_COLUMNS
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.store.tables import read_table

MOST_BYTES = 6_000_000
"""Of the page of the bundled ladder."""


def run(*arguments):
    result = CliRunner().invoke(app, ["export", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture(scope="module")
def ladder_4096():
    metas, _ = Store(data_dir("examples")).metas()
    return next(meta for meta in metas if meta.problem and meta.problem.m == 4096)


@pytest.mark.slow
def test_the_page_of_the_ladder_is_small_and_names_no_path_of_this_machine(tmp_path, ladder_4096):
    place = tmp_path / "page.html"
    run("html", "--example", "-o", str(place))
    text = place.read_text()
    assert place.stat().st_size < MOST_BYTES
    for stage in ladder_4096.stages:
        assert f'id="run-1-{stage}"' in text
    for path in (str(data_dir("examples")), str(tmp_path), "/home/", "/root/"):
        assert path not in text
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_stage_alone(tmp_path):
    place = tmp_path / "page.html"
    run("html", "--example", "stage:2d", "-o", str(place))
    text = place.read_text()
    assert 'id="run-1-2d"' in text
    assert 'id="run-1-1d"' not in text


def test_markdown_goes_to_stdout_or_a_file(tmp_path, ladder_4096):
    text = run("markdown", "--example")
    assert text.startswith("### 4096³ · NVIDIA H200")
    assert len(text) < 65_536
    for stage in ladder_4096.stages:
        assert f"| {stage} |" in text
    assert run("markdown", "--example", "-o", str(tmp_path / "comment.md")) == ""
    assert (tmp_path / "comment.md").read_text() == text


def test_tables_are_what_the_store_holds(tmp_path, ladder_4096):
    whole = Store(data_dir("examples")).read(ladder_4096.id)
    wanted = ("--table", "launches", "--table", "metrics")
    run("csv", "--example", *wanted, "-o", str(tmp_path / "csv"))
    run("parquet", "--example", *wanted, "-o", str(tmp_path / "parquet"))
    assert sorted(path.name for path in (tmp_path / "csv").iterdir()) == ["launches.csv", "metrics.csv"]
    back = read_table((tmp_path / "parquet" / "metrics.parquet").read_bytes(), METRIC_COLUMNS)
    assert back.equals(whole.metrics)
    with (tmp_path / "csv" / "launches.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == list(LAUNCH_COLUMNS)
    assert [row["kernel"] for row in rows] == list(whole.launches["kernel"])
    assert [json.loads(row["nvtx"]) for row in rows] == [list(paths) for paths in whole.launches["nvtx"]]
    with (tmp_path / "csv" / "metrics.csv").open(newline="") as file:
        values = [row["value"] for row in csv.DictReader(file)]
    assert [float(value) if value else None for value in values] == [
        None if value != value else value for value in whole.metrics["value"]
    ]


def test_one_table_goes_to_stdout(ladder_4096):
    rows = list(csv.DictReader(io.StringIO(run("csv", "--example", "--table", "timings", "-o", "-"))))
    assert len(rows) == len(Store(data_dir("examples")).read(ladder_4096.id).timings)


def test_every_kind_takes_a_stage_alone(tmp_path):
    rows = list(csv.DictReader(io.StringIO(run("csv", "--example", "--stage", "2d", "--table", "launches", "-o", "-"))))
    assert {row["stage"] for row in rows} == {"2d"}
    run("parquet", "--example", "--stage", "2d", "--table", "launches", "-o", str(tmp_path))
    assert set(read_table((tmp_path / "launches.parquet").read_bytes(), LAUNCH_COLUMNS)["stage"]) == {"2d"}
    launch = rows[0]["launch"]
    for chosen in (("--stage", "2d"), ("--launch", launch)):
        (only,) = json.loads(run("json", "--example", *chosen))["launches"]
        assert only["stage"] == "2d"


def test_several_runs_have_a_folder_each(tmp_path):
    metas, _ = Store(data_dir("examples")).metas()
    ids = [meta.id for meta in metas[:2]]
    run("csv", "--example", *ids, "--table", "rules", "-o", str(tmp_path / "tables"))
    assert {path.parent.name for path in (tmp_path / "tables").glob("*/rules.csv")} == set(ids)


def test_json_has_the_shapes_of_show_and_ladder(ladder_4096):
    shown = json.loads(run("json", "--example"))
    assert shown["schema"] == 1
    assert shown["source"]["run"] == ladder_4096.id
    assert len(shown["launches"]) == len(Store(data_dir("examples")).read(ladder_4096.id).launches)
    ladder = json.loads(run("json", "--example", "--ladder"))
    assert [one["stage"] for one in (*ladder["stages"], *ladder["references"])] == list(ladder_4096.stages)


def test_what_is_there_is_not_replaced(tmp_path):
    place = tmp_path / "comment.md"
    place.write_text("mine")
    with pytest.raises(UsageError, match="exists"):
        run("markdown", "--example", "-o", str(place))
    assert place.read_text() == "mine"
    run("markdown", "--example", "-o", str(place), "--force")
    assert place.read_text().startswith("### 4096³")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["csv", "-o", "-"], "stdout holds one table"),
        (["parquet", "-o", "-"], "Parquet is no text"),
        (["json", "@last", "@last~1"], "of one run"),
        (["json", "--raw", "--ladder"], "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    with pytest.raises(UsageError, match=message):
        run(*arguments, "--example")


def test_a_missing_folder_is_told_before_anything_is_read(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        run("html", "no-such-run", "--example", "-o", str(tmp_path / "none" / "page.html"))


def test_files_are_read_in_a_child(tmp_path):
    report = tmp_path / "k.ncu-rep"
    report.write_bytes(b"")
    assert foreign_file(["export", "html", str(report), "-o", "page.html"]) == str(report)
