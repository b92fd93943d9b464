"""What the target process does in order, with the GPU stood in for: which call is timed, and what is launched bare."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ncu_lab.gpu import bare, target
from ncu_lab.gpu.launch_plan import LaunchPlan
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import Subject, TargetRequest
from ncu_lab.gpu.timing import Stopwatch
from ncu_lab.model import Device, Problem, Stage

STAGES = load_stages()
CALLED: list[str] = []


def calling(name: str) -> Callable[..., None]:
    return lambda *_: CALLED.append(name)


class Runner:
    """Launches nothing and tells what it was asked for."""

    stream = SimpleNamespace(ptr=1, synchronize=lambda: None)

    def __init__(self, *, poisons: bool = False) -> None:
        CALLED.extend(["poisoned workspaces"] * poisons)
        self.cublas = SimpleNamespace(gemm=lambda math, *_: CALLED.append(math), version="13.0.2")
        self.cublaslt = SimpleNamespace(algorithms=lambda *_: [calling("lt-1"), calling("lt-2")])

    def workspace_bytes(self, *_: object) -> int:
        return 0

    def plan(self, *_: object) -> LaunchPlan:
        return LaunchPlan("fast")

    def launch(self, subject: Subject, problem: Problem, _: object) -> LaunchPlan:
        CALLED.append(f"{subject.stage.id} {problem.label} {problem.beta:g}")
        return LaunchPlan("fast")

    def kernels_of(self, _: Stage, call: Callable[[], object]) -> tuple[str, ...]:
        call()
        return (f"{CALLED[-1]}_ffma",)

    def reference_kernels(self, *_: object) -> tuple[str, ...]:
        return ("ffma",)


class Watch(Stopwatch):
    """Times by what was called: the library's second algorithm is the fastest of its ways."""

    def __init__(self, *_: object) -> None:
        self._order, self._counts = 0, {}
        self._telemetry: Any = SimpleNamespace(
            read=lambda: SimpleNamespace(sm_clock_mhz=1980.0, power_w=600.0, temperature_c=50.0)
        )
        self._power: Any = SimpleNamespace(load_begins=lambda: None, is_settled=lambda: True, pause_s=lambda _: 0.0)

    def once(self, call: Callable[[], object]) -> float:
        call()
        return {"pedantic": 300.0, "default": 290.0, "lt-1": 310.0, "lt-2": 270.0}.get(CALLED[-1], 250.0)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    CALLED.clear()
    matrix = SimpleNamespace(ld=8, address=256)

    def unwritten(*_: object) -> SimpleNamespace:
        CALLED.append("unwritten C")
        return matrix

    for module in (target, bare):
        monkeypatch.setattr(module, "Runner", Runner)
        monkeypatch.setattr(module, "place_input", lambda *_: matrix)
        monkeypatch.setattr(module, "place_result", lambda *_: matrix)
    monkeypatch.setattr(bare, "unwritten_result", unwritten)
    monkeypatch.setattr(target, "Stopwatch", Watch)
    monkeypatch.setattr(target, "Telemetry", lambda _: None)
    monkeypatch.setattr(target, "_need", lambda *_: None)
    runtime = SimpleNamespace(CUDARuntimeError=RuntimeError)
    cuda = SimpleNamespace(
        Device=lambda: SimpleNamespace(pci_bus_id="0"),
        set_allocator=lambda _: CALLED.append("no pool"),
        runtime=runtime,
    )
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setitem(sys.modules, "cupy.cuda.runtime", runtime)


def bench(*, fastest: bool) -> dict[str, Any]:
    subjects = tuple(Subject(STAGES[id], "cubin", "cubin") for id in ("sgemm-hopper", "cublas-fp32"))
    request = TargetRequest("bench", Problem(64, 64, 64), subjects, samples=4, fastest_reference=fastest)
    return target._bench(request, Device("GPU"))


def test_the_fastest_way_stands_for_the_reference_alone_and_in_turns() -> None:
    result = bench(fastest=True)
    assert [(trial["way"], trial["chosen"]) for trial in result["trials"]] == [
        ("cublasGemmEx, pedantic math", False),
        ("cublasGemmEx, default math", False),
        ("cublasLt, algorithm 1", False),
        ("cublasLt, algorithm 2", True),
    ]
    assert result["trials"][3]["kernels"] == ("lt-2_ffma",)
    times = {(sample["subject"], sample["mode"], sample["ns"]) for sample in result["samples"]}
    assert times == {
        ("cublas-fp32", "alone", 270.0),
        ("cublas-fp32", "interleaved", 270.0),
        ("sgemm-hopper", "alone", 250.0),
        ("sgemm-hopper", "interleaved", 250.0),
    }
    turns = [sample["subject"] for sample in result["samples"] if sample["mode"] == "interleaved"]
    assert turns == ["sgemm-hopper", "cublas-fp32", "cublas-fp32", "sgemm-hopper"] * 2


def test_without_the_search_the_reference_is_launched_as_pinned() -> None:
    result = bench(fastest=False)
    assert result["trials"] == []
    assert "lt-2" not in CALLED
    assert "cublas-fp32 64³ 0" in CALLED


def test_bare_launches_leave_c_unwritten_where_beta_is_0() -> None:
    shapes = (Problem(65, 66, 67), Problem(8, 8, 8, beta=-0.5))
    subject = Subject(STAGES["2d"], "cubin", "cubin")
    request = TargetRequest("launch", Problem(64, 64, 64, 1.5, -0.5), (subject,), shapes=shapes)
    result = bare.launch_all(request, Device("GPU"))
    assert [launch["problem"] for launch in result["launches"]] == ["64³", "65×66×67", "8³"]
    assert CALLED == ["no pool", "2d 64³ -0.5", "unwritten C", "2d 65×66×67 0", "2d 8³ -0.5"]


def test_a_check_alone_poisons_the_workspace() -> None:
    asked = Problem(64, 64, 64)
    subjects = (Subject(STAGES["splitk"], "cubin", "cubin"),)
    bare.launch_all(TargetRequest("launch", asked, subjects), Device("GPU"))
    target._Bench(TargetRequest("profile", asked, subjects), Device("GPU"))
    bench(fastest=False)
    assert "poisoned workspaces" not in CALLED
    assert target._check(TargetRequest("check", asked, ()), Device("GPU")) == {"cases": []}
    assert CALLED[-1] == "poisoned workspaces"
