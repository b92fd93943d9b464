"""Times stages beside their references, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ncu_lab.analyze.timings import Timing, share_of_reference, timing
from ncu_lab.errors import UsageError
from ncu_lab.gpu.devices import current_device, peak_flop_per_s
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.supervisor import run_target
from ncu_lab.model import Device, MeasuredPeak, Notice, Problem, Reporter, Stage, TimingSample, silent
from ncu_lab.render.numbers import duration_spread, flop_rate, share
from ncu_lab.workflows.building import build_stages
from ncu_lab.workflows.measuring import measure_peaks

TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Bench:
    """What timing gave.

    Attributes:
        samples: Every sample of every subject, in the order they were taken.
        timings: Stage id -> what its samples say, in the registry's order.
        problem: What was asked for.
        device: Where.
        notices: What weakens the figures (a precision not proven).
        peaks: What the GPU was measured to reach just before.
    """

    samples: tuple[TimingSample, ...]
    timings: Mapping[str, Timing]
    problem: Problem
    device: Device
    notices: tuple[Notice, ...] = ()
    peaks: tuple[MeasuredPeak, ...] = ()


def time_stages(
    ids: Sequence[str],
    problem: Problem,
    samples: int = 10,
    *,
    report: Reporter = silent,
    timeout_s: float = TIMEOUT_S,
) -> Bench:
    """Time stages, each interleaved with its reference and alone, and the references alone.

    Builds the stages where the cache has none; adds the references of the stages. What the GPU reaches at best is
    measured first.

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
    if samples < 1:
        raise UsageError(f"--samples {samples} is too small", "Take at least 5, better 10.")
    registry = load_stages()
    asked = {find_stage(registry, id).id for id in ids}
    asked |= {reference for id in asked if (reference := registry[id].reference) is not None}
    stages = [stage for stage in registry.values() if stage.id in asked]
    device = current_device()
    builds = build_stages([stage.id for stage in stages])
    peaks, unmeasured = measure_peaks(report)
    request = TargetRequest("bench", problem, subjects_of(stages, builds, registry), samples=samples)
    taken: list[TimingSample] = []

    def describe(id: str, data: dict[str, Any]) -> str:
        taken.extend(TimingSample(**sample) for sample in data["samples"])
        return describe_timing(registry[id], problem, timing(taken, id, registry[id].reference), registry)

    result = run_target(request, timeout_s=timeout_s, report=report, describe=describe)
    found = {stage.id: timing(taken, stage.id, stage.reference) for stage in stages}
    notices = [
        Notice("reference_unverified", f"{id}: its precision was not proven by its kernel's name: {proof['why']}")
        for id, proof in result["references"].items()
        if not proof["verified"]
    ]
    timings = {id: one for id, one in found.items() if one is not None}
    return Bench(tuple(taken), timings, problem, device, (*notices, *unmeasured), peaks)


def summarise(bench: Bench) -> list[dict[str, Any]]:
    """Return one row per stage, in the registry's order.

    A row holds ``median_ns`` and ``spread_ns`` (half the interquartile range), ``flop_per_s``, ``pct_of_reference`` (by
    FLOP/s, interleaved or alone, whichever is smaller), ``pct_of_peak``, and the medians of clock and power; None where
    there is nothing to tell.
    """
    registry = load_stages()
    return [_summary_row(bench, registry[id], found, registry) for id, found in bench.timings.items()]


def _summary_row(bench: Bench, stage: Stage, found: Timing, registry: Mapping[str, Stage]) -> dict[str, Any]:
    own = [sample for sample in bench.samples if sample.subject == stage.id]
    clocks = [sample.sm_clock_mhz for sample in own if sample.sm_clock_mhz is not None]
    powers = [sample.power_w for sample in own if sample.power_w is not None]
    speed = stage.flop(bench.problem) / found.median_ns * 1e9
    reached = share_of_reference(stage, bench.problem, found.time_ratio, registry)
    peak = peak_flop_per_s(bench.device, stage.dtype)
    return {
        "stage": stage.id,
        "median_ns": found.median_ns,
        "spread_ns": found.spread_ns,
        "samples": len(found.samples_ns),
        "flop_per_s": speed,
        "reference": stage.reference,
        "pct_of_reference": None if reached is None else 100.0 * reached,
        "pct_of_peak": None if peak is None else 100.0 * speed / peak,
        "sm_clock_hz": 1e6 * median(clocks) if clocks else None,
        "power_w": median(powers) if powers else None,
    }


def describe_timing(stage: Stage, problem: Problem, found: Timing | None, registry: Mapping[str, Stage]) -> str:
    """Say in one line how fast a stage is: ``767 µs ± 1 (n = 20)  22.4 TFLOP/s  45 % of cuBLAS FP32``."""
    if found is None:
        return "no samples"
    time = duration_spread(found.median_ns, found.spread_ns)
    words = f"{time} (n = {len(found.samples_ns)})  {flop_rate(stage.flop(problem) / found.median_ns * 1e9)}"
    reached = share_of_reference(stage, problem, found.time_ratio, registry)
    if reached is None or stage.reference is None:
        return words
    return f"{words}  {share(reached)} of {registry[stage.reference].title}"
