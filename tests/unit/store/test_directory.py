import hashlib
import json
import os
import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from ncu_lab.errors import EnvironmentLacksError, InputError, UsageError
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    TIMING_COLUMNS,
    CheckCase,
    Device,
    Environment,
    GitState,
    Notice,
    Problem,
    Run,
    RunMeta,
    StageBuild,
    table,
)
from ncu_lab.store import Store, run_label
from ncu_lab.store.stored_run import read_directory

NAN = float("nan")
CREATED = datetime(2026, 11, 30, 1, 12, 7, tzinfo=UTC)

DEVICE = Device("NVIDIA H200", (9, 0), 132, "ab12", 10**11, 62914560, 1.98e9, {"warp_size": 32.0, "mode": "No-CC"})
BUILD = StageBuild(
    "2d", "fast", "sm_90", Path("/var/cache/x/2d.cubin"), 130, 0, 0, 0, 8192, 1, False, 0.9, ("-O3",), "13.0.88",
    ("a warning",), {"FFMA": 64}, "hash", "FFMA R1\n",
)  # fmt: skip
CHECK = CheckCase("2d", "fast", Problem(64, 32, 16), "plain", 3e-7, 1e-7, 1e-5, True)


def rows(columns: Mapping[str, str], **values: list[Any]) -> pd.DataFrame:
    length = len(next(iter(values.values())))
    empty = {"int64": 0, "float64": NAN}
    data = {name: values.get(name, [empty.get(kind)] * length) for name, kind in columns.items()}
    return table(columns, data)


def make_run(run_id: str = "20261130T011207-2d-4f2c9ab-91c3", **meta: Any) -> Run:
    fields: dict[str, Any] = {
        "status": "complete", "created": CREATED.isoformat(), "source": "profile", "stages": ("2d",),
        "problem": Problem(2048, 1024, 512, 2.0, 1.0), "device": DEVICE,
        "environment": Environment(driver="580", nvcc_flags=("-lineinfo",), sections=("SpeedOfLight",)),
        "git": GitState("4f2c9ab" + "0" * 33, "main", True, "pad", "diff", {"kernels/a.cu": "text"}),
        "command": ("ncu-lab", "profile"), "warnings": (Notice("code", "Öl → 2³"),),
    }  # fmt: skip
    return Run(
        RunMeta(id=run_id, **{**fields, **meta}),
        launches=rows(LAUNCH_COLUMNS, launch=[0, 1], kernel=["f(int)", "g"], nvtx=[["a", "b"], []], stage=["2d", None]),
        metrics=rows(
            METRIC_COLUMNS, launch=[0, 0], metric=["a", "b"], value=[0.1, NAN], text=[None, "Ö"], unit=["ns", ""]
        ),
        instances=rows(
            INSTANCE_COLUMNS, launch=[0, 0, 0], metric=["a", "b", "a"], kind=["pc", "name", "pc"],
            correlation=[2**48, 0, 2**62], label=[None, "LDG", None], value=[1.5, NAN, -0.0], text=[None, "w", None],
            sass=["LDG R1", None, "EXIT"], file=["kernels/a.cu", None, None], line=[12, None, None],
        ),
        rules=rows(RULE_COLUMNS, launch=[0], section=["Occupancy"], rule=["R"], kind=["ok"], message=["m"]),
        timings=rows(TIMING_COLUMNS, sample=[0, 1], subject=["2d", "2d"], ns=[1.0, 2.0], sm_clock_mhz=[1980.0, NAN]),
        builds=(BUILD,),
        checks=(CHECK,),
    )  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "reports")


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    run = make_run()
    folder = store.write(run)
    assert folder == store.path / run.meta.id
    back = store.read(run.meta.id)
    assert replace(back.meta, checksums={}) == run.meta
    for name in ("launches", "metrics", "instances", "rules", "timings"):
        left, right = getattr(run, name), getattr(back, name)
        pd.testing.assert_frame_equal(left, right, check_categorical=False)
        assert left.dtypes.astype(str).tolist() == right.dtypes.astype(str).tolist()
    assert back.builds == (replace(BUILD, cubin=Path("2d.cubin")),)
    assert back.checks == (CHECK,)


