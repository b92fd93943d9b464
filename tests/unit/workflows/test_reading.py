import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ncu_lab.errors import InputError
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    TIMING_COLUMNS,
    GitState,
    Run,
    RunMeta,
    table,
)
from ncu_lab.store import Store
from ncu_lab.workflows.reading import find_run, open_run, read_file

NAIVE, TILED, FAILED = (
    "20261130T000000-naive-aaaaaaa-0001",
    "20261130T010000-2d-bbbbbbb-0002",
    "20261130T020000-2d-bb-0003",
)
DATA = Path(__file__).parents[2] / "data" / "ncu"
RAW = Path(__file__).parents[2] / "data" / "golden" / "cupy-nvtx.raw.csv.gz"


def write(store: Path, run_id: str, hours: int, **meta: Any) -> None:
    created = (datetime(2026, 11, 30, tzinfo=UTC) + timedelta(hours=hours)).isoformat()
    fields: dict[str, Any] = {"status": "complete", "source": "profile", **meta}
    columns = (LAUNCH_COLUMNS, METRIC_COLUMNS, INSTANCE_COLUMNS, RULE_COLUMNS, TIMING_COLUMNS)
    Store(store).write(Run(RunMeta(id=run_id, created=created, **fields), *(table(kinds) for kinds in columns)))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "reports"
    write(folder, NAIVE, 0, stages=("naive",), git=GitState(commit="a" * 40))
    write(folder, TILED, 1, stages=("naive", "2d"), git=GitState(commit="b" * 40))
    write(folder, FAILED, 2, stages=("2d",), git=GitState(commit="b" * 40), status="check_failed")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize(
    ("reference", "run_id"),
    [
        (NAIVE, NAIVE),
        ("20261130T01", TILED),
        ("run:20261130T01", TILED),
        ("@last", FAILED),
        ("@last~2", NAIVE),
        ("run:@last~1", TILED),
        ("aaaaaaa", NAIVE),
        ("rev:bbbb", TILED),  # the newest complete one
        ("naive", TILED),
        ("stage:2d", TILED),
        ("2d", TILED),
    ],
)
def test_references(reference: str, run_id: str, store: Path) -> None:
    assert open_run(reference, store).meta.id == run_id


def test_a_path_comes_first(store: Path) -> None:
    assert open_run(f"reports/{NAIVE}", store).meta.id == NAIVE
    file = open_run(str(RAW), store)
    assert (file.meta.id, file.meta.source, len(file.launches)) == (RAW.name, "import", 3)
    Path("naive").mkdir()  # a folder that is no run stands in nobody's way
    assert open_run("naive", store).meta.id == TILED
    Path("2d").write_text("x")
    with pytest.raises(InputError, match="2d is neither a report nor a CSV export"):
        open_run("2d", store)
    assert open_run("stage:2d", store).meta.id == TILED


