"""The fastest way of the library: which count, and which is chosen. The GPU is stood in for."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ncu_lab.errors import CheckFailedError, ProgramError
from ncu_lab.gpu import cublaslt, references
from ncu_lab.gpu.cublas import MATHS
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import Subject
from ncu_lab.gpu.runner import verify_precision
from ncu_lab.model import Problem, Stage

PROBLEM, LAYOUT = Problem(64, 96, 128), Layout(128, 96, 96, 0x1000, 0x2000, 0x3000)
FFMA = "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_execute_kernel__5x_cublas"
TF32 = "sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x128x32_execute_segment_k_off_kernel__5x_cublas"


class Machine:
    """A library whose calls are words; each has a time and the name of a kernel."""

    def __init__(self, ways: dict[str, tuple[float, str]]) -> None:
        self.ways = ways
        self.cublas = SimpleNamespace(gemm=lambda math, *_: self.run(math))
        offered = [name for name in ways if name not in ("pedantic", "default")]
        self.cublaslt = SimpleNamespace(algorithms=lambda *_: [self.calling(name) for name in offered])
        self.now = ""

    def run(self, name: str) -> None:
        self.now = name

    def calling(self, name: str) -> Callable[[], None]:
        return lambda: self.run(name)

    def kernels_of(self, stage: Stage, call: Callable[[], object]) -> tuple[str, ...]:
        call()
        name = self.ways[self.now][1]
        if name == "refused":
            raise ProgramError("cublasLtMatmul failed: CUBLAS_STATUS_NOT_SUPPORTED")
        verify_precision(stage, (name,))
        return (name,)

    def once(self, call: Callable[[], object]) -> float:
        call()
        return self.ways[self.now][0]


def search(ways: dict[str, tuple[float, str]]) -> tuple[str, list[Any]]:
    machine: Any = Machine(ways)
    subject = Subject(load_stages()["cublas-fp32"])
    call, trials = references.fastest(machine, machine, subject, PROBLEM, LAYOUT)
    call()
    return machine.now, trials


def test_the_fastest_way_in_fp32_is_chosen_and_tf32_never() -> None:
    chosen, trials = search(
        {
            "pedantic": (300.0, FFMA),
            "default": (290.0, FFMA),
            "first": (20.0, TF32),
            "second": (280.0, FFMA),
            "third": (10.0, "refused"),
        }
    )
    assert chosen == "second"
    assert [trial.chosen for trial in trials] == [False, False, False, True, False]
    assert [trial.median_ns for trial in trials] == [300.0, 290.0, None, 280.0, None]
    assert [trial.way for trial in trials][1:3] == ["cublasGemmEx, default math", "cublasLt, algorithm 1"]
    assert "did not run in the precision" in trials[2].refused
    assert "NOT_SUPPORTED" in trials[4].refused
    assert trials[3].kernels == (FFMA,)


def test_a_cublaslt_that_offers_nothing_is_told_and_leaves_the_others() -> None:
    machine: Any = Machine({"pedantic": (300.0, FFMA), "default": (290.0, FFMA)})

    def offers_nothing(*_: object) -> list[Any]:
        raise ProgramError("cublasLtMatmulAlgoGetHeuristic failed: CUBLAS_STATUS_NOT_SUPPORTED")

    machine.cublaslt.algorithms = offers_nothing
    _, trials = references.fastest(machine, machine, Subject(load_stages()["cublas-fp32"]), PROBLEM, LAYOUT)
    assert [(trial.way, trial.chosen) for trial in trials] == [
        ("cublasGemmEx, pedantic math", False),
        ("cublasGemmEx, default math", True),
        ("cublasLt", False),
    ]
    assert "NOT_SUPPORTED" in trials[2].refused


def test_without_a_proven_way_there_is_no_reference() -> None:
    with pytest.raises(ProgramError, match="no way to compute cublas-fp32 ran in its precision"):
        search({"pedantic": (3.0, TF32), "default": (2.0, TF32)})


def test_default_math_is_full_fp32_on_both_sides() -> None:
    assert (MATHS["default"].operand, MATHS["default"].result, MATHS["default"].compute) == (0, 0, 68)
    with pytest.raises(CheckFailedError):  # and if it were not, its kernel's name would tell
        verify_precision(load_stages()["cublas-fp32"], (TF32,))


class Library:
    """libcublasLt as far as it is called: remembers arguments, offers two algorithms of which one can run."""

    def __init__(self) -> None:
        self.called: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.called.append((name, arguments))
            if name == "cublasLtMatmulAlgoGetHeuristic":
                found, count = arguments[-2], arguments[-1]._obj
                count.value, found[1].state = 2, 15
            return 0

        return call

    def of(self, name: str) -> list[tuple[Any, ...]]:
        return [arguments for called, arguments in self.called if called == name]


def test_cublaslt_is_asked_for_the_transposed_product(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    monkeypatch.setattr(cublaslt, "load_cublas", lambda _: library)
    [call] = cublaslt.CublasLt(7, 8).algorithms("default", PROBLEM, LAYOUT)  # the other cannot run
    [made] = library.of("cublasLtMatmulDescCreate")
    assert [one.value for one in made[1:]] == [68, 0]
    layouts = [[one.value for one in made[1:]] for made in library.of("cublasLtMatrixLayoutCreate")]
    # Column-major: Bᵀ is n x k, Aᵀ is k x m, Cᵀ is n x m, each with the rows of ours as columns.
    assert layouts == [[0, 96, 128, 96], [0, 128, 64, 128], [0, 96, 64, 96]]
    call()
    [arguments] = library.of("cublasLtMatmul")
    pointers = [one.value for one in arguments if isinstance(one, ctypes.c_void_p)]
    assert [one for one in pointers if one in (0x1000, 0x2000, 0x3000)] == [0x2000, 0x1000, 0x3000, 0x3000]
    assert (arguments[-3].value, arguments[-2].value, arguments[-1].value) == (8, 32 * 2**20, 7)


def test_the_heuristic_result_has_the_layout_of_cublaslt_h() -> None:
    assert ctypes.sizeof(cublaslt._Heuristic) == 96
    assert cublaslt._Heuristic.workspace_bytes.offset == 64
