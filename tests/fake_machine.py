"""A machine with a GPU, as far as the workflows that profile stages can tell: what runs on it is stood in for."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from lab_command import GOLDEN

from ncu_lab.errors import InputError
from ncu_lab.model import (
    CheckCase,
    Device,
    Environment,
    ParsedReport,
    Problem,
    StageBuild,
    TimingSample,
)
from ncu_lab.parse.report import read_report
from ncu_lab.workflows import collecting, profiling
from ncu_lab.workflows.benching import Bench

REPORT = GOLDEN / "ladder-full.ncu-rep.gz"
FUNCTIONS = {"sgemm_naive": "naive", "sgemm_coalesced": "coalesced", "sgemm_2d": "2d"}
DEVICE = Device("NVIDIA H200", (9, 0), 132, uuid_hash="abc", attributes={"threads_per_sm": 2048.0})


def stage_build(stage: str) -> StageBuild:
    flags = ("-O3", "-lineinfo", f"-DNAME={stage}")
    return StageBuild(stage, "fast", "sm_90", Path("kernel.cubin"), 130, 0, 0, 0, 8192, 1, False, 0.9, flags, "13.0.88")


def check_case(stage: str, passed: bool = True) -> CheckCase:
    return CheckCase(stage, "fast", Problem(512, 512, 512), "as asked", 3.2e-7, 1e-7, 1.1e-5, passed)


def taken_samples(stages: Sequence[str]) -> tuple[TimingSample, ...]:
    taken = [(stage, number) for stage in stages for number in range(3)]
    return tuple(
        TimingSample(0, number, order, stage, "interleaved", 57_000.0 + number, None, None, None)
        for order, (stage, number) in enumerate(taken)
    )


_READ: dict[bytes, ParsedReport] = {}
"""What reports hold, by their digest: the fake ncu gives the same ones to many tests."""


def _read_once(path: Path) -> ParsedReport:
    digest = hashlib.sha256(path.read_bytes()).digest()
    if digest not in _READ:
        _READ[digest] = read_report(path)
    return _READ[digest]


def launches_of(stages: Sequence[str], functions: Mapping[str, str] = FUNCTIONS) -> object:
    """Read the golden report and keep the launches of these stages, as if ranges around them had named them."""

    def read(path: Path) -> ParsedReport:
        parsed = _read_once(path)
        named = parsed.launches.assign(stage=parsed.launches["function"].map(functions))
        kept = named[named["stage"].isin(stages)]

        def of_kept(frame: pd.DataFrame) -> pd.DataFrame:
            return frame[frame["launch"].isin(kept["launch"])]

        tables = {name: of_kept(getattr(parsed, name)) for name in ("metrics", "instances", "rules")}
        return dataclasses.replace(parsed, launches=kept, **tables)

    return read


class Machine:
    """A machine with a GPU, as far as the workflow can tell; tests change what its parts do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: list[str] = []
        self.wrong: str | None = None
        self.broken: str | None = None
        self._monkeypatch = monkeypatch
        self.profiles("2d")
        for name in ("build_stages", "check_stages", "time_stages", "current_device", "environment"):
            monkeypatch.setattr(profiling, name, getattr(self, f"_{name}"))

    def profiles(self, *stages: str, functions: Mapping[str, str] = FUNCTIONS) -> None:
        self._monkeypatch.setattr(collecting, "read_report", launches_of(stages, functions))

    def _current_device(self) -> Device:
        return DEVICE

    def _environment(self) -> Environment:
        return Environment(driver="580.159", cuda="13.0")

    def _build_stages(self, ids: Sequence[str], report: object = None) -> list[StageBuild]:
        self.done.append(f"build {' '.join(ids)}")
        if self.broken:
            raise InputError(f"stage {self.broken} does not compile: kernels/gemm/07_2d.cu(3): error: expected a ;")
        return [stage_build(stage) for stage in ids]

    def _check_stages(self, ids: Sequence[str], problem: Problem, quick: bool, report: object) -> list[CheckCase]:
        self.done.append(f"check {' '.join(ids)}")
        return [check_case(stage, stage != self.wrong) for stage in ids]

    def _time_stages(
        self, ids: Sequence[str], problem: Problem, samples: int, report: object, processes: int = 1
    ) -> Bench:
        times = f" x {processes}" if processes > 1 else ""
        self.done.append(f"bench {' '.join(ids)} {samples}{times}")
        return Bench(taken_samples([*ids, "cublas-fp32"]), {}, problem, DEVICE)
