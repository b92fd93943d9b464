"""What bounds a launch: one function from its counters to a verdict with the evidence it used.

The rules, in the order in which they decide (docs/verdict.md has their reasons and how often they agree with people):

1. It is not known how busy compute and memory were: ``unknown``, naming the section that tells.
2. A unit is at its peak (:data:`AT_PEAK`): its side bounds, or both do: ``balanced``.
3. SM time is lost (:data:`LOST`). Fewer blocks than SMs, or a launch as short as what starting and ending it cost:
   ``launch``. A partial last wave, or SMs that idle for much of a longer launch: ``tail``.
4. A unit is near its peak (:data:`NEAR_PEAK`): its side bounds, or both do: ``balanced``.
5. The grid has too few blocks to fill half of what the GPU holds at once: ``launch``. Else ``latency``.

Compute is the busiest of issue slots and arithmetic pipes, memory the busiest of DRAM, L2 and L1. Where that is L1, and
most of what its data pipe moves is of shared memory, the bound is ``shared``. All shares are of elapsed cycles.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ncu_lab.metrics import METRICS
from ncu_lab.model import Bound, Evidence, LaunchSummary, Verdict

NEAR_PEAK = 60.0
"""Percent of its peak from which a unit counts as near it, as in Nsight Compute's rule SOLBottleneck, whose message
tells it: "below 60.0% of peak typically indicate latency issues"."""

AT_PEAK = 80.0
"""Percent of its peak from which a unit is the limit whatever else there is; likewise: "greater than 80.0%"."""

NEAR_EACH_OTHER = 10.0
"""Points between compute and memory below which neither is the bound alone: SOLBottleneck calls this well-balanced."""

MOST = 0.5
"""Share of the data pipe's wavefronts from which L1 is busy with shared memory rather than with global accesses."""

LOST = 0.10
"""Share of SM time whose loss comes before a unit that is not at its peak: mending it gains 11 %."""

MUCH_LOST = 0.25
"""Share of SM time whose loss is the bound without a further cause."""

SHORT_NS = 10_000.0
"""Duration below which much lost time is the cost of starting and ending: in each short launch on an H200 about 2 to
2.5 µs pass without an active SM, and that is a quarter of 10 µs."""

FEW_WAVES = 0.5
"""Part of what the GPU holds at once below which the grid, not the kernel, decides how many warps there are."""


def verdict_of(summary: LaunchSummary) -> Verdict:
    """Say what bounds a launch, and by which figures.

    Returns:
        The verdict. What is missing makes it less sharp, never wrong: it names what could have changed it.
    """
    compute, memory = _compute(summary), _memory(summary)
    unknown = _unknown_sides(summary, compute, memory)
    top = max((side for side in (compute, memory) if side), key=lambda side: side.pct, default=None)
    if top is None:
        return Verdict("unknown", (*unknown, *_of_grid(summary)))
    if top.pct >= AT_PEAK:
        return _by_unit(summary, compute, memory, unknown)
    if unknown:
        return Verdict("unknown", (*unknown, top.far, *_of_grid(summary)))
    if lost := _lost_time(summary):
        return Verdict(lost[0], (*lost[1], top.far))
    if top.pct >= NEAR_PEAK:
        return _by_unit(summary, compute, memory, unknown)
    if (waves := _waves(summary)) and _below(waves):
        return Verdict("launch", (waves, top.far, *_longest_wait(summary)))
    needed = ["waves_per_sm", "elapsed_to_active", "achieved_occupancy_pct"]
    needed += [] if summary.stalls else ["warp_cycles_per_instruction"]
    absent = (_missing(key) for key in needed if _value(summary, key) is None)
    return Verdict("latency", (top.far, *_longest_wait(summary), *_occupancy(summary), *absent))


@dataclass(frozen=True, slots=True)
class _Side:
    """The busiest unit of compute or memory: ``pct`` of its peak, by the quantity ``key``."""

    bound: Bound
    key: str
    pct: float

    @property
    def busy(self) -> Evidence:
        return Evidence("busy", self.key, self.pct, "%", AT_PEAK if self.pct >= AT_PEAK else NEAR_PEAK)

    @property
    def far(self) -> Evidence:
        """The same figure as evidence that nothing was at, or near, its peak."""
        return Evidence("far", self.key, self.pct, "%", AT_PEAK if self.pct >= NEAR_PEAK else NEAR_PEAK)


