"""Writing a run: whole or not at all, never over another."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from stored_runs import small_run

from ncu_lab.errors import EnvironmentLacksError, UsageError
from ncu_lab.model import (
    TIMING_COLUMNS,
    table,
)
from ncu_lab.store import Store


def test_runs_are_never_overwritten(store: Store) -> None:
    store.write(small_run())
    with pytest.raises(UsageError, match="exists in"):
        store.write(small_run())


@pytest.mark.parametrize("run_id", ["", ".", "..", "a/b", "../x", ".hidden"])
def test_ids_that_are_no_names_are_refused(run_id: str, store: Store) -> None:
    with pytest.raises(UsageError, match="no name for a run"):
        store.write(small_run(run_id))


def test_an_interrupted_write_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt):
        store.write(small_run())
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
    store.write(small_run("20261130T011207-2d-4f2c9ab-0001"))
    assert left.exists(), "it is so young that its writer may not have locked it yet"
    os.utime(left, (0, 0))
    store.write(small_run("20261130T011207-2d-4f2c9ab-0002"))
    assert sorted(entry.name[-4:] for entry in store.path.iterdir()) == ["0001", "0002"]


def test_what_another_writer_is_at_stays(store: Store) -> None:
    with store.writing() as writer:
        writer.append({"timings": table(TIMING_COLUMNS)})
        [folder] = store.path.iterdir()
        os.utime(folder, (0, 0))
        store.write(small_run("20261130T011207-2d-4f2c9ab-0001"))
        assert folder.exists()
        writer.finish(small_run("20261130T011207-2d-4f2c9ab-0002"))
    assert [meta.id[-4:] for meta in store.metas()[0]] == ["0002", "0001"]


def test_a_failing_disk_is_told_as_such(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(EnvironmentLacksError, match="cannot be written: No space left on device"):
        store.write(small_run())
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
