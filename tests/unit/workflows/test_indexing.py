"""Runs listed and one quantity of them over time, by the index: the same as opening every run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builders import golden_counters
from golden_runs import golden_run

from ncu_lab.errors import UsageError
from ncu_lab.model import CORRUPT_RUN, GitState, Problem, ProgressEvent, RunFilter
from ncu_lab.store import Store, index
from ncu_lab.workflows import indexing
from ncu_lab.workflows.climbing import summaries
from ncu_lab.workflows.indexing import list_runs, series
from ncu_lab.workflows.storekeeping import check_store

TESTS = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Four runs, a day between them; the last one failed."""
    folder = tmp_path / "reports"
    for day, stages in enumerate((["1d"], ["2d"], ["2d", "cublas-fp32"], ["2d"]), start=1):
        run = golden_run(
            stages,
            run_id=f"2026110{day}T000000-x-nogit-{day:04x}",
            created=f"2026-11-0{day}T00:00:00+00:00",
            samples={stage: [float(day)] * 8 for stage in stages},
            status="complete" if day < 4 else "profile_failed",
        )
        Store(folder).write(run)
    return folder


def days(store: Path, wanted: RunFilter) -> list[int]:
    return [int(meta.id[7]) for meta in list_runs(store, wanted)[0]]


def test_every_filter(store: Path) -> None:
    assert days(store, RunFilter()) == [4, 3, 2, 1]
    assert days(store, RunFilter(stages=("1d", "cublas-fp32"))) == [3, 1]
    assert days(store, RunFilter(device="h200")) == [4, 3, 2, 1]
    assert days(store, RunFilter(device="A100")) == []
    assert days(store, RunFilter(commits=frozenset({"c0ffee"}))) == []
    assert days(store, RunFilter(statuses=("profile_failed",))) == [4]
    assert days(store, RunFilter(since=datetime(2026, 11, 3, tzinfo=UTC))) == [4, 3]
    assert days(store, RunFilter(problem=Problem(1, 2, 3))) == []
    assert GitState().commit is None


def test_a_series_holds_what_the_runs_show(store: Path) -> None:
    points, notices = series(store, "duration_ns", RunFilter(("2d",)))
    assert notices == []
    assert [(point.meta.id[7], point.kernel.stage) for point in points] == [("2", "2d"), ("3", "2d")]
    for point in points:
        shown = next(one for one in summaries(Store(store).read(point.meta.id)) if one.stage == "2d")
        assert point.estimate.value == shown.value("duration_ns")
        assert point.kernel.kernel == golden_counters()["2d"]["kernel"]
        assert point.meta.environment.driver == "580.159"
    times = series(store, "time_ns")[0]
    assert [(point.meta.id[7], point.kernel.stage, point.estimate.value) for point in times] == [
        ("1", "1d", 1.0), ("2", "2d", 2.0), ("3", "2d", 3.0), ("3", "cublas-fp32", 3.0),
    ]  # fmt: skip
    assert (times[0].estimate.n, times[0].estimate.low, times[0].estimate.high) == (8, 1.0, 1.0)


def test_no_run_is_opened_twice(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = series(store, "duration_ns")[0]
    monkeypatch.setattr(Store, "read", lambda *_: pytest.fail("opened again"))
    assert series(store, "duration_ns")[0] == first
    assert series(store, "registers_per_thread")[0] != []


def test_a_metric_that_is_none_is_refused(store: Path) -> None:
    with pytest.raises(UsageError) as caught:
        series(store, "shared_store_bank_conflict")
    assert caught.value.message == 'there is no metric "shared_store_bank_conflict"'
    assert "Did you mean shared_store_bank_conflicts?" in caught.value.hint


def test_a_damaged_run_is_told_and_the_rest_is_there(store: Path) -> None:
    damaged = store / "20261102T000000-x-nogit-0002" / "metrics.parquet"
    data = bytearray(damaged.read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    for _ in range(2):
        points, [notice] = series(store, "duration_ns", RunFilter(("2d",)))
        assert [point.meta.id[7] for point in points] == ["3"]
        assert notice.code == CORRUPT_RUN
        assert "does not match its checksum" in notice.message


def test_many_new_runs_are_told_of_and_few_are_not(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[ProgressEvent] = []
    list_runs(store, report=told.append)
    assert told == []
    monkeypatch.setattr(indexing, "WORTH_SAVING", 4)
    list_runs(store, report=told.append)
    assert [(event.step, event.state, event.fraction) for event in told] == [
        ("index", "update", 0.0),
        ("index", "done", None),
    ]
    assert told[-1].detail == "4 new or changed runs"


def test_a_large_store_without_an_index_is_read_once_with_progress(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[ProgressEvent] = []
    indexing.index_anew(store, told.append)
    assert told == [], "a small store is not worth it"
    monkeypatch.setattr(indexing, "WORTH_SAVING", 4)
    monkeypatch.setattr(index, "WORTH_SAVING", 4)
    indexing.index_anew(store, told.append)
    assert [event.state for event in told] == ["update", "done"]
    indexing.index_anew(store, told.append)
    assert len(told) == 2


def test_a_store_without_an_index_says_so_once(store: Path) -> None:
    (store / ".index").write_text("in the way")
    points, [notice] = series(store, "time_ns")
    assert len(points) == 4
    assert notice.code == indexing.INDEX_NOT_KEPT
    assert f"{store} keeps no index (File exists)" in notice.message


WRITER = """
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
from golden_runs import golden_run
from ncu_lab.store import Store, index
from ncu_lab.workflows.indexing import list_runs, series
store, who = Path(sys.argv[1]), sys.argv[2]
for number in range(20):
    Store(store).write(golden_run(["2d"], run_id=f"20261101T0000{{number:02}}-{{who}}-nogit-{{number:04x}}"))
    if number % 5 == 4:
        assert all(not notice.code for notice in list_runs(store)[1])
        series(store, "duration_ns")
print(len(series(store, "duration_ns")[0]))
"""


def test_processes_that_write_and_index_at_once_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "WORTH_SAVING", 1)
    store, source = tmp_path / "reports", tmp_path / "elsewhere"
    program = WRITER.format(paths=[str(TESTS.parent), str(TESTS)])
    writers = [
        subprocess.Popen([sys.executable, "-c", program, store, who], stdout=subprocess.PIPE, text=True)
        for who in ("a", "b")
    ]
    copied = Store(source).write(golden_run(["2d"], run_id="20261201T000000-c-nogit-0000"))
    seen: list[int] = []
    while any(writer.poll() is None for writer in writers):
        if len(seen) == 2:  # from another machine, in the middle of it
            shutil.copytree(copied, store / ".incoming", dirs_exist_ok=True)
            (store / ".incoming").rename(store / copied.name)
        seen.append(len(list_runs(store)[0]))
        time.sleep(0.05)
    assert [writer.wait() for writer in writers] == [0, 0]
    for writer in writers:
        assert writer.stdout is not None
        assert int(writer.stdout.read()) >= 20
    assert seen == sorted(seen)
    health = check_store(store)
    assert (health.runs, health.damages) == (41, ())
    assert len(list_runs(store)[0]) == len(series(store, "duration_ns")[0]) == 41
    assert [entry.name for entry in (store / ".index").iterdir() if entry.name.startswith(".writing")] == []
