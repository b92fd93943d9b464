"""Times stages beside their references, in a process of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    """What timing gave: the samples, the device, and how far the references' precision is proven."""

    timings: pd.DataFrame
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
    return Bench(frame, device, tuple(notices))


def summarise(bench: Bench, problem: Problem) -> list[dict[str, Any]]:
    """Return one row per stage, in the registry's order.

    A row holds ``median_ns`` and ``spread_ns`` (half the interquartile range) over all its samples, ``flop_per_s``,
    ``pct_of_reference`` (by FLOP/s, interleaved or alone, whichever is smaller), ``pct_of_peak``, and the medians of
    clock and power; None where there is nothing to tell.
    """
    timed = set(bench.timings["subject"])
    return [_summary_row(bench, stage, problem) for stage in load_stages().values() if stage.id in timed]


def _summary_row(bench: Bench, stage: Stage, problem: Problem) -> dict[str, Any]:
    frame = bench.timings[bench.timings["subject"] == stage.id]
    shape = stage.shape(problem)
    median_ns = float(frame["ns"].median())
    rate = 2.0 * shape.m * shape.n * shape.k * 1e9 / median_ns
    share_of_reference = _share_of_reference(bench, stage, problem)
    peak = peak_flop_per_s(bench.device, stage.dtype)
    clock = frame["sm_clock_mhz"].median()
    power = frame["power_w"].median()
    return {
        "stage": stage.id,
        "median_ns": median_ns,
        "spread_ns": float(frame["ns"].quantile(0.75) - frame["ns"].quantile(0.25)) / 2.0,
        "samples": len(frame),
        "flop_per_s": rate,
        "reference": stage.reference,
        "pct_of_reference": None if share_of_reference is None else 100.0 * share_of_reference,
        "pct_of_peak": None if peak is None else 100.0 * rate / peak,
        "sm_clock_hz": None if math.isnan(clock) else 1e6 * float(clock),
        "power_w": None if math.isnan(power) else float(power),
    }


def _share_of_reference(bench: Bench, stage: Stage, problem: Problem) -> float | None:
    """FLOP/s over those of the reference, in the mode where that is smaller; None without a reference."""
    if stage.reference is None:
        return None
    medians = bench.timings.groupby(["subject", "mode"])["ns"].median()
    shape = stage.shape(problem)
    work = (shape.m * shape.n) / (problem.m * problem.n)  # C = A·Aᵀ of an oblong problem is other work
    modes = [
        work * float(medians[stage.reference, mode]) / float(medians[stage.id, mode])
        for mode in ("interleaved", "alone")
        if (stage.reference, mode) in medians.index and (stage.id, mode) in medians.index
    ]
    return min(modes) if modes else None


def describe_timing(data: dict[str, Any], reference: str | None) -> str:
    """Say in one line how fast a stage is: ``767 µs ± 1 (n = 20)  22.4 TFLOP/s  45 % of cuBLAS FP32``."""
    words = (
        f"{duration_spread(data['median_ns'], data['spread_ns'])} (n = {data['n']})  {flop_rate(data['flop_per_s'])}"
    )
    if reference is None or data["share_of_reference"] is None:
        return words
    return f"{words}  {share(data['share_of_reference'])} of {reference}"
