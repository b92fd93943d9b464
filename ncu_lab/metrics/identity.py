"""The counters of the identity that splits a duration into factors; see :mod:`ncu_lab.analyze.attribution`."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_lab.metrics.catalogue import INSTRUCTIONS, SCHEDULER, SOL, WARP_STATE
from ncu_lab.metrics.stalls import stall_metric


@dataclass(frozen=True, slots=True)
class Needed:
    """A counter that the identity needs, and the section that collects it; None where only ``--metrics`` does."""

    name: str
    section: str | None


@dataclass(frozen=True, slots=True)
class IdentityForm:
    """One choice of counters for the identity ``duration = I x S / W x B / f``.

    Attributes:
        name: ``full`` or ``targeted``.
        instructions: I, issued per scheduler.
        warps: W, active per scheduler and active cycle.
        elapsed: The numerator of B.
        active: The denominator of B.
        clock: f, in hertz.
    """

    name: str
    instructions: Needed
    warps: Needed
    elapsed: Needed
    active: Needed
    clock: Needed

    @property
    def counters(self) -> tuple[Needed, ...]:
        """All of them."""
        return (self.instructions, self.warps, self.elapsed, self.active, self.clock)

    def read(self, factor: str) -> tuple[str, ...]:
        """Return the names of the counters that a factor but the stalls is read from; of two, the first is divided.

        Args:
            factor: ``instructions``, ``warps``, ``imbalance`` or ``clock``.
        """
        counters = {
            "instructions": (self.instructions,),
            "warps": (self.warps,),
            "imbalance": (self.elapsed, self.active),
            "clock": (self.clock,),
        }
        return tuple(one.name for one in counters[factor])


IDENTITY_DURATION = Needed("gpu__time_duration.sum", SOL)
"""What the identity explains, in nanoseconds."""

IDENTITY_SELECTED = Needed(stall_metric("selected"), WARP_STATE)
"""The reason that every launch has: a warp that issues. Without it the reasons were not collected as a whole."""

_WARPS = Needed("smsp__warps_active.avg.per_cycle_active", SCHEDULER)

IDENTITY_FORMS: tuple[IdentityForm, ...] = (
    # Elapsed cycles and clock are both means over the SMs: the GPCs of a GPU near its power limit run at clocks that
    # differ by 1.7 %, and the most cycles of one over the mean clock of all would be as much too long.
    IdentityForm(
        "full",
        Needed("smsp__inst_issued.avg", INSTRUCTIONS),
        _WARPS,
        Needed("smsp__cycles_elapsed.avg", None),
        Needed("smsp__cycles_active.avg", None),
        Needed("smsp__cycles_elapsed.avg.per_second", None),
    ),
    # What the sections alone collect: no mean of elapsed cycles is among them.
    IdentityForm(
        "targeted",
        Needed("smsp__inst_executed.avg", INSTRUCTIONS),
        _WARPS,
        Needed("gpc__cycles_elapsed.max", SOL),
        Needed("sm__cycles_active.avg", SOL),
        Needed("gpc__cycles_elapsed.avg.per_second", SOL),
    ),
)
"""The forms of the identity, the more exact one first."""
