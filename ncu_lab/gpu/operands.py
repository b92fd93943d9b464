"""Matrices on the device, laid out so that a stray read or write shows: NaN around inputs, a mark around C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncu_lab.gpu.layout import Layout

MARK = np.float32(-7.25e33)
"""Fills everything around C; a kernel that writes outside C changes it."""

TAIL = 64
"""Elements kept behind each matrix."""


@dataclass(frozen=True)
class Matrix:
    """A row-major matrix within a larger one-dimensional cupy array: ``offset`` and ``ld`` in elements."""

    buffer: Any
    offset: int
    rows: int
    cols: int
    ld: int

    @property
    def address(self) -> int:
        """Device address of its first element."""
        return int(self.buffer.data.ptr) + self.offset * int(self.buffer.itemsize)

    @property
    def view(self) -> Any:
        """The matrix itself as a strided cupy array."""
        flat = self.buffer[self.offset : self.offset + self.rows * self.ld]
        return flat.reshape(self.rows, self.ld)[:, : self.cols]


@dataclass(frozen=True)
class Operands:
    """A, B and C of one case; for C = A·Aᵀ, B is A."""

    a: Matrix
    b: Matrix
    c: Matrix

    @property
    def layout(self) -> Layout:
        """Addresses and leading dimensions."""
        return Layout(self.a.ld, self.b.ld, self.c.ld, self.a.address, self.b.address, self.c.address)


def place_input(values: NDArray[Any], pad: int = 0, offset: int = 0) -> Matrix:
    """Copy encoded values to the device, with NaN before, behind and between the rows."""
    import cupy

    rows, cols = values.shape
    # BLAS wants a leading dimension of at least 1, also where k = 0.
    ld = max(1, cols) + pad
    nan = np.uint16(0x7FC0) if values.dtype == np.uint16 else values.dtype.type(np.nan)
    host = np.full(offset + rows * ld + TAIL, nan, dtype=values.dtype)
    host[offset : offset + rows * ld].reshape(rows, ld)[:, :cols] = values
    return Matrix(cupy.asarray(host), offset, rows, cols, ld)


def place_result(rows: int, cols: int, initial: NDArray[np.float32] | None, pad: int = 0, offset: int = 0) -> Matrix:
    """Make C on the device: ``initial`` values, or NaN everywhere, within a field of :data:`MARK`."""
    import cupy

    ld = cols + pad
    matrix = Matrix(cupy.full(offset + rows * ld + TAIL, MARK, dtype=cupy.float32), offset, rows, cols, ld)
    reset_result(matrix, initial)
    return matrix


def unwritten_result(rows: int, cols: int) -> Matrix:
    """Make C of memory that nobody wrote; only where cupy's pool is off is it new."""
    import cupy

    return Matrix(cupy.empty(rows * cols, dtype=cupy.float32), 0, rows, cols, cols)


def reset_result(matrix: Matrix, initial: NDArray[np.float32] | None) -> None:
    """Put the values of before the launch back into C."""
    import cupy

    matrix.view[...] = cupy.nan if initial is None else cupy.asarray(initial)


def is_untouched_around(matrix: Matrix) -> bool:
    """Whether nothing outside C was written; overwrites C itself with the mark."""
    matrix.view[...] = MARK
    return bool((matrix.buffer == MARK).all())
