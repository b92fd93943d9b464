import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pandas as pd
import pytest
from report_blocks import of_processes, write_repeated

from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.parse import pieces, report
from ncu_lab.parse.report import read_report
from ncu_lab.store import Store
from ncu_lab.workflows.importing import import_file

Golden = Callable[[str], Path]
T = TypeVar("T")
TABLES = ("launches", "metrics", "instances", "rules")


@pytest.fixture
def seven(golden: Golden, tmp_path: Path) -> Path:
    """A report of seven results of two processes in turns."""
    path = write_repeated(golden("cupy-nvtx.ncu-rep"), tmp_path / "seven.ncu-rep", 7, metrics=625)
    path.write_bytes(of_processes(path.read_bytes(), [11, 22]))
    return path


def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have three of the results, of 61 KB each, read at once by each of two processes."""
    monkeypatch.setattr(pieces, "LEAST_PIECE_BYTES", 200_000)
    monkeypatch.setattr(pieces, "BYTES_AT_ONCE", 400_000)
    monkeypatch.setattr(report, "workers", lambda: 2)


@pytest.mark.parametrize(
    ("sizes", "count", "found"),
    [
        ([10] * 6, 6, [range(6)]),  # 60 bytes: one turn
        ([20] * 5, 5, [range(2), range(2, 5)]),  # 100 bytes: two turns of 50, the middle one lies behind the half
        ([100, 100, 1], 3, [range(1), range(1, 2), range(2, 3)]),  # 201 bytes: a large one is alone, never left out
        ([60, 1, 60], 3, [range(1), range(1, 3)]),
        ([500, 1, 1, 1, 1], 5, [range(1), range(1, 5)]),  # small ones behind a large one are not each alone
        ([40, 40, 0], 3, [range(1), range(1, 3)]),
        ([0, 0], 2, [range(2)]),
        ([40], 3, [range(3)]),  # of the reader's other results the container tells nothing
        ([40, 40], 1, [range(1)]),  # nor does it matter what cannot be read
        ([], 0, [range(0)]),
    ],
)
def test_pieces_hold_so_many_bytes(
    sizes: list[int], count: int, found: list[range], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "LEAST_PIECE_BYTES", 1)
    monkeypatch.setattr(pieces, "BYTES_AT_ONCE", 61)
    assert pieces.spans(sizes, count, 1) == found


@pytest.mark.parametrize(
    ("megabytes", "at_once", "parts"),
    [
        (8, 1, 1),
        (8, 4, 4),
        (8, 16, 8),  # one megabyte each: less is not worth a process
        (40, 4, 12),  # 16 MB at once, so three turns
        (0.5, 4, 1),
    ],
)
def test_each_process_has_its_part(megabytes: float, at_once: int, parts: int) -> None:
    count = int(megabytes * 10)
    found = pieces.spans([100_000] * count, count, at_once)
    assert [number for part in found for number in part] == list(range(count))
    lengths = [len(part) for part in found]
    assert len(found) == parts
    assert max(lengths) - min(lengths) <= 1


def test_pieces_make_the_same_whole(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read_report(seven)
    in_pieces(monkeypatch)
    parts = read_report(seven)
    for name in TABLES:
        pd.testing.assert_frame_equal(getattr(parts, name), getattr(whole, name), check_categorical=False)
    assert (parts.device, parts.environment, parts.session, parts.notices) == (
        whole.device, whole.environment, whole.session, whole.notices,
    )  # fmt: skip
    assert parts.launches["process"].tolist() == ["python3.12 (11)", "python3.12 (22)"] * 3 + ["python3.12 (11)"]


def test_a_large_report_is_stored_as_it_is_read(seven: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_pieces(monkeypatch)
    stored = Store(tmp_path / "store").read(import_file(seven, tmp_path / "store").meta.id)
    whole = read_report(seven)
    for name in TABLES:
        pd.testing.assert_frame_equal(
            getattr(stored, name), getattr(whole, name), check_categorical=False, check_names=False
        )


READER_THAT = """
import os, signal, sys
from ncu_lab.parse import pieces, report
read = report.read_results
def failing(path, part):
    if {number} in part:
        {does}
    return read(path, part)
