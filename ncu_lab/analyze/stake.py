"""How much of a launch's time can hang on accesses that take more than they need: an upper bound, never a forecast.

Two bounds hold, and the smaller is told:

- **served**: a unit that serves one access after the other is busy for a known time with the excess. Take the excess
  away, and everything behind it is served earlier by at most that time; so is the end of the launch, as its critical
  path is made of such services and of waits that do not become longer. The bound is reached where nothing overlaps
  with the excess (one warp; or a unit that is always busy, as the data pipe in the stage ``smem-conflict``).
- **waited**: in the identity ``duration = I x S / W x B / f`` (see ``analyze.attribution``) the excess can only
  lengthen S, and of S only the waits for memory, for other warps and for what these provide. With warps in flight and
  all else as they are, at most their share of the duration can go.

Atomics and reductions have no bound of the first kind: those on one address pass one after the other in a single slice
of L2, however idle the others are (*dot_prod_naive* on a GTX 1660: 1 071 297 of 1 323 302 sectors in one of 12 slices).

The share of the direct waits alone (``short_scoreboard`` + ``mio_throttle``) is no bound, though it is often shown as
one: a warp at a barrier waits for the one whose store is replayed. It is told beside the bound, since a large bound
with hardly a warp waiting for this memory means that the excess is mostly hidden.

Measured on an H200 at 4096: ``naive`` has at most 263 ms of 276 at stake, and ``coalesced``, which has no excess, is
255 ms faster; ``smem-conflict`` at most 8.0 of 23.0 ms, and ``smem-padded`` is 7.3 ms faster.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ncu_lab.metrics import ACCESS_SECTIONS, SECTOR_BYTES, STALL_FAMILIES, Lookup, Space
from ncu_lab.metrics.accesses import DRAM_SECTORS, L2_SECTORS, L2_SECTORS_OF_SMS, total
from ncu_lab.metrics.names import (
    DRAM_BYTES_PER_CYCLE_PEAK,
    DRAM_HZ,
    L1_HZ,
    L2_BYTES_PER_CYCLE_PEAK,
    L2_HZ,
    SM_COUNT,
)
from ncu_lab.model import LaunchSummary, Stake

DIRECT_WAITS: Mapping[Space, tuple[str, ...]] = {
    "shared": ("short_scoreboard", "mio_throttle"),
    "global": ("long_scoreboard", "lg_throttle"),
}
"""The reasons for which a warp waits that uses a memory itself, by Nsight Compute's definitions of them."""

ATOMICS = ("atom", "red")
"""Kinds of access that may have to pass one after the other."""

_WAITS = frozenset(
    {"gmma", "sleeping", *(one for name in ("sync", "shared / MIO", "global / L1TEX") for one in STALL_FAMILIES[name])}
)
"""All reasons that an access can lengthen: every memory's (they share one pipe in L1), and waits for other warps."""


def stake(
    space: Space,
    excess: float | None,
    tags: float | None,
    summary: LaunchSummary,
    lookup: Lookup,
    *,
    atomics: bool = False,
) -> Stake:
    """Bound the time at stake in one memory.

    Args:
        space: ``global`` or ``shared``.
        excess: Sectors or wavefronts beyond the ideal; None where it is not known.
        tags: Lines looked up in L1 beyond those needed, for global memory.
        summary: The launch.
        lookup: Gives its counters.
        atomics: Whether any of the excess is of :data:`ATOMICS`.
    """
    duration = summary.value("duration_ns")
    stalls = summary.stalls
    served, lacking = None, set[str]()
    if excess and not atomics:
        busiest = busiest_share(summary.grid, SM_COUNT.read(lookup)[0])
        clock = L1_HZ.read(lookup)[0]
        if busiest is None or not clock:
            lacking.add(ACCESS_SECTIONS["time"])
        elif space == "shared":
            served = served_shared(excess, busiest, clock)
        else:
            served = served_global(excess, excess if tags is None else tags, busiest, clock, lookup)
            lacking |= {ACCESS_SECTIONS["roofs"]} if served is None else set()
    if not stalls:
        lacking.add(ACCESS_SECTIONS["stalls"])
    if duration is None:
        lacking.add(ACCESS_SECTIONS["time"])
    if excess is None:
        lacking.add(ACCESS_SECTIONS["instructions"])
    return Stake(
        space=space,
        duration_ns=duration,
        excess=excess,
        served_ns=served,
        waited_ns=None if duration is None or not stalls else duration * _share(stalls, tuple(_WAITS)),
        stall_share=_share(stalls, DIRECT_WAITS[space]) if stalls else None,
        reasons=DIRECT_WAITS[space],
        missing=tuple(sorted(lacking)),
    )


