"""What analysis makes of runs, for terminals and pages to show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ncu_lab.metrics import Reading
from ncu_lab.model.access import LaunchAccess
from ncu_lab.model.attribution import Attribution, Chain, Unattributed
from ncu_lab.model.expectations import Finding
from ncu_lab.model.explanation import Explanation, LadderExplanation
from ncu_lab.model.published import PublishedFigure
from ncu_lab.model.roofline import Family, MeasuredPeak, Roof, Roofline, RooflinePoint
from ncu_lab.model.runs import Device, Environment, Notice, Run
from ncu_lab.model.stages import Problem, Stage, StageBuild
from ncu_lab.model.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class LaunchSummary:
    """What one profiled launch shows: the catalogue's quantities and where its warps waited.

    Attributes:
        launch: Row of the launches table.
        stage: Stage id; None for foreign kernels.
        kernel: Demangled name.
        function: Short name.
        grid: Blocks (x, y, z).
        block: Threads of a block (x, y, z).
        workload: ``kernel``, ``graph``, ``range``, ``cmdlist``.
        nvtx: NVTX range paths.
        readings: Catalogue key -> reading, in catalogue order.
        role: ``main`` or ``auxiliary``.
        stall_cycles: Reason -> warp-cycles per issued instruction, in stacking order.
        occupancy_limits: Resource -> blocks an SM can hold by it; empty when not collected.
        stall_samples: Reason -> samples of warps that waited for it; empty where ``stall_cycles`` tell, or neither.
        sm_count: SMs that the launch could use; None when that is not known.
        driver_shared_bytes: Bytes of a block's shared memory that the driver keeps for itself; None when not told.
    """

    launch: int
    stage: str | None
    kernel: str
    function: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    workload: str
    nvtx: tuple[str, ...]
    role: str
    readings: Mapping[str, Reading]
    stall_cycles: Mapping[str, float]
    occupancy_limits: Mapping[str, float] = field(default_factory=dict)
    stall_samples: Mapping[str, float] = field(default_factory=dict)
    sm_count: int | None = None
    driver_shared_bytes: float | None = None

    def value(self, key: str) -> float | None:
        """Return the value of a catalogue key, None when it was not collected or is undefined."""
        return self.readings[key].value

    @property
    def stalls(self) -> dict[str, float]:
        """Reason -> share of warp-cycles (0 to 1), in stacking order, counted or sampled; empty when not collected."""
        parts = self.stall_cycles or self.stall_samples
        total = sum(parts.values())
        return {reason: part / total for reason, part in parts.items()} if total else {}

    @property
    def stalls_from(self) -> Literal["counters", "samples"] | None:
        """What the shares of stalls are from: counters of every warp, samples of some, or None without either."""
        return "counters" if self.stall_cycles else "samples" if self.stall_samples else None

    @property
    def own_shared_bytes(self) -> float | None:
        """Shared memory a block by its code and its launch, without the driver's share as far as that is told."""
        shared = self.value("shared_memory_per_block")
        return None if shared is None else shared - (self.driver_shared_bytes or 0.0)

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow the fewest blocks; several when they tie, none when not collected."""
        least = min(self.occupancy_limits.values(), default=None)
        return tuple(resource for resource, blocks in self.occupancy_limits.items() if blocks == least)


@dataclass(frozen=True, slots=True)
class LadderRow:
    """One stage of the ladder with its measurements.

    Attributes:
        stage: The registered stage.
        run: Id of the run it comes from.
        problem: The problem it really computed.
        samples_ns: Unprofiled samples that count (see :mod:`ncu_lab.analyze.timings`); empty when it was not timed.
        median_ns: Median of the samples, or the profiler's duration when there are none; None when neither exists.
        spread_ns: Half the interquartile range of the samples; None below four.
        time_source: ``timings``, ``profiler`` or ``none``: profiled and unprofiled times are never mixed in silence.
        flop_per_s: 2·m·n·k over the median.
        share_of_reference: Its FLOP/s over those of its reference by the same source; 0 to 1, None without one.
        step: Predecessor's median over its own (above 1: faster), same source and same work; None for the first.
        summary: Counters of the main kernel; None when it was not profiled.
        load_sectors_ideal: Sectors per global load request at full coalescing for the access widths it uses.
        store_sectors_ideal: Likewise for stores.
        build: What its compilation gave; None for references and imported reports.
        attribution: Why the profiled duration of its main kernel differs from its predecessor's, or why that cannot be
            told; None where there is no predecessor that did the same work.
        findings: What became of everything that its stage is expected to show, in the order of declaration.
        verdict: What bounds its main kernel; None when it was not profiled.
        counters: Nsight Compute name -> value in base units, of the launch in ``summary``; empty without one. What
            splits its duration against that of any other stage.
    """

    stage: Stage
    run: str
    problem: Problem
    samples_ns: tuple[float, ...]
    median_ns: float | None
    time_source: Literal["timings", "profiler", "none"]
    flop_per_s: float | None
    share_of_reference: float | None
    step: float | None
    summary: LaunchSummary | None
    spread_ns: float | None = None
    load_sectors_ideal: float | None = None
    store_sectors_ideal: float | None = None
    build: StageBuild | None = None
    attribution: Attribution | Unattributed | None = None
    findings: tuple[Finding, ...] = ()
    verdict: Verdict | None = None
    counters: Mapping[str, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Ladder:
    """The stage-to-stage view of one or more runs of one problem on one device.

    ``rows`` and ``references`` are in registry order; ``rooflines`` come from the reports themselves, one per family
    of arithmetic; ``measured`` are peaks that the newest run measured on the GPU, ``datasheet`` those its maker states;
    ``omitted`` says which launches are not shown and why; ``chain`` is the longest run of steps that are attributed.
    """

    device: Device | None
    environment: Environment
    problem: Problem
    rows: tuple[LadderRow, ...]
    references: tuple[LadderRow, ...]
    rooflines: tuple[Roofline, ...] = ()
    measured: tuple[MeasuredPeak, ...] = ()
    datasheet: tuple[Roof, ...] = ()
    omitted: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()
    published: tuple[PublishedFigure, ...] = ()
    """What others measured of such stages, on other GPUs."""
    chain: Chain | None = None
    explanation: LadderExplanation | None = None
    """What is said of it in plain words."""

    def row(self, stage: str | None) -> LadderRow | None:
        """Return the row of a stage or reference; None when it is not on this ladder."""
        return next((row for row in (*self.rows, *self.references) if row.stage.id == stage), None)

    def roofline(self, family: Family) -> Roofline | None:
        """Return the chart of a family; None when none of its launches was placed."""
        return next((chart for chart in self.rooflines if chart.family == family), None)


@dataclass(frozen=True)
class RunView:
    """All that one run shows: its launches by the catalogue, their rooflines, and its place on the ladder.

    Attributes:
        run: The run itself.
        summaries: One per launch, in launch order.
        roofs: Launch -> the roofs it ran under.
        points: Launch -> where it stands; empty where its work or its roofs were not collected.
        rows: Stage id -> its row of the ladder of this run alone; empty for foreign programs.
        verdicts: Launch -> what bounds it.
        datasheet: Peaks of the GPU by its maker's datasheet; empty where it is not known.
        accesses: Launch -> its memory accesses, judged.
        explanations: Launch -> what is said of it in plain words.
    """

    run: Run
    summaries: tuple[LaunchSummary, ...]
    roofs: Mapping[int, tuple[Roof, ...]]
    points: Mapping[int, tuple[RooflinePoint, ...]]
    rows: Mapping[str, LadderRow]
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)
    accesses: Mapping[int, LaunchAccess] = field(default_factory=dict)
    datasheet: tuple[Roof, ...] = ()
    explanations: Mapping[int, Explanation] = field(default_factory=dict)
