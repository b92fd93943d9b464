"""One launch under its own roofs, for a page that shows no whole ladder."""

from __future__ import annotations

from ncu_lab.analyze.roofline import charts, launch_roofline
from ncu_lab.analyze.summary import counters
from ncu_lab.model import LaunchSummary, Roofline, Run


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
