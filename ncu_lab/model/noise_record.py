"""What A/A runs measured: one file of the folder ``noise`` in a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ncu_lab.model.noise import NoiseTable, Repeatability
from ncu_lab.model.runs import SCHEMA


@dataclass(frozen=True, slots=True)
class NoiseRecord:
    """How well quantities of one build repeated over processes on one model of GPU.

    Attributes:
        device: Model of the GPU, as the driver calls it.
        created: ISO 8601, UTC.
        processes: Processes that the build was profiled in.
        units: GPUs that these ran on.
        problem: What the stages computed; None for other programs.
        kernels: Stages, or names of kernels, that were measured.
        driver: Version of the driver.
        ncu: Version of Nsight Compute.
        clock_control: Of Nsight Compute.
        quantities: Key of the catalogue, or ``time_ns`` for unprofiled times -> how well it repeated.
        schema: Version of the file.
    """

    device: str
    created: str
    processes: int
    units: int
    problem: str | None
    kernels: tuple[str, ...]
    driver: str | None
    ncu: str | None
    clock_control: str | None
    quantities: Mapping[str, Repeatability] = field(default_factory=dict)
    schema: int = SCHEMA


def noise_table(records: list[NoiseRecord]) -> NoiseTable:
    """Return what records say together: of each quantity on each model of GPU what the newest of them says."""
    measured: dict[str, dict[str, Repeatability]] = {}
    kernels: dict[str, frozenset[str]] = {}
    for record in sorted(records, key=lambda one: one.created):
        measured.setdefault(record.device, {}).update(record.quantities)
        kernels[record.device] = kernels.get(record.device, frozenset()).union(record.kernels)
    return NoiseTable(measured, kernels)
