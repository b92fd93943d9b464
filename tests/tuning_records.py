"""A GPU that times tiles, as far as a search can tell: what the target would run is worked out from the tile alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ncu_lab.errors import ProgramError
from ncu_lab.gpu import compile
from ncu_lab.gpu.request import TargetRequest
from ncu_lab.model import Device, Problem, ProgressEvent, Reporter, StageBuild, TimingSample
from ncu_lab.workflows import best_tiles, compiling_tiles, tuning

H200 = Device("NVIDIA H200", (9, 0), 132, uuid_hash="abc")
Time = Callable[[Mapping[str, int]], float]


def sizes_of(label: str) -> dict[str, int]:
    """Return the tile that a label names."""
    return {part.rstrip("0123456789"): int(part.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")) for part in label.split("-")}


class FakeGpu:
    """Stands in for nvcc, the target process and the device; keeps what it was asked.

    Attributes:
        asked: Of every process: its mode, its subjects, its samples.
        wrong: Labels that give a wrong result.
        crashing: Labels that take the process with them when they are checked.
        uncompilable: Labels that nvcc refuses.
        interrupt_in: Number of the contest at which Ctrl-C comes; None for never.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, time_of: Time) -> None:
        self.asked: list[tuple[str, tuple[str, ...], int]] = []
        self.wrong: set[str] = set()
        self.wrong_guarded: set[str] = set()
        self.crashing: set[str] = set()
        self.uncompilable: set[str] = set()
        self.interrupt_in: int | None = None
        self._time_of = time_of
        for module in (tuning, best_tiles):
            monkeypatch.setattr(module, "current_device", lambda: H200)
        monkeypatch.setattr(best_tiles, "gpu_problem", lambda: None)
        monkeypatch.setattr(tuning, "driver_version", lambda: "580.1")
        monkeypatch.setattr(tuning, "build_key", lambda stage, arch: f"{stage.id} {arch} key")
        monkeypatch.setattr(tuning, "build_variants", self._build_variants)
        monkeypatch.setattr(tuning, "run_target", self._run)
        monkeypatch.setattr(compiling_tiles, "build_stage", self._build)

    def _build(self, stage: Any, arch: str, stop: object = None) -> StageBuild:
        label = "-".join(f"{name}{size}" for name, size in stage.tile.items())
        if label in self.uncompilable:
            raise compile.InputError(f"stage {stage.id} does not compile: no luck")
        # As launch bounds have it: never more than leave room for one block.
        registers = min(255, 65536 // stage.block[0], 40 + stage.tile["TM"] * stage.tile["TN"])
        flags = tuple(f"-D{name}={size}" for name, size in stage.tile.items())
        shared = 4 * stage.tile["BK"] * (stage.tile["BM"] + stage.tile["BN"])
        return StageBuild(
            stage.id, "fast", arch, Path(label), registers, 0, 0, 0, shared, 1, False, 0.5, flags, "13.0.88"
        )

    def _build_variants(self, stage: Any, registry: object, arch: str) -> list[StageBuild]:
        fast = self._build(stage, arch)
        return [fast, dataclasses.replace(fast, variant="guarded")]

    def _run(
        self,
        request: TargetRequest,
        *,
        timeout_s: float,
        report: Reporter,
        describe: Callable[[str, dict[str, Any]], str] | None = None,
    ) -> dict[str, Any]:
        labels = tuple(subject.stage.id for subject in request.subjects)
        self.asked.append((request.mode, labels, request.samples))
        if request.mode == "contest":
            return self._contest(request, labels)
        for subject in request.subjects:
            label = subject.cubin or ""
            report(ProgressEvent("check", subject.stage.id, "update", "as asked", 0.0))
            if label in self.crashing:
                raise ProgramError(f"the target process failed during check of {subject.stage.id}")
            wrong = label in self.wrong or (label in self.wrong_guarded and not request.fast_only)
            assert describe is not None
            detail = describe(subject.stage.id, {"cases": [_case(subject.stage.id, request.problem, not wrong)]})
            report(ProgressEvent("check", subject.stage.id, "done", detail))
        return {"cases": []}

    def _contest(self, request: TargetRequest, labels: Sequence[str]) -> dict[str, Any]:
        contests = sum(1 for mode, _, _ in self.asked if mode == "contest")
        if contests == self.interrupt_in:
            raise KeyboardInterrupt
        samples = [
            TimingSample(0, turn, 0, label, "interleaved", self._time_of(sizes_of(label)) + turn % 2, None, None, None)
            for turn in range(request.samples)
            for label in labels
        ]
        return {"samples": [dataclasses.asdict(sample) for sample in samples]}


def _case(stage: str, problem: Problem, passed: bool) -> dict[str, Any]:
    return {
        "stage": stage, "variant": "fast", "problem": dataclasses.asdict(problem), "case": "as asked",
        "max_rel_error": 1e-7 if passed else 1.0, "norm_error": 1e-8, "limit": 2e-6, "passed": passed,
        "detail": "" if passed else "3 of 9 elements wrong",
    }  # fmt: skip
