"""Profiles the commits of a range, each in a git worktree of its own: its kernels and registry, this tool and nvcc."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ncu_lab.collect.commits import commits_in
from ncu_lab.collect.revisions import Repository, repository_of
from ncu_lab.collect.worktrees import worktree
from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError
from ncu_lab.gpu.compile import capability
from ncu_lab.gpu.devices import current_device, present_arch
from ncu_lab.gpu.registry import REGISTRY, load_stages
from ncu_lab.model import (
    TIME_KEY,
    ProgressEvent,
    Reporter,
    RunFilter,
    RunMeta,
    Stage,
    silent,
)
from ncu_lab.model.commits import CommitInfo, CommitOutcome, Ending
from ncu_lab.resources import using_kernels
from ncu_lab.workflows.building import build_stages
from ncu_lab.workflows.indexing import list_runs, series
from ncu_lab.workflows.profiling import ProfileRequest, profile_stages

KERNELS = "kernels"
"""Folder of a repository that holds its stages and their registry."""

_FAILED: dict[str, Ending] = {"build_failed": "build_failed", "check_failed": "check_failed"}


@dataclass(frozen=True, slots=True)
class CommitsRequest:
    """Which commits to profile, and how.

    Attributes:
        revisions: A revision, or a range ``A..B`` as git has it.
        profile: What to profile of each; without stages, every stage that the commit has and the GPU can run.
        again: Whether commits are profiled that are in the store already.
    """

    revisions: str
    profile: ProfileRequest
    again: bool = False


def repository_here(folder: Path) -> Repository:
    """Return the repository around a folder.

    Raises:
        InputError: When there is none, or no git.
    """
    repository = repository_of(folder)
    if repository is None:
        raise InputError(
            f"there is no git repository around {folder}, or no git",
            f"Go into the one whose {KERNELS}/{REGISTRY} lists the stages.",
        )
    return repository


def profile_commits(
    request: CommitsRequest, repository: Repository, store_dir: Path, report: Reporter = silent
) -> Iterator[CommitOutcome]:
    """Profile commits, oldest first, and give what became of each as soon as it is known.

    What is in the store already, of this GPU and problem, is not done again: complete runs, and builds and checks that
    failed. A commit that fails is stored so and the next one follows; what this machine lacks ends the walk.

    Args:
        request: Which commits, and what of them.
        repository: The user's; its checkout, index and stash stay as they are.
        store_dir: Folder of runs.
        report: Told of every step.

    Raises:
        InputError: When a revision is unknown, the range is empty, or no commit of it has a stage asked for.
        EnvironmentLacksError: When ncu, a GPU, the permission to read counters or a writable store is missing.
    """
    commits = commits_in(repository, request.revisions)
    walk = _Walk(request, repository, store_dir, report, current_device().name)
    for number, commit in enumerate(commits, start=1):
        report(ProgressEvent("commit", commit.short, "done", f"{number} of {len(commits)}: {commit.subject}"))
        yield walk.outcome(commit)
    walk.refuse_unknown_stages()


class _Walk:
    """One walk over commits: what it looks for, and the stages it met."""

    def __init__(
        self, request: CommitsRequest, repository: Repository, store_dir: Path, report: Reporter, device: str
    ) -> None:
        self._request = request
        self._repository = repository
        self._store = store_dir
        self._report = report
        self._device = device
        self._met: set[str] = set()

    def outcome(self, commit: CommitInfo) -> CommitOutcome:
        """Profile what the store lacks of a commit."""
        asked = self._request.profile.stages
        if asked and not self._request.again and set(asked) <= self._complete(commit):
            return self._stored(commit, asked)
        with worktree(self._repository, commit.hash) as folder, using_kernels(folder / KERNELS):
            if not (folder / KERNELS / REGISTRY).is_file():
                return CommitOutcome(commit, why={"": f"it has no {KERNELS}/{REGISTRY}"})
            try:
                registry = load_stages()
            except InputError as error:
                return CommitOutcome(commit, why={"": error.message.replace(f"{folder}/", "")})
            return self._of_registry(commit, registry)

    def refuse_unknown_stages(self) -> None:
        """Say of stages that no commit had that they may be misspelt.

        Raises:
            InputError: Names the first of them.
        """
        for stage in self._request.profile.stages:
            if stage not in self._met:
                near = difflib.get_close_matches(stage, self._met, n=1, cutoff=0.4)
                has = f"They have {', '.join(sorted(self._met))}." if self._met else ""
                raise InputError(
                    f'no commit of {self._request.revisions} has a stage "{stage}"',
                    f"Did you mean {near[0]}?" if near else has,
                )

    def _of_registry(self, commit: CommitInfo, registry: dict[str, Stage]) -> CommitOutcome:
        present = self._present(registry)
        if not present:
            has = ", ".join(id for id, stage in registry.items() if not stage.is_reference)
            return CommitOutcome(commit, why={"": f"it has the stages {has}"})
        done = set() if self._request.again else self._complete(commit) | self._failed_alone(commit, registry)
        missing = [id for id in present if id not in done]
        if not missing:
            return self._stored(commit, present)
        whys = {id: why for group in self._groups(missing) for id, why in self._profile(group)}
        runs = self._newest(commit)
        endings = {id: _ending(runs.get(id), now=id in missing, failed=id in whys) for id in present}
        return self._outcome(commit, endings, runs, whys)

    def _present(self, registry: dict[str, Stage]) -> tuple[str, ...]:
        kernels = [id for id, stage in registry.items() if not stage.is_reference]
        self._met |= set(registry)
        if self._request.profile.stages:
            return tuple(id for id in self._request.profile.stages if id in registry)
        arch = present_arch()
        return tuple(id for id in kernels if arch is None or registry[id].runs_on(capability(arch)))

    def _groups(self, ids: Sequence[str]) -> list[tuple[str, ...]]:
        """Join what builds, so that a broken stage keeps no other from being profiled."""
        if len(ids) == 1:
            return [tuple(ids)]
        broken = [id for id in ids if not _builds(id)]
        good = tuple(id for id in ids if id not in broken)
        return [*([good] if good else []), *((id,) for id in broken)]

    def _profile(self, ids: tuple[str, ...]) -> list[tuple[str, str]]:
        """Profile stages, one by one where they fail together; return which failed, and why."""
        try:
            profile_stages(replace(self._request.profile, stages=ids), self._store, self._report)
        except EnvironmentLacksError:
            raise
        except NcuLabError as error:
            if len(ids) > 1:
                return [failure for id in ids for failure in self._profile((id,))]
            return [(ids[0], error.message)]
        return []

    def _stored(self, commit: CommitInfo, stages: Sequence[str]) -> CommitOutcome:
        self._met |= set(stages)
        runs = self._newest(commit)
        endings = {id: _ending(runs.get(id), now=False, failed=False) for id in stages}
        return self._outcome(commit, endings, runs, {})

    def _outcome(
        self, commit: CommitInfo, endings: dict[str, Ending], runs: dict[str, RunMeta], whys: dict[str, str]
    ) -> CommitOutcome:
        of_runs = {id: error.splitlines()[0] for id in endings if id in runs and (error := runs[id].error)}
        ids = {id: runs[id].id for id in endings if id in runs}
        return CommitOutcome(commit, endings, ids, self._times(commit, tuple(endings)), {**of_runs, **whys})

    def _runs(self, commit: CommitInfo) -> list[RunMeta]:
        """Return the runs of a commit's clean tree, this problem and this GPU, newest first."""
        wanted = RunFilter(commits=frozenset({commit.hash}), problem=self._request.profile.problem, device=self._device)
        return [meta for meta in list_runs(self._store, wanted)[0] if not meta.git.dirty]

    def _complete(self, commit: CommitInfo) -> set[str]:
        return {id for meta in self._runs(commit) if meta.status == "complete" for id in meta.stages}

    def _failed_alone(self, commit: CommitInfo, registry: dict[str, Stage]) -> set[str]:
        """Return the stages that are known to fail: what failed among others says nothing of each."""
        failed = set()
        for meta in self._runs(commit):
            kernels = [id for id in meta.stages if id in registry and not registry[id].is_reference]
            if meta.status in _FAILED and len(kernels) == 1:
                failed |= set(kernels)
        return failed

    def _newest(self, commit: CommitInfo) -> dict[str, RunMeta]:
        """Return the run that speaks for each stage: the newest complete one, else the newest."""
        runs = sorted(self._runs(commit), key=lambda meta: meta.status != "complete")
        return {id: meta for meta in reversed(runs) for id in meta.stages}

    def _times(self, commit: CommitInfo, stages: tuple[str, ...]) -> dict[str, float]:
        wanted = RunFilter(
            stages=stages,
            commits=frozenset({commit.hash}),
            problem=self._request.profile.problem,
            device=self._device,
        )
        points, _ = series(self._store, TIME_KEY, wanted)
        return {one.kernel.stage: one.estimate.value for one in points if one.kernel.stage}


def _builds(id: str) -> bool:
    """Whether a stage compiles; the build is kept, so that nothing is done twice."""
    try:
        build_stages([id])
    except InputError:
        return False
    return True


def _ending(meta: RunMeta | None, *, now: bool, failed: bool) -> Ending:
    """Return what became of a stage, by the run that speaks for it and by what was done now."""
    if meta is not None and meta.status == "complete" and not failed:
        return "profiled" if now else "stored"
    return "failed" if meta is None else _FAILED.get(meta.status, "failed")
