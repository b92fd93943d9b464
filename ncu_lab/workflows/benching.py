"""Times stages beside their references, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from ncu_lab.analyze.timings import Timing, claim, share_of_reference, timing
from ncu_lab.errors import UsageError
from ncu_lab.gpu.devices import current_device, environment, peak_flop_per_s
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.supervisor import run_target
from ncu_lab.model import Device, MeasuredPeak, Notice, Problem, Reporter, Stage, TimingSample, Variant, silent
from ncu_lab.model.bench_record import BenchRecord, ReferenceTrial
from ncu_lab.render.numbers import duration_spread, flop_rate, share
from ncu_lab.store.bench_files import write_bench
from ncu_lab.workflows.best_tiles import with_best_tiles
from ncu_lab.workflows.building import build_stages, with_references
from ncu_lab.workflows.measuring import measure_peaks
from ncu_lab.workflows.recording import kernels_state

TIMEOUT_S = 1800.0


@dataclass(frozen=True)
class Bench:
    """What timing gave.

    Attributes:
        samples: Every sample of every subject, process by process, in the order they were taken.
        timings: Stage id -> what its samples say, in the registry's order.
        problem: What was asked for.
        device: Where.
        notices: What weakens the figures (a precision not proven).
        peaks: What the GPU was measured to reach just before.
        trials: What each way of the library gave, where the fastest was searched for.
        variants: Stage id -> which of its paths served the problem.
        nvcc: Version of the compiler; None where nothing was built.
    """

    samples: tuple[TimingSample, ...]
    timings: Mapping[str, Timing]
    problem: Problem
    device: Device
    notices: tuple[Notice, ...] = ()
    peaks: tuple[MeasuredPeak, ...] = ()
    trials: tuple[ReferenceTrial, ...] = ()
    variants: Mapping[str, Variant] = field(default_factory=dict)
    nvcc: str | None = None


@with_best_tiles
def time_stages(
    ids: Sequence[str],
    problem: Problem,
    samples: int = 10,
    *,
    processes: int = 1,
    fastest_reference: bool = False,
    cutlass: bool = True,
    report: Reporter = silent,
    timeout_s: float = TIMEOUT_S,
) -> Bench:
    """Time stages, each interleaved with its reference and alone, and the references alone.

    Builds the stages where the cache has none; adds the references of the stages. What the GPU reaches at best is
    measured first.

    Args:
        ids: Stage ids.
        problem: What every stage computes.
        samples: Samples of each stage in each of the two modes, in each process.
        processes: How often all of it is done, each time in a process of its own.
        fastest_reference: Whether FP32 is measured against the fastest way of the library, searched for in every
            process, not against pinned pedantic math.
        cutlass: Whether CUTLASS is timed beside cuBLAS, where it can be had.
        report: Told of each stage.
        timeout_s: Seconds for one process.

    Raises:
        UsageError: When a stage is unknown, or the problem does not fit the GPU.
        EnvironmentLacksError: When there is no GPU, cupy or compiler.
        CheckFailedError: When a reference did not run in the precision it stands for.
        ProgramError: When a kernel crashes or hangs.
    """
    for option, value, advice in (
        ("samples", samples, "Take at least 1; there is a 99 % interval from 5 on."),
        ("processes", processes, ""),
    ):
        if value < 1:
            raise UsageError(f"--{option} {value} is too small", advice or "At least one is needed.")
    registry = load_stages()
    asked = with_references({find_stage(registry, id).id for id in ids}, registry, cutlass=cutlass)
    stages = [stage for stage in registry.values() if stage.id in asked]
    device = current_device()
    builds = build_stages([stage.id for stage in stages])
    peaks, unmeasured = measure_peaks(report)
    request = TargetRequest(
        "bench",
        problem,
        subjects_of(stages, builds, registry),
        samples=samples,
        fastest_reference=fastest_reference,
    )
    results: list[Mapping[str, Any]] = []
    taken: list[TimingSample] = []
    for process in range(processes):
        results.append(_run_process(process, request, registry, taken, report, timeout_s))
    found = {stage.id: timing(taken, stage.id, stage.reference) for stage in stages}
    return Bench(
        tuple(taken),
        {id: one for id, one in found.items() if one is not None},
        problem,
        device,
        (*_unverified(results), *unmeasured),
        peaks,
        tuple(
            ReferenceTrial(**{**trial, "kernels": tuple(trial["kernels"]), "process": process})
            for process, result in enumerate(results)
            for trial in result["trials"]
        ),
        {launch["subject"]: launch["variant"] for launch in results[0]["launches"]},
        builds[0].nvcc if builds else None,
    )


def _run_process(
    process: int,
    request: TargetRequest,
    registry: Mapping[str, Stage],
    taken: list[TimingSample],
    report: Reporter,
    timeout_s: float,
) -> Mapping[str, Any]:
    """Run one process of a bench; its samples are added to those taken so far as they come."""
    own: list[TimingSample] = []

    def describe(id: str, data: dict[str, Any]) -> str:
        own.extend(TimingSample(**{**sample, "process": process}) for sample in data["samples"])
        return describe_timing(registry[id], request.problem, timing(own, id, registry[id].reference), registry)

    try:
        return run_target(request, timeout_s=timeout_s, report=report, describe=describe)
    finally:
        taken.extend(own)


def _unverified(results: Sequence[Mapping[str, Any]]) -> list[Notice]:
    """Say which references' precision was not proven, each once."""
    unproven = {
        id: proof["why"] for result in results for id, proof in result["references"].items() if not proof["verified"]
    }
    return [
        Notice("reference_unverified", f"{id}: its precision was not proven by its kernel's name: {why}")
        for id, why in unproven.items()
    ]


