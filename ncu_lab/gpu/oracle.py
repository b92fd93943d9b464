"""The float64 truth that results are compared with: numpy for small problems, cuBLAS DGEMM checked by numpy beyond."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.cublas import Cublas
from ncu_lab.gpu.inputs import decode, encode, normal
from ncu_lab.gpu.layout import Layout
from ncu_lab.model import Dtype, Operation, Problem

ON_CPU_PRODUCTS = 2**31
"""Multiplications up to which numpy computes the reference: about a second on one core."""

CHECKED_ROWS = 8
"""Rows of a reference computed on the GPU that numpy computes again."""

KEPT_BYTES = 2**27
"""References up to this size are kept for the stages that follow; of larger ones the last."""


@dataclass(frozen=True)
class Truth:
    """Encoded inputs on the host, and in float64 on the device A·B and |A|·|B|."""

    a: NDArray[Any]
    b: NDArray[Any]
    product: Any
    magnitude: Any


class Oracle:
    """Makes inputs and references, once per shape and type.

    Args:
        cublas: Gives the handle for problems too large for numpy.
        seed: Of all inputs.
    """

    def __init__(self, cublas: Callable[[], Cublas], seed: int) -> None:
        self._cublas = cublas
        self._seed = seed
        self._kept: dict[tuple[object, ...], Truth] = {}

    def truth(self, problem: Problem, dtype: Dtype, operation: Operation) -> Truth:
        """Return inputs and reference of a shape; alpha and beta play no part.

        Raises:
            ProgramError: When the GPU's own reference is wrong.
        """
        stored: Dtype = "fp32" if dtype == "tf32" else dtype
        key = (problem.m, problem.n, problem.k, stored, operation)
        if key not in self._kept:
            self._kept = {old: kept for old, kept in self._kept.items() if kept.product.nbytes <= KEPT_BYTES}
            self._kept[key] = self._make(problem, stored, operation)
        return self._kept[key]

    def initial(self, problem: Problem) -> NDArray[np.float32] | None:
        """Return C before the launch: None, which means NaN, when beta is 0."""
        return normal(problem.m, problem.n, self._seed + 2) if problem.beta else None

    def _make(self, problem: Problem, dtype: Dtype, operation: Operation) -> Truth:
        import cupy

        a = encode(normal(problem.m, problem.k, self._seed), dtype)
        b = a if operation == "aat" else encode(normal(problem.k, problem.n, self._seed + 1), dtype)
        if problem.m * problem.n * problem.k <= ON_CPU_PRODUCTS:
            a64, b64 = decode(a), decode(a).T if operation == "aat" else decode(b)
            return Truth(a, b, cupy.asarray(a64 @ b64), cupy.asarray(abs(a64) @ abs(b64)))
        a_device: Any = decode(cupy.asarray(a))
        b_device: Any = cupy.ascontiguousarray(a_device.T) if operation == "aat" else decode(cupy.asarray(b))
        product = self._multiply(problem, a_device, b_device)
        magnitude = self._multiply(problem, abs(a_device), abs(b_device))
        rows = np.unique(np.linspace(0, problem.m - 1, CHECKED_ROWS).astype(int))
        expected = decode(a[rows]) @ (decode(a).T if operation == "aat" else decode(b))
        # Both are float64: they differ by rounding alone, at most (k + 1)·2^-53 of the magnitude each.
        allowed = cupy.asnumpy(magnitude[rows]) * (problem.k + 1) * 2.0**-51
        if not bool((abs(cupy.asnumpy(product[rows]) - expected) <= allowed).all()):
            raise ProgramError(f"the float64 reference of {problem.label} made on the GPU is wrong; numpy disagrees")
        return Truth(a, b, product, magnitude)

    def _multiply(self, problem: Problem, a: Any, b: Any) -> Any:
        import cupy

        c = cupy.empty((problem.m, problem.n), dtype=cupy.float64)
        layout = Layout(problem.k, problem.n, problem.n, a.data.ptr, b.data.ptr, c.data.ptr)
        self._cublas().gemm("fp64", "ab", Problem(problem.m, problem.n, problem.k), layout)
        return c