report.read_results = failing
pieces.main()
"""


def reader_that(does: str, number: int | str) -> tuple[str, ...]:
    """A reader of parts that fails on one result."""
    return (sys.executable, "-c", READER_THAT.format(does=does, number=number))


CRASHES = "os.kill(os.getpid(), signal.SIGSEGV)"


def test_a_result_that_crashes_the_reader_is_lost_alone(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_pieces(monkeypatch)
    monkeypatch.setattr(pieces, "READER", reader_that(CRASHES, 4))
    found = read_report(seven)
    assert found.launches["launch"].tolist() == [0, 1, 2, 3, 5, 6]
    assert found.launches["process"].tolist()[3:5] == ["python3.12 (22)", "python3.12 (22)"]
    assert sorted(found.metrics["launch"].unique()) == [0, 1, 2, 3, 5, 6]
    assert [notice.message for notice in found.notices] == [
        "result 4 of the report is lost: NVIDIA's reader crashes on it."
    ]


def test_a_report_whose_every_result_crashes_the_reader(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_pieces(monkeypatch)
    monkeypatch.setattr(pieces, "READER", reader_that(CRASHES, "part.start"))
    with pytest.raises(InputError, match="no results"):
        read_report(seven)


def test_a_report_that_crashes_the_reader_again_and_again_is_given_up(
    seven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pieces(monkeypatch)
    monkeypatch.setattr(pieces, "MOST_LOST", 1)
    monkeypatch.setattr(pieces, "READER", reader_that(CRASHES, "part.start"))
    with pytest.raises(InputError, match="crashes NVIDIA's reader on more than 1 results"):
        read_report(seven)


def test_pieces_that_are_read_ahead_do_not_keep_the_first_from_its_turn(
    seven: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each of the later ones takes long: both run while the second half of a crashed one has still to begin.
    monkeypatch.setattr(
        pieces, "READER", reader_that(f"import time; {CRASHES} if 1 in part else time.sleep(2)", "part.start")
    )
    parts = [range(1), range(1, 3), range(3, 5), range(5, 7)]
    found = list(pieces.read_apart(seven, parts, 2))
    assert [(piece.first, len(piece.identities)) for piece in found] == [(0, 1), (1, 0), (2, 1), (3, 2), (5, 2)]


def test_a_full_disk_is_not_taken_for_a_crash(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_pieces(monkeypatch)
    full = "__import__('resource').setrlimit(__import__('resource').RLIMIT_FSIZE, (10, 10))"
    monkeypatch.setattr(pieces, "READER", reader_that(full, "part.start"))
    with pytest.raises(EnvironmentLacksError, match="No space left"):
        read_report(seven)


def test_modules_of_the_current_folder_are_not_taken(
    seven: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_pieces(monkeypatch)
    (tmp_path / "types.py").write_text("raise SystemError")
    (tmp_path / "pickle.py").write_text("raise SystemError")
    monkeypatch.chdir(tmp_path)
    assert len(read_report(seven).launches) == 7


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_processes_end_with_the_one_that_started_them(how: str, seven: Path, tmp_path: Path) -> None:
    script = f"""
from pathlib import Path
from ncu_lab.parse import pieces
pieces.READER = {reader_that("open(str(os.getpid()), 'w'); __import__('time').sleep(60)", "part.start")!r}
reading = pieces.read_apart(Path({str(seven)!r}), [range(2), range(2, 4)], 2)
try:
    next(reading)
finally:
    reading.close()
"""
    place = tmp_path / "pids"
    place.mkdir()
    process = subprocess.Popen([sys.executable, "-c", script], cwd=place, stderr=subprocess.DEVNULL)
    pids = wait_for(lambda: found if len(found := [int(one) for one in os.listdir(place)]) == 2 else None)
    process.send_signal(signal.SIGINT if how == "closed" else signal.SIGKILL)
    process.wait(20)
    assert wait_for(lambda: not any(runs(pid) for pid in pids))


def wait_for(what: Callable[[], T | None]) -> T:
    """Ask until there is an answer."""
    end = time.monotonic() + 20
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_crash_of_the_reader_is_told_from_a_refusal(tmp_path: Path) -> None:
    missing = tmp_path / "nope.ncu-rep"
    with pytest.raises(FileNotFoundError, match="does not exist"):
        list(pieces.read_apart(missing, [range(1), range(1, 2)], 2))


def test_what_a_reading_process_raises_is_raised(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_pieces(monkeypatch)
    monkeypatch.setattr(pieces, "READER", reader_that("raise MemoryError(f'at {part.start}')", "part.start"))
    with pytest.raises(MemoryError, match="at 0"):
        read_report(seven)
