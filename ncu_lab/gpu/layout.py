"""Where the matrices of a problem lie in device memory."""

from __future__ import annotations

from dataclasses import dataclass

C_BYTES = 4
"""C and the accumulator are FP32 throughout."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where three row-major matrices lie: leading dimensions in elements, base addresses in bytes."""

    lda: int
    ldb: int
    ldc: int
    a: int = 0
    b: int = 0
    c: int = 0
