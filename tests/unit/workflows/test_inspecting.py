"""One launch taken apart: what a page shows is what the tables of the run hold."""

import math

import pytest
from golden_runs import golden_run

from ncu_lab.metrics.links import LINK_SECTION
from ncu_lab.model import USABLE
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.indexing import list_runs
from ncu_lab.workflows.inspecting import inspect, list_launches


@pytest.fixture(scope="module")
def ladder():
    folder = data_dir("examples")
    metas, _ = list_runs(folder)
    chosen = next(meta for meta in metas if "smem-conflict" in meta.stages and meta.status in USABLE)
    return Store(folder).read(chosen.id)


@pytest.fixture(scope="module")
def found(ladder):
    launch = next(one.launch for one in list_launches(ladder) if one.stage == "smem-conflict")
    return inspect(ladder, launch)


def value(ladder, launch, metric):
    rows = ladder.metrics[(ladder.metrics["launch"] == launch) & (ladder.metrics["metric"] == metric)]
    return float(rows["value"].iloc[0])


def test_launches_are_listed_with_the_profilers_duration(ladder):
    entries = list_launches(ladder)
    assert [one.launch for one in entries] == list(ladder.launches["launch"])
    naive = next(one for one in entries if one.stage == "naive")
    assert naive.duration_ns == value(ladder, naive.launch, "gpu__time_duration.sum")
    assert naive.block == (32, 32, 1)


def test_units_are_those_that_the_reports_breakdown_names(ladder, found):
    launch = found.view.summaries[0].launch
    rows = ladder.metrics[(ladder.metrics["launch"] == launch) & ladder.metrics["metric"].str.startswith("breakdown:")]
    words = {row.metric: row.text for row in rows.itertuples()}
    named = words["breakdown:gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed"].split(",")
    memory = [use for use in found.units if use.side == "memory"]
    assert {use.metric for use in memory} <= set(named)
    assert memory[0].pct == pytest.approx(found.totals["memory"])
    assert memory[0].label == "L1 data pipe"
    assert memory[0].pct == value(ladder, launch, memory[0].metric)


def test_bank_conflicts_show_in_the_code_and_the_traffic(ladder, found):
    shared = found.traffic.link("shared space", "shared")
    launch = found.view.summaries[0].launch
    assert shared.amount == value(ladder, launch, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum")
    worst = max(found.spots.lines, key=found.spots.excess_share)
    assert worst.wavefronts_over_ideal == pytest.approx(32.0, rel=0.01)
    assert found.spots.text(worst)


def test_occupancy_curves_are_the_reports_own_and_agree_with_the_launch(found):
    picture = found.occupancy
    assert picture.origin == "report"
    assert [curve.varies for curve in picture.curves] == ["registers", "shared memory", "block size"]
    registers = picture.curves[0]
    assert registers.warps[registers.x.index(picture.demand.registers)] == picture.warps


def test_rules_come_largest_estimate_first_and_empty_ones_not_at_all(found):
    estimates = [rule.speedup_pct for rule in found.rules]
    known = [one for one in estimates if one is not None]
    assert known == sorted(known, reverse=True)
    assert estimates[: len(known)] == known
    assert all(rule.message.strip() for rule in found.rules)
    assert {rule.scope for rule in found.rules if rule.speedup_pct} <= {"local", "global"}


def test_every_metric_of_the_launch_is_there_with_its_meaning(ladder, found):
    launch = found.view.summaries[0].launch
    assert len(found.metrics) == (ladder.metrics["launch"] == launch).sum()
    assert all(one.meaning for one in found.metrics)
    assert all(one.value is None or math.isfinite(one.value) for one in found.metrics)


def test_what_a_run_lacks_is_missing_with_its_section():
    run = golden_run(["2d"])
    found = inspect(run, 0)
    assert found.units == ()
    assert found.spots.lines == ()
    assert found.spots.missing == ("SourceCounters",)
    assert found.rules == ()
    assert found.traffic.missing == () or found.traffic.missing == (LINK_SECTION,)
    assert found.occupancy.origin == "calculated"
    assert found.occupancy.curves


def test_a_launch_that_is_not_there_is_a_key_error():
    with pytest.raises(KeyError):
        inspect(golden_run(["2d"]), 7)
