"""The time at stake: each formula against a value worked out by hand."""

from __future__ import annotations

import pytest
from builders import summary

from ncu_lab.analyze.stake import busiest_share, served_global, served_shared, stake
from ncu_lab.metrics import Reading
from ncu_lab.model import LaunchSummary

PEAKS = {
    "derived__lts__lts2xbar_bytes.sum.peak_sustained": 6000.0,  # x 1.6 GHz = 9.6 TB/s
    "lts__cycles_elapsed.avg.per_second": 1.6e9,
    "dram__bytes.sum.peak_sustained": 1500.0,  # x 3.2 GHz = 4.8 TB/s
    "dram__cycles_elapsed.avg.per_second": 3.2e9,
}
SMS = {"device__attribute_multiprocessor_count": 100.0, "l1tex__cycles_elapsed.avg.per_second": 2e9}
STALLS = {
    "selected": 1.0,
    "not_selected": 1.0,
    "barrier": 2.0,
    "short_scoreboard": 3.0,
    "mio_throttle": 1.0,
    "wait": 2.0,
}


def launch(ns: float | None = 1000.0, grid=(200, 1, 1), stalls=STALLS) -> LaunchSummary:
    duration = Reading("duration_ns", ns, "ns", "gpu__time_duration.sum", () if ns is not None else ("x",))
    return LaunchSummary(0, None, "k", "k", grid, (32, 1, 1), "kernel", (), "main", {"duration_ns": duration}, stalls)


def test_the_busiest_sm_has_whole_blocks():
    assert busiest_share((200, 1, 1), 100) == 2 / 200  # two of 200 blocks
    assert busiest_share((201, 1, 1), 100) == 3 / 201  # one SM gets a third
    assert busiest_share((5, 2, 1), 100) == 1 / 10  # ten blocks, ten SMs
    assert busiest_share((1, 1, 1), 100) == 1.0  # a kernel of one block: one SM does all
    assert busiest_share((0, 0, 0), 100) is None
    assert busiest_share((1, 1, 1), None) is None


def test_wavefronts_pass_one_a_cycle():
    # 200 000 excess wavefronts, 1/100 of them on the busiest SM: 2000 cycles at 2 GHz.
    assert served_shared(200_000, 1 / 100, 2e9) == pytest.approx(1000.0)


def test_sectors_pay_on_every_level_they_can_reach():
    # L1: (10 000 lookups + 8000 crossing) / 100 / 2 GHz = 90 ns; L2: 8000 x 32 B / 9.6 TB/s = 26.67 ns;
    # DRAM: only 3000 sectors moved there: 3000 x 32 B / 4.8 TB/s = 20 ns.
    counted = {**PEAKS, "dram__sectors_read.sum": 2000.0, "dram__sectors_write.sum": 1000.0}
    assert served_global(8000, 10_000, 1 / 100, 2e9, counted.get) == pytest.approx(90 + 80 / 3 + 20)
    # Of 5000 sectors between SMs and L2 no more than 5000 can cross: (10 000 + 5000) / 100 / 2 GHz = 75 ns.
    crossing = {**counted, "lts__t_sectors_srcunit_tex.sum": 5000.0, "lts__t_sectors.sum": 6000.0}
    assert served_global(8000, 10_000, 1 / 100, 2e9, crossing.get) == pytest.approx(75 + 20 + 20)


def test_without_peaks_nothing_is_said_of_service():
    assert served_global(8000, 8000, 0.01, 2e9, {}.get) is None
    found = stake("global", 8000, None, launch(), SMS.get)
    assert found.served_ns is None
    assert found.missing == ("SpeedOfLight_HierarchicalSingleRooflineChart",)
    # What warps waited still bounds it: (2 + 3 + 1) of 10 warp-cycles.
    assert found.upper_bound_ns == pytest.approx(600.0)


def test_the_smaller_bound_counts_and_direct_waits_stand_beside():
    found = stake("shared", 100_000, None, launch(), SMS.get)
    assert found.served_ns == pytest.approx(500.0)
    assert found.waited_ns == pytest.approx(600.0)  # a barrier may wait for the warp that is replayed
    assert found.upper_bound_ns == pytest.approx(500.0)
    assert found.upper_bound_share == pytest.approx(0.5)
    assert found.stall_share == pytest.approx(0.4)  # (3 + 1) / 10
    assert found.reasons == ("short_scoreboard", "mio_throttle")
    assert stake("shared", 1e6, None, launch(), SMS.get).upper_bound_ns == pytest.approx(600.0)


def test_atomics_pass_one_after_the_other_so_only_waits_bound_them():
    served = stake("global", 80, None, launch(), (SMS | PEAKS).get)
    assert served.upper_bound_ns == pytest.approx(served.served_ns)  # a few ns
    found = stake("global", 80, None, launch(), (SMS | PEAKS).get, atomics=True)
    assert (found.served_ns, found.missing) == (None, ())
    assert found.upper_bound_ns == pytest.approx(600.0)


def test_never_more_than_the_launch_lasted():
    assert stake("shared", 1e9, None, launch(stalls={}), SMS.get).upper_bound_ns == 1000.0


def test_without_excess_nothing_is_at_stake():
    assert stake("shared", 0.0, None, launch(), {}.get).upper_bound_ns == 0.0


@pytest.mark.parametrize(
    ("excess", "one", "counters", "missing"),
    [
        (None, launch(), SMS, ("SourceCounters",)),
        (10.0, launch(ns=None), SMS, ("SpeedOfLight",)),
        (10.0, launch(stalls={}), {}, ("SpeedOfLight", "WarpStateStats")),
        (10.0, launch(stalls={}, grid=(0, 0, 0)), SMS, ("SpeedOfLight", "WarpStateStats")),
        (
            10.0,
            launch(stalls={}),
            {**SMS, "l1tex__cycles_elapsed.avg.per_second": 0.0},
            ("SpeedOfLight", "WarpStateStats"),
        ),
    ],
)
def test_what_is_missing_is_named_and_no_number_made_up(excess, one, counters, missing):
    found = stake("shared", excess, None, one, counters.get)
    assert found.upper_bound_ns is None
    assert found.missing == missing


def test_zero_duration_has_no_share():
    found = stake("shared", 10.0, None, launch(ns=0.0), SMS.get)
    assert (found.upper_bound_ns, found.upper_bound_share) == (0.0, None)


def test_a_golden_launch_has_its_counters():
    one = summary("smem-conflict")
    assert stake("shared", 1.0, None, one, {}.get).stall_share == pytest.approx(0.59, abs=0.01)
