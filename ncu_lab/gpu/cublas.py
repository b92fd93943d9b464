"""cuBLAS by ctypes: one call, ``cublasGemmEx``, with the precision pinned, and the names of the kernels it launches.

Row-major matrices are column-major ones transposed, so C = A·B is asked for as Cᵀ = Bᵀ·Aᵀ with the operands swapped.
Constants are those of ``cublas_api.h`` and ``library_types.h`` (CUDA 12 and 13).
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import byref, c_char_p, c_double, c_float, c_int, c_size_t, c_uint, c_void_p
from dataclasses import dataclass
from typing import Any

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.devices import load_cublas
from ncu_lab.gpu.driver import Driver
from ncu_lab.gpu.layout import Layout
from ncu_lab.model import Operation, Problem

_R_32F, _R_64F, _R_16F, _R_16BF = 0, 1, 2, 14
_COMPUTE_32F, _COMPUTE_32F_PEDANTIC, _COMPUTE_64F, _COMPUTE_32F_FAST_TF32 = 68, 69, 70, 77
_DEFAULT_MATH, _PEDANTIC_MATH = 0, 2
_OP_N, _OP_T = 0, 1
_ALGO_DEFAULT = -1
STATUS = {
    1: "NOT_INITIALIZED",
    3: "ALLOC_FAILED",
    7: "INVALID_VALUE",
    8: "ARCH_MISMATCH",
    11: "MAPPING_ERROR",
    13: "EXECUTION_FAILED",
    14: "INTERNAL_ERROR",
    15: "NOT_SUPPORTED",
    16: "LICENSE_ERROR",
}
"""Names of cublasStatus_t, of cuBLAS and cublasLt alike."""

WORKSPACE_BYTES = 32 * 2**20
"""What the cuBLAS documentation recommends for Hopper; given once, so that no call allocates while it is timed."""


@dataclass(frozen=True, slots=True)
class Math:
    """How one precision is asked for: type of A and B, type of C, compute type, math mode, type of alpha and beta."""

    operand: int
    result: int
    compute: int
    mode: int
    scalar: type[c_float] | type[c_double] = c_float


MATHS: Mapping[str, Math] = {
    "pedantic": Math(_R_32F, _R_32F, _COMPUTE_32F_PEDANTIC, _PEDANTIC_MATH),
    "default": Math(_R_32F, _R_32F, _COMPUTE_32F, _DEFAULT_MATH),
    "tf32": Math(_R_32F, _R_32F, _COMPUTE_32F_FAST_TF32, _DEFAULT_MATH),
    "fp16": Math(_R_16F, _R_32F, _COMPUTE_32F, _DEFAULT_MATH),
    "bf16": Math(_R_16BF, _R_32F, _COMPUTE_32F, _DEFAULT_MATH),
    "fp64": Math(_R_64F, _R_64F, _COMPUTE_64F, _DEFAULT_MATH, c_double),
}


class Cublas:
    """A cuBLAS handle bound to one stream.

    Args:
        stream: Address of the CUDA stream.
        workspace: Address of :data:`WORKSPACE_BYTES` of device memory, kept alive by the caller.

    Raises:
        EnvironmentLacksError: When the library is not found.
        ProgramError: When it cannot be initialised.
    """

    def __init__(self, stream: int, workspace: int) -> None:
        self._library = load_cublas()
        self._handle = c_void_p()
        for name, arguments in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.argtypes = arguments
            function.restype = c_int
        self._call("cublasCreate_v2", byref(self._handle))
        # In this order: setting the stream resets the workspace to the default.
        self._call("cublasSetStream_v2", self._handle, c_void_p(stream))
        self._call("cublasSetWorkspace_v2", self._handle, c_void_p(workspace), WORKSPACE_BYTES)

    @property
    def version(self) -> str:
        """The library's version, ``13.0.2``."""
        number = c_int()
        self._call("cublasGetVersion_v2", self._handle, byref(number))
        return f"{number.value // 10000}.{number.value % 10000 // 100}.{number.value % 100}"

    def gemm(self, math: str, operation: Operation, problem: Problem, layout: Layout) -> None:
        """Enqueue C = alpha·A·B + beta·C, row-major; for ``aat`` B is the transpose of A and is not read.

        Args:
            math: A key of :data:`MATHS`.
            operation: ``ab`` or ``aat``.
            problem: Shape, alpha and beta.
            layout: Addresses and leading dimensions.

        Raises:
            ProgramError: When cuBLAS refuses; says its status.
        """
        kind = MATHS[math]
        first, first_ld, first_op = (
            (layout.a, layout.lda, _OP_T) if operation == "aat" else (layout.b, layout.ldb, _OP_N)
        )
        alpha, beta = kind.scalar(problem.alpha), kind.scalar(problem.beta)
        self._call("cublasSetMathMode", self._handle, kind.mode)
        self._call(
            "cublasGemmEx",
            self._handle,
            first_op,
            _OP_N,
            problem.n,
            problem.m,
            problem.k,
            byref(alpha),
            first,
            kind.operand,
            first_ld,
            layout.a,
            kind.operand,
            layout.lda,
            byref(beta),
            layout.c,
            kind.result,
            layout.ldc,
            kind.compute,
            _ALGO_DEFAULT,
        )

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._library, name)(*arguments)
        if status:
            raise ProgramError(f"{name} failed: CUBLAS_STATUS_{STATUS.get(status, status)}")