def busiest_share(grid: Sequence[int], sms: float | None) -> float | None:
    """Return the share of a launch's work that its busiest SM does (0 to 1), blocks being alike.

    B blocks on N SMs: one SM gets at least ``ceil(B / N)``, and takes as long as those; 1/N when B divides evenly, all
    of it for a single block.

    Returns:
        None when the number of blocks or of SMs is not known.
    """
    blocks = math.prod(grid)
    return math.ceil(blocks / sms) / blocks if blocks and sms else None


def served_shared(excess: float, busiest: float, hz: float) -> float:
    """Return the nanoseconds in which the busiest SM serves excess wavefronts: ``excess x busiest / hz``.

    The L1 data pipe passes one wavefront a cycle (Nsight Compute's ``l1tex__data_pipe_lsu_wavefronts`` has the peak of
    1 a cycle and L1; the stage ``naive`` keeps it 98 % busy on an H200).

    Args:
        excess: Wavefronts beyond the ideal, of all SMs.
        busiest: See :func:`busiest_share`.
        hz: L1 clock.
    """
    return excess * busiest / hz * 1e9


def served_global(excess: float, tags: float, busiest: float, hz: float, lookup: Lookup) -> float | None:
    """Return the nanoseconds in which excess sectors are served, as if each unit on their way waited for the other.

    ``(tags + crossing) x busiest / hz + min(excess, L2 sectors) x 32 B / L2 peak + min(excess, DRAM sectors) x 32 B /
    DRAM peak``: one tag lookup a cycle in L1 (with its wavefront of the data pipe, which runs beside it), one sector a
    cycle between an SM and L2 (no GPU since Volta has less), then the peaks by the report itself. No more sectors can
    reach a level than were counted there (``crossing`` is ``min(excess, lts__t_sectors_srcunit_tex)``); one whose
    counter is missing may have been reached by all.

    Args:
        excess: Sectors beyond the ideal.
        tags: Lookups beyond those needed.
        busiest: See :func:`busiest_share`.
        hz: L1 clock.
        lookup: Gives the launch's counters.

    Returns:
        None when the report has no peaks.
    """
    l2 = _product(L2_BYTES_PER_CYCLE_PEAK.read(lookup)[0], L2_HZ.read(lookup)[0])
    dram = _product(DRAM_BYTES_PER_CYCLE_PEAK.read(lookup)[0], DRAM_HZ.read(lookup)[0])
    if not l2 or not dram:
        return None
    crossing = _at_most(excess, L2_SECTORS_OF_SMS.read(lookup)[0])
    in_l2, in_dram = _at_most(excess, L2_SECTORS.read(lookup)[0]), _at_most(excess, total(DRAM_SECTORS, lookup))
    seconds = (tags + crossing) * busiest / hz + SECTOR_BYTES * (in_l2 / l2 + in_dram / dram)
    return seconds * 1e9


def _share(stalls: Mapping[str, float], reasons: Sequence[str]) -> float:
    return sum(stalls.get(reason, 0.0) for reason in reasons)


def _at_most(value: float, limit: float | None) -> float:
    return value if limit is None else min(value, limit)


def _product(*factors: float | None) -> float | None:
    known = [one for one in factors if one is not None]
    return math.prod(known) if len(known) == len(factors) else None
