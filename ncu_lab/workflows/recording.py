"""From the parts of an invocation to a run in the store, whether all parts came or not."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ncu_lab import __version__
from ncu_lab.collect.command import Collection
from ncu_lab.collect.git import read_state
from ncu_lab.collect.ncu import Ncu
from ncu_lab.errors import NcuLabError
from ncu_lab.gpu.devices import driver_version
from ncu_lab.model import (
    INSTANCE_COLUMNS,
    LAUNCH_COLUMNS,
    METRIC_COLUMNS,
    RULE_COLUMNS,
    TIMING_COLUMNS,
    CheckCase,
    Device,
    Environment,
    GitState,
    MeasuredPeak,
    Notice,
    ParsedReport,
    Problem,
    ProgressEvent,
    Reporter,
    Run,
    RunMeta,
    Stage,
    StageBuild,
    Status,
    TileChoice,
    silent,
    table,
)
from ncu_lab.parse.redaction import redact
from ncu_lab.resources import kernels_folder
from ncu_lab.store import Store, run_label
from ncu_lab.workflows.sources import kernel_texts

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class Draft:
    """A run in the making: the parts that are there so far. Nothing is on disk before :meth:`store`.

    Attributes:
        stages: Stages of the run, references included; none for a program that is not ours.
        problem: None for a program that is not ours.
        name: The user's name for it.
        command: Command line to record.
        ncu: The ncu in use.
        collection: What ncu was asked for.
        device: The GPU, when it was asked before the report said it.
        cuda: Version of the CUDA runtime in use, where known.
        peaks: What the GPU was measured to reach.
        tiles: Which tile each stage that adopts a search's result was built with, and why.
        status: What the run is if it ends here.
        stored_as: Its id, once it is stored.
        sources: Text of every file of the kernels, by the names that the compiler gives them.
    """

    ncu: Ncu
    collection: Collection
    command: tuple[str, ...] = ()
    stages: tuple[Stage, ...] = ()
    problem: Problem | None = None
    name: str | None = None
    device: Device | None = None
    cuda: str | None = None
    peaks: tuple[MeasuredPeak, ...] = ()
    tiles: Mapping[str, TileChoice] = field(default_factory=dict)
    status: Status = "profile_failed"
    stored_as: str | None = None
    builds: Sequence[StageBuild] = ()
    checks: Sequence[CheckCase] = ()
    timings: pd.DataFrame | None = None
    parsed: ParsedReport | None = None
    notices: list[Notice] = field(default_factory=list)
    created: datetime = field(default_factory=lambda: datetime.now(UTC))
    git: GitState = field(default_factory=GitState)
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # The state now, not when the run is written: files may be edited while it lasts.
        self.git, notices = kernels_state(self.stages)
        self.sources = kernel_texts() if self.stages else {}
        self.notices += notices

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing worth keeping."""
        return not self.builds and not self.checks and self.timings is None and self.parsed is None

    def store(
        self,
        store: Store,
        *,
        error: NcuLabError | None = None,
        report_file: Path | None = None,
        report: Reporter = silent,
    ) -> Run:
        """Write the run and return it.

        Args:
            store: Where to.
            error: Why it is not complete.
            report_file: The raw report to keep.
            report: Told when it is stored.
        """
        run = self._run(store, error)
        store.write(run, report_file)
        self.stored_as = run.meta.id
        tree = "no commit" if run.meta.git.commit is None else "edited tree" if run.meta.git.dirty else "clean tree"
        report(ProgressEvent("store", run.meta.id, "done", f"({tree})"))
        return run

    def _run(self, store: Store, error: NcuLabError | None) -> Run:
        ids = tuple(stage.id for stage in self.stages)
        kernels = [stage.id for stage in self.stages if not stage.is_reference] or list(ids)
        label = run_label(kernels, self.name)
        parsed = self.parsed
        meta = RunMeta(
            id=store.new_run_id(self.created, label, self.git.commit),
            status=self.status,
            created=self.created.isoformat(timespec="seconds"),
            source="profile",
            stages=ids,
            name=self.name,
            problem=self.problem,
            device=_device(parsed, self.device),
            environment=self._environment(),
            git=self.git,
            error=None if error is None else "\n".join(part for part in (error.message, error.hint) if part),
            command=self.command,
            warnings=(*(parsed.notices if parsed else ()), *self.notices),
            session=redact(parsed.session) if parsed and parsed.session else None,
            peaks=self.peaks,
            tiles=self.tiles,
        )
        return Run(
            meta=meta,
            launches=table(LAUNCH_COLUMNS) if parsed is None else parsed.launches,
            metrics=table(METRIC_COLUMNS) if parsed is None else parsed.metrics,
            instances=table(INSTANCE_COLUMNS) if parsed is None else parsed.instances,
            rules=table(RULE_COLUMNS) if parsed is None else parsed.rules,
            timings=table(TIMING_COLUMNS) if self.timings is None else self.timings,
            builds=tuple(self.builds),
            checks=tuple(self.checks),
            sources={} if parsed is None else {**parsed.sources, **self._compiled(parsed)},
        )

    def _compiled(self, parsed: ParsedReport) -> dict[str, str]:
        """Return the text of those of our files that profiled code is from."""
        files = set(parsed.instances["file"].dropna().unique())
        return {name: text for name, text in self.sources.items() if name in files}

    def _environment(self) -> Environment:
        reported = self.parsed.environment if self.parsed else Environment()
        chosen_set = () if self.collection.section_set is None else (f"set:{self.collection.section_set}",)
        return replace(
            reported,
            driver=reported.driver or driver_version(),
            cuda=self.cuda or reported.cuda,
            ncu=self.ncu.version,
            nvcc=self.builds[0].nvcc if self.builds else None,
            nvcc_flags=_common_flags(self.builds),
            clock_control=self.collection.clock_control,
            cache_control=self.collection.cache_control,
            sections=(*chosen_set, *self.collection.all_sections()),
            os=f"{platform.system()} {platform.release()}",
            ncu_lab=__version__,
        )


def kernels_state(stages: Sequence[Stage]) -> tuple[GitState, tuple[Notice, ...]]:
    """Return the commit of the kernels, and what could not be told; of the current folder for programs not ours."""
    if not stages:
        return read_state(Path.cwd())
    folder = kernels_folder()
    files = [folder / name for stage in stages for name in (stage.file, stage.second_file) if name]
    shared = sorted(folder.rglob("*.cuh"))
    return read_state(folder, [*files, *shared])


def _device(parsed: ParsedReport | None, asked: Device | None) -> Device | None:
    """Join what the report says of the GPU with what was asked of it: only the latter knows which one it is."""
    reported = parsed.device if parsed else None
    if reported is None or asked is None:
        return reported or asked
    attributes: Mapping[str, float | str] = {**asked.attributes, **reported.attributes}
    return replace(reported, uuid_hash=asked.uuid_hash, attributes=attributes)


def _common_flags(builds: Sequence[StageBuild]) -> tuple[str, ...]:
    """Return the flags that all builds share, in order; what differs (tiles) is kept with each build."""
    if not builds:
        return ()
    return tuple(flag for flag in builds[0].flags if all(flag in build.flags for build in builds))
