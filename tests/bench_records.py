"""Records of benches whose figures are known: made from times, as if two or three processes had taken them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ncu_lab.model import Device, Environment, Problem, TimingSample
from ncu_lab.model.bench_record import BenchRecord, ReferenceTrial

H200 = Device("NVIDIA H200", (9, 0), 132, max_sm_clock_hz=1.98e9)


def taken(
    times: Mapping[str, Sequence[float]], reference: str, *, n: int = 10, clock: float | None = 1980.0
) -> tuple[TimingSample, ...]:
    """Return samples of subjects in processes, the reference interleaved with each and alone.

    Args:
        times: Subject -> its median ns in each process; the reference's too. Samples lie 0.1 % apart around it.
        reference: The subject that the others take turns with.
        n: Samples of each kind.
        clock: MHz.
    """
    samples: list[TimingSample] = []
    for process in range(len(times[reference])):
        order = 0

        def add(subject: str, mode: str, number: int, process: int = process) -> None:
            nonlocal order
            ns = times[subject][process] * (1.0 + 0.001 * (number - (n - 1) / 2.0))
            samples.append(TimingSample(process, number, order, subject, mode, ns, clock, 600.0, 50.0))  # type: ignore[arg-type]  # modes by word
            order += 1

        for number in range(n):
            add(reference, "alone", number)
        for subject in times:
            if subject == reference:
                continue
            for number in range(n):
                add(subject, "interleaved", number)
                add(reference, "interleaved", number)
            for number in range(n):
                add(subject, "alone", number)
    return tuple(samples)


def record(
    problem: Problem,
    times: Mapping[str, Sequence[float]],
    *,
    created: str = "2026-11-30T08:15:00+00:00",
    commit: str = "0bf9cc4",
    reference: str = "cublas-fp32",
    trials: Sequence[ReferenceTrial] = (),
) -> BenchRecord:
    """Return a record of subjects with known times; see :func:`taken`."""
    return BenchRecord(
        created,
        problem,
        H200,
        Environment(driver="580.159", cuda="13.0", nvcc="13.0.88"),
        commit,
        False,
        tuple(times),
        taken(times, reference),
        dict.fromkeys(times, "fast"),
        tuple(trials),
    )