def bench_record(bench: Bench, command: Sequence[str]) -> BenchRecord:
    """Return what is kept of a bench: its samples, and the state of the GPU, the software and the kernels.

    Args:
        bench: What timing gave.
        command: Command line to record.
    """
    registry = load_stages()
    # The state of the kernels that were timed, not of every kernel there is.
    state, notices = kernels_state([registry[id] for id in bench.timings])
    return BenchRecord(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        problem=bench.problem,
        device=bench.device,
        environment=replace(environment(), nvcc=bench.nvcc),
        commit=state.commit,
        dirty=state.dirty,
        stages=tuple(bench.timings),
        samples=bench.samples,
        variants=bench.variants,
        trials=bench.trials,
        peaks=bench.peaks,
        notices=(*bench.notices, *notices),
        command=tuple(command),
    )


def save_bench(bench: Bench, store: Path, command: Sequence[str]) -> Path:
    """Keep a bench in the folder ``bench`` of a store and return its file.

    Args:
        bench: What timing gave.
        store: The folder of runs.
        command: Command line to record.

    Raises:
        EnvironmentLacksError: When the store cannot be written.
    """
    return write_bench(store, bench_record(bench, command))


def summarise(bench: Bench) -> list[dict[str, Any]]:
    """Return one row per stage, in the registry's order.

    A row holds ``median_ns`` and ``spread_ns`` (half the interquartile range), ``flop_per_s``, ``pct_of_reference`` (by
    FLOP/s, interleaved or alone, in the process of the lowest, whichever is smaller) with its 99 % interval,
    ``reference_way`` where the fastest was searched for, ``pct_of_peak``, and the medians of clock and power right
    after the samples; None where there is nothing to tell.
    """
    registry = load_stages()
    return [
        summary_row(registry[id], bench.problem, bench.device, bench.samples, bench.trials, registry)
        for id in bench.timings
    ]


def summary_row(
    stage: Stage,
    problem: Problem,
    device: Device,
    samples: Sequence[TimingSample],
    trials: Sequence[ReferenceTrial],
    registry: Mapping[str, Stage],
) -> dict[str, Any]:
    """Return what the samples of a stage say; see :func:`summarise`.

    Args:
        stage: One that has samples.
        problem: What it computed.
        device: Where.
        samples: Of all subjects and processes.
        trials: What each way of the library gave; may be none.
        registry: All stages.
    """
    found, claimed = timing(samples, stage.id, stage.reference), claim(samples, stage.id, stage.reference)
    assert found is not None
    own = [sample for sample in samples if sample.subject == stage.id]
    if claimed is not None:
        own = [sample for sample in own if sample.process == claimed.process]
    clocks = [sample.sm_clock_mhz for sample in own if sample.sm_clock_mhz is not None]
    powers = [sample.power_w for sample in own if sample.power_w is not None]
    speed = stage.flop(problem) / found.median_ns * 1e9
    peak = peak_flop_per_s(device, stage.dtype)

    def percent(time_ratio: float | None) -> float | None:
        reached = share_of_reference(stage, problem, time_ratio, registry)
        return None if reached is None else 100.0 * reached

    process = claimed.process if claimed else 0
    chosen = [one.way for one in trials if one.chosen and (one.reference, one.process) == (stage.reference, process)]
    return {
        "stage": stage.id,
        "median_ns": found.median_ns,
        "spread_ns": found.spread_ns,
        "samples": len(found.samples_ns),
        "flop_per_s": speed,
        "reference": stage.reference,
        "reference_way": chosen[0] if chosen else None,
        "processes": len({sample.process for sample in samples}),
        "pct_of_reference": percent(found.time_ratio),
        "pct_of_reference_low": percent(claimed.low if claimed else None),
        "pct_of_reference_high": percent(claimed.high if claimed else None),
        "timed": claimed.mode if claimed else None,
        "pct_of_peak": 100.0 * speed / peak if peak else None,
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
