"""Blocks of an SM, worked out by hand from the granularity in which hardware hands out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.analyze.occupancy import (
    allocated_shared,
    block_size_curve,
    next_block,
    occupancy,
    register_curve,
    shared_curve,
)
from ncu_lab.model import ARCHITECTURES, BlockDemand

H200 = ARCHITECTURES[9, 0]
A6000 = ARCHITECTURES[8, 6]


@pytest.mark.parametrize(
    ("registers", "blocks"),
    [
        # 256 threads are 8 warps; a quarter of the registers is 16384
        (64, 4),  # 2048 a warp: 8 warps a quarter, 32 in all
        (65, 3),  # 2080 round up to 2304: 7 a quarter, 28 in all, which hold 3 blocks of 8; not half as many
        (128, 2),  # 4096: 4 a quarter, 16
        (129, 1),  # 4128 round up to 4352: 3 a quarter, 12: halved
        (130, 1),  # the stage 2d as it was first built
        (255, 1),  # 8160 round up to 8192: 2 a quarter, 8
    ],
)
def test_registers_at_256_threads(registers: int, blocks: int) -> None:
    assert occupancy(H200, BlockDemand(256, registers)).limits["registers"] == blocks


def test_registers_of_a_part_of_a_warp_and_of_none() -> None:
    # 4 threads take a whole warp: 40 registers are 1280, 12 a quarter, 48 blocks (a GTX 1660 reports so)
    assert occupancy(ARCHITECTURES[7, 5], BlockDemand(4, 40)).limits["registers"] == 48
    assert occupancy(H200, BlockDemand(256, 0)).limits["registers"] == 32


def test_a_block_must_fit_with_its_warps_rounded_up_to_the_quarters() -> None:
    # 72 registers: 2304 a warp, 32 warps: 73728 > 65536
    assert occupancy(H200, BlockDemand(1024, 72)).blocks == 0
    # 29 warps would have 7 x 4 = 28 places; rounded up to 32 warps they do not fit at all
    assert occupancy(H200, BlockDemand(29 * 32, 72)).limits["registers"] == 0
    assert occupancy(H200, BlockDemand(256, 257)).limits["registers"] == 0


def test_shared_memory_with_the_drivers_own_and_in_whole_units() -> None:
    assert allocated_shared(H200, 8192) == 9216  # and 1024 of the driver
    assert allocated_shared(H200, 213284) == 214400  # 214308 up to 128
    assert allocated_shared(ARCHITECTURES[7, 5], 32) == 256
    assert allocated_shared(ARCHITECTURES[7, 5], 0) == 0
    # 228 KiB = 233472 over 9216; in a configuration of 64 KiB, 65536 over 9216
    assert occupancy(H200, BlockDemand(256, 107, 8192)).limits["shared memory"] == 25
    assert occupancy(H200, BlockDemand(256, 107, 8192), 65536).limits["shared memory"] == 7
    # one that is too small for a block gives way to the next: 16 KiB hold one block of 9216
    assert occupancy(H200, BlockDemand(256, 107, 8192), 8192).carve_out == 16384


def test_a_block_of_more_shared_memory_than_there_is() -> None:
    assert occupancy(A6000, BlockDemand(256, 32, 99 * 1024)).blocks == 1
    assert occupancy(A6000, BlockDemand(256, 32, 99 * 1024 + 1)).blocks == 0


def test_barriers() -> None:
    # 64 barriers an SM: 16 of a block leave 4 blocks, 3 leave 21; of compute capability 12.0, 24: 5 leave 4
    assert occupancy(H200, BlockDemand(384, 168, 0, 16)).limits["barriers"] == 4
    assert occupancy(H200, BlockDemand(384, 168, 0, 3)).limits["barriers"] == 21
    assert occupancy(H200, BlockDemand(384, 168, 0, 0)).limits["barriers"] == 32
    assert occupancy(ARCHITECTURES[12, 0], BlockDemand(256, 16, 0, 5)).limits["barriers"] == 4


def test_what_limits_and_the_share_of_warps() -> None:
    held = occupancy(H200, BlockDemand(256, 130, 8192))
    assert (held.blocks, held.warps, held.share) == (1, 8, 0.125)
    assert held.limited_by == ("registers",)
    assert held.registers_allocated == 136
    tie = occupancy(H200, BlockDemand(1024, 32))
    assert (tie.blocks, tie.limited_by) == (2, ("registers", "warps"))
    # 11 blocks of one warp, of 48 warps: 22.9167 % in a report of an A10G
    assert occupancy(A6000, BlockDemand(32, 56, 8192)).share == pytest.approx(0.229167, abs=1e-6)


def test_no_block_of_over_1024_threads() -> None:
    assert occupancy(H200, BlockDemand(1025, 16)).blocks == 0


def test_one_more_block_by_registers() -> None:
    # 2 blocks of 8 warps: 4 a quarter, 4096 registers each, 128 a thread
    step = next_block(H200, BlockDemand(256, 130, 8192))
    assert (step.blocks, step.registers, step.shared_bytes) == (2, 128, None)
    # 3 blocks: 6 a quarter, 2730 down to 2560, 80 a thread
    assert next_block(H200, BlockDemand(256, 128)).registers == 80


def test_one_more_block_by_shared_memory() -> None:
    # 2 blocks share 233472: 116736 each, less 1024
    step = next_block(H200, BlockDemand(384, 168, 231424, 3))
    assert (step.blocks, step.registers, step.shared_bytes) == (2, 80, 115712)


def test_one_more_block_that_cannot_be() -> None:
    assert next_block(H200, BlockDemand(1024, 32)).prevented_by == ("warps",)
    assert next_block(H200, BlockDemand(32, 16)).prevented_by == ("blocks", "barriers")


@given(
    st.sampled_from(sorted(ARCHITECTURES)),
    st.integers(1, 1024),
    st.integers(0, 255),
    st.integers(0, 227 * 1024),
)
def test_one_more_block_is_what_it_takes_and_no_less(
    capability: tuple[int, int], threads: int, registers: int, shared: int
) -> None:
    architecture = ARCHITECTURES[capability]
    demand = BlockDemand(threads, registers, shared)
    step = next_block(architecture, demand)
    if step.prevented_by:
        return
    enough = BlockDemand(
        threads,
        registers if step.registers is None else step.registers,
        shared if step.shared_bytes is None else step.shared_bytes,
    )
    assert occupancy(architecture, enough).blocks >= step.blocks
    if step.registers is not None and step.registers < 255:
        more = BlockDemand(threads, step.registers + 1, enough.shared_bytes)
        assert occupancy(architecture, more).blocks < step.blocks
    if step.shared_bytes is not None:
        more = BlockDemand(threads, enough.registers, step.shared_bytes + 1)
        assert occupancy(architecture, more).blocks < step.blocks


def test_curves() -> None:
    demand = BlockDemand(256, 16)
    sizes = block_size_curve(H200, demand, 32768)
    assert dict(zip(sizes.x, sizes.warps, strict=True))[96] == 63  # 21 blocks of 3 warps in 64
    registers = register_curve(H200, demand)
    steps = [x for x, a, b in zip(registers.x[1:], registers.warps, registers.warps[1:], strict=False) if b < a]
    assert steps == [33, 41, 49, 65, 81, 129]  # as in the golden report of three launches
    shared = shared_curve(H200, demand)
    assert (shared.x[0], shared.x[-1]) == (0, 232448)
    assert shared.blocks[0] == 8
    assert shared.blocks[-1] == 1


def test_every_capability_that_is_profiled_is_known() -> None:
    assert set(ARCHITECTURES) == {
        (7, 0), (7, 2), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0), (12, 1),
    }  # fmt: skip
    for one in ARCHITECTURES.values():
        assert list(one.carve_outs) == sorted(one.carve_outs)
    # NVIDIA: at most 163 KiB a block on 8.0, 99 on 8.6, 227 on 9.0, 99 on 12.0, 96 on 7.0
    most = {capability: ARCHITECTURES[capability].max_block_shared // 1024 for capability in ARCHITECTURES}
    assert [most[one] for one in ((8, 0), (8, 6), (9, 0), (12, 0), (7, 0))] == [163, 99, 227, 99, 96]
