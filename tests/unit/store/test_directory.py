"""A run comes back from its folder as it was; a store lists what it holds."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pandas as pd
import pytest
from stored_runs import BUILD, CHECK, CREATED, small_run

from ncu_lab.errors import InputError
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    TIMING_COLUMNS,
    table,
)
from ncu_lab.store import Store, run_label


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    run = small_run()
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
    assert store.read(store.write(small_run(command=command)).name).meta.command == command


def test_missing_words_come_back_as_none(store: Store) -> None:
    store.write(small_run())
    back = store.read(small_run().meta.id)
    assert back.launches["stage"].tolist() == ["2d", None]
    assert back.launches["nvtx"].tolist() == [["a", "b"], []]
    assert back.metrics["text"].tolist() == [None, "Ö"]


def test_empty_tables_keep_their_types(store: Store) -> None:
    columns = {
        "launches": LAUNCH_COLUMNS, "metrics": METRIC_COLUMNS, "instances": INSTANCE_COLUMNS, "rules": RULE_COLUMNS,
        "timings": TIMING_COLUMNS,
    }  # fmt: skip
    run = replace(small_run(), **{name: table(kinds) for name, kinds in columns.items()})
    store.write(run)
    back = store.read(run.meta.id)
    for name, kinds in columns.items():
        frame = getattr(back, name)
        assert len(frame) == 0
        assert {column: str(kind) for column, kind in frame.dtypes.items()} == dict(kinds)


def test_the_files_of_a_run(store: Store, tmp_path: Path) -> None:
    raw = tmp_path / "r.ncu-rep"
    raw.write_bytes(b"NVR\0raw")
    folder = store.write(small_run(), raw)
    names = {"launches.parquet", "metrics.parquet", "instances.parquet", "rules.parquet", "timings.parquet"}
    names |= {"build.json", "checks.json", "report.ncu-rep"}
    assert {file.name for file in folder.iterdir()} == names | {"run.json", "run.json.sha256"}
    data = json.loads((folder / "run.json").read_text("utf-8"))
    assert data["schema"] == 1
    assert data["checksums"] == {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    assert store.report(small_run().meta.id) == folder / "report.ncu-rep"
    assert not any("/var/cache" in file.read_text("utf-8") for file in folder.glob("*.json"))


def test_instances_are_read_only_when_asked_for(store: Store) -> None:
    folder = store.write(small_run())
    (folder / "instances.parquet").write_bytes(b"PAR1 damaged PAR1")
    back = store.read(small_run().meta.id)
    assert len(back.metrics) == 2
    with pytest.raises(InputError, match=r"instances\.parquet does not match its checksum"):
        _ = back.instances


def test_a_read_run_can_be_replaced(store: Store) -> None:
    store.write(small_run())
    other = replace(store.read(small_run().meta.id), checks=())
    assert other.checks == ()
    assert len(other.instances) == 3
    with pytest.raises(AttributeError):
        _ = other.nothing  # type: ignore[attr-defined]  # what is tested


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
        store.write(small_run(run_id, created=(CREATED + timedelta(hours=hour)).isoformat()))
    (store.path / "20261130T020000-c-nogit-0003").mkdir()
    (store.path / "examples").mkdir()
    (store.path / ".writing-20261130T020000-c-nogit-0004-aa").mkdir()
    (store.path / "README.md").write_text("no run")
    lost = store.write(small_run("20261130T030000-d-nogit-0005"))
    (lost / "metrics.parquet").unlink()
    bad = store.write(small_run("20261130T030000-e-nogit-0006"))
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

    store.write(small_run())
    monkeypatch.setattr(Path, "iterdir", refuse)
    monkeypatch.setattr(os, "scandir", refuse)
    for ask in (store.metas, store.check_readable):
        with pytest.raises(InputError, match=r"cannot be read: Permission denied") as caught:
            ask()
        assert caught.value.exit_code == 3


def test_short_ids_mean_one_run_only(store: Store) -> None:
    ids = ["20261130T011207-2d-4f2c9ab-91c3", "20261130T011207-1d-4f2c9ab-91c3", "20261130T020000-2d-4f2c9ab-0001"]
    for run_id in ids:
        store.write(small_run(run_id))
    assert [store.short_id(run_id) for run_id in ids] == [
        "20261130T011207-2d",
        "20261130T011207-1d",
        "20261130T020000",
    ]
