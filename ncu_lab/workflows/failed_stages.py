"""Why a side lacks a stage: it did not compile, or gave wrong results, at the side's commit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ncu_lab.model import Status
from ncu_lab.model.comparison import ComparedSide, FailedStage
from ncu_lab.workflows.indexing import list_runs

FAILURES: tuple[Status, ...] = ("build_failed", "check_failed")
"""States of runs that are the kernel's fault."""


def failed_stages(side: ComparedSide, store: Path, lacking: Sequence[str]) -> tuple[FailedStage, ...]:
    """Find what failed at a side's commit of the stages that it lacks, by the newest run of each.

    Args:
        side: The side.
        store: The folder of runs.
        lacking: Stages that the other side has.
    """
    git = side.meta.git
    if git.commit is None or not lacking:
        return ()
    found: dict[str, FailedStage] = {}
    for meta in list_runs(store)[0]:
        if meta.status not in FAILURES or (meta.git.commit, meta.git.dirty) != (git.commit, git.dirty):
            continue
        for stage in (one for one in meta.stages if one in lacking and one not in found):
            why = (meta.error or meta.status).splitlines()[0].removeprefix(f"stage {stage} ")
            found[stage] = FailedStage(stage, meta.status, git.commit, why)
    return tuple(found.values())
