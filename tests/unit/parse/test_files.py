import gzip
import random
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.parse.files import damage_told, plain_file, read_any

Golden = Callable[[str], Path]


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
@pytest.mark.parametrize("name", ["cupy-nvtx.ncu-rep", "cupy-nvtx.raw.csv"])
def test_compressed_files_are_read_whatever_they_are_called(
    kind: str, name: str, golden: Golden, tmp_path: Path
) -> None:
    content = golden(name).read_bytes()
    packed = tmp_path / "something.bin"
    with pa.output_stream(str(packed), compression=kind) as stream:
        stream.write(content)
    assert read_any(packed).metrics.equals(read_any(golden(name)).metrics)
    with plain_file(packed) as plain:
        assert plain.is_report == name.endswith(".ncu-rep")
        unpacked = plain.path
    assert not unpacked.exists()


@pytest.mark.parametrize("kind", ["gzip", "zstd"])
def test_of_a_stream_that_is_cut_the_whole_results_are_read(kind: str, golden: Golden, tmp_path: Path) -> None:
    packed = tmp_path / "cut.ncu-repz"
    with pa.output_stream(str(packed), compression=kind) as stream:
        stream.write(golden("ladder-full.ncu-rep").read_bytes())
    packed.write_bytes(packed.read_bytes()[: packed.stat().st_size // 2])
    parsed = read_any(packed)
    assert 3 <= len(parsed.launches) <= 9
    broken, cut, *_ = parsed.notices
    assert broken.message.startswith(f"the file is a broken {kind} stream: ")
    assert cut.message.startswith(f"{len(parsed.launches)} of ")
    assert (broken.code, cut.code) == ("damaged", "damaged")


def test_bytes_after_a_stream_are_told(golden: Golden, tmp_path: Path) -> None:
    packed = tmp_path / "more.ncu-rep.gz"
    packed.write_bytes(gzip.compress(golden("cupy-nvtx.ncu-rep").read_bytes(), mtime=0) + b"junk")
    parsed = read_any(packed)
    assert [notice.code for notice in parsed.notices][:1] == ["damaged"]


def test_a_full_disk_is_no_broken_stream(golden: Golden, tmp_path: Path) -> None:
    packed = tmp_path / "x.ncu-rep.gz"
    packed.write_bytes(gzip.compress(golden("cupy-nvtx.ncu-rep").read_bytes(), mtime=0))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(EnvironmentLacksError, match="too large"):
            read_any(packed)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("name", ["plain.ncu-repz", ".ncu-repz", "plain.ncu-repz.gz"])
def test_a_report_that_is_not_compressed_may_be_called_so(name: str, golden: Golden, tmp_path: Path) -> None:
    content = golden("cupy-nvtx.ncu-rep").read_bytes()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, mtime=0) if name.endswith("gz") else content)
    assert len(read_any(path).launches) == 3


def test_messages_name_the_file_that_was_given(tmp_path: Path) -> None:
    packed = tmp_path / "empty.ncu-rep.gz"
    packed.write_bytes(gzip.compress(b"", mtime=0))
    with pytest.raises(InputError) as caught:
        read_any(packed)
    assert caught.value.message == f"{packed} is empty (0 bytes)"
    assert str(caught.value) == caught.value.message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"SQLite format 3\0....", "an SQLite database"),
        (b"PK\x03\x04....", "a zip archive"),
        (b"\x7fELF....", "an ELF binary"),
        (gzip.compress(random.Random(0).randbytes(5000), mtime=0)[:-20], "is a broken gzip stream"),
        (b"\x28\xb5\x2f\xfd....", "is a broken zstd stream"),
        (b"", "is empty (0 bytes)"),
        (bytes(range(256)), "is neither a report nor text"),
    ],
)
def test_other_files_are_refused(content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match="x") as caught:
        read_any(path)
    assert says in caught.value.message


def test_absent_files_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_any(tmp_path / "nope")
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_any(tmp_path)


def _allocate() -> None:
    try:
        raise pa.ArrowMemoryError("malloc of size 26944 failed")
    except pa.ArrowException as error:
        raise ValueError("the table does not have the columns it should") from error


def _load() -> None:
    raise ImportError("reshape.so: failed to map segment from shared object")


@pytest.mark.parametrize("does", [_allocate, _load])
def test_too_little_memory_is_no_damage(does: Callable[[], None]) -> None:
    with pytest.raises(InputError, match="needs more memory than there is"), damage_told(Path("x.ncu-rep")):
        does()
