"""Profiles one build in several processes, and keeps how well each quantity repeated."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ncu_lab.analyze.repeatability import LEAST_PROCESSES, repeatabilities
from ncu_lab.analyze.summary import summarize
from ncu_lab.analyze.timings import counted_samples, timing_samples
from ncu_lab.errors import InputError, UsageError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.metrics import METRICS
from ncu_lab.model import TIME_KEY, Notice, Reporter, Run, silent
from ncu_lab.model.noise import NoiseTable
from ncu_lab.model.noise_record import NoiseRecord, noise_table
from ncu_lab.store import Store
from ncu_lab.store.noise_files import read_noise, write_noise
from ncu_lab.workflows.profiling import ProfileRequest, profile_stages

_Kernel = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MeasuredNoise:
    """A record, and the file that it was written to."""

    record: NoiseRecord
    file: Path


def measure_noise(
    request: ProfileRequest, processes: int, store: Path, *, keep: Path | None = None, report: Reporter = silent
) -> MeasuredNoise:
    """Profile a build again and again, each time in processes of its own, and store how well it repeated.

    Args:
        request: What to profile; its launches and samples are those of one process.
        processes: How often.
        store: The folder of runs, whose folder ``noise`` gets the record.
        keep: A folder of runs for the runs themselves; by default they are not kept.
        report: Told of every step.

    Raises:
        UsageError: When there are too few processes.
        EnvironmentLacksError: When ncu, a GPU, the permission to read counters or a writable store is missing.
        ProgramError: When a kernel or ncu fails.
    """
    _refuse_too_few(processes, "--processes")
    Store(store).check_writable()
    with tempfile.TemporaryDirectory(prefix="ncu-lab-") as work:
        folder = keep or Path(work)
        return _stored((profile_stages(request, folder, report) for _ in range(processes)), store)


def noise_of_runs(folder: Path, store: Path) -> MeasuredNoise:
    """Store how well recorded runs of one build repeated; each run counts as a process.

    Args:
        folder: A folder of complete runs, all of one build.
        store: The folder of runs, whose folder ``noise`` gets the record.

    Raises:
        InputError: When there are too few runs, or they are not of one build.
        EnvironmentLacksError: When the store cannot be written.
    """
    source = Store(folder)
    source.check_readable()
    ids = [meta.id for meta in source.metas()[0] if meta.status == "complete"]
    if len(ids) < LEAST_PROCESSES:
        raise InputError(
            f"{folder} holds {len(ids)} complete runs",
            f"At least {LEAST_PROCESSES} of one build are needed, better 10.",
        )
    return _stored((source.read(id) for id in ids), store)


def read_noise_table(store: Path) -> tuple[NoiseTable, list[Notice]]:
    """Return what A/A runs of a store measured, and what of it cannot be read."""
    records, notices = read_noise(store)
    return noise_table(records), notices


def _refuse_too_few(processes: int, option: str) -> None:
    if processes < LEAST_PROCESSES:
        raise UsageError(f"{option} {processes} is too small", f"Take at least {LEAST_PROCESSES}, better 10.")


def _stored(runs: Iterable[Run], store: Path) -> MeasuredNoise:
    record = noise_record(runs)
    return MeasuredNoise(record, write_noise(store, record))


def noise_record(runs: Iterable[Run]) -> NoiseRecord:
    """Return how well runs of one build repeated; they are read one after the other.

    Raises:
        InputError: When they are not of one build, or their GPU is not known.
    """
    kernels: dict[_Kernel, dict[str, list[list[float]]]] = {}
    first: Run | None = None
    units: set[str] = set()
    count = 0
    for run in runs:
        first = first or run
        _refuse_other_build(first, run)
        unit = (run.meta.device.uuid_hash if run.meta.device else None) or ""
        units.add(unit)
        for kernel, values in _values_of(run).items():
            for key, own in values.items():
                # Each GPU by itself: what differs between two is not what differs between processes.
                kernels.setdefault((*kernel, unit), {}).setdefault(key, []).append(own)
        count += 1
    if first is None or first.meta.device is None:
        raise InputError("the runs do not tell their GPU", "Noise is kept for each model of GPU.")
    environment = first.meta.environment
    return NoiseRecord(
        device=first.meta.device.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        processes=count,
        units=len(units),
        problem=first.meta.problem.label if first.meta.problem else None,
        kernels=tuple(dict.fromkeys(kernel[0] for kernel in kernels)),
        driver=environment.driver,
        ncu=environment.ncu,
        clock_control=environment.clock_control,
        quantities=repeatabilities(kernels.values()),
    )


def _refuse_other_build(first: Run, run: Run) -> None:
    """Refuse runs between which more than the process changed.

    Raises:
        InputError: Says in what they differ.
    """
    for what, a, b in zip(("GPU", "problem", "stages", "kernels"), _build_of(first), _build_of(run), strict=True):
        if a != b:
            raise InputError(
                f"{first.meta.id} and {run.meta.id} are of other {what}", "Noise is measured by runs of one build."
            )


def _build_of(run: Run) -> Sequence[object]:
    meta = run.meta
    hashes = sorted((build.stage, build.variant, build.sass_hash or "") for build in run.builds)
    code: object = hashes if hashes and all(one[2] for one in hashes) else (meta.git.commit, meta.git.diff)
    return (meta.device.name if meta.device else None), meta.problem, meta.stages, code


def _values_of(run: Run) -> Mapping[_Kernel, Mapping[str, list[float]]]:
    """Return the values that one process has of each kernel; samples taken in two ways are kept apart.

    Library references are left out: they are timed to be compared with, and at full power a GPU throttles them by more
    than anything that is gated.
    """
    stages = load_stages()
    references = {stage.id for stage in stages.values() if stage.is_reference}
    found: dict[_Kernel, dict[str, list[float]]] = {}
    for one in summarize(run):
        kernel = (one.stage or one.function, one.kernel, str(one.grid), str(one.block))
        for key in METRICS if one.stage not in references else ():
            if (value := one.value(key)) is not None:
                found.setdefault(kernel, {}).setdefault(key, []).append(value)
    samples = timing_samples(run.timings[run.timings["ns"].notna()])
    for subject in dict.fromkeys(one.subject for one in samples if one.subject not in references):
        registered = stages.get(subject)
        for sample in counted_samples(samples, subject, registered.reference if registered else None):
            found.setdefault((subject, sample.mode), {}).setdefault(TIME_KEY, []).append(sample.ns)
    return found
