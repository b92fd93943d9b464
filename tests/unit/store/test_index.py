"""The index says what the folders say, whatever happened to them or to its file."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import golden_run
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.model import Estimate, KernelIdentity, RunMeta
from ncu_lab.store import Store, index, index_file
from ncu_lab.store.index import RunIndex

KERNEL = KernelIdentity("2d", "fp32", "sgemm_2d", "sgemm_2d", grid=(8, 8, 1), block=(256, 1, 1))


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr(index, "WORTH_SAVING", 1)
    return Store(tmp_path / "reports")


def add(store: Store, number: int) -> Path:
    created = f"2026-11-30T{number:02}:00:00+00:00"
    return store.write(golden_run(["2d"], run_id=f"20261130T{number:02}0000-2d-nogit-{number:04x}", created=created))


def age(folder: Path) -> None:
    """Let a run's files be old enough that their stamps can be trusted."""
    for path in (folder / "run.json", folder):
        os.utime(path, (1e9, 1e9))


def opened(store: Store, says: int = 0) -> RunIndex:
    found = RunIndex(store.path)
    assert len(found.refresh()) == says
    return found


def light(meta: RunMeta) -> RunMeta:
    git = replace(meta.git, diff="", sources={})
    return replace(meta, command=(), session=None, warnings=(), peaks=(), checksums={}, git=git)


def test_it_lists_what_the_folders_hold(store: Store) -> None:
    for number in range(3):
        add(store, number)
    expected = [light(meta) for meta in store.metas()[0]]
    first = opened(store)
    assert first.metas() == expected
    assert first.save() is None
    assert opened(store).metas() == expected
    (store.path / ".index").exists()
    shutil.rmtree(store.path / ".index")
    assert opened(store).metas() == expected


def test_what_is_indexed_is_not_read_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = add(store, 1)
    monkeypatch.setattr(index, "_is_settled", lambda stamp: True)
    opened(store).save()
    monkeypatch.setattr(index, "read_listed", lambda _: pytest.fail("read again"))
    assert [meta.id for meta in opened(store).metas()] == [folder.name]


def test_runs_come_go_and_change(store: Store) -> None:
    kept, gone, edited = (add(store, number) for number in range(3))
    opened(store).save()
    shutil.rmtree(gone)
    text = (edited / "run.json").read_text()
    (edited / "run.json").write_text(text.replace('"complete"', '"partial"'))
    copied = shutil.copytree(kept, kept.with_name(kept.name[:-1] + "9"))
    (copied / "run.json").write_text((copied / "run.json").read_text().replace(kept.name, copied.name))
    found = {meta.id: meta.status for meta in opened(store).metas()}
    assert found == {kept.name: "complete", edited.name: "partial", copied.name: "complete"}


