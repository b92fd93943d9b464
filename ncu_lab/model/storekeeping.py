"""What looking after a store finds, keeps and deletes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DamageKind = Literal[
    "missing_file",
    "wrong_checksum",
    "unreadable_table",
    "unreadable_file",
    "bad_metadata",
    "newer_schema",
    "wrong_name",
    "no_permission",
    "leftover",
]


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that is wrong with a store.

    Attributes:
        run: Name of the folder.
        file: The file in it; None where it is the folder itself.
        kind: What is wrong, for programs.
        message: What is wrong, for people.
        hint: What to do.
    """

    run: str
    file: str | None
    kind: DamageKind
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """What a check of a whole store looked at and found.

    Attributes:
        runs: Runs that were looked at.
        files: Their files.
        bytes: The size of these.
        damages: What is wrong.
        not_covered: Runs whose ``run.json`` has no checksum, as an earlier version wrote them: were it edited, that
            would not show.
    """

    runs: int
    files: int
    bytes: int
    damages: tuple[Damage, ...]
    not_covered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrunePolicy:
    """What is kept when a store is pruned: a run stays when one of the rules keeps it.

    Attributes:
        keep_last: The newest so many, per stage, problem and device; of failed runs apart. None: no such rule.
        keep_days: Those made in the last so many days. None: no such rule.
        keep_tagged: Those of commits that a git tag of this pattern (``*``, ``v*``) names. None: no such rule.
        keep: Those whose ids begin so: the baselines.
        drop_reports: Whether only the raw reports of what is not kept are deleted, and the runs stay.
    """

    keep_last: int | None = None
    keep_days: float | None = None
    keep_tagged: str | None = None
    keep: tuple[str, ...] = ()
    drop_reports: bool = False

    @property
    def says_nothing(self) -> bool:
        """Whether it would delete all runs but some exceptions: nobody means that."""
        return self.keep_last is None and self.keep_days is None and not self.drop_reports


@dataclass(frozen=True, slots=True)
class Fate:
    """What a policy makes of one run.

    Attributes:
        run: Its id.
        kept_by: The rule that keeps it, in words; None where none does.
        bytes: What deleting it, or its report, would free; 0 where it is kept.
    """

    run: str
    kept_by: str | None
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """What a policy makes of a store: the fate of every run, newest first, and what was left from earlier writers.

    Attributes:
        policy: The policy.
        fates: One a run; those that cannot be read are not among them, and stay.
        leftovers: Folders of writers that were killed.
    """

    policy: PrunePolicy
    fates: tuple[Fate, ...]
    leftovers: tuple[str, ...] = ()

    @property
    def doomed(self) -> tuple[Fate, ...]:
        """The runs that go, or lose their report."""
        return tuple(fate for fate in self.fates if fate.kept_by is None)
