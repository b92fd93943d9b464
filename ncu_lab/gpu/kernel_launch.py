"""What a kernel is launched with, as values that can be compared: geometry, arguments, tensor maps. Pure.

:mod:`ncu_lab.gpu.driver` makes CUDA's structures of them. Addresses inside the workspace of a launch are written as
:class:`Scratch`, since it is allocated only after everything that it must hold is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.model import Dtype

SCRATCH_ALIGNMENT = 256
"""Of every part of the workspace: more than any access and any tensor map needs (16 bytes)."""

Role = Literal["main", "auxiliary"]


@dataclass(frozen=True, slots=True)
class Scratch:
    """An address in the workspace: bytes from its begin."""

    offset: int


Address = int | Scratch


@dataclass(frozen=True, slots=True)
class Int:
    """A 32-bit integer argument."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """An FP32 argument."""

    value: float


@dataclass(frozen=True, slots=True)
class Pointer:
    """A device address as argument."""

    address: Address


@dataclass(frozen=True, slots=True)
class TensorMap:
    """How the copy engine (TMA) walks a row-major matrix; passed by value as a ``CUtensorMap``.

    The rules that a map must keep (CUDA driver API, ``cuTensorMapEncodeTiled``): base and pitch are multiples of 16
    bytes, a box has at most 256 columns and rows, and with a swizzle its rows are no longer than it.

    Attributes:
        dtype: Type of the elements.
        address: First element.
        columns: Elements of a row.
        rows: Rows; boxes may reach beyond both: what is read there is zero, nothing is written.
        pitch_bytes: From one row to the next.
        box: Columns and rows that one copy moves.
        swizzle_bytes: 0, 32, 64 or 128: within rows of this length in shared memory, 16-byte pieces change places.
    """

    dtype: Dtype
    address: Address
    columns: int
    rows: int
    pitch_bytes: int
    box: tuple[int, int]
    swizzle_bytes: int = 0


Argument = Int | Float | Pointer | TensorMap


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """One kernel of a stage.

    Attributes:
        entry: Its function in the cubin.
        grid: Blocks.
        block: Threads of a block.
        arguments: In the kernel's order.
        role: ``main`` for the kernel that multiplies, ``auxiliary`` for what prepares or finishes its work.
        cluster: Blocks of a cluster along x.
        shared_bytes: Dynamic shared memory of a block.
        early: Whether it may start before the kernel ahead of it has ended, once all that kernel's blocks allow it
            (programmatic stream serialization); it then waits inside. GPUs older than sm_90 start it in turn.
        second: Whether it is of the stage's ``second_file``, and lies in that cubin.
    """

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arguments: tuple[Argument, ...]
    role: Role = "main"
    cluster: int = 1
    shared_bytes: int = 0
    early: bool = False
    second: bool = False


class Workspace:
    """Device memory that the kernels of one launch share, laid out part by part.

    Its content is undefined before: in a check it is NaN (:class:`ncu_lab.gpu.runner.Runner`).
    """

    def __init__(self) -> None:
        self.bytes = 0

    def take(self, size: int) -> Scratch:
        """Lay out ``size`` bytes more; return where."""
        begin = Scratch(self.bytes)
        self.bytes += -(-size // SCRATCH_ALIGNMENT) * SCRATCH_ALIGNMENT
        return begin
