"""Why a time changed, in one thing: the largest factor, and the counter that moved with it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """The largest factor of a change of time, and what is counted of it.

    Attributes:
        factor: ``instructions``, ``stalls/warps``, ``imbalance`` or ``clock``, as of the attribution.
        share: Its part of A's duration under the profiler (0.18: it added 18 % of A's time).
        reasons: For ``stalls/warps``: the stall reasons that moved most in its direction, the largest first.
        key: The counter that explains it; None where none that was collected moved enough.
        a: The counter's value in A; None without one.
        b: Likewise in B.
    """

    factor: str
    share: float
    reasons: tuple[str, ...] = ()
    key: str | None = None
    a: float | None = None
    b: float | None = None
