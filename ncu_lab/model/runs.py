"""A run, where it was made, and what a report holds before it belongs to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from ncu_lab.model.roofline import MeasuredPeak
from ncu_lab.model.search_space import TileChoice
from ncu_lab.model.stages import CheckCase, Problem, StageBuild

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
"""Version of the run directory and of every JSON shape; a reader refuses a newer one."""


Status = Literal["complete", "partial", "build_failed", "check_failed", "profile_failed"]

USABLE: tuple[Status, ...] = ("complete", "partial")
"""The states of runs whose measurements count; a failed run may hold half of them."""


@dataclass(frozen=True, slots=True)
class Device:
    """The GPU a run was made on. The uuid is kept as a hash only."""

    name: str
    compute_capability: tuple[int, int] | None = None
    sm_count: int | None = None
    uuid_hash: str | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None
    max_sm_clock_hz: float | None = None
    attributes: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Environment:
    """What else must agree before two runs can be compared."""

    driver: str | None = None
    cuda: str | None = None
    ncu: str | None = None
    nvcc: str | None = None
    nvcc_flags: tuple[str, ...] = ()
    clock_control: str | None = None
    cache_control: str | None = None
    sections: tuple[str, ...] = ()
    os: str | None = None
    ncu_lab: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """Where and how a report was recorded, by its own words. Of a run it is redacted: no hosts, addresses or users.

    Attributes:
        created: ISO 8601, UTC.
        command: The profiler's command line; empty when the report does not tell.
        options: Options of that command line, without their dashes -> value (of a repeated one all, with commas between
            them), empty for a plain switch.
        host: The machine that ncu ran on: ``os``, ``os_version``, ``processor``, ``architecture``, ``name``.
        target: Likewise for the machine that the program ran on.
        addresses: Network addresses of the target.
        versions: Component -> version (``CUDA Version``, ``Nsight Compute Target``, …).
        processes: Process id -> executable.
    """

    created: str | None = None
    command: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    host: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    processes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GitState:
    """The commit a run belongs to; ``diff`` and ``sources`` keep the kernels of a dirty tree."""

    commit: str | None = None
    branch: str | None = None
    dirty: bool = False
    subject: str | None = None
    diff: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning that belongs to data: a stable code and one sentence."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class RunNotice(Notice):
    """A warning about one run of a store that was passed over.

    Attributes:
        run: Its id.
        what: What is wrong with it.
    """

    run: str
    what: str


CORRUPT_RUN = "corrupt_run"
"""Code of the notice that a run was passed over, since it cannot be read."""

LOSSES = frozenset({"damaged", "lost_results", "lost_metrics", "csv_cut_row"})
"""Codes of notices that tell what a file should hold, and lost."""


@dataclass(frozen=True, slots=True)
class RunMeta:
    """Everything of ``run.json``.

    Attributes:
        id: ``UTC time-stages-commit-4 hex digits``.
        status: ``complete``, or where it stopped.
        created: ISO 8601, UTC.
        source: ``profile`` for runs made here, ``import`` for files made elsewhere.
        stages: Stage ids in ladder order; empty for foreign programs.
        name: The user's name for a run of any program.
        problem: None for foreign programs.
        session: What the report tells of its recording, redacted; None where there is no report.
        peaks: What the GPU was measured to reach when the run was made; empty where it was not.
        tiles: Which tile each stage that adopts the result of a search was built with, and why.
    """

    id: str
    status: Status
    created: str
    source: Literal["profile", "import"]
    stages: tuple[str, ...] = ()
    name: str | None = None
    problem: Problem | None = None
    device: Device | None = None
    environment: Environment = field(default_factory=Environment)
    git: GitState = field(default_factory=GitState)
    error: str | None = None
    command: tuple[str, ...] = ()
    checksums: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[Notice, ...] = ()
    session: Session | None = None
    peaks: tuple[MeasuredPeak, ...] = ()
    tiles: Mapping[str, TileChoice] = field(default_factory=dict)
    schema: int = SCHEMA

    @property
    def created_at(self) -> datetime | None:
        """When it was made, aware of its zone; None where ``created`` is no time."""
        try:
            moment = datetime.fromisoformat(self.created)
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Run:
    """One invocation on one device with one problem: metadata and tables.

    The tables have the columns below; a table a run does not have is empty, never None. ``sources`` is the text of the
    files that the code of its launches is from, by the names that the instances have for them, as far as it was kept.
    """

    meta: RunMeta
    launches: pd.DataFrame
    metrics: pd.DataFrame
    instances: pd.DataFrame
    rules: pd.DataFrame
    timings: pd.DataFrame
    builds: tuple[StageBuild, ...] = ()
    checks: tuple[CheckCase, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ParsedReport:
    """What a report or an export holds, before it belongs to a run: the tables of :class:`Run` and their context."""

    launches: pd.DataFrame
    metrics: pd.DataFrame
    instances: pd.DataFrame
    rules: pd.DataFrame
    device: Device | None = None
    environment: Environment = field(default_factory=Environment)
    notices: tuple[Notice, ...] = ()
    session: Session | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
