"""Which launches of two runs are compared with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from ncu_lab.analyze.ladder import typical_launch
from ncu_lab.model import LaunchSummary, MatchedBy, Pair


def pair_launches(a: Sequence[LaunchSummary], b: Sequence[LaunchSummary]) -> list[Pair]:
    """Pair launches of one stage, else those of one kernel name, grid and block, the first with the first and so on.

    Launches of a stage are one: its main kernel's launch of median duration speaks for them.

    Args:
        a: Launches of A, in order.
        b: Launches of B, in order.

    Returns:
        Pairs in the order of B, then what only A has.
    """
    groups_a, groups_b = _groups(a), _groups(b)
    pairs = [pair(groups_a.get(key, ()), own, "stage" if own[0].stage else "kernel") for key, own in groups_b.items()]
    return pairs + [pair(own, ()) for key, own in groups_a.items() if key not in groups_b]


def pair(a: Sequence[LaunchSummary], b: Sequence[LaunchSummary], by: MatchedBy | None = None) -> Pair:
    """Make one pair of launches that belong together; either side may be empty."""
    return Pair(
        status="matched" if a and b else "removed" if a else "added",
        matched_by=by if a and b else None,
        launches_a=tuple(a),
        launches_b=tuple(b),
        chosen_a=typical_launch(a),
        chosen_b=typical_launch(b),
    )


def _groups(launches: Sequence[LaunchSummary]) -> dict[Hashable, list[LaunchSummary]]:
    """Group launches by stage; those of none stay alone, told apart by which of their kernel's they are."""
    groups: dict[Hashable, list[LaunchSummary]] = {}
    seen: Counter[Hashable] = Counter()
    for launch in launches:
        kernel = (launch.kernel, launch.grid, launch.block)
        if launch.stage is None:
            seen[kernel] += 1
        groups.setdefault(launch.stage or (*kernel, seen[kernel]), []).append(launch)
    return groups
