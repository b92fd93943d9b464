"""The rules of the verdict at their edges, on launches made of the figures that they read."""

import math

import pytest
from golden_runs import golden_run

from ncu_lab.analyze.summary import summarize
from ncu_lab.analyze.verdict import verdict_of
from ncu_lab.metrics import METRICS, Reading
from ncu_lab.model import LaunchSummary

FULL = {"waves_per_sm": 4.0, "elapsed_to_active": 1.02, "duration_ns": 1e6, "achieved_occupancy_pct": 90.0}
SMS = 100


def launch(grid=(1000, 1, 1), stalls=None, workload="kernel", metrics=None, sms=SMS, **values):
    """Make a launch; ``metrics`` names the metric that a key was read from, where that matters."""
    readings = {
        key: Reading(key, values.get(key), metric.unit, (metrics or {}).get(key, key), () if key in values else (key,))
        for key, metric in METRICS.items()
    }
    stalls = {"selected": 1.0, "long_scoreboard": 3.0} if stalls is None else stalls
    return LaunchSummary(
        launch=0, stage=None, kernel="kernel", function="kernel", grid=grid, block=(256, 1, 1), workload=workload,
        nvtx=(), role="main", readings=readings, stall_cycles=stalls, occupancy_limits={"registers": 1.0}, sm_count=sms,
    )  # fmt: skip


def verdict(compute=None, memory=None, *, sms=SMS, grid=(1000, 1, 1), stalls=None, workload="kernel", **values):
    found = dict(FULL)
    found |= {} if compute is None else {"compute_throughput_pct": compute, "sm_throughput_pct": compute}
    found |= {} if memory is None else {"memory_throughput_pct": memory, "dram_throughput_pct": memory}
    return verdict_of(launch(grid, stalls, workload, sms=sms, **{**found, **values}))


def facts(found):
    return [one.fact for one in found.because]


@pytest.mark.parametrize(
    ("compute", "memory", "bound"),
    [
        (70.0, 50.0, "compute"),
        (50.0, 70.0, "memory"),
        (80.0, 79.0, "balanced"),
        (79.0, 80.0, "balanced"),
        (95.0, 95.0, "balanced"),
        (95.0, 85.0, "compute"),  # 10 points apart: no longer near each other
        (95.0, 85.1, "balanced"),
        (69.9, 60.0, "balanced"),
        (69.9, 59.9, "compute"),  # the other side must be near its peak, too
        (70.0, 60.0, "compute"),
        (60.0, 0.0, "compute"),
        (59.999, 0.0, "latency"),
        (0.0, 60.0, "memory"),
        (59.9, 59.9, "latency"),
        (0.0, 0.0, "latency"),
        (100.3, 12.0, "compute"),  # counters of different passes may show more than their peak
    ],
)
def test_mixes_of_compute_and_memory(compute, memory, bound):
    assert verdict(compute, memory).bound == bound


def test_evidence_has_its_figure_and_threshold():
    busy, other, wait = verdict(70.0, 50.0, stalls={"selected": 1.0, "wait": 1.0, "barrier": 2.0}).because
    assert (busy.fact, busy.key, busy.value, busy.unit, busy.threshold) == (
        "busy", "compute_throughput_pct", 70.0, "%", 60.0,
    )  # fmt: skip
    assert (other.fact, other.key, other.value) == ("far", "dram_throughput_pct", 50.0)
    assert (wait.fact, wait.subject, wait.value) == ("wait", "barrier", 0.5)  # 2 of 4 warp-cycles


@pytest.mark.parametrize(
    ("key", "value"), [("tensor_pipe_pct", 88.0), ("fma_pipe_pct", 88.0), ("issue_slots_pct", 88.0)]
)
def test_compute_is_named_by_its_pipe(key, value):
    assert verdict(88.0, 30.0, **{key: value}).because[0].key == key


@pytest.mark.parametrize(
    ("shared", "bound"), [(0.0, "memory"), (49.0, "memory"), (50.0, "shared"), (97.0, "shared"), (103.0, "shared")]
)
def test_the_larger_part_of_the_data_pipe_decides_between_shared_and_global(shared, bound):
    values = {"l1_throughput_pct": 85.0, "l1_bytes": 100.0, "shared_bytes": shared}
    found = verdict(30.0, **values, memory_throughput_pct=85.0)
    assert found.bound == bound
    assert found.because[1].value == min(shared / 100.0, 1.0)


def test_shared_memory_is_not_the_bound_where_another_level_is():
    values = {"l1_throughput_pct": 70.0, "l1_bytes": 100.0, "shared_bytes": 90.0}
    assert verdict(30.0, 85.0, **values).bound == "memory"