def test_an_edit_that_keeps_size_and_time_is_seen(store: Store) -> None:
    folder = add(store, 1)
    file = folder / "run.json"
    opened(store).save()
    before = file.stat()
    file.write_text(file.read_text().replace("NVIDIA H200", "NVIDIA H100"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    [meta] = opened(store).metas()
    assert meta.device is not None
    assert meta.device.name == "NVIDIA H100"


def test_a_table_that_goes_is_noticed(store: Store) -> None:
    folder = add(store, 1)
    age(folder)
    opened(store).save()
    (folder / "metrics.parquet").unlink()
    found = RunIndex(store.path)
    [notice] = found.refresh()
    assert "metrics.parquet missing" in notice.message
    assert found.metas() == []


def test_readings_stay_with_the_same_bytes_only(store: Store) -> None:
    folder = add(store, 1)
    first = opened(store)
    first.put_readings(folder.name, {KERNEL: {"duration_ns": Estimate(5.0, 3, 4.0, 6.0), "time_ns": Estimate(4.0)}})
    first.save()
    os.utime(folder / "run.json")
    touched = opened(store)
    assert touched.without_readings([folder.name]) == []
    [point] = touched.series("duration_ns", touched.metas())
    assert (point.kernel, point.estimate) == (KERNEL, Estimate(5.0, 3, 4.0, 6.0))
    assert touched.series("no_such_key", touched.metas()) == []
    (folder / "run.json").write_text((folder / "run.json").read_text() + "\n")
    changed = opened(store)
    assert changed.without_readings([folder.name]) == [folder.name]
    assert changed.series("duration_ns", changed.metas()) == []


def test_few_changes_are_not_worth_a_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    add(store, 1)
    assert opened(store).save() is None
    assert not (tmp_path / ".index").exists()


def test_git_and_backups_pass_over_it(store: Store) -> None:
    add(store, 1)
    opened(store).save()
    names = {entry.name for entry in (store.path / ".index").iterdir()}
    assert {".gitignore", "CACHEDIR.TAG"} < names
    assert len(names) == 3
    assert (store.path / ".index" / ".gitignore").read_text() == "*\n"


def test_a_store_that_may_not_be_written_still_works(store: Store) -> None:
    folder = add(store, 1)
    (store.path / ".index").write_text("in the way")
    found = opened(store)
    assert found.save() == "File exists"
    assert [meta.id for meta in found.metas()] == [folder.name]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_store_still_works(store: Store) -> None:
    add(store, 1)
    store.path.chmod(0o500)
    try:
        assert opened(store).save() == "Permission denied"
    finally:
        store.path.chmod(0o700)


def test_the_bundled_runs_get_no_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "WORTH_SAVING", 1)
    store = Store(tmp_path / "reports" / "examples")
    add(store, 1)
    assert opened(store).save() is None
    assert not (store.path / ".index").exists()


def test_another_version_keeps_its_own_index_for_a_month(store: Store) -> None:
    add(store, 1)
    folder = store.path / ".index"
    folder.mkdir()
    for name, days in (("0123.sqlite", 29), (".writing-1", 29), ("4567.sqlite", 31)):
        (folder / name).write_bytes(b"of another version")
        os.utime(folder / name, (time.time() - days * 86400,) * 2)
    opened(store).save()
    left = {entry.name for entry in folder.iterdir()} - {".gitignore", "CACHEDIR.TAG"}
    assert len(left) == 2
    assert "0123.sqlite" in left


def test_junk_and_links_are_no_runs(store: Store, tmp_path: Path) -> None:
    folder = add(store, 1)
    elsewhere = Store(tmp_path / "elsewhere")
    target = add(elsewhere, 2)
    (store.path / target.name).symlink_to(target)
    (store.path / "loop").symlink_to(store.path / "loop")
    (store.path / "broken").symlink_to(tmp_path / "nowhere")
    (store.path / "all").symlink_to(store.path)
    for number in range(3000):
        (store.path / f"junk-{number}.txt").touch()
    for number in range(50):
        (store.path / f"folder-{number}").mkdir()
    assert [meta.id for meta in opened(store).metas()] == [target.name, folder.name]


def test_a_newer_schema_is_passed_over_beside_the_rest(store: Store) -> None:
    old, new = add(store, 1), add(store, 2)
    document = json.loads((new / "run.json").read_text())
    (new / "run.json").write_text(json.dumps({**document, "schema": 99}))
    found = RunIndex(store.path)
    [notice] = found.refresh()
    assert "has schema 99" in notice.message
    assert [meta.id for meta in found.metas()] == [old.name]
    (new / "run.json").write_text(json.dumps(document))
    assert len(opened(store).metas()) == 2


def test_a_copy_under_way_appears_when_it_is_done(store: Store, tmp_path: Path) -> None:
    done = add(store, 1)
    source = add(Store(tmp_path / "elsewhere"), 2)
    target = store.path / source.name
    target.mkdir()
    for file in ("run.json", "launches.parquet"):  # the description first, as rsync would
        shutil.copy2(source / file, target / file)
    half = opened(store, says=1)
    half.save()
    assert [meta.id for meta in half.metas()] == [done.name]
    for file in source.iterdir():
        shutil.copy2(file, target / file.name)
    assert [meta.id for meta in opened(store).metas()] == [target.name, done.name]


def test_a_file_of_something_else_is_built_again(store: Store) -> None:
    add(store, 1)
    opened(store).save()
    [file] = (store.path / ".index").glob("*.sqlite")
    for data in (b"", b"x", b"SQLite format 3\0" + bytes(5000), file.read_bytes()[:-7]):
        file.write_bytes(data)
        assert len(opened(store).metas()) == 1


DATABASE_ROWS = [(number, number / 3) for number in range(400)]


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("sealed") / "i ü%?#" / "x.sqlite"
    memory = index_file.in_memory()
    memory.execute("CREATE TABLE t (a, b)")
    memory.executemany("INSERT INTO t VALUES (?, ?)", DATABASE_ROWS)
    file.parent.parent.mkdir(exist_ok=True)
    index_file.save(memory, file)
    return file


@given(st.data())
def test_no_flipped_bit_is_ever_believed(sealed: Path, data: st.DataObject) -> None:
    whole = sealed.read_bytes()
    place = data.draw(st.integers(0, len(whole) - 1))
    flipped = bytearray(whole)
    flipped[place] ^= 1 << data.draw(st.integers(0, 7))
    damaged = sealed.with_name("damaged.sqlite")
    for content in (bytes(flipped), whole[:place]):
        damaged.write_bytes(content)
        assert index_file.load(damaged) is None
    loaded = index_file.load(sealed)
    assert isinstance(loaded, sqlite3.Connection)
    assert loaded.execute("SELECT a, b FROM t").fetchall() == DATABASE_ROWS
