"""Files that a user asked for: whole or not there, never over what is there."""

import os

import pytest

from ncu_lab.errors import EnvironmentLacksError, InputError, UsageError
from ncu_lab.workflows.writing import check_writable, make_folder, write_files


def test_files_are_written_and_nothing_else_is_left(tmp_path):
    files = {tmp_path / "a.csv": b"1\n", tmp_path / "b.csv": b"2\n"}
    write_files(files, force=False)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a.csv": b"1\n", "b.csv": b"2\n"}


def test_what_is_there_stays_without_force(tmp_path):
    there = tmp_path / "page.html"
    there.write_bytes(b"mine")
    with pytest.raises(UsageError, match=r"page\.html exists") as error:
        write_files({tmp_path / "new.html": b"1", there: b"2"}, force=False)
    assert "--force" in error.value.hint
    assert there.read_bytes() == b"mine"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    write_files({there: b"2"}, force=True)
    assert there.read_bytes() == b"2"


def test_a_broken_link_counts_as_there(tmp_path):
    link = tmp_path / "page.html"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(UsageError):
        check_writable([link], force=False)


def test_folders_are_told_apart_from_files(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(UsageError, match="is a folder"):
        check_writable([tmp_path], force=True)
    with pytest.raises(InputError, match="does not exist"):
        check_writable([tmp_path / "none" / "page.html"], force=False)
    with pytest.raises(InputError, match="is no folder"):
        check_writable([tmp_path / "file" / "page.html"], force=False)
    with pytest.raises(UsageError, match="is a file, not a folder"):
        make_folder(tmp_path / "file")
    with pytest.raises(InputError, match="does not exist"):
        make_folder(tmp_path / "none" / "tables")
    make_folder(tmp_path / "tables")
    make_folder(tmp_path / "tables")


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    from pathlib import Path

    written = Path.write_bytes

    def write(path, content):
        if content == b"too much":
            written(path, b"too")
            raise OSError(28, "No space left on device", str(path))
        return written(path, content)

    monkeypatch.setattr(Path, "write_bytes", write)
    with pytest.raises(EnvironmentLacksError, match="No space left on device") as error:
        write_files({tmp_path / "a": b"fits", tmp_path / "b": b"too much"}, force=False)
    assert str(tmp_path) in error.value.message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    with pytest.raises(EnvironmentLacksError, match="Permission denied"):
        write_files({closed / "a": b"1"}, force=False)