def test_without_wavefronts_of_shared_memory_the_verdict_says_what_is_missing():
    found = verdict(30.0, l1_throughput_pct=85.0)
    assert found.bound == "memory"
    assert [(one.key, one.subject) for one in found.missing] == [("shared_bytes", "MemoryWorkloadAnalysis_Tables")]


def test_l1_above_the_total_of_memory_counts():
    # A Tesla T4 with strided accesses: L1 90 %, while memory's total, that of L2, is 50 %.
    found = verdict(2.0, memory_throughput_pct=50.0, l2_throughput_pct=50.0, l1_throughput_pct=90.1, l1_bytes=1.0,
                    shared_bytes=0.0)  # fmt: skip
    assert (found.bound, found.because[0].key) == ("memory", "l1_throughput_pct")


def test_l1_of_active_cycles_is_brought_to_elapsed_ones():
    # 75 % of the active cycles, which are 1 / 1.5 of all: 50 %.
    values = {"l1_throughput_pct": 75.0, "elapsed_to_active": 1.5, "waves_per_sm": 1.0, "memory_throughput_pct": 50.0}
    values |= {"compute_throughput_pct": 20.0, "duration_ns": 1e6}
    one = launch(metrics={"l1_throughput_pct": "l1tex__throughput.avg.pct_of_peak_sustained_active"}, **values)
    far = verdict_of(one).because[-1]
    assert (far.fact, far.key, far.value) == ("far", "l1_throughput_pct", pytest.approx(50.0))


@pytest.mark.parametrize(("blocks", "bound"), [(1, "launch"), (89, "launch"), (90, "latency"), (100, "latency")])
def test_fewer_blocks_than_nine_tenths_of_the_sms(blocks, bound):
    found = verdict(20.0, 30.0, grid=(blocks, 1, 1), waves_per_sm=0.9)
    assert found.bound == bound
    if bound == "launch":
        blocks_, far = found.because
        assert (blocks_.value, blocks_.threshold, blocks_.subject) == (blocks, pytest.approx(90.0), "100")
        assert (far.fact, far.value) == ("far", 30.0)


def test_a_unit_at_its_peak_outranks_a_small_grid():
    assert verdict(20.0, 80.0, grid=(50, 1, 1)).bound == "memory"
    assert verdict(20.0, 79.9, grid=(50, 1, 1)).bound == "launch"


@pytest.mark.parametrize(
    ("waves", "top", "bound"), [(0.49, 59.0, "launch"), (0.5, 59.0, "latency"), (0.49, 60.0, "compute")]
)
def test_a_grid_that_fills_less_than_half_of_what_the_gpu_holds(waves, top, bound):
    assert verdict(top, 10.0, waves_per_sm=waves).bound == bound


@pytest.mark.parametrize(
    ("ratio", "duration_ns", "bound"),
    [
        (4 / 3, 9_999.0, "launch"),  # idle for exactly a quarter
        (4 / 3, 10_000.0, "tail"),
        (1.33, 9_999.0, "latency"),  # idle for 24.8 %
        (1.33, 1e6, "latency"),
        (9.0, 1e6, "tail"),
        (0.999, 5_000.0, "latency"),  # counters of different passes: less elapsed than active
    ],
)
def test_idle_sms_are_the_launch_or_its_tail(ratio, duration_ns, bound):
    assert verdict(20.0, 30.0, elapsed_to_active=ratio, duration_ns=duration_ns, waves_per_sm=1.0).bound == bound


def test_without_a_duration_much_idle_time_is_a_tail():
    found = launch(compute_throughput_pct=9.0, memory_throughput_pct=9.0, elapsed_to_active=2.0, waves_per_sm=1.0)
    assert verdict_of(found).bound == "tail"


@pytest.mark.parametrize(
    ("waves", "ratio", "top", "bound"),
    [
        (1.6, 1.19, 65.0, "tail"),  # 20 % of two waves' places are empty, and SMs are idle for 16 %
        (1.6, 1.19, 80.0, "memory"),
        (1.6, 1.10, 65.0, "memory"),  # idle for 9.1 %
        (1.6, 1.12, 65.0, "tail"),  # for 10.7 %
        (1.9, 1.19, 65.0, "memory"),  # 5 % of the places
        (1.75, 1.19, 65.0, "tail"),  # 12.5 %
        (9.1, 1.19, 65.0, "memory"),  # 9 %
        (1.0, 1.19, 65.0, "memory"),
        (0.8, 1.19, 65.0, "memory"),  # no whole wave: no tail
    ],
)
def test_a_partial_last_wave(waves, ratio, top, bound):
    assert verdict(30.0, top, waves_per_sm=waves, elapsed_to_active=ratio).bound == bound


