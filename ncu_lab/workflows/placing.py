"""One launch, or both of a pair, under their own roofs, for a page that shows no whole ladder."""

from __future__ import annotations

from collections.abc import Callable

from ncu_lab.analyze.roofline import charts, launch_roofline
from ncu_lab.analyze.summary import counters
from ncu_lab.model import LaunchSummary, Roofline, Run
from ncu_lab.model.comparison import Pair


def place_launch(run: Run, summary: LaunchSummary, label: str) -> Roofline | None:
    """Return the chart of one launch; None where its work or its roofs were not collected.

    Args:
        run: The run that it is of.
        summary: The launch.
        label: What the chart is called beside another.
    """
    own = run.metrics[run.metrics["launch"] == summary.launch]
    placed = launch_roofline(summary, counters(own).get(summary.launch, {}))
    return next(iter(charts([placed], run.meta.peaks, label)), None)


def place_pair(pair: Pair, read: Callable[[str], Run]) -> tuple[Roofline, Roofline] | None:
    """Return the charts of both launches of a pair; None where one could not be placed, or they share no chart.

    Args:
        pair: The pair.
        read: Returns a run by its id.
    """
    if pair.run_a is None or pair.run_b is None or pair.chosen_a is None or pair.chosen_b is None:
        return None
    placed_a = place_launch(read(pair.run_a.id), pair.chosen_a, "A")
    placed_b = place_launch(read(pair.run_b.id), pair.chosen_b, "B")
    if placed_a is None or placed_b is None or placed_a.family != placed_b.family:
        return None
    return placed_a, placed_b
