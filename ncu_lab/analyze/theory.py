"""What theory says of a matrix multiply: work, traffic, intensities, ceilings, and the time nothing can go below.

The formulas are those of the roofline model (Williams, Waterman, Patterson, "Roofline", CACM 52(4), 2009) and of Simon
Boehm's worklog of 31 December 2022, "How to Optimize a CUDA Matmul Kernel", which the ladder follows; occupancy is in
:mod:`ncu_lab.analyze.occupancy`. Sizes are in elements, traffic in bytes, intensities in FLOP per byte.
"""

from __future__ import annotations

from ncu_lab.analyze.occupancy import next_block, occupancy
from ncu_lab.metrics import Lookup, read
from ncu_lab.model import (
    ARCHITECTURES,
    DTYPE_BYTES,
    BlockDemand,
    Ceiling,
    Datasheet,
    Dtype,
    KernelShape,
    Operation,
    Problem,
    Stage,
    Theory,
)
from ncu_lab.model.architecture import BANK_BYTES, BANKS, WARP_THREADS

C_BYTES = 4
"""C and the sums are FP32, whatever the type of A and B."""

WAVEFRONT_BYTES = BANKS * BANK_BYTES


def flop(problem: Problem) -> float:
    """Return the operations of C = alpha·A·B + beta·C: 2·m·n·k, and 2·m·n for the beta term where beta is not 0.

    The beta term is a product and a sum for each element of C. Multiplying by alpha is not counted, as in BLAS.
    """
    return 2.0 * problem.m * problem.n * problem.k + (2.0 * problem.m * problem.n if problem.beta else 0.0)


def minimum_bytes(problem: Problem, dtype: Dtype, operation: Operation = "ab", c_bytes: int = C_BYTES) -> float:
    """Return the bytes to move when every element of A and B is read, and of C written, exactly once.

    e·(m·k + k·n) + c·m·n, and c·m·n more to read C where beta is not 0; C = A·Aᵀ has no B to read.
    """
    operands = problem.m * problem.k + (problem.k * problem.n if operation == "ab" else 0)
    passes = 2 if problem.beta else 1
    return float(DTYPE_BYTES[dtype] * operands + passes * c_bytes * problem.m * problem.n)


def fetch_intensity(rows: int, columns: int, dtype: Dtype) -> float:
    """Return FLOP per byte fetched from global memory when a tile of C shares each fetch.

    Each step along k fetches ``rows + columns`` elements for ``2 * rows * columns`` FLOP: 2·r·c / (e·(r + c)), which is
    r·c / (2·(r + c)) in FP32 and r·c / (r + c) in FP16; T/4 for a square FP32 tile of T; 0.25 without any reuse.
    """
    return 2.0 * rows * columns / (DTYPE_BYTES[dtype] * (rows + columns))


