"""Stall reasons: their families, the order in which they stack, and how they are read from a launch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

_PREFIX = "smsp__average_warps_issue_stalled_"
_SUFFIX = "_per_issue_active.ratio"
_SAMPLES = "smsp__pcsamp_warps_issue_stalled_"
_NOT_ISSUED = "_not_issued"
_SAMPLED_NAMES = {"no_instructions": "no_instruction", "warpgroup_arrive": "gmma"}
"""Reasons whose samples have another name than their ratio."""

STALL_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "issuing": ("selected", "not_selected"),
    "execution": ("wait", "math_pipe_throttle", "dispatch_stall", "gmma"),
    "fetch": ("no_instruction", "branch_resolving", "imc_miss"),
    "other": ("misc", "sleeping"),
    "sync": ("barrier", "membar"),
    "shared / MIO": ("short_scoreboard", "mio_throttle"),
    "global / L1TEX": ("drain", "tex_throttle", "lg_throttle", "long_scoreboard"),
}
"""Stall reasons by family, in the order they stack: issuing first, global memory last."""

STALL_ORDER: tuple[str, ...] = tuple(reason for family in STALL_FAMILIES.values() for reason in family)


_NOT_ALWAYS = frozenset({"gmma", "branch_resolving"})
"""Reasons that a whole set may lack: before Hopper, and before ncu 2021."""

_ALWAYS = frozenset(STALL_ORDER) - _NOT_ALWAYS


def stall_reason(name: str) -> str | None:
    """Return the stall reason of a warp-state metric name, or None for any other metric."""
    if name.startswith(_PREFIX) and name.endswith(_SUFFIX):
        return name[len(_PREFIX) : -len(_SUFFIX)]
    return None


def stall_metric(reason: str) -> str:
    """Return the warp-state metric of a stall reason: the inverse of :func:`stall_reason`."""
    return f"{_PREFIX}{reason}{_SUFFIX}"


def stall_cycles(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Collect warp-cycles per issued instruction by stall reason, in stacking order.

    Args:
        values: Pairs of metric name and value, in any order; other metrics are ignored.

    Returns:
        Reason -> cycles; a reason that this GPU or report does not have is absent, never 0. Empty where some that all
        GPUs have is absent, as with ``--metrics`` of a few: nobody knows what share of the whole the others are.
    """
    found = _stacked((stall_reason(name), value) for name, value in values)
    return found if found.keys() >= _ALWAYS else {}


def stall_samples(values: Iterable[tuple[str, float | None]]) -> dict[str, float]:
    """Collect samples of warps by what they waited for, in stacking order: their shares are those of warp-cycles.

    Args:
        values: Pairs of metric name and value, in any order; other metrics are ignored.

    Returns:
        Reason -> samples, ``selected`` for warps that issued; a reason that was not sampled is absent.
    """
    sampled = ((sampled_stall(name), value) for name, value in values)
    return _stacked((found[0], value) for found, value in sampled if found is not None and not found[1])


def sampled_stall(name: str) -> tuple[str, bool] | None:
    """Return the stall reason of a sampling metric, and whether it counts only samples of cycles without an issue.

    Samples and ratios name two reasons differently; this is the name of the ratio. None for any other metric.
    """
    if not name.startswith(_SAMPLES):
        return None
    not_issued = name.endswith(_NOT_ISSUED)
    reason = name.removeprefix(_SAMPLES).removesuffix(_NOT_ISSUED)
    return _SAMPLED_NAMES.get(reason, reason), not_issued


def in_stacking_order(parts: Mapping[str, float]) -> dict[str, float]:
    """Return parts by stall reason in the order they stack; unknown reasons last, by name."""
    return _stacked(parts.items())


def _stacked(values: Iterable[tuple[str | None, float | None]]) -> dict[str, float]:
    found = {
        reason: value for reason, value in values if reason is not None and value is not None and not math.isnan(value)
    }
    rank = {reason: index for index, reason in enumerate(STALL_ORDER)}
    return dict(sorted(found.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0])))
