"""Reading untrusted files in a child: what comes back is the same, and no way of ending badly reaches the caller."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from crashing import CRASHING, CUPY, flipped
from lab_command import GOLDEN

from ncu_lab.errors import InputError
from ncu_lab.model import ParsedReport
from ncu_lab.parse.files import read_any
from ncu_lab.workflows import reading_apart
from ncu_lab.workflows.reading_apart import read_apart

STUMBLING = {15175: 255, 29615: 255, 12489: 255, 7083: 223, 19380: 0, 9165: 128}
"""Position -> byte: each alone makes it give names that it does not know then, or that are no text."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder for temporary files, which has to be empty at the end."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def assert_same(one: ParsedReport, other: ParsedReport) -> None:
    for name in ("launches", "metrics", "instances", "rules"):
        # ncu-report takes the units of some derived metrics from the first report that its process has read.
        ours, theirs = (getattr(parsed, name).drop(columns="unit", errors="ignore") for parsed in (one, other))
        pd.testing.assert_frame_equal(ours, theirs)
    for name in ("device", "environment", "notices"):
        assert getattr(one, name) == getattr(other, name)


def outcome(read: Callable[[Path], ParsedReport], path: Path) -> str:
    """Read a file, and tell how that went."""
    try:
        return "read" if len(read(path).launches) else "empty"
    except InputError as error:
        return error.message


@pytest.mark.parametrize("name", ["cupy-nvtx.ncu-rep.gz", "ladder-full.details.csv.gz"])
def test_what_comes_back_is_what_is_read_here(name: str, temporary: Path) -> None:
    assert_same(read_apart(GOLDEN / name), read_any(GOLDEN / name))
    assert list(temporary.iterdir()) == []


def test_a_refusal_comes_back_as_it_is(tmp_path: Path, temporary: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    with pytest.raises(InputError) as here:
        read_any(path)
    with pytest.raises(InputError) as apart:
        read_apart(path)
    assert (apart.value.message, apart.value.hint) == (here.value.message, here.value.hint)
    with pytest.raises(InputError, match="is a folder, not a file"):
        read_apart(tmp_path)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("position", "value"), CRASHING.items())
def test_a_crash_of_the_native_reader_is_contained(position: int, value: int, tmp_path: Path, temporary: Path) -> None:
    told = outcome(read_apart, flipped(tmp_path, position, value))
    # A later reader may refuse it, or read it; this one crashes.
    assert "crashed the reader (SIG" in told or "damaged" in told or told == "read"
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("position", "value"), STUMBLING.items())
def test_what_the_reader_stumbles_over_is_no_traceback(position: int, value: int, tmp_path: Path) -> None:
    path = flipped(tmp_path, position, value)
    told = outcome(read_any, path)
    assert told == "read" or told.startswith(str(path))


def test_a_metric_whose_name_is_garbled_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    intact = read_any(GOLDEN / "cupy-nvtx.ncu-rep.gz")
    parsed = read_any(flipped(tmp_path, 15175, 255))
    [lost] = [notice.message for notice in parsed.notices if notice.code == "lost_metrics"][:1]
    assert lost == "1 metric is lost of result 0: the report is damaged there."
    assert 0 < len(intact.metrics) - len(parsed.metrics) <= 3


def test_too_much_memory_is_refused(temporary: Path) -> None:
    # Unpacked the report is 15 MB, its tables are larger.
    with pytest.raises(InputError, match="needs more than 60 MiB of memory"):
        read_apart(GOLDEN / "ladder-full.ncu-rep.gz", memory_bytes=60 << 20)
    assert list(temporary.iterdir()) == []


def interpreter(folder: Path, script: str) -> str:
    """Make a program that stands for the child's Python."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("kill -SEGV $$", "crashed the reader (SIGSEGV)"),
        ("kill -BUS $$", "crashed the reader (SIGBUS)"),
        ("kill -XCPU $$", "took too much computing time"),
        ("echo 'what():  std::bad_alloc' >&2; kill -ABRT $$", "needs more than 4096 MiB of memory"),
        ("echo 'ImportError: no such library' >&2; exit 1", "without a result (ImportError: no such library)"),
        ("exit 0", "without a result (exit code 0)"),
        ('echo \'{"launches": 1}\' > "$5/parsed.json"', "what was read of it is garbled"),
        ('echo \'["x"]\' > "$5/refused.json"', "what was read of it is garbled"),
        ('echo \'{"kind": "os", "message": "m"}\' > "$5/refused.json"', "m"),
    ],
)
def test_every_bad_end_is_told(
    script: str, says: str, tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(CUPY)
    monkeypatch.setattr(reading_apart.sys, "executable", interpreter(tmp_path, script))
    with pytest.raises(InputError) as caught:
        read_apart(path)
    assert says in caught.value.message
    assert list(temporary.iterdir()) == []


def test_a_hang_is_given_up_with_all_its_processes(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, pid = tmp_path / "x.ncu-rep", tmp_path / "pid"
    path.write_bytes(CUPY)
    script = f"trap '' TERM; sleep 60 & echo $! > {pid}; wait; sleep 60"
    monkeypatch.setattr(reading_apart.sys, "executable", interpreter(tmp_path, script))
    with pytest.raises(InputError, match="was not read within 1 s and was given up"):
        read_apart(path, timeout_s=1)
    stat = Path(f"/proc/{pid.read_text().strip()}/stat")
    deadline = time.monotonic() + 10
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert list(temporary.iterdir()) == []


def test_a_file_of_any_name_is_read(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"-r\xff \x1b[2J\n.ncu-rep")
    path.write_bytes(CUPY)
    assert len(read_apart(path).launches) == 3
