"""The search for the commit that moved a quantity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ncu_lab.model.cause import Cause
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.history import Change, HistoryPoint

Side = Literal["good", "bad", "skipped"]


@dataclass(frozen=True, slots=True)
class Probe:
    """One commit that was looked at.

    Attributes:
        commit: The commit.
        side: Whose value it is nearer to; ``skipped`` where it has none.
        point: What its run tells; None where it has none.
        why: Why it was skipped; empty else.
        is_new: Whether it was profiled now.
    """

    commit: CommitInfo
    side: Side
    point: HistoryPoint | None = None
    why: str = ""
    is_new: bool = False


@dataclass(frozen=True, slots=True)
class Bisection:
    """Which commit moved a quantity from its good to its bad value.

    Attributes:
        key: The quantity.
        unit: Its unit.
        stage: Of which stage.
        good: Where the search began.
        bad: Where it ended.
        whole: What ``diff`` says of the two.
        probes: The commits looked at between them, in this order.
        before: The last commit that is good.
        after: The first that is bad.
        step: What ``diff`` says of these two.
        suspects: The commits that may have done it, oldest first: one, more where commits before it were skipped.
        searched: Commits in the range.
        cause: Why a time changed in that step; None of a counter, or where it is not known.
    """

    key: str
    unit: str
    stage: str
    good: HistoryPoint
    bad: HistoryPoint
    whole: Change
    probes: tuple[Probe, ...]
    before: HistoryPoint
    after: HistoryPoint
    step: Change
    suspects: tuple[CommitInfo, ...]
    searched: int
    cause: Cause | None = None

    @property
    def share_of_whole(self) -> float:
        """How much of the whole change the step is: of the logarithms where all values are positive."""
        ends = [one.estimate.value for one in (self.good, self.bad, self.before, self.after)]
        good, bad, before, after = map(math.log, ends) if min(ends) > 0.0 else ends
        return (after - before) / (bad - good)