def test_latency_tells_the_wait_and_the_warps():
    found = verdict(20.0, 30.0, theoretical_occupancy_pct=100.0)
    assert facts(found) == ["far", "wait", "occupancy"]
    assert found.because[2].subject is None  # nothing limits: the warps ended
    limited = verdict(20.0, 30.0, theoretical_occupancy_pct=12.5, achieved_occupancy_pct=12.4).because[2]
    assert (limited.value, limited.threshold, limited.subject) == (12.4, 12.5, "registers")


@pytest.mark.parametrize(
    ("values", "section"),
    [
        ({}, "SpeedOfLight"),
        ({"memory_throughput_pct": 40.0}, "SpeedOfLight"),
        ({"compute_throughput_pct": 79.9}, "SpeedOfLight"),
        ({"dram_throughput_pct": 70.0}, "SpeedOfLight"),
    ],
)
def test_what_cannot_be_told_names_its_section(values, section):
    found = verdict_of(launch(sms=None, **values))
    assert found.bound == "unknown"
    assert {one.subject for one in found.missing} == {section}


def test_one_side_at_its_peak_is_enough():
    found = verdict_of(launch(dram_throughput_pct=92.0, sms=None))
    assert (found.bound, [one.key for one in found.missing]) == ("memory", ["sm_throughput_pct"])


def test_the_total_of_the_sm_stands_for_compute_unless_it_is_the_pipe_of_loads():
    assert verdict_of(launch(sm_throughput_pct=70.0, memory_throughput_pct=15.0, sms=None)).bound == "compute"
    assert verdict_of(launch(sm_throughput_pct=76.5, memory_throughput_pct=76.5, sms=None)).bound == "memory"
    assert verdict_of(launch(sm_throughput_pct=72.9, memory_throughput_pct=72.4, sms=None)).bound == "memory"
    assert verdict_of(launch(sm_throughput_pct=73.0, memory_throughput_pct=72.0, sms=None)).bound == "balanced"
    assert verdict_of(launch(sm_throughput_pct=54.8, memory_throughput_pct=54.8, sms=None)).bound == "latency"


def test_a_unit_that_is_neither_compute_nor_memory_is_not_forgotten():
    found = verdict(30.0, 20.0, sm_throughput_pct=85.0)
    assert (found.bound, found.because[0].key) == ("compute", "sm_throughput_pct")


def test_a_report_with_the_launch_alone_tells_what_it_can():
    found = verdict_of(launch(grid=(4, 1, 1), sms=22, waves_per_sm=0.01))
    assert found.bound == "unknown"
    assert facts(found) == ["missing", "missing", "blocks", "waves"]


def test_the_waves_alone_tell_of_a_small_grid_where_the_gpu_is_unknown():
    assert verdict(15.0, 45.0, sms=None, waves_per_sm=0.29, grid=(128, 1, 1), elapsed_to_active=1.6).bound == "launch"


def test_one_block():
    found = verdict(0.5, 0.6, grid=(1, 1, 1), waves_per_sm=1 / 800, elapsed_to_active=103.0, duration_ns=3000.0)
    assert (found.bound, found.because[0].value) == ("launch", 1.0)


def test_the_grid_of_a_graph_or_of_an_export_without_one_is_no_evidence():
    assert verdict(20.0, 30.0, grid=(1, 1, 1), workload="graph").bound == "latency"
    assert verdict(20.0, 30.0, grid=(0, 0, 0)).bound == "latency"


def test_values_that_are_no_numbers_count_as_missing():
    odd = {"compute_throughput_pct": math.nan, "memory_throughput_pct": math.nan, "elapsed_to_active": math.inf}
    found = verdict_of(launch(**odd))
    assert found.bound == "unknown"
    assert verdict(20.0, 30.0, elapsed_to_active=math.nan, waves_per_sm=math.nan).bound == "latency"


def test_no_cycles():
    # A launch without active cycles has no ratio of elapsed to active ones, and nothing waits.
    found = launch(stalls={}, grid=(1000, 1, 1), compute_throughput_pct=0.0, memory_throughput_pct=0.0)
    verdict_ = verdict_of(found)
    assert verdict_.bound == "latency"
    assert {one.key for one in verdict_.missing} == {
        "waves_per_sm", "elapsed_to_active", "achieved_occupancy_pct", "warp_cycles_per_instruction",
    }  # fmt: skip


def test_the_sms_of_the_launch_come_before_those_of_the_gpu():
    part = {"kernel": "part", "metrics": {"launch__sm_count": 16.0, "gpu__time_duration.sum": 1.0}}
    silent = {"kernel": "silent", "metrics": {"gpu__time_duration.sum": 1.0}}
    assert [one.sm_count for one in summarize(golden_run(["2d"], extra=[part, silent]))] == [132, 16, 132]
