"""Files made to hurt, and those that chance has damaged: refused or read, with no traceback, hang or full memory."""

from __future__ import annotations

import gzip
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ncu_lab.errors import Exit, InputError
from ncu_lab.parse import files
from ncu_lab.parse.container import read_container
from ncu_lab.parse.files import read_any

Golden = Callable[[str], Path]
FUZZ = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=150)


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_any(path)
    assert caught.value.exit_code == Exit.BAD_INPUT
    assert caught.value.hint
    assert str(path) in caught.value.message
    return caught.value


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    pipe, listening, link, loop = (tmp_path / name for name in ("pipe", "socket", "link", "loop"))
    os.mkfifo(pipe)
    link.symlink_to("gone")
    loop.symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listening))
        for path, says in (
            (tmp_path, "is a folder, not a file"),
            (pipe, "is a pipe, not a file"),
            (listening, "is a socket, not a file"),
            (Path("/dev/null"), "is a device, not a file"),
            (Path("/dev/zero"), "is a device, not a file"),
            (link, "is a link to gone, which is not there"),
            (loop, "cannot be read: Too many levels of symbolic links"),
            (tmp_path / "none", "there is no file"),
            (tmp_path / "a\0b", "cannot be read: embedded null byte"),
            (tmp_path / ("x" * 300), "cannot be read: File name too long"),
        ):
            assert says in refusal(path).message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(b"NVR\0")
    path.chmod(0)
    assert "cannot be read: Permission denied" in refusal(path).message


@pytest.mark.parametrize("name", ["sparse.ncu-rep", "sparse.csv", "sparse"])
def test_a_huge_file_of_zeros_is_refused_unread(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.touch()
    os.truncate(path, 1 << 40)  # reading it would take hours
    assert refusal(path).message.endswith(f"it begins with zeros ({1 << 40} bytes)")


def test_a_huge_text_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"ID","Kernel Name"\n')
    os.truncate(path, files.MAX_TEXT_BYTES + 1)
    assert refusal(path).message.endswith("is larger than an export may be (512 of 512 MiB)")


def test_a_block_of_a_report_that_claims_a_terabyte_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    header = b"\x10\x01\x28\x80\x80\x80\x80\x80\x20"  # 1 result, payload of 2^40 bytes
    path.write_bytes(b"NVR\0" + struct.pack("<I", 2) + b"\x08\x07" + struct.pack("<I", len(header)) + header + b"x")
    assert "should end at 1099511627799" in refusal(path).message


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_a_bomb_is_not_unpacked(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(files, "FREE_BYTES", 4 << 20)
    path = tmp_path / "bomb.ncu-rep"
    with pa.output_stream(str(path), compression=kind) as stream:
        stream.write(b"NVR\0")
        for _ in range(32):
            stream.write(bytes(1 << 20))
    message = refusal(path).message
    assert f"MiB in {path.stat().st_size} bytes of {kind}: it is not unpacked" in message
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_an_export_that_grows_a_hundredfold_is_refused_before_it_is_read(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ncu_lab.parse.csv_page.read_csv", None)
    path = tmp_path / "bomb.csv"
    rows = b'"0","kernel","1.0"\n' * 50_000
    with pa.output_stream(str(path), compression=kind) as stream:
        stream.write(b'"ID","Kernel Name","Metric Value"\n')
        for _ in range(80):  # 76 MB, in less than a hundredth of it
            stream.write(rows)
    assert refusal(path).message == (
        f"{path} holds more than 64 MiB in {path.stat().st_size} bytes of {kind}: it is not unpacked"
    )


def test_of_a_text_no_more_is_unpacked_than_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_TEXT_BYTES", 1 << 20)
    for name, start, refused in (("x.csv.gz", b"ID,", True), ("x.ncu-rep.gz", b"NVR\0", False)):
        path = tmp_path / name
        path.write_bytes(gzip.compress(start + b"x" * (2 << 20)))
        assert ("holds more than 1 MiB" in refusal(path).message) is refused


def test_much_is_unpacked_where_there_is_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b'"ID","Kernel Name"\n' * 5000))
    monkeypatch.setattr(files, "FREE_BYTES", 1000)
    monkeypatch.setattr(files, "MAX_RATIO", 1000)
    assert "not unpacked" not in refusal(path).message
    monkeypatch.setattr(files, "MAX_UNPACKED_BYTES", 50_000)
    assert "not unpacked" in refusal(path).message


def test_layers_of_compression_are_not_peeled_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"NVR\0")))
    assert "is compressed more than once" in refusal(path).message


def test_what_no_reader_foresaw_is_told_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"ID","Kernel Name"\n"0","a"\n')
    for error, says in (
        (TypeError("odd"), "is damaged, and cannot be read (TypeError: odd)"),
        (MemoryError(), "memory"),
    ):

        def fail(_: Path, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr("ncu_lab.parse.csv_page.read_csv", fail)
        told = refusal(path)
        assert says in told.message
        assert told.__cause__ is error


@pytest.mark.parametrize("name", ["cupy-nvtx.raw.csv", "cupy-nvtx.details.csv"])
@FUZZ
@given(data=st.data())
def test_a_damaged_export_is_read_or_refused(name: str, data: st.DataObject, golden: Golden, tmp_path: Path) -> None:
    content = bytearray(golden(name).read_bytes()[:6000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        cut = data.draw(st.integers(0, 300))
        content[at : at + cut] = data.draw(st.one_of(st.binary(max_size=20), st.sampled_from(SEEDS)))
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    read_or_refuse(path)


SEEDS = (
    *(b'"', b'""', b"\n", b"\r", b"\0", b",", b";", b"\t", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8"),
    *(b"1e999", b"-", b"nan", b"(!) n/a", b"9" * 400, b"1,2,3.4.5", b"(1, 2)", b"\x1b[2J"),
    *(b'"ID","Kernel Name"\n', b"==ERROR== x\n"),
)


@FUZZ
@given(content=st.lists(st.one_of(st.sampled_from(SEEDS), st.binary(max_size=8))).map(b"".join))
@example(content=b'"ID","Kernel Name","a"\n' + b'"0","k",' + b'"' * 4001)
@example(content=b'"ID","Kernel Name"\n"' + b"9" * 5000 + b'","k"\n')
def test_any_bytes_are_read_or_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    read_or_refuse(path)


@FUZZ
@given(data=st.data())
def test_a_damaged_container_is_walked_or_refused(data: st.DataObject, golden: Golden, tmp_path: Path) -> None:
    # Only walked: what NVIDIA's reader does with it is its own affair, see workflows/test_reading_apart.py.
    content = bytearray(golden("cupy-nvtx.ncu-rep").read_bytes())
    places = st.one_of(st.integers(0, 40), st.integers(0, len(content) - 1))
    for at, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), min_size=1, max_size=6)):
        content[at] = value
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        container = read_container(path)
    except InputError:
        return
    assert 0 <= container.complete <= container.announced <= len(content)


def test_a_million_unended_quotes_are_read_in_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"ID","Kernel Name"\n' + '"0","k\n' * 100_000)
    read_or_refuse(path)


def read_or_refuse(path: Path) -> None:
    try:
        read_any(path)
    except InputError as error:
        # What no reader foresaw would be told as damage; the readers of text foresee everything.
        if error.__cause__ is not None and "is damaged" in error.message:
            raise error.__cause__ from error
