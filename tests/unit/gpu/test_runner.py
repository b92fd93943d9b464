"""Which cubin the runner takes a kernel from, that it loads each once, and what the workspace holds before a launch.

CUDA and cupy are stood in for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ncu_lab.errors import ProgramError
from ncu_lab.gpu import runner as module
from ncu_lab.gpu.driver import DriverError
from ncu_lab.gpu.kernel_launch import KernelLaunch
from ncu_lab.gpu.layout import Layout
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.request import Subject
from ncu_lab.gpu.runner import Runner
from ncu_lab.gpu.timing import MIN_FLUSH_BYTES
from ncu_lab.model import Problem

FAST, SECOND, GUARDED = "/cache/one/kernel.cubin", "/cache/one/second.cubin", "/cache/two/kernel.cubin"


class Driver:
    """Takes the CUDA driver's place: a module is its path, a function its path and entry."""

    def __init__(self) -> None:
        self.loaded: list[str] = []

    def load(self, path: Path) -> str:
        if path.name == "absent.cubin":
            raise DriverError(f"{path} cannot be read")
        self.loaded.append(str(path))
        return str(path)

    def function(self, module: str, entry: str) -> tuple[str, str]:
        return module, entry


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Cubin and entry of every kernel that was launched, in order."""
    found: list[tuple[str, str]] = []

    def prepare(_: Any, function: tuple[str, str], kernel: KernelLaunch, *__: Any) -> Callable[[], None]:
        assert function[1] == kernel.entry
        return lambda: found.append(function)

    monkeypatch.setattr(module, "prepare", prepare)
    return found


FILLED = "workspace filled"


@pytest.fixture
def filled() -> list[tuple[int, int, Any]]:
    """Value, bytes and stream of every filling of a workspace."""
    return []


@pytest.fixture
def machine(
    monkeypatch: pytest.MonkeyPatch, launched: list[tuple[str, str]], filled: list[tuple[int, int, Any]]
) -> None:
    """An H200 that is not there."""
    cupy: Any = ModuleType("cupy")
    gpu = SimpleNamespace(attributes={"MultiProcessorCount": 132}, compute_capability="90")
    cupy.cuda = SimpleNamespace(
        Stream=lambda non_blocking: SimpleNamespace(use=lambda: None, ptr=7), Device=lambda: gpu
    )
    cupy.uint8 = "uint8"

    def memset_async(value: int, size: int, stream: Any) -> None:
        filled.append((value, size, stream))
        launched.append((FILLED, ""))

    def empty(size: int, dtype: str) -> SimpleNamespace:
        assert dtype == "uint8"
        return SimpleNamespace(nbytes=size, data=SimpleNamespace(ptr=0x1000, memset_async=memset_async))

    cupy.empty = empty
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(module, "Driver", Driver)


@pytest.fixture
def h200(machine: None) -> Runner:
    """A runner on it."""
    return Runner()


def subject(stage: str, cubin: str = FAST) -> Subject:
    stages = load_stages()
    one = stages[stage]
    return Subject(one, cubin, GUARDED, stages[one.fallback] if one.fallback else None)


def loaded_by(runner: Runner) -> list[str]:
    driver: Any = runner._driver
    found: list[str] = driver.loaded
    return found


def dense(problem: Problem, shift: int = 0) -> Layout:
    return Layout(problem.k, problem.n, problem.n, 0x10000 + shift, 0x20000 + shift, 0x30000 + shift)


@pytest.mark.parametrize("stage", ["sgemm-hopper", "splitk"])
def test_kernels_of_the_second_source_are_taken_from_its_cubin(
    h200: Runner, launched: list[tuple[str, str]], stage: str
) -> None:
    small, one = Problem(1024, 1024, 1024), subject(stage)
    assert one.stage.second_file
    for _ in range(2):
        h200.launch(one, small, dense(small))
    assert launched == [(SECOND, "sgemm_small")] * 2
    assert loaded_by(h200) == [SECOND]  # once


def test_the_stage_s_own_kernels_are_taken_from_its_first_cubin(h200: Runner, launched: list[tuple[str, str]]) -> None:
    large, small, one = Problem(4096, 4096, 4096), Problem(1024, 1024, 1024), subject("sgemm-hopper")
    h200.launch(one, large, dense(large))
    assert launched == [(FAST, "transpose_a"), (FAST, "sgemm_hopper")]
    h200.launch(one, small, dense(small))  # both in turn in one process, as a bench of many sizes does
    h200.launch(one, large, dense(large))
    assert [cubin for cubin, _ in launched] == [FAST, FAST, SECOND, FAST, FAST]
    assert loaded_by(h200) == [FAST, SECOND]


def test_what_does_not_fit_the_fast_path_is_taken_from_the_guarded_cubin(
    h200: Runner, launched: list[tuple[str, str]]
) -> None:
    odd = Problem(513, 511, 7)
    h200.launch(subject("sgemm-hopper"), odd, dense(odd, shift=4))
    assert launched
    assert {cubin for cubin, _ in launched} == {GUARDED}


def test_a_cubin_that_does_not_load_is_named(h200: Runner, launched: list[tuple[str, str]]) -> None:
    large = Problem(4096, 4096, 4096)
    with pytest.raises(ProgramError, match=r"the cubin of transpose_a cannot be loaded \(/cache/absent\.cubin\)"):
        h200.launch(subject("sgemm-hopper", "/cache/absent.cubin"), large, dense(large))
    assert launched == []


LONG_K, WHOLE_K = Problem(64, 64, 16384), Problem(1024, 1024, 1024)
"""Whose slices of C two kernels hand over in the workspace, and which has none."""


def test_a_check_finds_the_workspace_full_of_nan_at_every_launch(
    machine: None, launched: list[tuple[str, str]], filled: list[tuple[int, int, Any]]
) -> None:
    runner, one = Runner(poisons=True), subject("splitk")
    for problem in (LONG_K, WHOLE_K, LONG_K):
        runner.launch(one, problem, dense(problem))
    kernels = [(FILLED, ""), (SECOND, "sgemm_small_split"), (SECOND, "add_slices")]
    assert launched == [*kernels, (SECOND, "sgemm_small"), *kernels]
    # In the launch's own stream, and long enough that both kernels are submitted before it ends.
    assert filled == [(0xFF, MIN_FLUSH_BYTES, runner.stream)] * 2


def test_a_workspace_larger_than_that_is_filled_to_its_end(machine: None, filled: list[tuple[int, int, Any]]) -> None:
    runner, one, large = Runner(poisons=True), subject("sgemm-hopper"), Problem(16384, 16384, 16384)
    runner.launch(one, LONG_K, dense(LONG_K))
    runner.launch(one, large, dense(large))
    runner.launch(one, LONG_K, dense(LONG_K))
    needed = runner.workspace_bytes(one, large)
    assert needed > 16384 * 16384 * 4  # of the transposed A alone
    assert [size for _, size, _ in filled] == [MIN_FLUSH_BYTES, needed, needed]


def test_what_is_timed_profiled_or_sanitized_finds_the_workspace_as_it_is(
    h200: Runner, launched: list[tuple[str, str]], filled: list[tuple[int, int, Any]]
) -> None:
    h200.launch(subject("splitk"), LONG_K, dense(LONG_K))
    assert [entry for _, entry in launched] == ["sgemm_small_split", "add_slices"]
    assert filled == []