@pytest.mark.parametrize(
    ("reference", "says", "hint"),
    [
        ("2026", "begins the ids of 3 runs", "Give more of it."),
        ("@last~3", "there is no @last~3", "ncu-lab runs"),
        ("naiv", 'no file, run, revision or stage with a run "naiv"', "Did you mean naive?"),
        ("run:nope", 'there is no run "nope"', "ncu-lab runs"),
        ("stage:nope", 'there is no stage "nope"', "ncu-lab runs"),
        ("stage:2c", 'there is no stage "2c"', "Did you mean 2d? ncu-lab runs --store reports lists all."),
        ("1d", 'there is no complete run of stage "1d"', "Make one: ncu-lab profile --stage 1d --store reports"),
        ("rev:nope", 'there is no revision "nope"', "ncu-lab runs"),
        ("file:nope", "there is no file nope", "Check the path."),
        ("", "no file, run, revision or stage", "ncu-lab runs"),
    ],
)
def test_what_means_nothing_is_told(reference: str, says: str, hint: str, store: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_run(reference, store, " --store reports")
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_an_empty_store_says_how_to_make_a_run(tmp_path: Path) -> None:
    for reference in ("@last", "nope", "stage:2d"):
        with pytest.raises(InputError) as caught:
            find_run(reference, tmp_path, " --store x")
        assert f"{tmp_path} holds no runs" in caught.value.message
        assert caught.value.hint.startswith("Make one: ncu-lab profile --stage 2d --store x")


def test_nobody_is_told_to_write_to_the_bundled_runs(store: Path) -> None:
    with pytest.raises(InputError) as caught:
        find_run("stage:1d", store, " --example")
    assert caught.value.hint == "Make one: ncu-lab profile --stage 1d"


def test_the_stage_that_was_named_is_told(store: Path) -> None:
    assert (find_run("stage:2d", store).stage, find_run("2d", store).stage) == ("2d", "2d")
    assert find_run("@last", store).stage is None
    assert find_run(TILED, store).stage is None


def _break_a_table(store: Path, run_id: str) -> None:
    (store / run_id / "metrics.parquet").write_bytes(b"PAR1 damaged PAR1")


@pytest.mark.parametrize(
    ("reference", "run_id"), [("@last", TILED), ("@last~1", NAIVE), ("stage:naive", TILED), ("rev:bbbb", TILED)]
)
def test_a_corrupt_run_is_passed_over_and_named(reference: str, run_id: str, store: Path) -> None:
    newest = "20261130T030000-2d-bb-0004"
    write(store, newest, 3, stages=("naive",), git=GitState(commit="b" * 40))
    for corrupt in (newest, FAILED):
        _break_a_table(store, corrupt)
    found = find_run(reference, store)
    assert found.run.meta.id == run_id
    assert {notice.code for notice in found.passed_over} == {"corrupt_run"}
    assert f"run {newest} is corrupt: metrics.parquet does not match its checksum" in found.passed_over[0].message


@pytest.mark.parametrize("reference", ["@last~2", "stage:2d", "rev:bbbb"])
def test_where_all_that_may_be_meant_is_corrupt_the_newest_says_why(reference: str, store: Path) -> None:
    for corrupt in (NAIVE, TILED):
        _break_a_table(store, corrupt)
    with pytest.raises(InputError, match=r"is corrupt: metrics\.parquet does not match its checksum"):
        find_run(reference, store)


def test_a_corrupt_run_named_outright_says_why(store: Path) -> None:
    (store / NAIVE / "run.json").write_text("{}")
    with pytest.raises(InputError, match=r"is corrupt: run\.json has no schema version"):
        open_run(NAIVE, store)


@pytest.mark.git
def test_git_revisions(store: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        return subprocess.run(["git", *identity, *arguments], check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    first = git("rev-parse", "HEAD")
    git("commit", "-q", "--allow-empty", "-m", "two")
    edited, clean = "20261130T040000-2d-x-0005", "20261130T030000-2d-x-0004"
    write(store, clean, 3, stages=("2d",), git=GitState(commit=first))
    write(store, edited, 4, stages=("2d",), git=GitState(commit=first, dirty=True))
    assert open_run("HEAD~1", store).meta.id == clean
    assert open_run(f"rev:{first[:8]}", store).meta.id == clean
    with pytest.raises(InputError, match=r'"main" is commit .* has no run$'):
        open_run("main", store)
    (store / clean / "run.json").write_text("{")
    with pytest.raises(InputError, match=r"has no run, but 1 of any commit that cannot be read"):
        open_run("main", store)


@pytest.mark.parametrize(
    ("name", "says", "hint"),
    [
        ("import-missing", "holds no results: ncu found no report none.ncu-rep", "Check the path"),
        ("import-not-a-report", "holds no results: ladder.cu is not a report of ncu", "Give ncu --import"),
        (
            "import-truncated",
            "ncu cannot load the report trunc.ncu-rep: it is damaged, or of another",
            "ncu-lab import",
        ),
        ("no-permission", "ERR_NVGPUCTRPERM: this user may not read", "NVreg_RestrictProfilingToAdminUsers=0"),
        ("no-app", "there is no program ./nosuchapp", "after the two dashes"),
        ("app-exit3", "the program ended with exit code 3", "Run it without ncu"),
        ("new-words", "ncu said: ==ERROR== An error was reported by the driver", "Profile again."),
        ("no-kernel", "ncu said: ==WARNING== No kernels were profiled.", "Profile again."),
    ],
)
def test_what_ncu_printed_instead_of_an_export_is_explained(name: str, says: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.csv"
    path.write_text((DATA / f"{name}.txt").read_text())
    with pytest.raises(InputError) as caught:
        read_file(path)
    assert caught.value.exit_code == 3
    assert caught.value.message.startswith(f"{path} holds no results")
    assert says in caught.value.message
    assert hint in caught.value.hint


def test_an_export_amid_ncus_messages_is_read() -> None:
    run = read_file(DATA / "csv-while-profiling.txt")
    assert set(run.launches["device"]) == {"0"}
    assert any(notice.code == "csv_noise" for notice in run.meta.warnings)


def test_a_path_that_is_no_file_is_told_as_such(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("link").symlink_to("nowhere")
    for reference, says in (
        ("folder", "folder is a folder, not a file"),
        ("link", "link is a link to nowhere, which is not there"),
        ("/dev/null", "/dev/null is a device, not a file"),
    ):
        with pytest.raises(InputError) as caught:
            open_run(reference, store)
        assert caught.value.message == says