def _value(summary: LaunchSummary, key: str) -> float | None:
    value = summary.value(key)
    return None if value is None or not math.isfinite(value) else value


def _missing(key: str) -> Evidence:
    return Evidence("missing", key, None, METRICS[key].unit, subject=METRICS[key].section)


def _compute(summary: LaunchSummary) -> _Side | None:
    """Return how busy compute was, by the name of the pipe where it is one that has its own; None when not known.

    The SM's total counts where it is above compute and memory, for a pipe that is of neither (branches, say), and in a
    report that has nothing else: unless it is about what memory shows, for then both are the pipe of loads and stores.
    """
    busiest = _value(summary, "compute_throughput_pct")
    total, memory = _value(summary, "sm_throughput_pct"), _value(summary, "memory_throughput_pct")
    if total is not None:
        above = busiest is None or total > max(busiest, memory or 0.0) + _ROUNDING
        of_loads = memory is not None and abs(total - memory) <= _ROUNDING
        if above and not of_loads:
            return _Side("compute", "sm_throughput_pct", total)
    if busiest is None:
        return None
    named = ("tensor_pipe_pct", "fma_pipe_pct", "issue_slots_pct", "compute_throughput_pct")
    return _Side("compute", next(key for key in named if _value(summary, key) == busiest), busiest)


_ROUNDING = 0.5
"""Points by which one figure may differ in two places: exports round, L1's is scaled, passes differ."""


def _memory(summary: LaunchSummary) -> _Side | None:
    """Return how busy memory was, by the level that was; None when not known.

    Memory's own total leaves out some units of L1 and L2 (a Tesla T4 with strided accesses: L1 90 %, total 50 %), and
    some reports have nothing else, so it counts where it is above the levels.
    """
    levels = {key: _level(summary, key) for key in ("dram_throughput_pct", "l2_throughput_pct", "l1_throughput_pct")}
    known = {key: pct for key, pct in levels.items() if pct is not None}
    total = _value(summary, "memory_throughput_pct")
    busiest = max(known, key=lambda key: known[key], default=None)
    if total is not None and (busiest is None or total > known[busiest] + _ROUNDING):
        return _Side("memory", "memory_throughput_pct", total)
    return _Side("memory", busiest, known[busiest]) if busiest else None


def _level(summary: LaunchSummary, key: str) -> float | None:
    """Return how busy a level was, of elapsed cycles: some reports tell it of active ones, fewer by what was idle."""
    pct = _value(summary, key)
    if pct is None or not summary.readings[key].of_active_cycles:
        return pct
    ratio = _value(summary, "elapsed_to_active")
    return pct / ratio if ratio else None


def _unknown_sides(summary: LaunchSummary, compute: _Side | None, memory: _Side | None) -> tuple[Evidence, ...]:
    """Name the sides of which nothing is known; a compute that is below a known total is known well enough."""
    hidden = compute is None and _value(summary, "sm_throughput_pct") is None
    return (
        *((_missing("sm_throughput_pct"),) if hidden else ()),
        *((_missing("memory_throughput_pct"),) if memory is None else ()),
    )


def _by_unit(
    summary: LaunchSummary, compute: _Side | None, memory: _Side | None, unknown: tuple[Evidence, ...]
) -> Verdict:
    """Return the side that is nearer to its peak, or that both are."""
    first, *others = sorted((side for side in (compute, memory) if side), key=lambda side: -side.pct)
    bound, of_shared = _shared_or_memory(summary, first)
    second = others[0] if others else None
    if second is not None and second.pct >= NEAR_PEAK and first.pct - second.pct < NEAR_EACH_OTHER:
        return Verdict("balanced", (first.busy, second.busy, *of_shared))
    other = () if second is None else (second.far,)
    return Verdict(bound, (first.busy, *of_shared, *other, *_longest_wait(summary), *unknown))


