"""Checks stages against float64 at many shapes, in a process of its own."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from ncu_lab.errors import UsageError
from ncu_lab.gpu.devices import current_device
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.supervisor import run_target
from ncu_lab.model import CheckCase, Problem, Reporter, silent
from ncu_lab.workflows.best_tiles import with_best_tiles
from ncu_lab.workflows.building import build_stages

TIMEOUT_S = 1800.0


@with_best_tiles
def check_stages(
    ids: Sequence[str],
    problem: Problem,
    *,
    quick: bool = False,
    repeat: int | None = None,
    report: Reporter = silent,
    timeout_s: float = TIMEOUT_S,
    stop: threading.Event | None = None,
) -> list[CheckCase]:
    """Check stages at the problem asked for and at the built-in cases; builds them where the cache has none.

    Args:
        ids: Stage ids; library references are checked as well.
        problem: The problem that must be right first of all.
        quick: The problem and fourteen small cases, instead of all cases.
        repeat: Launches of the problem, and of the cases meant for it, that must be bit-equal; by default twenty of
            those cases alone.
        report: Told of each stage.
        timeout_s: Seconds for all of them together.
        stop: Set by another thread that wants no more of it.

    Returns:
        Every case, failed ones included: a wrong result is the caller's to judge.

    Raises:
        UsageError: When a stage is unknown, or the problem does not fit the GPU.
        EnvironmentLacksError: When there is no GPU, cupy or compiler.
        ProgramError: When a kernel crashes or hangs.
    """
    if repeat is not None and repeat < 2:
        raise UsageError(f"--repeat {repeat} is too small", "Twice is the least that can differ.")
    registry = load_stages()
    stages = [find_stage(registry, id) for id in ids]
    current_device()  # without a GPU say so before anything is built
    builds = build_stages(ids)
    request = TargetRequest("check", problem, subjects_of(stages, builds, registry), quick=quick, repeat=repeat)
    result = run_target(request, timeout_s=timeout_s, report=report, describe=_describe, stop=stop)
    return [case_of(document) for document in result["cases"]]


def case_of(document: Mapping[str, Any]) -> CheckCase:
    """Return a case from its JSON, where null stands for a number that is none."""
    numbers = {name: math.nan if document[name] is None else document[name] for name in ("max_rel_error", "norm_error")}
    return CheckCase(**{**document, **numbers, "problem": Problem(**document["problem"])})


def describe_cases(cases: Sequence[CheckCase]) -> str:
    """Say in one line how a stage's cases went: ``2048³ + 14 shapes   max error 3.2e-7 (limit 1.9e-6)  ✓``."""
    failed = [case for case in cases if not case.passed]
    worst = (failed or sorted(cases, key=lambda case: case.max_rel_error / case.limit))[-1]
    what = f"{cases[0].problem.label} + {len(cases) - 1} shapes"
    verdict = f"✗ {len(failed)} wrong" if failed else "✓"
    return f"{what}   max error {worst.max_rel_error:.1e} (limit {worst.limit:.1e})  {verdict}"


def _describe(_: str, data: Mapping[str, Any]) -> str:
    return describe_cases([case_of(document) for document in data["cases"]])
