"""What is said of launches and ladders, as data."""

from dataclasses import replace

import pytest
from builders import ladder, row, summary

from ncu_lab.analyze.attribution import split
from ncu_lab.analyze.explanation import explain_ladder, explain_launch, fastest
from ncu_lab.analyze.verdict import verdict_of
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Device, Expectation, Factors, Finding, LaunchAccess, MeasuredPeak, RooflinePoint, Verdict

H200 = Device("NVIDIA H200", compute_capability=(9, 0), sm_count=132)
A = Factors(0, "full", 800.0, 100.0, {"selected": 1.0, "wait": 1.0}, 1.0, 1.0, 250e6)
B = replace(A, duration_ns=400.0, instructions=50.0)


def explained(launch, bound="shared", points=(), device=H200, place=None, measured=()):
    return explain_launch(
        launch,
        Verdict(bound, ()),
        access=LaunchAccess(),
        points=points,
        row=place,
        device=device,
        stages=load_stages(),
        measured=measured,
    )


def resident(registers, blocks, *, shared=9216.0, waves=4.0, limits=None):
    """A launch of 256 threads a block, of which an SM holds so many."""
    plain = summary("2d")
    values = {"registers_per_thread": registers, "shared_memory_per_block": shared, "waves_per_sm": waves}
    readings = {**plain.readings, **{key: replace(plain.readings[key], value=value) for key, value in values.items()}}
    return replace(plain, readings=readings, occupancy_limits=limits or {"registers": blocks, "warps": 8})


def test_one_more_block_is_told_where_registers_keep_it_away():
    # 65536 registers / (256 threads x 128) = 2 blocks; a third leaves 65536 / 768 = 85.3, in units of 8: 80.
    room = explained(resident(125.0, 2)).room
    assert (room.demand.threads, room.demand.registers, room.demand.shared_bytes) == (256, 125, 8192)
    assert (room.next_block.blocks, room.next_block.registers, room.next_block.shared_bytes) == (3, 80, None)


@pytest.mark.parametrize(
    ("launch", "more"),
    [
        (resident(125.0, 1), {}),  # the report says that fewer fit: something else limits
        (resident(125.0, 2, waves=0.9), {}),  # there are no blocks for the place
        (resident(125.0, 2), {"bound": "compute"}),  # issue slots are full
        (resident(125.0, 2), {"device": None}),
        (resident(125.0, 2), {"device": Device("Future", compute_capability=(99, 0))}),
        (resident(125.0, 2), {"points": [RooflinePoint("2d", "l1", 1.0, 1.0, 0.85, bound="l1")]}),  # nor is there room
        (replace(resident(125.0, 2), occupancy_limits={}), {}),
    ],
)
def test_one_more_block_is_not_told_where_it_would_not_help_or_is_not_sure(launch, more):
    assert explained(launch, **more).room.next_block is None


def test_the_nearest_roof_is_what_there_is_to_gain():
    points = [RooflinePoint("2d", level, 1.0, 1.0, share, bound=level) for level, share in (("l1", 0.5), ("l2", 0.7))]
    assert explained(summary("2d"), points=points).room.roof.level == "l2"


def test_what_a_tensor_instruction_was_measured_to_reach_lowers_its_roof():
    # 400 TFLOP/s under a roof of 640 are 62.5 %, of 500 measured 80 %; 390 measured are exceeded, so say nothing.
    at_roof = RooflinePoint("mma-sync", "l2", 100.0, 400e12, 0.625, "fp16", "fp16_hmma")
    at_memory = replace(at_roof, level="dram", bound="dram", share_of_roof=0.5)

    def share(reached, points=(at_roof, at_memory), level="fp16_hmma", kind="compute"):
        peak = MeasuredPeak("fp16_mma", level, "", kind, (reached, 0.9 * reached), 1.0)
        return explained(summary("wmma"), points=points, measured=(peak,)).room.roof.share_of_roof

    assert [share(500e12), share(700e12), share(390e12)] == [pytest.approx(0.8), 0.625, 0.625]
    assert share(500e12, level="fp16") == 0.625
    assert share(500e12, points=(at_memory,), level="dram", kind="memory") == 0.5


def test_a_change_is_of_the_launch_that_the_row_chose():
    change = split(A, B)
    chosen = summary("2d")
    place = replace(row("2d"), summary=chosen, attribution=change)
    found = explained(chosen, place=place)
    assert (found.predecessor, found.change) == ("1d", change)
    assert [one.factor for one in found.contributions] == ["instructions"]
    other = explained(replace(chosen, launch=5), place=place)
    assert (other.predecessor, other.change, other.contributions) == (None, None, ())


def test_auxiliary_kernels_and_references_are_not_advised():
    one_block = replace(summary("2d"), grid=(1, 1, 1))
    launch_bound = verdict_of(one_block)
    assert launch_bound.bound == "launch"
    plain = {"access": LaunchAccess(), "points": (), "row": None, "device": H200, "stages": load_stages()}
    assert explain_launch(one_block, launch_bound, **plain).advice.technique == "more blocks"
    assert explain_launch(replace(one_block, role="auxiliary"), launch_bound, **plain).advice is None
    library = replace(one_block, stage="cublas-fp32")
    assert explain_launch(library, launch_bound, **plain).advice is None
    named = {**plain, "row": row("cublas-fp32")}
    assert explain_launch(library, launch_bound, **named).room is None


def missed(value, low=None, high=None):
    bounds = Expectation("build:registers", "between", low, high, "theory", "By hand.")
    return Finding(bounds, "missed", value, -1.0)


def test_the_furthest_miss_is_so_as_a_ratio():
    near, far, zero = missed(130.0, high=128.0), missed(10.0, low=30.0), missed(0.0, low=1.0)
    met = Finding(near.expectation, "met", 1000.0, 1.0)
    rows = [replace(row("1d"), findings=(near, zero)), replace(row("2d"), findings=(far, met))]
    found = explain_ladder(ladder(rows=rows, references=[]), {})
    assert found.furthest == ("2d", far)
    assert len(found.findings) == 4


def test_the_fastest_is_a_timed_fp32_stage_where_there_is_one():
    profiled, timed = row("warptiled", median_ns=50.0), row("2d", samples_ns=(100.0, 101.0))
    both = ladder(rows=[profiled, timed, row("wmma", median_ns=1.0)], references=[])
    assert fastest(both).stage.id == "2d"
    assert fastest(ladder(rows=[row("wmma", median_ns=1.0)], references=[])).stage.id == "wmma"
    assert fastest(ladder(rows=[], references=[])) is None
    assert explain_ladder(ladder(rows=[], references=[]), {}).stage is None


def test_the_reference_is_told_only_beside_a_time_of_the_same_source():
    timed = row("2d", samples_ns=(100.0, 100.0))
    apart = explain_ladder(ladder(rows=[timed], references=[row("cublas-fp32")]), {})
    assert (apart.reference, apart.share) == (None, None)
    alike = explain_ladder(ladder(rows=[row("2d")], references=[row("cublas-fp32")]), {})
    assert alike.reference == "cublas-fp32"
    assert alike.share == pytest.approx(alike.reference_ns / alike.time_ns)