def _shared_or_memory(summary: LaunchSummary, side: _Side) -> tuple[Bound, tuple[Evidence, ...]]:
    """Tell shared memory from global accesses, which go through the same data pipe of L1; other sides stay.

    Without their wavefronts nothing tells them apart: ``memory`` then, which names what is missing.
    """
    if side.key != "l1_throughput_pct":
        return side.bound, ()
    shared, whole = _value(summary, "shared_bytes"), _value(summary, "l1_bytes")
    if shared is None or not whole:
        return "memory", (_missing("shared_bytes"),)
    part = Evidence("shared_part", "shared_share", min(shared / whole, 1.0), threshold=MOST)
    return "shared" if shared / whole >= MOST else "memory", (part,)


def _lost_time(summary: LaunchSummary) -> tuple[Bound, tuple[Evidence, ...]] | None:
    """Say why SM time is lost, when as much is lost as :data:`LOST`."""
    if (blocks := _blocks(summary)) and _below(blocks):
        return "launch", (blocks,)
    ratio = _value(summary, "elapsed_to_active")
    idle = 1.0 - 1.0 / ratio if ratio else 0.0
    if idle >= MUCH_LOST:
        duration = _value(summary, "duration_ns")
        lost = Evidence("idle", "idle_share", idle, threshold=MUCH_LOST)
        if duration is not None and duration < SHORT_NS:
            return "launch", (Evidence("short", "duration_ns", duration, "ns", SHORT_NS), lost)
        return None if (waves := _waves(summary)) and _below(waves) else ("tail", (lost,))
    empty = _empty_part_of_last_wave(summary)
    if idle >= LOST and empty is not None and empty >= LOST:
        partial = Evidence("partial_wave", "partial_wave_share", empty, threshold=LOST)
        return "tail", (partial, Evidence("idle", "idle_share", idle, threshold=LOST))
    return None


def _blocks(summary: LaunchSummary) -> Evidence | None:
    """Return the blocks beside the SMs; None where the grid is not known, or is of no single kernel."""
    blocks, sms = math.prod(summary.grid), summary.sm_count
    if not blocks or not sms or summary.workload != "kernel":
        return None
    return Evidence("blocks", "blocks", float(blocks), "block", (1.0 - LOST) * sms, subject=str(sms))


def _waves(summary: LaunchSummary) -> Evidence | None:
    waves = _value(summary, "waves_per_sm")
    return None if waves is None else Evidence("waves", "waves_per_sm", waves, threshold=FEW_WAVES)


def _below(evidence: Evidence) -> bool:
    return evidence.value is not None and evidence.threshold is not None and evidence.value < evidence.threshold


def _empty_part_of_last_wave(summary: LaunchSummary) -> float | None:
    """Return the share of block places that stay empty: 1.6 waves take the time of 2, and 20 % of it is unused.

    None below one wave, which has no last one.
    """
    waves = _value(summary, "waves_per_sm")
    return None if waves is None or waves <= 1.0 else 1.0 - waves / math.ceil(waves)


def _of_grid(summary: LaunchSummary) -> tuple[Evidence, ...]:
    """Return what the launch alone tells, for a verdict that lacks the rest."""
    return tuple(one for one in (_blocks(summary), _waves(summary)) if one)


def _longest_wait(summary: LaunchSummary) -> tuple[Evidence, ...]:
    """Return what warps waited for most; a warp that issues does not wait."""
    waits = {reason: share for reason, share in summary.stalls.items() if reason != "selected"}
    if not waits:
        return ()
    reason = max(waits, key=lambda one: waits[one])
    return (Evidence("wait", "stall_share", waits[reason], subject=reason),)


def _occupancy(summary: LaunchSummary) -> tuple[Evidence, ...]:
    """Return how many of the warps that an SM holds were there, and what limits them where something does."""
    achieved = _value(summary, "achieved_occupancy_pct")
    if achieved is None:
        return ()
    possible = _value(summary, "theoretical_occupancy_pct")
    limited = possible is not None and possible < 100.0
    subject = ", ".join(summary.limited_by) if limited and summary.limited_by else None
    return (Evidence("occupancy", "achieved_occupancy_pct", achieved, "%", possible, subject),)