def fetched_bytes(shape: KernelShape, problem: Problem) -> float:
    """Return the bytes of A and B that a launch asks global memory for, caches or not.

    Each of the ``ceil(m/r) * ceil(n/c)`` tiles fetches ``(r + c) * k`` elements; what lies outside counts as if it were
    fetched, since the tile's time is spent.
    """
    rows, columns = shape.fetch
    tiles = -(-problem.m // rows) * -(-problem.n // columns)
    return float(tiles * (rows + columns) * problem.k * DTYPE_BYTES[shape.dtype])


def fma_per_shared_load(rows: int, columns: int) -> float:
    """Return FMAs for each scalar load from shared memory when a thread computes rows x columns of C.

    A step along k loads ``rows + columns`` values for ``rows * columns`` FMAs: TM·TN / (TM + TN), which for one column
    is TM / (1 + TM), and 1/2 without a thread tile.
    """
    return rows * columns / (rows + columns)


def shared_ceiling(device: Datasheet, wavefronts_per_fma: float) -> float:
    """Return the FLOP/s that shared memory allows at one wavefront a clock and SM.

    A warp's FMA is 2 x 32 FLOP: 64 / w FLOP a clock and SM, times SMs and clock. Scalar loads without conflicts take
    one wavefront each, so w is 1 over the FMAs per load; wider loads take less, conflicts more.
    """
    return 2.0 * WARP_THREADS / wavefronts_per_fma * device.sm_count * device.boost_hz


def shared_intensity(wavefronts_per_fma: float) -> float:
    """Return FLOP per byte through shared memory: 64 FLOP of a warp's FMA over w wavefronts of 128 bytes."""
    return 2.0 * WARP_THREADS / (wavefronts_per_fma * WAVEFRONT_BYTES)


def ridge(peak_flop_per_s: float, bytes_per_s: float) -> float:
    """Return the intensity from which on a compute peak is lower than a bandwidth: their quotient, FLOP per byte."""
    return peak_flop_per_s / bytes_per_s


def shared_bytes_per_s(device: Datasheet) -> float:
    """Return the bandwidth of shared memory: 128 bytes a clock and SM."""
    return float(WAVEFRONT_BYTES * device.sm_count * device.boost_hz)


def shape_of_stage(stage: Stage, problem: Problem, demand: BlockDemand | None, demand_from: str) -> KernelShape:
    """Return what theory needs to know of a registered stage.

    Args:
        stage: A kernel stage.
        problem: The problem it computes.
        demand: What a block takes; None where that is not known.
        demand_from: Where that is from, or how to get to know it.
    """
    tile = stage.tile
    block = (tile["BM"], tile["BN"])
    thread = (tile.get("TM", 1), tile.get("TN", 1))
    # Blocks of a cluster hold tiles above one another and hand each other the tile of B.
    shared_fetch = (block[0] * tile.get("CLUSTER", 1), block[1])
    alone = (tile.get("WM", thread[0]), tile.get("WN", thread[1]))
    return KernelShape(
        name=stage.id,
        dtype=stage.dtype,
        operation=stage.operation,
        tile=block,
        staged=stage.staged,
        fetch=shared_fetch if stage.staged else alone,
        lane=thread if stage.staged and stage.dtype == "fp32" else None,
        demand=demand,
        demand_from=demand_from,
        grid=None if stage.plan else -(-problem.m // block[0]) * -(-problem.n // block[1]),
    )


def wavefronts_per_fma(lookup: Lookup) -> float | None:
    """Return the shared-memory wavefronts for each FMA of a warp, from a launch's counters; None without FP32 work.

    Wavefronts are ``shared_bytes`` over 128, FMAs of a warp ``flop`` over 64; stores to shared memory count too.
    """
    wavefronts, operations = read("shared_bytes", lookup).value, read("flop", lookup).value
    if not wavefronts or not operations:
        return None
    return wavefronts / WAVEFRONT_BYTES / (operations / (2 * WARP_THREADS))


def predict(
    shape: KernelShape, problem: Problem, device: Datasheet, measured_wavefronts: float | None = None
) -> Theory:
    """Return all that theory says of one kernel, problem and GPU.

    Args:
        shape: The kernel.
        problem: The problem it really computes.
        device: The GPU.
        measured_wavefronts: Shared-memory wavefronts for each FMA of a warp; None where not measured.
    """
    work, least = flop(problem), minimum_bytes(problem, shape.dtype, shape.operation)
    peak = device.peak_flop_per_s(shape.dtype)
    architecture = ARCHITECTURES[device.compute_capability]
    demand = shape.demand
    held = None if demand is None else occupancy(architecture, demand)
    slots = held.blocks * device.sm_count if held else 0
    return Theory(
        shape=shape,
        problem=problem,
        device=device,
        flop=work,
        minimum_bytes=least,
        global_bytes=fetched_bytes(shape, problem),
        global_intensity=fetch_intensity(*shape.fetch, shape.dtype),
        fma_per_shared_load=shape.lane and fma_per_shared_load(*shape.lane),
        wavefronts_per_fma=measured_wavefronts,
        ceilings=_ceilings(shape, device, work / least, peak, measured_wavefronts),
        compute_ns=None if peak is None else work / peak * 1e9,
        dram_ns=least / device.dram_bytes_per_s * 1e9,
        occupancy=held,
        next_block=None if demand is None else next_block(architecture, demand),
        waves=shape.grid / slots if shape.grid and slots else None,
    )


def _ceilings(
    shape: KernelShape, device: Datasheet, intensity: float, peak: float | None, measured: float | None
) -> tuple[Ceiling, ...]:
    """Return the ceilings; the peak first.

    What is fetched takes part in binding only for a kernel that stages nothing itself, and wavefronts that were
    measured take the place of those of scalar loads.
    """
    fetched = fetch_intensity(*shape.fetch, shape.dtype)
    scalar = shape.lane and 1.0 / fma_per_shared_load(*shape.lane)
    found = [] if peak is None else [Ceiling("peak", f"{shape.dtype.upper()} peak", peak, hard=True)]
    for key, label, at, hard, binds in (
        ("dram", "DRAM, each byte once", intensity, True, True),
        ("dram_uncached", "DRAM, nothing cached", fetched, False, not shape.staged),
    ):
        bandwidth = device.dram_bytes_per_s
        found.append(Ceiling(key, label, at * bandwidth, hard, at, peak and ridge(peak, bandwidth), binds))
    for key, label, wavefronts, hard, binds in (
        ("shared_scalar", "shared, scalar loads", scalar, False, measured is None),
        ("shared_measured", "shared, as measured", measured, True, True),
    ):
        if wavefronts:
            speed, at = shared_ceiling(device, wavefronts), shared_intensity(wavefronts)
            found.append(Ceiling(key, label, speed, hard, at, peak and ridge(peak, shared_bytes_per_s(device)), binds))
    return tuple(found)
