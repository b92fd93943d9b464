from dataclasses import replace

import pytest
from golden_runs import golden_run

from ncu_lab.errors import InputError
from ncu_lab.model import Device, Problem
from ncu_lab.store import Store
from ncu_lab.workflows import climbing

OLD, NEW = "20261129T000000-ladder-4f2c9ab-0001", "20261130T000000-2d-4f2c9ab-0002"


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "reports"
    Store(folder).write(golden_run(run_id=OLD, created="2026-11-29T00:00:00+00:00"))
    samples = {"2d": [150e3, 151e3, 152e3, 153e3], "cublas-fp32": [60e3]}
    Store(folder).write(golden_run(["2d"], run_id=NEW, created="2026-11-30T00:00:00+00:00", samples=samples))
    return folder


def write(folder, run_id, **changes):
    Store(folder).write(golden_run(run_id=run_id, **changes))


def runs(ladder):
    return {row.stage.id: row.run for row in (*ladder.rows, *ladder.references)}


def test_each_stage_comes_from_its_newest_run(store):
    found = runs(climbing.ladder(store))
    assert found["2d"] == NEW
    assert found["1d"] == found["cublas-fp32"] == OLD


def test_only_the_runs_asked_for(store):
    assert set(runs(climbing.ladder(store, runs=[NEW])).items()) == {("2d", NEW), ("cublas-fp32", NEW)}


def test_a_failed_run_does_not_count(store):
    write(store, "20261201T000000-2d-4f2c9ab-0003", created="2026-12-01T00:00:00+00:00", status="check_failed")
    assert runs(climbing.ladder(store))["2d"] == NEW


def test_the_newest_run_decides_the_problem_and_size_asks_for_another(store):
    large = Problem(2048, 2048, 2048)
    write(store, "20261202T000000-1d-4f2c9ab-0004", stages=["1d"], created="2026-12-02T00:00:00+00:00", problem=large)
    assert climbing.ladder(store).problem == large
    assert climbing.ladder(store, size=1024).problem.m == 1024
    with pytest.raises(InputError) as caught:
        climbing.ladder(store, size=512)
    assert caught.value.message.startswith("no runs of 512³ in ")
    assert caught.value.hint == "There are runs of 2048³, 1024³."


def test_another_gpu_is_never_mixed_in(store):
    other = Device("NVIDIA H100", compute_capability=(9, 0), sm_count=132)
    write(store, "20261203T000000-1d-4f2c9ab-0005", stages=["1d"], created="2026-12-03T00:00:00+00:00", device=other)
    ladder = climbing.ladder(store)
    assert [row.stage.id for row in ladder.rows] == ["1d"]
    assert {notice.code for notice in ladder.omitted} == {"other_device", "not_measured"}


def test_an_empty_store_says_how_to_begin(tmp_path):
    with pytest.raises(InputError, match="no runs of the ladder"):
        climbing.ladder(tmp_path / "nothing")


def test_a_corrupt_run_is_named_and_skipped(store):
    broken = store / "20261204T000000-1d-4f2c9ab-0006"
    broken.mkdir()
    (broken / "run.json").write_text("{")
    ladder = climbing.ladder(store)
    assert [notice.code for notice in ladder.warnings] == ["corrupt_run"]
    assert len(ladder.rows) == 11


NEWEST = "20261204T000000-1d-4f2c9ab-0007"


def test_a_newest_run_with_a_corrupt_table_is_named_and_skipped(store):
    large = Problem(2048, 2048, 2048)
    other = Device("NVIDIA H100", compute_capability=(9, 0), sm_count=132)
    write(store, NEWEST, created="2026-12-04T00:00:00+00:00", problem=large, device=other)
    (store / NEWEST / "metrics.parquet").write_bytes(b"PAR1 damaged PAR1")
    ladder = climbing.ladder(store)
    assert (ladder.problem.m, ladder.device.name, len(ladder.rows)) == (1024, "NVIDIA H200", 11)
    assert [notice.code for notice in ladder.warnings] == ["corrupt_run"]
    assert f"run {NEWEST} is corrupt: metrics.parquet does not match" in ladder.warnings[0].message
    for named in ({"size": 2048}, {"runs": [NEWEST]}):
        with pytest.raises(InputError, match="does not match its checksum"):
            climbing.ladder(store, **named)


def test_an_older_run_stands_in_for_a_corrupt_one(store):
    (store / NEW / "instances.parquet").write_bytes(b"PAR1 damaged PAR1")
    assert set(runs(climbing.ladder(store)).values()) == {OLD}


def test_a_view_survives_the_store(store):
    run = Store(store).read(NEW)
    view = climbing.view(run)
    fresh = climbing.view(golden_run(["2d"]))
    assert view.summaries == fresh.summaries
    assert view.points == fresh.points
    assert view.rows["2d"].time_source == "timings"


def test_a_foreign_run_has_no_place_on_the_ladder():
    run = golden_run(["2d"], problem=None)
    assert climbing.view(run).rows == {}
    foreign = replace(run.meta, stages=())
    assert climbing.view(replace(run, meta=foreign)).rows == {}
