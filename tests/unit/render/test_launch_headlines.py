"""Titles of the cards of one launch: sentences with the number in them."""

from pathlib import Path

import builders
import pytest
from golden_runs import golden_run

from ncu_lab.model import BlockDemand, HotSpots, NextBlock, OccupancyCurve, OccupancyPicture, Spot
from ncu_lab.render import launch_headlines as headlines
from ncu_lab.store import Store
from ncu_lab.workflows.inspecting import inspect


def plain_text(text):
    return text.replace("\u2009", " ")


@pytest.fixture(scope="module")
def naive():
    return inspect(golden_run(["naive"]), 0)


def spots(*lines, samples=100.0):
    return HotSpots(
        0, lines, (), samples,
        excess_sectors=sum(spot.excess_sectors for spot in lines),
        excess_wavefronts=sum(spot.excess_wavefronts for spot in lines),
    )  # fmt: skip


def test_the_line_that_waits_and_the_one_that_causes_it_are_told_apart():
    waits = Spot("k.cu", 34, samples=79.0)
    causes = Spot("k.cu", 32, samples=20.0, shared_wavefronts=165.0, shared_wavefronts_ideal=10.0)
    told = plain_text(headlines.spots_headline(spots(waits, causes)))
    assert told == "Warps wait on line 34 (79 %); line 32 takes 16.5× its ideal"
    assert plain_text(headlines.spots_headline(spots(waits))) == "Line 34 holds 79 % of the samples"


def test_a_line_of_another_file_is_named_with_it():
    first, other = Spot("a/k.cu", 34, samples=79.0), Spot("a/common.cuh", 60, samples=1.0, global_sectors=8.0,
                                                           global_sectors_ideal=1.0)  # fmt: skip
    assert headlines.spots_headline(spots(first, other)).endswith("line 60 of common.cuh takes 8.00× its ideal")


def test_without_samples_nothing_is_claimed_of_them():
    assert headlines.spots_headline(spots(Spot("k.cu", 1), samples=None)) == "Source hot spots"


REGISTERS = OccupancyCurve("registers", tuple(range(65)), (), tuple(64 if x <= 34 else 32 for x in range(65)))


def test_headroom_is_the_registers_until_occupancy_falls():
    picture = OccupancyPicture(BlockDemand(1024, 32), (REGISTERS,), "report", 64, 64.0, None)
    told = plain_text(headlines.occupancy_headline(picture, builders.summary("smem")))
    assert told == "Occupancy is at its maximum; 2 registers of headroom before it falls to 50 %"


def test_below_the_maximum_the_next_block_is_told():
    picture = OccupancyPicture(BlockDemand(256, 130), (REGISTERS,), "report", 64, 8.0, NextBlock(2, registers=128))
    told = plain_text(headlines.occupancy_headline(picture, builders.summary("2d")))
    assert told.startswith("12 % of the warps are possible")
    assert told.endswith("2 blocks an SM need at most 128 registers")


def test_the_banner_names_the_bound_first_and_evidence_after(naive):
    head, evidence = headlines.banner(naive)
    assert plain_text(head).startswith("Bound by memory: L1 is at 9")
    assert "The longest wait is lg throttle" in evidence


def test_the_strip_shows_what_was_measured_and_a_dash_for_what_was_not(naive):
    strip = {one.label: one for one in headlines.strip(naive)}
    assert plain_text(strip["Duration"].value) == "4.42 ms"
    assert list(strip) == [
        "Duration", "Memory throughput", "SM throughput", "Issue slots busy", "Occupancy", "Registers / thread",
        "Waves",
    ]  # fmt: skip


def test_the_busiest_of_the_units_that_are_listed_is_named_and_no_more_is_claimed():
    # In the cupy launch 1, L2 as a whole is at 18 %, of which the banner speaks, and no unit of the list is above 15 %.
    store = Store(Path(__file__).parents[3] / "reports" / "examples")
    run = store.read(next(meta.id for meta in store.metas()[0] if "cupy" in meta.id))
    assert plain_text(headlines.units_headline(inspect(run, 1))) == "Of these units DRAM comes nearest its peak: 15 %"


def test_where_nothing_was_collected_titles_are_the_plain_subject():
    run = golden_run(["naive"])
    bare = inspect(type(run)(**{**run.__dict__, "metrics": run.metrics.iloc[:0]}), 0)
    assert headlines.units_headline(bare) == "Throughput of units"
    assert headlines.memory_headline(bare) == "What moved through memory"
    assert headlines.stalls_headline(bare.view.summaries[0]) == "What the warps wait for"
    assert headlines.accesses_headline(bare) == "Memory accesses"
    assert headlines.rules_headline(bare) == "What Nsight Compute's rules say"
