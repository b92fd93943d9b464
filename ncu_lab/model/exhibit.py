"""What is exported as one document: runs with their ladders and launches, and how two of them compare."""

from __future__ import annotations

from dataclasses import dataclass

from ncu_lab.model.comparison import Comparison
from ncu_lab.model.inspection import Inspection
from ncu_lab.model.roofline import Roofline
from ncu_lab.model.runs import Notice, Run
from ncu_lab.model.views import Ladder


@dataclass(frozen=True)
class ExhibitedRun:
    """One run of an exhibit.

    Attributes:
        run: The run, whole.
        ladder: Its stages beside each other; None for a run of a foreign program, or where single launches were named.
        launches: The launches that are shown in full, in launch order.
        left: How many launches more it has that are not shown in full.
    """

    run: Run
    ladder: Ladder | None
    launches: tuple[Inspection, ...]
    left: int = 0


@dataclass(frozen=True)
class Exhibit:
    """What one exported document shows.

    Attributes:
        runs: In the order asked for.
        comparison: From the first to the second of two runs; None for any other number of them.
        rooflines: Of every pair of the comparison the charts of both launches, None where they share none.
        notices: What was passed over when the runs were looked for, and what weakens them: for whoever exports.
    """

    runs: tuple[ExhibitedRun, ...]
    comparison: Comparison | None = None
    rooflines: tuple[tuple[Roofline, Roofline] | None, ...] = ()
    notices: tuple[Notice, ...] = ()