def test_a_name_that_is_no_utf8_comes_back_as_it_was(store: Store) -> None:
    command = ("ncu-lab", "import", os.fsdecode(b"bad\xff.ncu-rep"))
    assert store.read(store.write(make_run(command=command)).name).meta.command == command


def test_missing_words_come_back_as_none(store: Store) -> None:
    store.write(make_run())
    back = store.read(make_run().meta.id)
    assert back.launches["stage"].tolist() == ["2d", None]
    assert back.launches["nvtx"].tolist() == [["a", "b"], []]
    assert back.metrics["text"].tolist() == [None, "Ö"]


def test_empty_tables_keep_their_types(store: Store) -> None:
    columns = {
        "launches": LAUNCH_COLUMNS, "metrics": METRIC_COLUMNS, "instances": INSTANCE_COLUMNS, "rules": RULE_COLUMNS,
        "timings": TIMING_COLUMNS,
    }  # fmt: skip
    run = replace(make_run(), **{name: table(kinds) for name, kinds in columns.items()})
    store.write(run)
    back = store.read(run.meta.id)
    for name, kinds in columns.items():
        frame = getattr(back, name)
        assert len(frame) == 0
        assert {column: str(kind) for column, kind in frame.dtypes.items()} == dict(kinds)


def test_the_files_of_a_run(store: Store, tmp_path: Path) -> None:
    raw = tmp_path / "r.ncu-rep"
    raw.write_bytes(b"NVR\0raw")
    folder = store.write(make_run(), raw)
    names = {"launches.parquet", "metrics.parquet", "instances.parquet", "rules.parquet", "timings.parquet"}
    names |= {"build.json", "checks.json", "report.ncu-rep"}
    assert {file.name for file in folder.iterdir()} == names | {"run.json", "run.json.sha256"}
    data = json.loads((folder / "run.json").read_text("utf-8"))
    assert data["schema"] == 1
    assert data["checksums"] == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    assert store.report(make_run().meta.id) == folder / "report.ncu-rep"
    assert not any("/var/cache" in file.read_text("utf-8") for file in folder.glob("*.json"))


def test_instances_are_read_only_when_asked_for(store: Store) -> None:
    folder = store.write(make_run())
    (folder / "instances.parquet").write_bytes(b"PAR1 damaged PAR1")
    back = store.read(make_run().meta.id)
    assert len(back.metrics) == 2
    with pytest.raises(InputError, match=r"instances\.parquet does not match its checksum"):
        _ = back.instances


def test_a_read_run_can_be_replaced(store: Store) -> None:
    store.write(make_run())
    other = replace(store.read(make_run().meta.id), checks=())
    assert other.checks == ()
    assert len(other.instances) == 3
    with pytest.raises(AttributeError):
        _ = other.nothing  # type: ignore[attr-defined]  # what is tested


def test_runs_are_never_overwritten(store: Store) -> None:
    store.write(make_run())
    with pytest.raises(UsageError, match="exists in"):
        store.write(make_run())


@pytest.mark.parametrize("run_id", ["", ".", "..", "a/b", "../x", ".hidden"])
def test_ids_that_are_no_names_are_refused(run_id: str, store: Store) -> None:
    with pytest.raises(UsageError, match="no name for a run"):
        store.write(make_run(run_id))


def test_an_interrupted_write_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write(make_run())
    assert list(store.path.iterdir()) == []


def test_nothing_is_begun_before_there_is_something_to_write(store: Store) -> None:
    with store.writing():
        assert list(store.path.iterdir()) == []


def test_what_a_killed_writer_left_goes_with_the_next_write(store: Store) -> None:
    child = os.fork()
    if child == 0:
        with store.writing() as writer:
            writer.append({"timings": table(TIMING_COLUMNS)})
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    [left] = store.path.iterdir()
    store.write(make_run("20261130T011207-2d-4f2c9ab-0001"))
    assert left.exists(), "it is so young that its writer may not have locked it yet"
    os.utime(left, (0, 0))
    store.write(make_run("20261130T011207-2d-4f2c9ab-0002"))
    assert sorted(entry.name[-4:] for entry in store.path.iterdir()) == ["0001", "0002"]


