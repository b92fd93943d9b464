"""What theory says of a kernel on a GPU: datasheets, occupancy, intensities, ceilings, bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ncu_lab.model.architecture import ARCHITECTURES, Architecture
from ncu_lab.model.stages import Dtype, Operation, Problem

Resource = Literal["registers", "shared memory", "warps", "blocks", "barriers"]
"""What may limit the blocks that an SM holds; the words of ``ncu_lab.metrics.names.OCCUPANCY_LIMITS``."""


@dataclass(frozen=True, slots=True)
class Datasheet:
    """What a GPU can do at best, as published.

    Attributes:
        id: Short name on the command line.
        name: Name for people.
        drivers: Names that drivers report for it, in lower case and without ``NVIDIA``.
        compute_capability: Major and minor.
        sm_count: SMs that are enabled.
        boost_hz: Highest SM clock.
        dram_bytes_per_s: Bandwidth of device memory.
        tensor: Type of A and B -> dense tensor-core FLOP/s with FP32 accumulation; a type without figure is absent.
        source: Where these figures are from.
        notes: ``fp32``, ``tensor`` or ``dram`` -> what to know of these figures.
    """

    id: str
    name: str
    drivers: tuple[str, ...]
    compute_capability: tuple[int, int]
    sm_count: int
    boost_hz: float
    dram_bytes_per_s: float
    tensor: Mapping[str, float] = field(default_factory=dict)
    source: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def architecture(self) -> Architecture:
        """What one of its SMs is."""
        return ARCHITECTURES[self.compute_capability]

    def peak_flop_per_s(self, dtype: Dtype) -> float | None:
        """Return the peak for a type of A and B; None where no figure is known.

        FP32: 2 FLOP x lanes of an SM x SMs x boost clock. Tensor types: the datasheet's own figure.
        """
        if dtype != "fp32":
            return self.tensor.get(dtype)
        lanes = self.architecture.fp32_lanes
        return None if lanes is None else 2.0 * lanes * self.sm_count * self.boost_hz


@dataclass(frozen=True, slots=True)
class BlockDemand:
    """What one block asks of an SM: threads, registers a thread, bytes of shared memory (its own), barriers."""

    threads: int
    registers: int
    shared_bytes: int = 0
    barriers: int = 1


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many blocks of a kind an SM can hold.

    Attributes:
        demand: The block.
        limits: Resource -> blocks that it has room for, whatever the others say.
        warps: Warps of these blocks.
        share: Warps over those that an SM can hold, 0 to 1.
        registers_allocated: Registers a thread really takes.
        shared_allocated: Bytes of shared memory a block really takes, the driver's own included.
        carve_out: Bytes of shared memory that the SM was taken to have.
    """

    demand: BlockDemand
    limits: Mapping[Resource, int]
    warps: int
    share: float
    registers_allocated: int
    shared_allocated: int
    carve_out: int

    @property
    def blocks(self) -> int:
        """Blocks that every resource has room for."""
        return min(self.limits.values())

    @property
    def limited_by(self) -> tuple[Resource, ...]:
        """The resources that have room for no more; several when they tie."""
        return tuple(resource for resource, blocks in self.limits.items() if blocks == self.blocks)


