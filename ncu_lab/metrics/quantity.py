"""How a quantity is read from a report: counters under their names, a formula, and what was missing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher", "neutral"]
Kind = Literal["exact", "noisy"]
Lookup = Callable[[str], float | None]


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter of a report, under every name it has had (newest first)."""

    names: tuple[str, ...]

    def read(self, lookup: Lookup) -> tuple[float | None, str]:
        """Return the first present value and the name it was found under (the first name when none is)."""
        for name in self.names:
            value = lookup(name)
            if value is not None and not math.isnan(value):
                return value, name
        return None, self.names[0]


def counter(*names: str) -> Counter:
    """Name one counter: ``counter("newest name", "older name")``."""
    return Counter(names)


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric read from one launch: ``value`` is None when it was not collected or is undefined."""

    key: str
    value: float | None
    unit: str
    metric: str
    missing: tuple[str, ...] = ()

    @property
    def of_active_cycles(self) -> bool:
        """Whether it is a percentage of the cycles in which the unit was active, not of all that passed."""
        return self.metric.endswith(".pct_of_peak_sustained_active")


def same(value: float) -> float:
    """Take one counter as it is."""
    return value


@dataclass(frozen=True, slots=True)
class Way:
    """One way to read a quantity.

    Attributes:
        counters: What it is computed from.
        formula: Takes the counters' values in order; None when the quantity is undefined (no requests, say).
        expression: How the counters combine, with ``{0}``, ``{1}`` for their names.
    """

    counters: tuple[Counter, ...]
    formula: Callable[..., float | None] = same
    expression: str = "{0}"


@dataclass(frozen=True, slots=True)
class Metric:
    """A quantity of the catalogue.

    Attributes:
        key: Stable name, used in JSON, policies and URLs.
        unit: Unit of the value in base units (ns, byte, %, …); empty for a plain ratio.
        better: The direction that is an improvement, other things being equal.
        kind: ``exact`` when two profiles of the same build agree (nearly) exactly, else ``noisy``.
        section: The Nsight Compute section that collects it.
        meaning: One sentence for people.
        counters: What it is computed from; see :class:`Way`.
        formula: Likewise.
        expression: Likewise.
        others: Further ways, for reports that lack these counters: of other versions, GPUs or choices of metrics.
    """

    key: str
    unit: str
    better: Better
    kind: Kind
    section: str
    meaning: str
    counters: tuple[Counter, ...]
    formula: Callable[..., float | None] = same
    expression: str = "{0}"
    others: tuple[Way, ...] = ()

    def read(self, lookup: Lookup) -> Reading:
        """Read the quantity from a launch, in the first way whose counters are all there.

        Args:
            lookup: Gives the value of an Nsight Compute metric in base units, None when the report lacks it.

        Returns:
            The reading; its value is None when no way has its counters (those of the first are named in ``missing``)
            or it is undefined.
        """
        first = self._read(Way(self.counters, self.formula, self.expression), lookup)
        if not first.missing:
            return first
        others = (self._read(way, lookup) for way in self.others)
        return next((reading for reading in others if not reading.missing), first)

    def _read(self, way: Way, lookup: Lookup) -> Reading:
        found = [one.read(lookup) for one in way.counters]
        names = [name for _, name in found]
        missing = tuple(name for value, name in found if value is None)
        values = [value for value, _ in found if value is not None]
        value = None if missing else way.formula(*values)
        return Reading(self.key, value, self.unit, way.expression.format(*names), missing)
