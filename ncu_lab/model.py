"""The types that cross between layers, and the columns of every table.

Everything here is frozen data: collecting, parsing, storing, analysing and rendering meet only through these types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ncu_lab.errors import UsageError
from ncu_lab.metrics import Reading

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = 1
"""Version of the run directory and of every JSON shape; a reader refuses a newer one."""

Dtype = Literal["fp32", "tf32", "fp16", "bf16"]
Operation = Literal["ab", "aat"]
Variant = Literal["fast", "guarded", "library"]
Status = Literal["complete", "partial", "build_failed", "check_failed", "profile_failed"]
Step = Literal["build", "check", "bench", "profile", "store", "import"]

DTYPE_BYTES: Mapping[str, int] = {"fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2}

MAX_ELEMENTS = 2**31 - 1
"""Kernels index with 32-bit integers; a larger matrix is refused."""


@dataclass(frozen=True, slots=True)
class Problem:
    """C = alpha * A * B + beta * C, row-major: A is m x k, B is k x n, C is m x n."""

    m: int
    n: int
    k: int
    alpha: float = 1.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        for name, value, least in (("m", self.m, 1), ("n", self.n, 1), ("k", self.k, 0)):
            if value < least:
                raise UsageError(f"size {name} = {value} is too small", f"{name} must be at least {least}.")
        for name, rows, cols in (("A", self.m, self.k), ("B", self.k, self.n), ("C", self.m, self.n)):
            if rows * cols > MAX_ELEMENTS:
                raise UsageError(
                    f"matrix {name} of {rows} x {cols} has more than 2^31 - 1 elements",
                    "The kernels index with 32-bit integers; choose a smaller size.",
                )

    @property
    def label(self) -> str:
        """``2048³`` for a cube, else ``m×n×k``."""
        return f"{self.m}³" if self.m == self.n == self.k else f"{self.m}×{self.n}×{self.k}"


@dataclass(frozen=True, slots=True)
class Stage:
    """One rung of the ladder, as registered in ``kernels/stages.toml``.

    Attributes:
        id: Name used on the command line.
        title: A few words for tables.
        change: What it changes against its predecessor, one sentence.
        bottleneck: What is expected to limit it, and the counter that shows it.
        dtype: Type of A and B; C and the accumulator are FP32 throughout.
        operation: ``ab`` for C = A·B, ``aat`` for C = A·Aᵀ (N = M, and B is A itself).
        file: Source file below ``kernels/``; empty for a library reference.
        entry: The ``extern "C"`` function of the cubin; empty for a library reference.
        block: Threads of a block (x, y, z).
        tile: Tile sizes as passed to the compiler: BM, BN, BK, TM, TN, …
        grid: What grid.x and grid.y cover: ``("n", "m")`` or, where threadIdx.x walks rows, ``("m", "n")``.
        min_cc: Least compute capability, as 10 * major + minor.
        arch_suffix: ``a`` where the code needs architecture-specific features.
        predecessor: The stage it is compared with; None for the first.
        reference: The library reference of the same precision, id.
        multiples: Multiples of m, n, k the fast path needs; all 1 where it fits every shape.
        align_bytes: Alignment of base pointers and rows the fast path needs.
        has_guarded: Whether a second, guarded cubin serves what the fast path cannot.
        library_math: For a reference: the cuBLAS math (``pedantic``, ``tf32``, ``fp16``, ``bf16``).
        kernel_pattern: For a reference: a regular expression its kernel's name must match (precision, by name).
    """

    id: str
    title: str
    change: str
    bottleneck: str
    dtype: Dtype
    operation: Operation = "ab"
    file: str = ""
    entry: str = ""
    block: tuple[int, int, int] = (1, 1, 1)
    tile: Mapping[str, int] = field(default_factory=dict)
    grid: tuple[str, str] = ("n", "m")
    min_cc: int = 75
    arch_suffix: str = ""
    predecessor: str | None = None
    reference: str | None = None
    multiples: tuple[int, int, int] = (1, 1, 1)
    align_bytes: int = 4
    has_guarded: bool = False
    library_math: str = ""
    kernel_pattern: str = ""

    @property
    def is_reference(self) -> bool:
        """Whether this is a library call instead of a kernel of ours."""
        return bool(self.library_math)

    def shape(self, problem: Problem) -> Problem:
        """Return the problem this stage really computes: C = A·Aᵀ has N = M."""
        if self.operation == "ab":
            return problem
        return Problem(problem.m, problem.m, problem.k, problem.alpha, problem.beta)

    def flop(self, problem: Problem) -> float:
        """Return the operations of the multiplication it really computes: 2·m·n·k."""
        shape = self.shape(problem)
        return 2.0 * shape.m * shape.n * shape.k


@dataclass(frozen=True, slots=True)
class StageBuild:
    """What compiling one stage for one architecture gave.

    Attributes:
        stage: Stage id.
        variant: ``fast`` or ``guarded``.
        arch: ``sm_90`` and so on.
        cubin: Path of the cubin in the build cache.
        registers: Registers a thread.
        spill_store_bytes: Bytes of spill stores a thread.
        spill_load_bytes: Bytes of spill loads a thread.
        stack_bytes: Stack frame a thread.
        shared_bytes: Static shared memory a block.
        barriers: Named barriers used.
        cached: Whether it came from the cache.
        seconds: Compile time of the build that made it.
        flags: The nvcc flags, project paths made relative.
        nvcc: The compiler's version.
        warnings: What ptxas warned of.
        sass_mix: Opcode -> count in the SASS; None where no disassembler is present.
        sass_hash: Hash of the normalised SASS text; None likewise.
        sass: Normalised SASS text; None likewise.
    """

    stage: str
    variant: Variant
    arch: str
    cubin: Path
    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    shared_bytes: int
    barriers: int
    cached: bool
    seconds: float
    flags: tuple[str, ...]
    nvcc: str
    warnings: tuple[str, ...] = ()
    sass_mix: Mapping[str, int] | None = None
    sass_hash: str | None = None
    sass: str | None = None


@dataclass(frozen=True, slots=True)
class CheckCase:
    """One correctness case of one stage.

    ``max_rel_error`` is the largest ``|c - ref| / (|alpha| * sum |a||b| + |beta * c0|)`` and ``norm_error`` is
    ``||c - ref|| / ||ref||``; both in float64. ``passed`` is ``not (not error <= limit)``: a NaN fails.
    """

    stage: str
    variant: Variant
    problem: Problem
    case: str
    max_rel_error: float
    norm_error: float
    limit: float
    passed: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TimingSample:
    """One unprofiled sample of one subject: ``ns`` from CUDA events around one call."""

    process: int
    sample: int
    order: int
    subject: str
    mode: Literal["interleaved", "alone"]
    ns: float
    sm_clock_mhz: float | None
    power_w: float | None
    temperature_c: float | None


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
    schema: int = SCHEMA


@dataclass(frozen=True)
class Run:
    """One invocation on one device with one problem: metadata and tables.

    The tables have the columns below; a table a run does not have is empty, never None.
    """

    meta: RunMeta
    launches: pd.DataFrame
    metrics: pd.DataFrame
    instances: pd.DataFrame
    rules: pd.DataFrame
    timings: pd.DataFrame
    builds: tuple[StageBuild, ...] = ()
    checks: tuple[CheckCase, ...] = ()


LAUNCH_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "stage": "object",
    "kernel": "object",  # demangled
    "function": "object",
    "mangled": "object",
    "grid_x": "int64",
    "grid_y": "int64",
    "grid_z": "int64",
    "block_x": "int64",
    "block_y": "int64",
    "block_z": "int64",
    "stream": "object",
    "context": "object",
    "process": "object",
    "device": "object",
    "nvtx": "object",  # list of range paths, outermost first
    "workload": "object",  # kernel, graph, range, cmdlist
    "execution": "int64",  # nth execution of the same subject in its process
    "role": "object",  # main, auxiliary
}
METRIC_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "metric": "object",
    "value": "float64",  # NaN: no number
    "text": "object",  # for metrics that are words
    "unit": "object",
}
INSTANCE_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "metric": "category",
    "kind": "category",  # what the correlation is: pc, index, time (ns), name
    "correlation": "int64",  # the position among the instances where the kind is name
    "label": "category",  # the correlation itself where the kind is name (an opcode)
    "value": "float64",  # NaN where the instance is a word
    "text": "category",
    "sass": "category",  # sass, file and line only where the kind is pc
    "file": "category",
    "line": "Int64",
}
RULE_COLUMNS: Mapping[str, str] = {
    "launch": "int64",
    "section": "object",
    "rule": "object",
    "kind": "object",  # NVIDIA's message type: optimization, warning, ok, none
    "message": "object",
    "speedup_pct": "float64",
    "speedup_scope": "object",  # local, global
}
TIMING_COLUMNS: Mapping[str, str] = {
    "process": "int64",
    "sample": "int64",
    "order": "int64",
    "subject": "object",
    "mode": "object",
    "ns": "float64",
    "sm_clock_mhz": "float64",
    "power_w": "float64",
    "temperature_c": "float64",
}


def table(columns: Mapping[str, str], data: Mapping[str, Any] | None = None) -> pd.DataFrame:
    """Return a table with exactly these columns, in their order and types.

    Args:
        columns: Column name -> pandas type: ``LAUNCH_COLUMNS`` and its like.
        data: Column name -> values, all of one length; further columns are dropped. None makes an empty table.

    Raises:
        KeyError: When ``data`` lacks a column.
    """
    import pandas as pd

    values = {name: [] for name in columns} if data is None else data
    return pd.DataFrame({name: pd.Series(values[name], dtype=dtype) for name, dtype in columns.items()})


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
    def limited_by(self) -> tuple[str, ...]:
        """The resources that allow the fewest blocks; several when they tie, none when not collected."""
        least = min(self.occupancy_limits.values(), default=None)
        return tuple(resource for resource, blocks in self.occupancy_limits.items() if blocks == least)


@dataclass(frozen=True, slots=True)
class Roof:
    """One roof of a roofline: a bandwidth or a compute peak, from the report itself.

    ``level`` is ``l1``, ``l2``, ``dram`` (``per_second`` in byte/s) or ``fp32`` (``per_second`` in FLOP/s).
    """

    level: str
    label: str
    per_second: float


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """Where one stage stands against one level: ``share_of_roof`` is 0 to 1, of the lower of the two roofs there."""

    stage: str
    level: str
    intensity: float
    flop_per_s: float
    share_of_roof: float


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


@dataclass(frozen=True, slots=True)
class Ladder:
    """The stage-to-stage view of one or more runs of one problem on one device.

    ``rows`` and ``references`` are in registry order; ``roofs`` and ``points`` come from the reports themselves;
    ``omitted`` says which launches are not shown and why.
    """

    device: Device | None
    environment: Environment
    problem: Problem
    rows: tuple[LadderRow, ...]
    references: tuple[LadderRow, ...]
    roofs: tuple[Roof, ...] = ()
    points: tuple[RooflinePoint, ...] = ()
    omitted: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True)
class RunView:
    """All that one run shows: its launches by the catalogue, their rooflines, and its place on the ladder.

    Attributes:
        run: The run itself.
        summaries: One per launch, in launch order.
        roofs: Launch -> the roofs it ran under.
        points: Launch -> where it stands; empty for launches without FP32 work.
        rows: Stage id -> its row of the ladder of this run alone; empty for foreign programs.
    """

    run: Run
    summaries: tuple[LaunchSummary, ...]
    roofs: Mapping[int, tuple[Roof, ...]]
    points: Mapping[int, tuple[RooflinePoint, ...]]
    rows: Mapping[str, LadderRow]


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """What a workflow tells while it works; the command line decides how to show it.

    Attributes:
        step: Which part of the work.
        subject: Stage id or file.
        state: ``start``, ``update``, ``done`` or ``failed``.
        detail: Words for people (``130 registers · 0 spills``).
        fraction: 0 to 1 where it is known.
        seconds: Time taken, when done.
    """

    step: Step
    subject: str
    state: Literal["start", "update", "done", "failed"]
    detail: str = ""
    fraction: float | None = None
    seconds: float | None = None


Reporter = Callable[[ProgressEvent], None]


def silent(_: ProgressEvent) -> None:
    """Report nothing: the default of every workflow."""


Json = dict[str, Any]


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
