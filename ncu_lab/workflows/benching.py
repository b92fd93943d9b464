"""Times stages beside their references, in a process of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ncu_lab.errors import UsageError
from ncu_lab.gpu.devices import current_device, peak_flop_per_s
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.session import run_target
from ncu_lab.model import TIMING_COLUMNS, Device, Notice, Problem, Reporter, Stage, silent
from ncu_lab.render.numbers import duration_spread, flop_rate, share
from ncu_lab.workflows.building import build_stages

if TYPE_CHECKING:
    import pandas as pd

TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Bench:
    """What timing gave: samples, the target's figures by stage, and what weakens them (a precision not proven)."""

    timings: pd.DataFrame
    figures: Mapping[str, Mapping[str, Any]]
    device: Device
    notices: tuple[Notice, ...] = ()


def bench_stages(ids: Sequence[str], problem: Problem, samples: int = 10, *, report: Reporter = silent) -> pd.DataFrame:
    """Time stages and their references; see :func:`time_stages`.

    Returns:
        One row per sample, columns as in ``TIMING_COLUMNS``.
    """
    return time_stages(ids, problem, samples, report=report).timings


def time_stages(
    ids: Sequence[str],
    problem: Problem,
    samples: int = 10,
    *,
    report: Reporter = silent,
    timeout_s: float = TIMEOUT_S,
) -> Bench:
    """Time stages, each interleaved with its reference and alone, and the references alone.

    Builds the stages where the cache has none; adds the references of the stages.

    Args:
        ids: Stage ids.
        problem: What every stage computes.
        samples: Samples of each stage in each of the two modes.
        report: Told of each stage.
        timeout_s: Seconds for all of them together.

    Raises:
        UsageError: When a stage is unknown, or the problem does not fit the GPU.
        EnvironmentLacksError: When there is no GPU, cupy or compiler.
        CheckFailedError: When a reference did not run in the precision it stands for.
        ProgramError: When a kernel crashes or hangs.
    """
    import pandas as pd

    if samples < 1:
        raise UsageError(f"--samples {samples} is too small", "Take at least 5, better 10.")
    registry = load_stages()
    asked = {find_stage(registry, id).id for id in ids}
    asked |= {reference for id in asked if (reference := registry[id].reference) is not None}
    stages = [stage for stage in registry.values() if stage.id in asked]
    device = current_device()
    builds = build_stages([stage.id for stage in stages])
    request = TargetRequest("bench", problem, subjects_of(stages, builds), samples=samples)

    def describe(_: str, data: dict[str, Any]) -> str:
        return describe_timing(data, registry[data["reference"]].title if data["reference"] else None)

    result = run_target(request, timeout_s=timeout_s, report=report, describe=describe)
    frame = pd.DataFrame(result["samples"], columns=list(TIMING_COLUMNS)).astype(dict(TIMING_COLUMNS))
    notices = [
        Notice("reference_unverified", f"{id}: its precision was not proven by its kernel's name: {found['why']}")
        for id, found in result["references"].items()
        if not found["verified"]
    ]
    return Bench(frame, result["figures"], device, tuple(notices))


def summarise(bench: Bench) -> list[dict[str, Any]]:
    """Return one row per stage, in the registry's order.

    A row holds ``median_ns`` and ``spread_ns`` (half the interquartile range) over all its samples, ``flop_per_s``,
    ``pct_of_reference`` (by FLOP/s, interleaved or alone, whichever is smaller), ``pct_of_peak``, and the medians of
    clock and power; None where there is nothing to tell.
    """
    return [
        _summary_row(bench, stage, bench.figures[stage.id])
        for stage in load_stages().values()
        if stage.id in bench.figures
    ]


def _summary_row(bench: Bench, stage: Stage, figures: Mapping[str, Any]) -> dict[str, Any]:
    frame = bench.timings[bench.timings["subject"] == stage.id]
    clock, power = frame["sm_clock_mhz"].median(), frame["power_w"].median()
    share_of_reference = figures["share_of_reference"]
    peak = peak_flop_per_s(bench.device, stage.dtype)
    return {
        "stage": stage.id,
        "median_ns": figures["median_ns"],
        "spread_ns": figures["spread_ns"],
        "samples": figures["n"],
        "flop_per_s": figures["flop_per_s"],
        "reference": figures["reference"],
        "pct_of_reference": None if share_of_reference is None else 100.0 * share_of_reference,
        "pct_of_peak": None if peak is None else 100.0 * figures["flop_per_s"] / peak,
        "sm_clock_hz": None if math.isnan(clock) else 1e6 * float(clock),
        "power_w": None if math.isnan(power) else float(power),
    }


def describe_timing(data: dict[str, Any], reference: str | None) -> str:
    """Say in one line how fast a stage is: ``767 µs ± 1 (n = 20)  22.4 TFLOP/s  45 % of cuBLAS FP32``."""
    words = (
        f"{duration_spread(data['median_ns'], data['spread_ns'])} (n = {data['n']})  {flop_rate(data['flop_per_s'])}"
    )
    if reference is None or data["share_of_reference"] is None:
        return words
    return f"{words}  {share(data['share_of_reference'])} of {reference}"
