"""One quantity of a kernel over commits: its points, what is missing between them, and where it changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.model.cause import Cause
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.comparison import MetricChange, TimeChange
from ncu_lab.model.runs import Notice, RunMeta, Status
from ncu_lab.model.series import Estimate, KernelIdentity
from ncu_lab.model.stages import Problem

GapStatus = Status | Literal["damaged"]
"""How a run ended that tells nothing; ``damaged``: it ended well, and its files cannot be read any more."""

Order = Literal["commits", "time"]
"""By the line of first parents; or, where git does not know the commits, by when runs were made."""

Change = TimeChange | MetricChange


@dataclass(frozen=True, slots=True)
class HistoryPoint:
    """What one run tells of a kernel.

    Attributes:
        meta: The run; of several of a commit the newest complete one, as ``diff`` takes it.
        kernel: The kernel.
        estimate: The quantity.
        commit: The commit it is of; None where history goes by time.
        runs: Runs of this commit that tell it.
    """

    meta: RunMeta
    kernel: KernelIdentity
    estimate: Estimate
    commit: CommitInfo | None = None
    runs: int = 1

    @property
    def is_dirty(self) -> bool:
        """Whether the tree was edited, so that the commit does not tell what was measured."""
        return self.meta.git.dirty


@dataclass(frozen=True, slots=True)
class HistoryGap:
    """A commit, or a run, that tells nothing because it failed or is damaged.

    Attributes:
        meta: The run.
        status: How it ended.
        why: First line of its error; what is damaged.
        commit: The commit; None where history goes by time.
    """

    meta: RunMeta
    status: GapStatus
    why: str
    commit: CommitInfo | None = None


@dataclass(frozen=True, slots=True)
class HistoryBreak:
    """Two neighbours that are not compared.

    Attributes:
        before: The earlier one.
        after: The later one.
        why: ``another driver (580.1 and 590.2)``.
    """

    before: HistoryPoint
    after: HistoryPoint
    why: str


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """Where the quantity changed, and the verdict of ``diff`` on it.

    Attributes:
        before: The run compared with.
        after: The run compared.
        change: What ``diff`` says of the two.
        first: The first point of the new level: ``after``, save where the change is gradual.
        is_gradual: Whether neighbours hardly differ while the levels about them do: then ``before`` and ``after`` are
            the runs of median value of the two levels.
        cause: Why a time changed; None of a counter, or where it is not known.
        between: Commits between ``before`` and ``first`` that tell nothing: one of them may have done it.
    """

    before: HistoryPoint
    after: HistoryPoint
    change: Change
    first: HistoryPoint
    is_gradual: bool = False
    cause: Cause | None = None
    between: int = 0


@dataclass(frozen=True, slots=True)
class KernelHistory:
    """One quantity of one kernel, for one problem on one model of GPU.

    Attributes:
        name: The stage, or the kernel of a foreign program.
        stage: The stage; None for foreign programs.
        problem: What was computed; None likewise.
        device: Model of the GPU.
        rows: Points and gaps, oldest first.
        changes: Where it changed, oldest first.
        breaks: Neighbours that are not compared, oldest first.
        not_profiled: Commits between the first and the last row that have no run.
        only_edited: Commits of which there are only runs of an edited (dirty) tree.
    """

    name: str
    stage: str | None
    problem: Problem | None
    device: str | None
    rows: tuple[HistoryPoint | HistoryGap, ...]
    changes: tuple[ChangePoint, ...] = ()
    breaks: tuple[HistoryBreak, ...] = ()
    not_profiled: tuple[CommitInfo, ...] = ()
    only_edited: tuple[CommitInfo, ...] = ()

    @property
    def points(self) -> tuple[HistoryPoint, ...]:
        """The rows that have a value."""
        return tuple(row for row in self.rows if isinstance(row, HistoryPoint))

    @property
    def gaps(self) -> tuple[HistoryGap, ...]:
        """The rows that failed."""
        return tuple(row for row in self.rows if isinstance(row, HistoryGap))


@dataclass(frozen=True, slots=True)
class History:
    """One quantity of every kernel over commits, or over time.

    Attributes:
        key: Of the catalogue, ``time_ns`` or ``pct_of_reference``.
        unit: Its unit.
        order: How rows are ordered.
        kernels: One for each kernel, problem and GPU.
        notices: What was left out or cannot be read.
    """

    key: str
    unit: str
    order: Order
    kernels: tuple[KernelHistory, ...]
    notices: tuple[Notice, ...] = ()
