"""What one SM of each compute capability holds, hands out and computes: facts that nothing else may repeat.

Sources:

- Residents, shared memory: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", and the
  same in CUDA's own headers (``cuda/__device/arch_traits.h`` of CCCL).
- Granularities, shared-memory sizes of an SM, barriers: the rules of CUDA 13.0's occupancy calculator
  (``cuda_occupancy.h``).
- FP32 lanes: the guide's table "Throughput of Native Arithmetic Instructions", row "32-bit floating-point add,
  multiply, multiply-add".

What reports of compute capability 7.2, 7.5, 8.6, 9.0, 10.0 and 12.0 say of their GPUs agrees with it
(``tests/corpus/test_occupancy.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WARP_THREADS = 32
MAX_BLOCK_THREADS = 1024
MAX_REGISTERS = 255
"""Registers that an instruction can name; a thread has no more."""

REGISTERS_PER_SM = 65536
REGISTER_UNIT = 256
"""Registers are handed to a warp in multiples of this: 8 for each of its 32 threads."""

SUB_PARTITIONS = 4
"""An SM has four schedulers, each with its own quarter of the registers; a warp lives in one of them."""

BANKS = 32
BANK_BYTES = 4
"""Shared memory serves one wavefront a clock: at most one word of 4 bytes from each of 32 banks."""

_KIB = 1024
_TO_96 = (0, 8, 16, 32, 64, 96)
_TO_100 = (0, 8, 16, 32, 64, 100)
_TO_164 = (*_TO_100, 132, 164)
_TO_228 = (*_TO_164, 196, 228)


@dataclass(frozen=True, slots=True)
class Architecture:
    """One SM of one compute capability.

    Attributes:
        compute_capability: Major and minor.
        threads: Threads that may reside on it.
        blocks: Blocks that may.
        barriers: Barriers of blocks that may.
        carve_outs: Bytes of shared memory it can be configured to have, ascending; the rest of them is L1 cache.
        shared_unit: Bytes in multiples of which a block gets shared memory.
        reserved_shared: Bytes that the driver takes for every block beside its own.
        fp32_lanes: FP32 FMAs it finishes a clock; None where no source was found.
    """

    compute_capability: tuple[int, int]
    threads: int
    blocks: int
    barriers: int
    carve_outs: tuple[int, ...]
    shared_unit: int
    reserved_shared: int
    fp32_lanes: int | None

    @property
    def warps(self) -> int:
        """Warps that may reside on it."""
        return self.threads // WARP_THREADS

    @property
    def shared_bytes(self) -> int:
        """The most shared memory it can have."""
        return self.carve_outs[-1]

    @property
    def max_block_shared(self) -> int:
        """The most shared memory that one block can ask for (over 48 KiB only if its kernel opts in)."""
        return self.shared_bytes - self.reserved_shared


def _of(
    capability: tuple[int, int], threads: int, blocks: int, barriers: int, kib: tuple[int, ...], lanes: int | None
) -> Architecture:
    since_ampere = capability >= (8, 0)
    return Architecture(
        compute_capability=capability,
        threads=threads,
        blocks=blocks,
        barriers=barriers,
        carve_outs=tuple(size * _KIB for size in kib),
        shared_unit=128 if since_ampere else 256,
        reserved_shared=_KIB if since_ampere else 0,
        fp32_lanes=lanes,
    )


ARCHITECTURES: Mapping[tuple[int, int], Architecture] = {
    one.compute_capability: one
    for one in (
        _of((7, 0), 2048, 32, 64, _TO_96, 64),
        _of((7, 2), 2048, 32, 64, _TO_96, 64),
        _of((7, 5), 1024, 16, 32, (32, 64), 64),
        _of((8, 0), 2048, 32, 64, _TO_164, 64),
        _of((8, 6), 1536, 16, 16, _TO_100, 128),
        _of((8, 7), 1536, 16, 16, _TO_164, 128),
        _of((8, 9), 1536, 24, 24, _TO_100, 128),
        _of((9, 0), 2048, 32, 64, _TO_228, 128),
        _of((10, 0), 2048, 32, 64, _TO_228, 128),
        _of((10, 3), 2048, 32, 64, _TO_228, 128),
        _of((11, 0), 1536, 24, 24, _TO_228, None),
        _of((12, 0), 1536, 24, 24, _TO_100, 128),
        _of((12, 1), 1536, 24, 24, _TO_100, 128),
    )
}
"""Compute capability -> its SM, for all that Nsight Compute 2025 profiles."""
