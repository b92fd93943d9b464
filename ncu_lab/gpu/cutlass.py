"""CUTLASS by ctypes: the shared libraries of ``kernels/references``, each with one GEMM in one precision.

A GEMM is prepared once for a problem and its addresses (``prepared.cuh``); a call then only launches.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_void_p
from pathlib import Path

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.layout import Layout
from ncu_lab.model import Problem

_MOST_PREPARED = 64


class Request(ctypes.Structure):
    """``Request`` of ``prepared.cuh``."""

    _fields_ = (
        ("m", c_int),
        ("n", c_int),
        ("k", c_int),
        ("alpha", c_float),
        ("a", c_void_p),
        ("lda", c_int),
        ("b", c_void_p),
        ("ldb", c_int),
        ("beta", c_float),
        ("c", c_void_p),
        ("ldc", c_int),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
        ("sm_count", c_int),
    )


class Cutlass:
    """One library, bound to a stream and a workspace.

    Args:
        path: The shared library.
        stream: Address of the CUDA stream.
        workspace: Address of device memory, kept alive by the caller.
        workspace_bytes: Its size.
        sm_count: Multiprocessors of the GPU, for the kernel that stays on all of them.

    Raises:
        ProgramError: When the library cannot be loaded.
    """

    def __init__(self, path: Path, stream: int, workspace: int, workspace_bytes: int, sm_count: int) -> None:
        try:
            self._library = ctypes.CDLL(str(path))
        except OSError as error:
            raise ProgramError(f"{path} cannot be loaded: {error}") from error
        self._library.ncu_lab_prepare.argtypes = [c_void_p, c_void_p]
        self._library.ncu_lab_run.argtypes = [c_void_p, c_void_p]
        self._library.ncu_lab_release.argtypes = [c_void_p]
        self._library.ncu_lab_release.restype = None
        self._library.ncu_lab_status.argtypes = [c_int]
        self._library.ncu_lab_status.restype = c_char_p
        self._path, self._stream = path, stream
        self._workspace, self._workspace_bytes, self._sm_count = workspace, workspace_bytes, sm_count
        self._prepared: dict[tuple[Problem, Layout], c_void_p] = {}

    def gemm(self, problem: Problem, layout: Layout) -> None:
        """Enqueue C = alpha·A·B + beta·C, row-major.

        Raises:
            ProgramError: When CUTLASS refuses; says why.
        """
        key = (problem, layout)
        if key not in self._prepared:
            self._prepare(problem, layout)
        self._check(self._library.ncu_lab_run(self._prepared[key], c_void_p(self._stream)), "run", problem)

    def _prepare(self, problem: Problem, layout: Layout) -> None:
        if len(self._prepared) >= _MOST_PREPARED:
            for handle in self._prepared.values():
                self._library.ncu_lab_release(handle)
            self._prepared.clear()
        request = Request(
            *(problem.m, problem.n, problem.k, problem.alpha),
            *(layout.a, layout.lda, layout.b, layout.ldb, problem.beta, layout.c, layout.ldc),
            *(self._workspace, self._workspace_bytes, self._sm_count),
        )
        handle = c_void_p()
        self._check(self._library.ncu_lab_prepare(byref(request), byref(handle)), "prepare", problem)
        self._prepared[problem, layout] = handle

    def _check(self, status: int, what: str, problem: Problem) -> None:
        if status:
            words = (self._library.ncu_lab_status(status) or b"").decode()
            raise ProgramError(f"CUTLASS cannot {what} {problem.label} ({self._path.parent.name}): {words}")
