"""Runs that were changed, cut or written by a newer ncu-lab are refused in plain words."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
from stored_runs import seal, small_run

from ncu_lab.errors import InputError
from ncu_lab.store import Store
from ncu_lab.store.stored_run import read_directory


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
    folder = store.write(small_run())
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
    folder = store.write(small_run())
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
    folder = store.write(small_run())
    (folder / "checks.json").write_text(checks)
    seal(folder, "checks.json")
    with pytest.raises(InputError) as caught:
        store.read(folder.name)
    assert caught.value.message.startswith(f"run {folder.name} is corrupt: checks.json: {says}")


def test_reading_all_of_a_run_finds_a_corrupt_table(store: Store) -> None:
    folder = store.write(small_run())
    assert len(store.read_whole(folder.name).instances) == 3
    (folder / "rules.parquet").write_bytes(b"PAR1 damaged PAR1")
    with pytest.raises(InputError, match=r"rules\.parquet does not match its checksum"):
        store.read_whole(folder.name)


def test_unknown_keys_of_the_same_schema_are_ignored(store: Store) -> None:
    folder = store.write(small_run())
    file = folder / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), "new": {"in": "1.1"}}))
    assert store.read(folder.name).meta.id == folder.name


def test_a_renamed_run_is_noticed_but_can_be_read_by_path(store: Store) -> None:
    folder = store.write(small_run())
    renamed = folder.rename(folder.parent / "mine")
    metas, notices = store.metas()
    assert metas == []
    assert "Rename the folder" in notices[0].message
    assert read_directory(renamed).meta.id == small_run().meta.id


def test_a_table_of_wrong_shape_is_corrupt(store: Store) -> None:
    folder = store.write(small_run())
    frame = pd.DataFrame({"launch": [1]})
    frame.to_parquet(folder / "rules.parquet")
    seal(folder, "rules.parquet")
    with pytest.raises(InputError, match=r"is corrupt: rules\.parquet"):
        _ = store.read(folder.name).rules