_SIGNATURES: Mapping[str, list[Any]] = {
    "cublasCreate_v2": [c_void_p],
    "cublasSetStream_v2": [c_void_p, c_void_p],
    "cublasSetWorkspace_v2": [c_void_p, c_void_p, c_size_t],
    "cublasSetMathMode": [c_void_p, c_int],
    "cublasGetVersion_v2": [c_void_p, c_void_p],
    "cublasGemmEx": [
        *(c_void_p, c_int, c_int, c_int, c_int, c_int),
        *(c_void_p, c_void_p, c_int, c_int),
        *(c_void_p, c_int, c_int),
        *(c_void_p, c_void_p, c_int, c_int),
        *(c_int, c_int),
    ],
}


class _KernelNode(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2 of cuda.h."""

    _fields_ = (
        ("func", c_void_p),
        *((name, c_uint) for name in ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes")),
        ("parameters", c_void_p),
        ("extra", c_void_p),
        ("kernel", c_void_p),
        ("context", c_void_p),
    )


def captured_kernels(stream: int, call: Callable[[], object]) -> tuple[str, ...]:
    """Return the (mangled) names of the kernels that a call launches, without a profiler and without running them.

    The call is captured into a CUDA graph, whose kernel nodes know their functions. Needs a driver of CUDA 12.3 or
    newer, and a call that was made once before, so that nothing is loaded during the capture.

    Args:
        stream: Address of the stream it launches into; not the default stream.
        call: Enqueues the work.

    Raises:
        ProgramError: When the driver cannot capture or name them.
    """
    driver = Driver()
    graph = c_void_p()
    driver("cuStreamBeginCapture_v2", c_void_p(stream), c_int(1))  # 1: only this thread's unsafe calls are an error
    try:
        call()
    finally:
        driver("cuStreamEndCapture", c_void_p(stream), byref(graph))
    count = c_size_t()
    driver("cuGraphGetNodes", graph, None, byref(count))
    nodes = (c_void_p * count.value)()
    driver("cuGraphGetNodes", graph, nodes, byref(count))
    names = [name for node in nodes if (name := _kernel_name(driver, c_void_p(node)))]
    driver("cuGraphDestroy", graph)
    return tuple(names)


def _kernel_name(driver: Driver, node: c_void_p) -> str:
    """Name of a graph node's kernel; empty when it is a copy or a memset."""
    kind = c_int()
    driver("cuGraphNodeGetType", node, byref(kind))
    if kind.value != 0:
        return ""
    parameters, name = _KernelNode(), c_char_p()
    driver("cuGraphKernelNodeGetParams_v2", node, byref(parameters))
    if parameters.func:
        driver("cuFuncGetName", byref(name), c_void_p(parameters.func))
    else:
        driver("cuKernelGetName", byref(name), c_void_p(parameters.kernel))
    return (name.value or b"").decode()
