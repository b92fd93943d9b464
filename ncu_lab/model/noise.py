"""How well quantities repeat when nothing changed: measured by A/A runs, else documented defaults."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ncu_lab.metrics import METRICS
from ncu_lab.model.series import TIME_KEY


@dataclass(frozen=True, slots=True)
class Repeatability:
    """Standard deviations of one quantity of an unchanged kernel; the first three as shares of its value.

    Attributes:
        launches: Among launches, or samples, of one process.
        processes: Of the means of processes on one GPU: what differs between two commits that do the same.
        units: Of the means of several GPUs of one model.
        absolute: Least standard deviation among launches, in the unit of the quantity.
    """

    launches: float
    processes: float = 0.0
    units: float = 0.0
    absolute: float = 0.0

    def spread(self, value: float) -> float:
        """Return the standard deviation among launches, as a share of a positive value."""
        return math.hypot(self.launches, self.absolute / value)

    def with_least_of(self, default: Repeatability) -> Repeatability:
        """Return this one, its least deviation no smaller than the default's."""
        return replace(self, absolute=max(self.absolute, default.absolute))

    def or_wider(self, other: Repeatability) -> Repeatability:
        """Return the larger of each deviation."""
        return Repeatability(
            max(self.launches, other.launches),
            max(self.processes, other.processes),
            max(self.units, other.units),
            max(self.absolute, other.absolute),
        )


_PROCESSES = 0.0005
_UNITS = 0.015
"""A choice, not a measurement: how two GPUs of one model differ is rarely known. Sinha et al., Not All GPUs Are Created
Equal (arXiv 2208.11035, abstract), report 8 % of performance variation on average within clusters of one model. Taken
for the width that holds 99 % of normally distributed GPUs, which the abstract does not say, that is 5.15 of these."""

_IDENTICAL = Repeatability(0.0)
_COUNTED = Repeatability(0.0002)
_CONFLICTS = Repeatability(0.03, absolute=4000.0)
"""The hardware's count holds wavefronts lost to arbitration, some thousands where there is no conflict at all: the same
code on two H200 counted 51 718 and 61 331, 298 342 and 272 211, 19.4 and 18.8 million."""

_ARBITRATED = Repeatability(0.02)
"""Likewise; the same cuBLAS kernels on two H200 took 4.05 and 4.21 wavefronts a request."""

_DEFAULTS: Mapping[str, Repeatability] = {
    TIME_KEY: Repeatability(0.005, _PROCESSES, _UNITS),
    "duration_ns": Repeatability(0.0017, _PROCESSES, _UNITS, absolute=50.0),
    **dict.fromkeys(
        (
            "registers_per_thread", "shared_memory_per_block", "theoretical_occupancy_pct", "local_spill_requests",
             "global_load_sectors_ideal", "global_store_sectors_ideal",
        ),
        _IDENTICAL,
    ),
    "waves_per_sm": Repeatability(0.0, absolute=0.002),  # exports round it to two decimals
    **dict.fromkeys(("flop", "fp64_flop", "tensor_flop"), Repeatability(0.001)),
    **dict.fromkeys(("shared_load_bank_conflicts", "shared_store_bank_conflicts"), _CONFLICTS),
    **dict.fromkeys(
        (
            "shared_load_wavefronts_per_request", "shared_store_wavefronts_per_request",
            "shared_load_wavefronts_per_fma", "shared_load_wavefronts_over_ideal",
            "shared_store_wavefronts_over_ideal",
        ),
        _ARBITRATED,
    ),
}  # fmt: skip
_NOISY = Repeatability(0.005, 0.001, _UNITS)
_NOISY_PERCENTAGE = Repeatability(0.005, 0.001, _UNITS, absolute=0.05)


def default_repeatability(key: str) -> Repeatability:
    """Return what is taken for granted where no A/A run has measured it.

    From ten launches in one process against ten in another on an H200 at clocks that were not locked: durations vary by
    0.17 % and the means of processes differ by 0.02 %; of 415 counters that vary 98 are bit-exact, 267 vary by less
    than 0.1 %, 379 by less than 1 %. The defaults lie above these figures. What the compiler decides repeats exactly.

    Args:
        key: A key of the catalogue, :data:`~ncu_lab.model.TIME_KEY`, or ``build:`` and a figure of the compiler.
    """
    if key in _DEFAULTS:
        return _DEFAULTS[key]
    metric = METRICS.get(key)
    if metric is None:
        return _IDENTICAL
    if metric.kind == "exact":
        return _COUNTED
    return _NOISY_PERCENTAGE if metric.unit == "%" else _NOISY


@dataclass(frozen=True, slots=True)
class NoiseTable:
    """What A/A runs measured; empty where none were made.

    Attributes:
        measured: Model of the GPU -> key -> repeatability.
        kernels: Model of the GPU -> stages, or names of kernels, that were measured there.
    """

    measured: Mapping[str, Mapping[str, Repeatability]] = field(default_factory=dict)
    kernels: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def of(self, key: str, device: str | None, *kernels: str) -> Repeatability:
        """Return the repeatability of a quantity on a model of GPU: measured, else the default.

        How steady one kernel is says little of another: for those that A/A runs did not measure, the default stands
        where it is wider. The least deviation of the default always does, since what it holds (arbitration, clocks that
        tick, exports that round) is not a share of the value: a build of millions of conflicts repeats by a smaller
        share than one of thousands.

        Args:
            key: As of :func:`default_repeatability`.
            device: Model of the GPU.
            kernels: Stages, else functions, that it is asked for.
        """
        known, default = self.measured.get(device or "", {}).get(key), default_repeatability(key)
        if known is None:
            return default
        if all(self.is_measured(key, device, kernel) for kernel in kernels):
            return known.with_least_of(default)
        return known.or_wider(default)

    def is_measured(self, key: str, device: str | None, kernel: str) -> bool:
        """Whether A/A runs of a kernel on this model of GPU measured it."""
        model = device or ""
        return key in self.measured.get(model, {}) and kernel in self.kernels.get(model, ())
