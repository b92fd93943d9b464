"""How many blocks an SM holds: the occupancy calculator, with the granularity in which hardware hands out.

The rules are those of CUDA 13.0's ``cuda_occupancy.h``; the constants are in :mod:`ncu_lab.model.architecture`. What it
gives equals Nsight Compute's ``launch__occupancy_limit_*``, ``sm__maximum_warps_per_active_cycle_pct`` and the curves
``launch__occupancy_per_*`` (``tests/unit/analyze/test_occupancy_of_reports.py`` and ``tests/corpus``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ncu_lab.model import Architecture, BlockDemand, NextBlock, Occupancy, OccupancyCurve, Resource
from ncu_lab.model.architecture import (
    MAX_BLOCK_THREADS,
    MAX_REGISTERS,
    REGISTER_UNIT,
    REGISTERS_PER_SM,
    SUB_PARTITIONS,
    WARP_THREADS,
)

_FIXED: tuple[Resource, ...] = ("warps", "blocks", "barriers")
"""What registers and shared memory of a kernel cannot change."""


def occupancy(architecture: Architecture, demand: BlockDemand, carve_out: int | None = None) -> Occupancy:
    """Return how many blocks of one kind an SM holds, by each resource.

    A resource that the block does not use has room for as many blocks as an SM may hold.

    Args:
        architecture: The SM.
        demand: The block.
        carve_out: Bytes of shared memory that the SM is configured to have (``launch__shared_mem_config_size``); the
            driver chooses that for a launch. The largest by default, so that the result is what is possible. One that
            is too small for a single block is replaced by the least that is not, as the driver does.
    """
    shared = allocated_shared(architecture, demand.shared_bytes)
    configured = _carve_out(architecture, shared, carve_out)
    limits: dict[Resource, int] = {
        "registers": _register_limit(architecture, demand),
        "shared memory": _shared_limit(architecture, demand, shared, configured),
        "warps": architecture.warps // warps_of(demand.threads) if demand.threads <= MAX_BLOCK_THREADS else 0,
        "blocks": architecture.blocks,
        "barriers": min(architecture.barriers // max(demand.barriers, 1), architecture.blocks),
    }
    warps = min(limits.values()) * warps_of(demand.threads)
    return Occupancy(
        demand=demand,
        limits=limits,
        warps=warps,
        share=warps / architecture.warps,
        registers_allocated=_warp_registers(demand.registers) // WARP_THREADS,
        shared_allocated=shared,
        carve_out=configured,
    )


def warps_of(threads: int) -> int:
    """Return the warps of a block; a part of one takes the room of one."""
    return -(-threads // WARP_THREADS)


def allocated_shared(architecture: Architecture, shared_bytes: int) -> int:
    """Return the shared memory that a block takes: its own and the driver's, in whole units."""
    return _round_up(shared_bytes + architecture.reserved_shared, architecture.shared_unit)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _warp_registers(registers: int) -> int:
    return _round_up(registers * WARP_THREADS, REGISTER_UNIT)


def _register_limit(architecture: Architecture, demand: BlockDemand) -> int:
    """Blocks by registers: each sub-partition holds whole warps of its own quarter.

    The hardware admits a block only if it fits when its warps are rounded up to all sub-partitions.
    """
    if demand.registers == 0:
        return architecture.blocks
    warp, warps = _warp_registers(demand.registers), warps_of(demand.threads)
    if demand.registers > MAX_REGISTERS + 1 or warp * _round_up(warps, SUB_PARTITIONS) > REGISTERS_PER_SM:
        return 0
    return REGISTERS_PER_SM // SUB_PARTITIONS // warp * SUB_PARTITIONS // warps


def _shared_limit(architecture: Architecture, demand: BlockDemand, allocated: int, configured: int) -> int:
    if demand.shared_bytes > architecture.max_block_shared:
        return 0
    return configured // allocated if allocated else architecture.blocks


def _carve_out(architecture: Architecture, allocated: int, wanted: int | None) -> int:
    if wanted is None:
        return architecture.shared_bytes
    if wanted >= allocated:
        return wanted
    return min((size for size in architecture.carve_outs if size >= allocated), default=architecture.shared_bytes)


def next_block(architecture: Architecture, demand: BlockDemand, carve_out: int | None = None) -> NextBlock:
    """Return what one more block would take: the most registers and shared memory that leave room for it.

    From ``blocks * warps`` of a block on four sub-partitions follow the warps of each, from these the registers of a
    warp, in whole units of 256; likewise the shared memory of a block in units of 128 or 256 bytes, less the driver's.
    """
    now = occupancy(architecture, demand, carve_out)
    blocks = now.blocks + 1
    if prevented := tuple(resource for resource in _FIXED if now.limits[resource] < blocks):
        return NextBlock(blocks, prevented_by=prevented)
    registers = shared = None
    if now.limits["registers"] < blocks:
        warps = warps_of(demand.threads)
        each = -(-blocks * warps // SUB_PARTITIONS)
        unit = REGISTERS_PER_SM // SUB_PARTITIONS // each // REGISTER_UNIT * REGISTER_UNIT
        registers = min(unit // WARP_THREADS, MAX_REGISTERS)
    if now.limits["shared memory"] < blocks:
        room = now.carve_out // blocks // architecture.shared_unit * architecture.shared_unit
        shared = room - architecture.reserved_shared
        if shared < 0:
            return NextBlock(blocks, prevented_by=("shared memory",))
    return NextBlock(blocks, registers, shared)


def block_size_curve(architecture: Architecture, demand: BlockDemand, carve_out: int | None = None) -> OccupancyCurve:
    """Return blocks and warps for every size of a block in whole warps."""
    sizes = range(WARP_THREADS, MAX_BLOCK_THREADS + 1, WARP_THREADS)
    x, blocks, warps = _curve(architecture, carve_out, sizes, lambda size: replace(demand, threads=size))
    return OccupancyCurve("block size", x, blocks, warps)


def register_curve(architecture: Architecture, demand: BlockDemand, carve_out: int | None = None) -> OccupancyCurve:
    """Return blocks and warps for every number of registers a thread."""
    counts = range(1, MAX_REGISTERS + 1)
    x, blocks, warps = _curve(architecture, carve_out, counts, lambda count: replace(demand, registers=count))
    return OccupancyCurve("registers", x, blocks, warps)


def shared_curve(architecture: Architecture, demand: BlockDemand, carve_out: int | None = None) -> OccupancyCurve:
    """Return blocks and warps for shared memory of a block (its own) from none to the most, unit by unit."""
    sizes = range(0, architecture.max_block_shared + 1, architecture.shared_unit)
    x, blocks, warps = _curve(architecture, carve_out, sizes, lambda size: replace(demand, shared_bytes=size))
    return OccupancyCurve("shared memory", x, blocks, warps)


def _curve(
    architecture: Architecture, carve_out: int | None, values: Iterable[int], demand_of: Callable[[int], BlockDemand]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    x = tuple(values)
    found = [occupancy(architecture, demand_of(value), carve_out) for value in x]
    return x, tuple(one.blocks for one in found), tuple(one.warps for one in found)
