"""What is gathered for an export: which runs, which launches, and in words where there is nothing."""

from dataclasses import replace

import pytest
from golden_runs import golden_run

from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import INSTANCE_COLUMNS, LAUNCH_COLUMNS, METRIC_COLUMNS, Problem, table
from ncu_lab.store import Store
from ncu_lab.store.tables import read_table
from ncu_lab.workflows.exporting import MOST_LAUNCHES, Chosen, choose_launches, find_runs, gather, limit, parquet_table
from ncu_lab.workflows.inspecting import list_launches

OLD, NEW = "20261130T011207-ladder-4f2c9ab-91c3", "20261130T021207-ladder-91be004-91c4"


@pytest.fixture
def store(tmp_path):
    Store(tmp_path).write(golden_run(run_id=OLD))
    other = golden_run(["1d", "2d"], run_id=NEW, created="2026-11-30T02:12:07+00:00", problem=Problem(512, 512, 512))
    Store(tmp_path).write(other)
    return tmp_path


def test_the_newest_run_is_meant_unless_others_are_named(store):
    assert [one.run.meta.id for one in find_runs([], store)] == [NEW]
    assert [one.run.meta.id for one in find_runs([OLD, NEW], store)] == [OLD, NEW]
    assert [one.run.meta.id for one in find_runs([], store, size=1024)] == [OLD]
    assert [one.run.meta.id for one in find_runs([], store, size=77)] == [NEW]


def test_a_ladder_has_one_launch_a_stage(store):
    (one,) = gather([OLD], store).runs
    assert one.ladder is not None
    stages = [found.view.summaries[0].stage for found in one.launches]
    assert stages == [row.stage.id for row in (*one.ladder.rows, *one.ladder.references)]
    assert one.left == 0
    assert gather([OLD], store).comparison is None


def test_stages_and_launches_limit_what_is_shown(store):
    (one,) = gather([OLD], store, chosen=Chosen(stages=("2d", "1d"))).runs
    assert [found.view.summaries[0].stage for found in one.launches] == ["1d", "2d"]
    assert one.ladder is not None
    assert [row.stage.id for row in one.ladder.rows] == ["1d", "2d"]
    (one,) = gather([OLD], store, chosen=Chosen(launches=(3, 1, 3))).runs
    assert [found.view.summaries[0].launch for found in one.launches] == [1, 3]
    assert one.ladder is None


def test_two_runs_are_compared_and_one_or_three_are_not(store):
    exhibit = gather([OLD, NEW], store)
    assert exhibit.comparison is not None
    assert (exhibit.comparison.a.meta.id, exhibit.comparison.b.meta.id) == (OLD, NEW)
    assert gather([OLD, NEW, OLD], store).comparison is None


def test_stages_and_launches_limit_what_is_compared_and_every_pair_is_placed(store):
    whole = gather([OLD, NEW], store)
    assert len(whole.rooflines) == len(whole.comparison.pairs)
    both = zip(whole.rooflines, whole.comparison.pairs, strict=True)
    placed = next(charts for charts, pair in both if pair.chosen_b and pair.chosen_b.stage == "2d")
    assert [(chart.label, chart.points[0].stage) for chart in placed] == [("A", "2d"), ("B", "2d")]
    (pair,) = gather([OLD, NEW], store, chosen=Chosen(stages=("2d",))).comparison.pairs
    assert (pair.chosen_a.stage, pair.chosen_b.stage) == ("2d", "2d")
    (pair,) = gather([OLD, NEW], store, chosen=Chosen(launches=(1,))).comparison.pairs
    assert (pair.chosen_a.launch, pair.chosen_b.launch) == (1, 1)
    pairs = gather([OLD, NEW], store, chosen=Chosen(launches=(0, 1))).comparison.pairs
    shown = {one.launch for pair in pairs for one in (*pair.launches_a, *pair.launches_b)}
    assert pairs
    assert all(any(one.launch in (0, 1) for one in (*pair.launches_a, *pair.launches_b)) for pair in pairs)
    assert shown >= {0, 1}
    assert gather([OLD, NEW], store, in_full=False).rooflines == ()


def test_tables_are_limited_to_stages_and_launches(store):
    (found,) = find_runs([OLD], store)
    whole = found.run
    assert limit(found, Chosen()) is whole
    stage = limit(found, Chosen(stages=("2d",)))
    launch = int(whole.launches.loc[whole.launches["stage"] == "2d", "launch"].iloc[0])
    assert set(stage.launches["stage"]) == {"2d"}
    for name in ("metrics", "instances", "rules"):
        of = getattr(whole, name)
        assert getattr(stage, name).equals(of[of["launch"] == launch])
    assert set(stage.timings["subject"]) <= {"2d"}
    assert list(limit(found, Chosen(launches=(3, 1))).launches["launch"]) == [1, 3]
    assert set(limit(replace(found, stage="1d"), Chosen()).launches["stage"]) == {"1d"}
    with pytest.raises(UsageError, match="no launch 77"):
        limit(found, Chosen(launches=(77,)))
    with pytest.raises(UsageError, match='no profiled stage "nope"'):
        limit(found, Chosen(stages=("nope",)))


def test_launches_are_not_taken_apart_where_the_ladder_tells(store):
    (one,) = gather([OLD], store, in_full=False).runs
    assert one.launches == ()


def test_the_longest_launches_of_many_are_shown_and_the_others_counted(tmp_path):
    many = [
        {"stage": None, "kernel": f"k{at}", "metrics": {"gpu__time_duration.sum": float(at)}}
        for at in range(MOST_LAUNCHES + 5)
    ]
    run = golden_run([], extra=many)
    shown = choose_launches(run, list_launches(run), Chosen())
    assert [one.launch for one in shown] == list(range(5, MOST_LAUNCHES + 5))


def test_what_is_not_there_is_said_in_words(store):
    with pytest.raises(UsageError, match='has no profiled stage "warptiled"') as error:
        gather([NEW], store, chosen=Chosen(stages=("warptiled",)))
    assert error.value.hint == "It has 1d, 2d."
    with pytest.raises(UsageError, match="has no launch 9"):
        gather([NEW], store, chosen=Chosen(launches=(9,)))
    with pytest.raises(InputError, match="no file, run, revision or stage"):
        gather(["nothing"], store)


def test_a_run_without_launches_tells_why(tmp_path):
    run = golden_run(["2d"])
    empty = replace(
        run,
        meta=replace(run.meta, status="build_failed", error="nvcc failed"),
        launches=table(LAUNCH_COLUMNS),
        metrics=table(METRIC_COLUMNS),
        instances=table(INSTANCE_COLUMNS),
    )
    Store(tmp_path).write(empty)
    with pytest.raises(InputError, match="has no profiled launch: nvcc failed"):
        gather(["run:" + run.meta.id], tmp_path)


def test_parquet_holds_what_the_run_holds():
    run = golden_run(["1d", "2d"])
    back = read_table(parquet_table(run, "metrics"), METRIC_COLUMNS)
    assert back.equals(run.metrics.reset_index(drop=True).astype(back.dtypes))
