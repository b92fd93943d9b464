"""Looking after a store: is it as it was written, and what of it may go?"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ncu_lab.collect.git import tagged_commits
from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import (
    Damage,
    Fate,
    Notice,
    ProgressEvent,
    PrunePlan,
    PrunePolicy,
    Reporter,
    StoreHealth,
    silent,
)
from ncu_lab.resources import is_bundled
from ncu_lab.store import Store
from ncu_lab.store.checking import check_run
from ncu_lab.store.pruning import kept_by
from ncu_lab.workflows.indexing import list_runs


def check_store(store: Path, report: Reporter = silent) -> StoreHealth:
    """Compare every file of every run with its checksum, and read it.

    Raises:
        InputError: When the store is no folder, or cannot be listed.
    """
    start = time.monotonic()
    names = Store(store).folder_names()
    files = size = 0
    damages: list[Damage] = []
    not_covered: list[str] = []
    for done, name in enumerate(names):
        report(ProgressEvent("verify", name, "update", f"{done} of {len(names)} runs", done / len(names)))
        found = check_run(store / name)
        files, size = files + found.files, size + found.bytes
        damages += found.damages
        not_covered += [] if found.is_sealed else [name]
    for name in Store(store).abandoned():
        hint = "The next profile, import or store prune --yes removes it."
        damages.append(Damage(name, None, "leftover", "a writer that was killed left it", hint))
    seconds = time.monotonic() - start
    report(ProgressEvent("verify", store.name, "done", f"{len(names)} runs, {files} files", seconds=seconds))
    return StoreHealth(len(names), files, size, tuple(damages), tuple(not_covered))


def plan_prune(
    store: Path, policy: PrunePolicy, now: datetime | None = None, report: Reporter = silent
) -> tuple[PrunePlan, list[Notice]]:
    """Return what a policy makes of every run, and which runs it cannot judge since they cannot be read; those stay.

    Args:
        store: The folder of runs.
        policy: What is kept.
        now: The end of the last so many days; by default now.
        report: Told of progress where many runs are new.

    Raises:
        UsageError: When the policy keeps nothing, or the store is that of the bundled runs.
        InputError: When the store cannot be listed, or there is no repository to tell its tags.
    """
    if is_bundled(store):
        raise UsageError(f"{store} holds the bundled runs, which stay", "Name your own store with --store DIR.")
    if policy.says_nothing:
        raise UsageError(
            "nothing says which runs to keep",
            "Give --keep-last N, --keep-days D or --drop-reports, or write them into ncu-lab.toml below [store].",
        )
    tags = {} if policy.keep_tagged is None else _tags(store, policy.keep_tagged)
    metas, notices = list_runs(store, report=report)
    fates = []
    for run, reason in kept_by(metas, policy, now or datetime.now(UTC), tags).items():
        fates.append(_fate(store, run, reason, policy.drop_reports))
    return PrunePlan(policy, tuple(fates), tuple(Store(store).abandoned())), notices


def _fate(store: Path, run: str, reason: str | None, only_report: bool) -> Fate:
    if reason is not None:
        return Fate(run, reason)
    folder = store / run
    if folder.is_symlink():
        return Fate(run, "a link to elsewhere")
    if only_report:
        report = Store(store).report(run)
        return Fate(run, "no report") if report is None else Fate(run, None, report.lstat().st_size)
    return Fate(run, None, sum(entry.lstat().st_size for entry in folder.rglob("*") if not entry.is_dir()))


def prune(store: Path, plan: PrunePlan, report: Reporter = silent) -> None:
    """Delete what a plan dooms: each run at once out of the listings, then file by file.

    Raises:
        EnvironmentLacksError: When something cannot be deleted; what came before it is.
    """
    runs = Store(store)
    runs.remove_abandoned()
    for done, fate in enumerate(plan.doomed):
        report(ProgressEvent("prune", fate.run, "update", fraction=done / len(plan.doomed)))
        if plan.policy.drop_reports:
            runs.remove_report(fate.run)
        elif os.path.isdir(store / fate.run):  # unless somebody else pruned it meanwhile
            runs.remove(fate.run)


def _tags(store: Path, pattern: str) -> Mapping[str, str]:
    """Return commit -> tag of the repositories around the current folder and around the store."""
    found = [tags for folder in (Path.cwd(), store) if (tags := tagged_commits(folder, pattern)) is not None]
    if not found:
        raise InputError(
            "--keep-tagged needs a git repository, and neither the current folder nor the store is in one",
            "Call it from the repository whose tags mark the baselines.",
        )
    return {commit: tag for tags in found for commit, tag in tags.items()}
