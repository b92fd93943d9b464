"""From A/A runs, one build profiled in several processes, to how well each quantity repeats. Pure.

Launches of one process share its addresses, clocks and temperature, so that they vary less than launches of two
processes do; two commits are always measured by two processes. The variance is divided into both parts by the analysis
of variance with one random effect: with P processes of n launches each, the mean square within processes estimates the
variance of launches s², and the variance of the processes' means estimates that of processes plus s²/n (Searle,
Casella, McCulloch, Variance Components, 1992, ch. 3). Estimates from so few processes may be low by chance, so that
the upper end of a one-sided 90 % interval stands for each: the sum of squares over the 10 % quantile of chi-squared.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ncu_lab.metrics import METRICS, Kind
from ncu_lab.model import TIME_KEY
from ncu_lab.model.noise import Repeatability, default_repeatability

Values = Sequence[Sequence[float]]
"""The values of one quantity of one kernel: one sequence a process."""

LEAST_PROCESSES = 3
"""Processes below which nothing can be said of how they differ."""

_Z_10 = -1.2815515655446004
"""The 10 % quantile of the normal distribution."""

_ROUNDING = 1e-9
"""The share of a variance that may be left of it by rounding."""


@dataclass(frozen=True, slots=True)
class Components:
    """How one quantity of one kernel varies, in its own unit.

    Attributes:
        mean: Of all values.
        launches: Standard deviation among launches of one process.
        processes: Standard deviation among the means of processes.
    """

    mean: float
    launches: float
    processes: float


def repeatabilities(kernels: Iterable[Mapping[str, Values]]) -> dict[str, Repeatability]:
    """Return how well each quantity repeats, over all kernels: for each kernel it is at least what was seen of it.

    Args:
        kernels: For each kernel: key -> its values in every process.

    Returns:
        Key -> repeatability; quantities of fewer than :data:`LEAST_PROCESSES` processes are left out. How GPUs of one
        model differ is not measured: the default stands for it.
    """
    found: dict[str, list[Components]] = {}
    for kernel in kernels:
        for key, values in kernel.items():
            components = components_of(values)
            if components is not None:
                found.setdefault(key, []).append(components)
    return {key: _joined(key, components) for key, components in found.items()}


def components_of(values: Values) -> Components | None:
    """Divide the variance of one quantity of one kernel; None with too few processes.

    With one launch a process the two parts cannot be told apart, and both are taken for the whole.
    """
    known = [process for process in values if process]
    if len(known) < LEAST_PROCESSES:
        return None
    mean = math.fsum(map(math.fsum, known)) / sum(map(len, known))
    means = [statistics.fmean(process) for process in known]
    between = _upper(math.fsum((one - statistics.fmean(means)) ** 2 for one in means), len(means) - 1)
    freedom = sum(len(process) - 1 for process in known)
    if not freedom:
        return Components(mean, math.sqrt(between), math.sqrt(between))
    squares = math.fsum((value - own) ** 2 for process, own in zip(known, means, strict=True) for value in process)
    within = _upper(squares, freedom)
    each = len(known) / math.fsum(1.0 / len(process) for process in known)
    return Components(mean, math.sqrt(within), math.sqrt(max(0.0, between - squares / freedom / each)))


def _upper(squares: float, freedom: int) -> float:
    """Return the upper end of a one-sided 90 % interval of a variance, by Wilson and Hilferty's chi-squared (1931)."""
    part = 2.0 / (9.0 * freedom)
    return squares / (freedom * (1.0 - part + _Z_10 * math.sqrt(part)) ** 3)


def _joined(key: str, kernels: Sequence[Components]) -> Repeatability:
    """Return one repeatability for kernels of very different size.

    The share comes from all, large values counting most; what a kernel varies beyond it becomes the least deviation,
    so that a kernel with hardly any conflicts does not loosen what is held of one that has millions.
    """
    weight = math.fsum(one.mean**2 for one in kernels)
    if not weight:
        return Repeatability(0.0, absolute=max(math.hypot(one.launches, one.processes) for one in kernels))
    launches = math.sqrt(math.fsum(one.launches**2 for one in kernels) / weight)
    processes = math.sqrt(math.fsum(one.processes**2 for one in kernels) / weight)
    if _kind(key) == "exact":  # held to the deviation among launches alone, whatever process they are of
        launches, processes = math.hypot(launches, processes), 0.0
    else:
        processes = max(processes, *(one.processes / abs(one.mean) for one in kernels if one.mean))
    return Repeatability(
        launches,
        processes,
        default_repeatability(key).units,
        math.sqrt(max(_beyond(one, launches, with_processes=processes == 0.0) for one in kernels)),
    )


def _beyond(kernel: Components, share: float, *, with_processes: bool) -> float:
    """Return the variance of a kernel that its share of the value does not account for."""
    seen = kernel.launches**2 + (kernel.processes**2 if with_processes else 0.0)
    beyond = seen - (share * kernel.mean) ** 2
    return beyond if beyond > _ROUNDING * seen else 0.0


def _kind(key: str) -> Kind:
    return "noisy" if key == TIME_KEY else METRICS[key].kind
