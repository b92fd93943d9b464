"""cublasLt by ctypes: the algorithms that its heuristic ranks first for C = A·B, each as a call of its own.

As in :mod:`ncu_lab.gpu.cublas`, row-major matrices are column-major ones transposed, so Cᵀ = Bᵀ·Aᵀ is asked for.
Constants and structures are those of ``cublasLt.h`` (CUDA 12 and 13).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import byref, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.cublas import MATHS, STATUS, WORKSPACE_BYTES
from ncu_lab.gpu.devices import load_cublas
from ncu_lab.gpu.layout import Layout
from ncu_lab.model import Problem

MOST_ALGORITHMS = 8
"""How many of the heuristic's algorithms are asked for."""

_MAX_WORKSPACE_BYTES = 1  # cublasLtMatmulPreferenceAttributes_t


class _Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algorithm", c_uint64 * 8),
        ("workspace_bytes", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


class CublasLt:
    """A cublasLt handle bound to one stream and one workspace.

    Args:
        stream: Address of the CUDA stream.
        workspace: Address of :data:`ncu_lab.gpu.cublas.WORKSPACE_BYTES` of device memory, kept alive by the caller.

    Raises:
        EnvironmentLacksError: When the library is not found.
        ProgramError: When it cannot be initialised.
    """

    def __init__(self, stream: int, workspace: int) -> None:
        self._library = load_cublas("cublasLt")
        self._stream, self._workspace = c_void_p(stream), c_void_p(workspace)
        self._handle = self._made("cublasLtCreate")

    def algorithms(self, math: str, problem: Problem, layout: Layout) -> list[Callable[[], None]]:
        """Return one call for each algorithm that the heuristic offers, its favourite first; at most eight.

        Args:
            math: A key of :data:`ncu_lab.gpu.cublas.MATHS`; alpha and beta are of the type of C.
            problem: Shape, alpha and beta.
            layout: Addresses and leading dimensions.

        Raises:
            ProgramError: When cublasLt offers none.
        """
        kind = MATHS[math]
        operation = self._made("cublasLtMatmulDescCreate", c_int(kind.compute), c_int(kind.result))
        left = self._matrix(kind.operand, problem.n, problem.k, layout.ldb)
        right = self._matrix(kind.operand, problem.k, problem.m, layout.lda)
        product = self._matrix(kind.result, problem.n, problem.m, layout.ldc)
        preference = self._made("cublasLtMatmulPreferenceCreate")
        limit = c_uint64(WORKSPACE_BYTES)
        self._call(
            "cublasLtMatmulPreferenceSetAttribute",
            preference,
            c_int(_MAX_WORKSPACE_BYTES),
            byref(limit),
            c_size_t(ctypes.sizeof(limit)),
        )
        found, count = (_Heuristic * MOST_ALGORITHMS)(), c_int()
        matrices = (operation, left, right, product, product)
        self._call(
            "cublasLtMatmulAlgoGetHeuristic",
            self._handle,
            *matrices,
            preference,
            c_int(MOST_ALGORITHMS),
            found,
            byref(count),
        )
        alpha, beta = kind.scalar(problem.alpha), kind.scalar(problem.beta)

        def call(choice: _Heuristic) -> Callable[[], None]:
            arguments = (
                *(self._handle, operation, byref(alpha)),
                *(c_void_p(layout.b), left, c_void_p(layout.a), right),
                *(byref(beta), c_void_p(layout.c), product, c_void_p(layout.c), product),
                *(byref(choice, _Heuristic.algorithm.offset), self._workspace, c_size_t(WORKSPACE_BYTES), self._stream),
            )
            return lambda: self._call("cublasLtMatmul", *arguments)

        return [call(found[number]) for number in range(count.value) if found[number].state == 0]

    def _matrix(self, kind: int, rows: int, columns: int, ld: int) -> c_void_p:
        """A column-major matrix of so many rows and columns."""
        return self._made("cublasLtMatrixLayoutCreate", c_int(kind), c_uint64(rows), c_uint64(columns), c_int64(ld))

    def _made(self, name: str, *arguments: Any) -> c_void_p:
        made = c_void_p()
        self._call(name, byref(made), *arguments)
        return made

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise ProgramError(f"{name} failed: CUBLAS_STATUS_{STATUS.get(status, status)}")
