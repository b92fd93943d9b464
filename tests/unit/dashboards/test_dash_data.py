"""The runs behind the page: read once, read again when the folder changes."""

import pytest
from golden_runs import golden_run

from ncu_lab.errors import InputError
from ncu_lab.model import Device, Problem
from ncu_lab.store import Store
from ncu_lab.workflows import climbing
from ncu_lab_dash.data import LadderData, ladder_key, problem_key

NEWER = {"run_id": "20261130T021207-ladder-4f2c9ab-91c4", "created": "2026-11-30T02:12:07+00:00"}


@pytest.fixture
def store(tmp_path):
    Store(tmp_path).write(golden_run(["naive", "2d", "cublas-fp32"]))
    return tmp_path


def counting(calls):
    def read_ladder(*args, **options):
        calls.append(options)
        return climbing.ladder(*args, **options)

    return read_ladder


def test_a_ladder_is_read_once_and_again_only_when_a_run_appears(store):
    calls = []
    data = LadderData(store, read_ladder=counting(calls))
    version = data.version()
    first = data.ladder(None, None)
    assert data.ladder(None, None) is first
    assert len(calls) == 1
    assert data.version() == version
    Store(store).write(golden_run(["naive", "1d", "2d"], **NEWER))
    assert data.version() != version
    assert [row.stage.id for row in data.ladder(None, None).rows] == ["naive", "1d", "2d"]
    assert len(calls) == 2


def test_problems_and_devices_are_offered_smallest_problem_first(store):
    other = Device("NVIDIA A100", compute_capability=(8, 0), sm_count=108)
    Store(store).write(golden_run(["naive"], problem=Problem(512, 256, 64), device=other, **NEWER))
    overview = LadderData(store).overview()
    assert list(overview.problems) == ["512x256x64", "1024"]
    assert overview.devices == ("NVIDIA A100", "NVIDIA H200")
    assert (overview.newest_problem, overview.newest_device) == ("512x256x64", "NVIDIA A100")
    assert overview.others == 0
    assert overview.ladders == (("512x256x64", "NVIDIA A100"), ("1024", "NVIDIA H200"))


def test_a_ladder_is_found_by_its_key(store):
    data = LadderData(store)
    found = data.find_beside(ladder_key("1024", "NVIDIA H200"))
    assert found is data.ladder("1024", "NVIDIA H200")
    for key in ("none", "", "1024", "2048@NVIDIA H200", "1024@NVIDIA A100", "@"):
        assert data.find_beside(key) is None


def test_runs_that_no_ladder_shows_are_counted(store):
    foreign = {"problem": None, "run_id": "20261130T011207-program-4f2c9ab-91c5"}
    failed = {"status": "profile_failed", "run_id": "20261130T011207-2d-4f2c9ab-91c6"}
    for run in (golden_run([], **foreign), golden_run(["2d"], **failed)):
        Store(store).write(run)
    overview = LadderData(store).overview()
    assert overview.others == 2
    assert overview.newest_problem == "1024"


def test_a_device_is_never_mixed_with_another(store):
    other = Device("NVIDIA A100", compute_capability=(8, 0), sm_count=108)
    Store(store).write(golden_run(["naive", "1d"], device=other, **NEWER))
    data = LadderData(store)
    assert [row.stage.id for row in data.ladder("1024", "NVIDIA A100").rows] == ["naive", "1d"]
    assert [row.stage.id for row in data.ladder("1024", "NVIDIA H200").rows] == ["naive", "2d"]


def test_an_unknown_problem_is_an_error_that_names_those_there_are(store):
    with pytest.raises(InputError) as raised:
        LadderData(store).ladder("4096", None)
    assert "4096" in raised.value.message
    assert "1024" in raised.value.hint
    assert LadderData(store).find("4096", None) is None


def test_an_empty_or_missing_folder_has_no_ladder_but_a_version(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        data = LadderData(folder)
        assert data.version()
        assert data.overview().problems == {}
        assert data.overview().newest_problem is None
        with pytest.raises(InputError):
            data.ladder(None, None)


def test_a_corrupt_run_is_named_and_the_rest_still_shown(store):
    broken = store / "20261130T031207-2d-4f2c9ab-dead"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    data = LadderData(store)
    assert any("20261130T031207-2d-4f2c9ab-dead" in notice.message for notice in data.overview().notices)
    assert len(data.ladder(None, None).rows) == 2


def test_a_corrupt_newest_run_is_named_beside_the_problem_that_took_its_place(store):
    folder = Store(store).write(golden_run(["naive", "2d"], problem=Problem(4096, 4096, 4096), **NEWER))
    whole = (folder / "metrics.parquet").read_bytes()
    (folder / "metrics.parquet").write_bytes(whole[:50] + b"?" + whole[51:])  # seen only when it is read
    data = LadderData(store)
    assert data.ladder(None, None).problem == Problem(1024, 1024, 1024)
    for problem in (None, "1024"):
        told = {notice.message for notice in data.notices(problem, None)}
        assert len(told) == 1
        assert f"run {NEWER['run_id']} is corrupt: metrics.parquet does not match its checksum" in told.pop()


def test_problem_keys_tell_problems_apart():
    problems = [Problem(64, 64, 64), Problem(64, 64, 32), Problem(64, 64, 64, 2.0, 0.0), Problem(64, 64, 64, 1.0, 0.5)]
    assert [problem_key(problem) for problem in problems] == ["64", "64x64x32", "64a2b0", "64a1b0.5"]