def test_what_another_writer_is_at_stays(store: Store) -> None:
    with store.writing() as writer:
        writer.append({"timings": table(TIMING_COLUMNS)})
        [folder] = store.path.iterdir()
        os.utime(folder, (0, 0))
        store.write(make_run("20261130T011207-2d-4f2c9ab-0001"))
        assert folder.exists()
        writer.finish(make_run("20261130T011207-2d-4f2c9ab-0002"))
    assert [meta.id[-4:] for meta in store.metas()[0]] == ["0002", "0001"]


def test_a_failing_disk_is_told_as_such(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(EnvironmentLacksError, match="cannot be written: No space left on device"):
        store.write(make_run())
    assert list(store.path.iterdir()) == []


def test_a_store_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EnvironmentLacksError, match="cannot be written") as caught:
        Store(tmp_path / "file" / "reports").check_writable()
    assert "--store" in caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(EnvironmentLacksError, match="cannot be written: Permission denied"):
            Store(tmp_path).check_writable()
    finally:
        tmp_path.chmod(0o700)


def test_ids(store: Store) -> None:
    zone = timezone(timedelta(hours=2))
    run_id = store.new_run_id(CREATED.astimezone(zone), "my run/√2", "4f2c9ab1234")
    assert run_id.rpartition("-")[0] == "20261130T011207-my-run-2-4f2c9ab"
    assert store.new_run_id(CREATED, "///", None).rpartition("-")[0] == "20261130T011207-run-nogit"


@pytest.mark.parametrize(
    ("stages", "name", "label"),
    [(("2d",), None, "2d"), (("1d", "2d"), None, "ladder"), ((), None, "program"), (("2d",), "mine", "mine")],
)
def test_labels(stages: tuple[str, ...], name: str | None, label: str) -> None:
    assert run_label(stages, name) == label


def test_runs_are_listed_newest_first_and_corrupt_ones_named(store: Store) -> None:
    for hour, run_id in enumerate(("20261130T000000-a-nogit-0001", "20261130T010000-b-nogit-0002")):
        store.write(make_run(run_id, created=(CREATED + timedelta(hours=hour)).isoformat()))
    (store.path / "20261130T020000-c-nogit-0003").mkdir()
    (store.path / "examples").mkdir()
    (store.path / ".writing-20261130T020000-c-nogit-0004-aa").mkdir()
    (store.path / "README.md").write_text("no run")
    lost = store.write(make_run("20261130T030000-d-nogit-0005"))
    (lost / "metrics.parquet").unlink()
    bad = store.write(make_run("20261130T030000-e-nogit-0006"))
    (bad / "run.json").write_text('{"schema": 1')
    metas, notices = store.metas()
    assert [meta.id for meta in metas] == ["20261130T010000-b-nogit-0002", "20261130T000000-a-nogit-0001"]
    assert [notice.code for notice in notices] == ["corrupt_run"] * 3
    for notice, (name, says) in zip(
        notices,
        [
            ("20261130T020000-c-nogit-0003", "run.json: No such file"),
            ("20261130T030000-d-nogit-0005", "metrics.parquet missing"),
            ("20261130T030000-e-nogit-0006", "run.json is not JSON"),
        ],
        strict=True,
    ):
        assert name in notice.message
        assert says in notice.message


def test_a_store_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert Store(tmp_path / "nope").metas() == ([], [])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": 2}, "has schema 2, this ncu-lab reads up to 1"),
        ({"schema": None}, "no schema version"),
        ({"status": "great"}, "status is 'great', not one of complete"),
        ({"id": 7}, "id is a whole number, not text"),
        ({"problem": {"m": 0, "n": 1, "k": 1}}, "size m = 0 is too small"),
        ({"problem": {"m": 1}}, "run.json: problem.n, problem.k missing"),
        ({"device": {"name": "x", "compute_capability": [9]}}, "device.compute_capability has 1 entries, not 2"),
        ({"stages": "2d"}, "stages is text, not a list"),
        ({"device": {"name": "x", "max_sm_clock_hz": 10**400}}, "device.max_sm_clock_hz is too large a number"),
        ({"checksums": {"x" * 300: ""}}, "missing"),
    ],
)
def test_a_corrupt_or_newer_meta_is_refused(change: dict[str, Any], says: str, store: Store) -> None:
    folder = store.write(make_run())
    file = folder / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **change}))
    with pytest.raises(InputError) as caught:
        store.read(folder.name)
    assert says in caught.value.message
    assert folder.name in caught.value.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 200_000, "run.json is not JSON (nested too deeply)"),
        ('{"schema": 1, "id": "x"}', "run.json: status, created, source missing"),
    ],
)
def test_what_is_no_run_at_all_is_told_in_plain_words(text: str, says: str, store: Store) -> None:
    folder = store.write(make_run())
    (folder / "run.json").write_text(text)
    with pytest.raises(InputError) as caught:
        store.read(folder.name)
    assert caught.value.message == f"run {folder.name} is corrupt: {says}"
    assert store.metas()[0] == []


