import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from lab_command import exit_code

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "reports")


def test_import_then_runs(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("import", str(GOLDEN / "cupy-nvtx.raw.csv.gz"), "--name", "mine", "--store", store) == 0
    run_id = capsys.readouterr().out.strip()
    assert "-mine-nogit-" in run_id
    (Path(store) / "20261130T000000-x-nogit-0000").mkdir()
    assert exit_code("runs", "--store", store) == 0
    out, err = capsys.readouterr()
    assert run_id in out
    assert "H200" in out
    assert all(len(line) <= 80 for line in out.splitlines())
    assert err.startswith("warning: run 20261130T000000-x-nogit-0000 is corrupt")
    assert exit_code("runs", "--store", store, "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    (only,) = document["runs"]
    assert (only["id"], only["device"], only["commit"], only["stages"]) == (run_id, "NVIDIA H200", None, [])


def test_the_status_stays_where_space_is_short(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert exit_code("runs", "--example") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["run", "problem", "device", "status"]
    assert all(line.endswith("  complete") for line in lines[:3])
    assert lines[3].startswith("no room for: when (UTC), subject, commit")


def test_the_csv_tells_the_problem_in_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("runs", "--example", "--format", "csv") == 0
    text = capsys.readouterr().out
    assert text.isascii()
    program, ladder, _ = csv.DictReader(io.StringIO(text))
    assert (ladder["m"], ladder["n"], ladder["k"], ladder["status"]) == ("4096", "4096", "4096", "complete")
    assert (program["m"], program["subject"]) == ("", "cupy-three-launches")
    assert "problem" not in ladder


@pytest.mark.parametrize("command", ["runs", "show", "ladder", "dashboard"])
def test_a_store_that_is_none_is_refused(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, missing = tmp_path / "file", tmp_path / "missing"
    file.write_text("x")
    for path, says in ((file, "is a file, not a folder"), (missing, "does not exist")):
        assert exit_code(command, "--store", str(path)) == 3
        out, err = capsys.readouterr()
        assert (out, err.splitlines()[0]) == ("", f"error: the store {path} {says}")
        assert len(err.splitlines()) == 2


@pytest.mark.parametrize("command", ["runs", "ladder", "dashboard"])
def test_a_store_that_the_environment_names_has_to_be_there(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NCU_LAB_STORE", str(tmp_path / "typo"))
    assert exit_code(command) == 3
    assert f"error: the store {tmp_path / 'typo'} does not exist" in capsys.readouterr().err


def test_an_imported_part_of_a_report_is_listed_as_partial(
    store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(gzip.decompress((GOLDEN / "cupy-nvtx.ncu-rep.gz").read_bytes())[:-10])
    assert exit_code("import", str(cut), "--store", store) == 0
    assert exit_code("runs", "--store", store) == 0
    assert "  partial" in capsys.readouterr().out


def test_an_empty_store_says_what_to_do(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path(store).mkdir()
    assert exit_code("runs", "--store", store) == 0
    out, err = capsys.readouterr()
    assert "no runs in" in err
    assert "ncu-lab profile" in out
    assert exit_code("runs", "--store", store, "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == {"schema": 1, "runs": []}


def test_warnings_about_a_file_go_to_stderr(store: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(gzip.decompress((GOLDEN / "cupy-nvtx.ncu-rep.gz").read_bytes())[:-10])
    assert exit_code("import", str(cut), "--drop-report", "--store", store) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 1
    assert "warning: 2 of 3 results; the last block is cut at byte 226747 (" in err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["import", "nope.ncu-rep"], 3, "there is no file nope.ncu-rep"),
        (["runs", "--example"], 2, "--store and --example exclude each other"),
    ],
)
def test_errors_and_their_exit_codes(
    arguments: list[str], code: int, says: str, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(*arguments, "--store", store) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {says}")
    assert len(err.splitlines()) <= 2


def test_an_unwritable_store_is_exit_code_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("x")
    source = str(GOLDEN / "cupy-nvtx.raw.csv.gz")
    assert exit_code("import", source, "--store", str(tmp_path / "file" / "reports")) == 4
    assert "cannot be written" in capsys.readouterr().err
