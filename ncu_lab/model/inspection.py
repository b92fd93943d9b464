"""One launch taken apart, for a page: its units, memory, waits, code, occupancy, ncu's advice and all its metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ncu_lab.metrics.links import Place
from ncu_lab.metrics.units import UnitSide
from ncu_lab.model.hotspots import HotSpots
from ncu_lab.model.theory import BlockDemand, NextBlock, OccupancyCurve
from ncu_lab.model.views import RunView


@dataclass(frozen=True, slots=True)
class UnitUse:
    """How busy one unit was: percent of what it can sustain, over elapsed cycles."""

    side: UnitSide
    label: str
    pct: float
    metric: str


@dataclass(frozen=True, slots=True)
class MemoryLink:
    """What went from one place of the memory system to another.

    Attributes:
        source: Where it came from.
        target: Where it went.
        what: ``loads``, ``stores``, ``read``, ``write``, or empty for both.
        amount: In ``unit``; None where it was not counted.
        unit: ``inst``, ``request``, ``wavefront`` or ``byte``.
        pct: Share of the path's own peak in percent; None where it has none or it was not collected.
        metric: What the amount was read from.
    """

    source: Place
    target: Place
    what: str
    amount: float | None
    unit: str
    pct: float | None
    metric: str


@dataclass(frozen=True, slots=True)
class AccessUse:
    """How one kind of access used the hardware that serves it, in percent; None where not collected."""

    space: str
    kind: str
    hit_pct: float | None
    peak_pct: float | None


@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """Memory of one launch: the links, how often caches had what was asked for, and the shared memory of a block."""

    links: tuple[MemoryLink, ...]
    hit_pct: Mapping[Place, float]
    uses: tuple[AccessUse, ...] = ()
    missing: tuple[str, ...] = ()

    def link(self, source: Place, target: Place, what: str = "") -> MemoryLink | None:
        """Return one link, None where there is none such."""
        return next((one for one in self.links if (one.source, one.target, one.what) == (source, target, what)), None)


@dataclass(frozen=True, slots=True)
class OccupancyPicture:
    """How occupancy hangs on what a block asks for.

    Attributes:
        demand: What it asks for; None where the report does not tell.
        curves: Up to three: registers, shared memory, block size.
        origin: Whether the curves are the report's own or ours, by the same rules.
        most_warps: Warps that an SM holds; None where that is not known.
        warps: Warps that it holds of this launch at most.
        next_block: What one more block an SM would take; None where that is not known.
        missing: Sections that would tell what is None.
    """

    demand: BlockDemand | None
    curves: tuple[OccupancyCurve, ...]
    origin: Literal["report", "calculated"]
    most_warps: int | None
    warps: float | None
    next_block: NextBlock | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One finding of Nsight Compute's own rules.

    Attributes:
        section: The section the rule belongs to.
        rule: Its name.
        kind: NVIDIA's type: ``optimization``, ``warning``, ``ok``, ``none``.
        message: Its words.
        speedup_pct: NVIDIA's estimate; None without one.
        scope: ``local`` (of what the rule looks at) or ``global`` (of the launch); None without an estimate.
    """

    section: str
    rule: str
    kind: str
    message: str
    speedup_pct: float | None
    scope: str | None


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One metric of the launch as the report has it: a number, or words."""

    name: str
    value: float | None
    text: str | None
    unit: str
    meaning: str


@dataclass(frozen=True)
class Inspection:
    """All that a page shows of one launch.

    Attributes:
        view: The run, with this launch alone.
        units: How busy the units were, the busiest first; empty when not collected.
        traffic: Its memory.
        spots: Its code.
        occupancy: What its occupancy hangs on.
        rules: What ncu's rules say, the largest estimate first.
        metrics: All metrics by name.
        totals: Side -> its throughput in percent; absent when not collected.
        eligible_warps: Warps a scheduler that could issue, per active cycle; None where not collected.
    """

    view: RunView
    units: tuple[UnitUse, ...]
    traffic: MemoryTraffic
    spots: HotSpots
    occupancy: OccupancyPicture
    rules: tuple[RuleFinding, ...]
    metrics: tuple[MetricValue, ...]
    totals: Mapping[UnitSide, float] = field(default_factory=dict)
    eligible_warps: float | None = None