@pytest.mark.parametrize(
    ("checks", "says"),
    [
        ("[" * 200_000, "nested too deeply"),
        ('{"checks": [{"problem": {"m": 0, "n": 1, "k": 1}}]}', "checks[0].stage, checks[0].variant"),
    ],
)
def test_what_lists_of_a_run_hold_is_told_once(checks: str, says: str, store: Store) -> None:
    folder = store.write(make_run())
    (folder / "checks.json").write_text(checks)
    _seal(folder, "checks.json")
    with pytest.raises(InputError) as caught:
        store.read(folder.name)
    assert caught.value.message.startswith(f"run {folder.name} is corrupt: checks.json: {says}")


def test_reading_all_of_a_run_finds_a_corrupt_table(store: Store) -> None:
    folder = store.write(make_run())
    assert len(store.read_whole(folder.name).instances) == 3
    (folder / "rules.parquet").write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(InputError, match=r"rules\.parquet does not match its checksum"):
        store.read_whole(folder.name)


def test_a_file_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InputError) as caught:
        Store(file).metas()
    assert caught.value.message == f"the store {file} is a file, not a folder"
    with pytest.raises(InputError, match="is a file, not a folder"):
        Store(file).check_readable()
    with pytest.raises(InputError, match="nope does not exist"):
        Store(tmp_path / "nope").check_readable()
    Store(tmp_path).check_readable()


def test_a_store_that_cannot_be_listed_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    store.write(make_run())
    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    for ask in (store.metas, store.check_readable):
        with pytest.raises(InputError, match=r"cannot be read: Permission denied") as caught:
            ask()
        assert caught.value.exit_code == 3


def test_short_ids_mean_one_run_only(store: Store) -> None:
    ids = ["20261130T011207-2d-4f2c9ab-91c3", "20261130T011207-1d-4f2c9ab-91c3", "20261130T020000-2d-4f2c9ab-0001"]
    for run_id in ids:
        store.write(make_run(run_id))
    assert [store.short_id(run_id) for run_id in ids] == [
        "20261130T011207-2d",
        "20261130T011207-1d",
        "20261130T020000",
    ]


def test_unknown_keys_of_the_same_schema_are_ignored(store: Store) -> None:
    folder = store.write(make_run())
    file = folder / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "new": {"in": "1.1"}}))
    assert store.read(folder.name).meta.id == folder.name


def test_a_renamed_run_is_noticed_but_can_be_read_by_path(store: Store) -> None:
    folder = store.write(make_run())
    renamed = folder.rename(folder.parent / "mine")
    metas, notices = store.metas()
    assert metas == []
    assert "Rename the folder" in notices[0].message
    assert read_directory(renamed).meta.id == make_run().meta.id


def test_a_table_of_wrong_shape_is_corrupt(store: Store) -> None:
    folder = store.write(make_run())
    frame = pd.DataFrame({"launch": [1]})
    frame.to_parquet(folder / "rules.parquet")
    _seal(folder, "rules.parquet")
    with pytest.raises(InputError, match=r"is corrupt: rules\.parquet"):
        _ = store.read(folder.name).rules


def _seal(folder: Path, name: str) -> None:
    """Give a file that was changed its right checksum."""
    file = folder / "run.json"
    data = json.loads(file.read_text("utf-8"))
    data["checksums"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    file.write_text(json.dumps(data))
