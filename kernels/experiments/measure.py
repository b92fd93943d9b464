"""How variant and cuBLAS are timed: each alone, interleaved, and each under a power state of its own.

A sample is one product between two events after the L2 was overwritten; A B B A interleaves variant and cuBLAS.
"""

from __future__ import annotations

import statistics
from itertools import pairwise
from typing import Any

from driver import Cuda, EnergyMeter, Telemetry

FLUSH_BYTES = 256 << 20
SAMPLES, MOST_SAMPLES, SAMPLING_MS = 12, 100, 100.0
# The power limit lowers the clock in steps over tens of milliseconds (BF16 at 8192: 1.34, 1.47, 1.58 ms): every series
# starts only when its own load has run this long.
WARM_MS = 200.0
SHORT_MS = 0.1  # products below are also timed back to back, without the flush: what a cold L2 costs them
STEADY_MS, STEADY_PARTS = 280.0, 8  # of one block, and what is timed within it
BLOCKS = ("ours", "reference", "reference", "ours", "reference", "ours", "ours", "reference")


def timed(cuda: Cuda, flush: int, runs: list[Any]) -> list[float]:
    """Milliseconds of each product in turn, every one with a cold L2.

    All are queued before any is waited for: a host that is late between the kernels of one product (seen with NVML
    polling: one sample in twelve 7% longer) would be counted as the product's time.
    """
    events = [(cuda.event(), cuda.event()) for _ in runs]
    for run, (start, stop) in zip(runs, events, strict=True):
        if flush:
            cuda.fill(flush, 0, FLUSH_BYTES // 4)
        cuda.record(start)
        run()
        cuda.record(stop)
    return [cuda.elapsed_ms(start, stop) for start, stop in events]


def compare(cuda: Cuda, ours: Any, reference: Any, other: Any, flush: int) -> dict[str, Any]:
    """Times each alone, then A B B A; all samples kept. `other` is a second reference, timed alone only."""
    results: dict[str, Any] = {}
    slowest = max(timed(cuda, flush, [ours] * 3)[1:] + timed(cuda, flush, [reference] * 3)[1:])
    warm = 4 + int(WARM_MS / slowest)
    samples = min(MOST_SAMPLES, max(SAMPLES, int(SAMPLING_MS / slowest))) // 2 * 2
    for name, run, count in (
        ("reference_alone", reference, samples),
        ("other_alone", other, 4),
        ("ours_alone", ours, samples),
    ):
        timed(cuda, flush, [run] * (3 if run is other else warm))
        with Telemetry() as telemetry:
            results[name] = timed(cuda, flush, [run] * count)
        results[name + "_state"] = telemetry.summary()
    timed(cuda, flush, [ours, reference] * (warm // 2))
    mixed = timed(cuda, flush, [ours, reference, reference, ours] * (samples // 2))
    results["ours_interleaved"] = [t for n, t in enumerate(mixed) if n % 4 in (0, 3)]
    results["reference_interleaved"] = [t for n, t in enumerate(mixed) if n % 4 in (1, 2)]
    if slowest < SHORT_MS:
        warmed = timed(cuda, 0, [ours] * samples + [reference] * samples)
        results["ours_warm"], results["reference_warm"] = warmed[:samples], warmed[samples:]
    return results


def steady(cuda: Cuda, ours: Any, reference: Any) -> dict[str, Any]:
    """What each does under its own power state: blocks of one alone, A B B A B A A B, their first half not counted.

    No flush between products, whose matrices must exceed the L2: its power would be counted too. At the power limit
    the inverse of this throughput is energy; NVML's counter over whole blocks is kept beside it.
    """
    once = max(timed(cuda, 0, [ours, reference] * 3)[2:])
    count = max(1, int(STEADY_MS / STEADY_PARTS / once))
    meter = EnergyMeter()
    result: dict[str, Any] = {"ours": [], "reference": [], "ours_joules": [], "reference_joules": [], "count": count}
    for which in BLOCKS:
        cuda.synchronize()
        before = meter.joules()
        marks = [cuda.event()]
        cuda.record(marks[0])
        for _ in range(STEADY_PARTS):
            for _ in range(count):
                (ours if which == "ours" else reference)()
            marks.append(cuda.event())
            cuda.record(marks[-1])
        parts = [cuda.elapsed_ms(a, b) / count for a, b in pairwise(marks)]
        after = meter.joules()
        result[which] += parts[STEADY_PARTS // 2 :]
        if before is not None and after is not None:
            result[f"{which}_joules"].append((after - before) / count / STEADY_PARTS)
    return result


def fastest(cuda: Cuda, runs: list[Any], flush: int) -> list[float]:
    """Median milliseconds of each of several references, in their order."""
    medians = []
    for run in runs:
        timed(cuda, flush, [run])
        medians.append(statistics.median(timed(cuda, flush, [run] * 4)))
    return medians