@dataclass(frozen=True, slots=True)
class NextBlock:
    """What one more block an SM would take.

    Attributes:
        blocks: Blocks there would be.
        registers: Registers a thread may have at most; None where they may stay as they are.
        shared_bytes: Shared memory a block may have at most (its own); None likewise.
        prevented_by: What forbids it whatever registers and shared memory are: threads, blocks or barriers of an SM;
            empty when it can be.
    """

    blocks: int
    registers: int | None = None
    shared_bytes: int | None = None
    prevented_by: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class OccupancyCurve:
    """Blocks and warps of an SM as one demand varies: ``x`` in threads, registers a thread, or bytes."""

    varies: Literal["block size", "registers", "shared memory"]
    x: tuple[int, ...]
    blocks: tuple[int, ...]
    warps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class KernelShape:
    """What theory needs to know of a matrix-multiply kernel.

    Attributes:
        name: Stage id, or ``tile`` for one that the user gave.
        dtype: Type of A and B; C and the sums are FP32.
        operation: ``ab``, or ``aat`` for C = A·Aᵀ, which has one operand to read.
        tile: Rows and columns of C that one block computes.
        staged: Whether tiles of A and B pass through shared memory.
        fetch: Rows and columns of C that share one fetch of A and B from global memory: the tile where it passes
            through shared memory, else what a warp or thread computes.
        lane: Rows and columns of C that one thread computes by FMA from shared memory; None where no FMA is fed from
            shared memory (tensor cores, or no tile there).
        demand: What one block takes; None where the registers are not known.
        demand_from: Where registers and shared memory are from, in a few words; or how to get to know them.
        grid: Blocks of a launch; None where that does not follow from the tile.
    """

    name: str
    dtype: Dtype
    operation: Operation
    tile: tuple[int, int]
    staged: bool
    fetch: tuple[int, int]
    lane: tuple[int, int] | None
    demand: BlockDemand | None
    demand_from: str
    grid: int | None = None


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A speed that one resource allows.

    Attributes:
        key: ``peak``, ``dram``, ``dram_uncached``, ``shared_scalar`` or ``shared_measured``.
        label: The resource in words.
        flop_per_s: The speed.
        hard: Whether nothing can exceed it; else caches or wider loads may.
        intensity: FLOP per byte through the resource; None for the compute peak.
        ridge: FLOP per byte from which on the compute peak is lower; None likewise, and where the peak is not known.
        binds: Whether it takes part in the question which resource is the first to end.
    """

    key: str
    label: str
    flop_per_s: float
    hard: bool
    intensity: float | None = None
    ridge: float | None = None
    binds: bool = True


@dataclass(frozen=True, slots=True)
class Theory:
    """All that theory says of one kernel, problem and GPU.

    Attributes:
        shape: The kernel.
        problem: The problem it computes.
        device: The GPU.
        flop: Operations, the beta term included.
        minimum_bytes: Bytes to move when each operand is read, and C written, once.
        global_bytes: Bytes that blocks, warps or threads fetch from global memory, caches or not; the store of C apart.
        global_intensity: FLOP per byte of these fetches.
        fma_per_shared_load: FMAs for each scalar load from shared memory; None without such loads.
        wavefronts_per_fma: Shared-memory wavefronts for each FMA of a warp, as measured; None where not.
        ceilings: What bounds the speed.
        compute_ns: Time at the compute peak; None where that is not known.
        dram_ns: Time to move the minimum of bytes.
        occupancy: Blocks an SM holds; None where the demand of a block is not known.
        next_block: What one more would take; None likewise.
        waves: Grid over the blocks that all SMs hold at once; None likewise.
    """

    shape: KernelShape
    problem: Problem
    device: Datasheet
    flop: float
    minimum_bytes: float
    global_bytes: float
    global_intensity: float
    fma_per_shared_load: float | None
    wavefronts_per_fma: float | None
    ceilings: tuple[Ceiling, ...]
    compute_ns: float | None
    dram_ns: float
    occupancy: Occupancy | None
    next_block: NextBlock | None
    waves: float | None

    @property
    def intensity(self) -> float:
        """FLOP per byte when each operand is moved once."""
        return self.flop / self.minimum_bytes

    @property
    def binding(self) -> Ceiling | None:
        """The lowest of the ceilings that take part; None where the peak is not known: it may be lower than all."""
        if self.compute_ns is None:
            return None
        return min((one for one in self.ceilings if one.binds), key=lambda one: one.flop_per_s)

    @property
    def lower_bound_ns(self) -> float:
        """Time that nothing can go below: of computing and of moving, the longer."""
        return max(self.compute_ns or 0.0, self.dram_ns)

    def ceiling(self, key: str) -> Ceiling | None:
        """Return one ceiling, None where it does not apply or is not known."""
        return next((one for one in self.ceilings if one.key == key), None)
