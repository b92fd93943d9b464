"""Commits, and what became of each that was to be profiled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Ending = Literal["profiled", "stored", "build_failed", "check_failed", "failed"]
"""What became of a stage: profiled now; in the store already; not built, wrong, or not profiled."""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """A commit.

    Attributes:
        hash: In full.
        time: When it was committed, ISO 8601.
        subject: First line of its message.
    """

    hash: str
    time: str
    subject: str

    @property
    def short(self) -> str:
        """The beginning of its hash, as people write it."""
        return self.hash[:7]


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """What became of the stages of one commit that were to be profiled.

    Attributes:
        commit: The commit.
        endings: Stage -> what became of it; empty where the commit has none of those asked for.
        runs: Stage -> id of the run that speaks for it, where it has one.
        times_ns: Stage -> median of its unprofiled times, where it was timed.
        why: What went wrong, by stage; or of the commit as a whole, with an empty key.
    """

    commit: CommitInfo
    endings: Mapping[str, Ending] = field(default_factory=dict)
    runs: Mapping[str, str] = field(default_factory=dict)
    times_ns: Mapping[str, float] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Whether any stage of it was profiled, now or before."""
        return any(ending in ("profiled", "stored") for ending in self.endings.values())
