"""Stages of the ladder, the problem they solve, and what building, checking and timing one gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from ncu_lab.errors import UsageError
from ncu_lab.model.expectations import Expectation
from ncu_lab.model.search_space import SearchSpace

Dtype = Literal["fp32", "tf32", "fp16", "bf16"]


Operation = Literal["ab", "aat"]


Variant = Literal["fast", "guarded", "library"]


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
        staged: Whether tiles of A and B pass through shared memory; else what a warp (WM x WN) or a thread computes is
            all that shares a fetch from global memory.
        grid: What grid.x and grid.y cover: ``("n", "m")`` or, where threadIdx.x walks rows, ``("m", "n")``.
        min_cc: Least compute capability, as 10 * major + minor.
        arch_suffix: ``a`` where the code needs architecture-specific features.
        predecessor: The stage it is compared with; None for the first.
        reference: The library reference of the same precision, id.
        multiples: Multiples of m, n, k the fast path needs; all 1 where it fits every shape.
        align_bytes: Alignment of base pointers and rows the fast path needs.
        aligned: Which of A, B and C must be aligned so.
        has_guarded: Whether a second, guarded cubin of its own serves what the fast path cannot.
        fallback: The stage whose guarded cubin serves it instead; None for no such.
        plan: How it is launched where it takes more than one kernel with a block a tile: a name known to
            ``ncu_lab.gpu.launch_plan``.
        auxiliary: Entries of the kernels that the plan launches beside ``entry``, which is the main one.
        shared_bytes: Dynamic shared memory of a block of the main kernel.
        second_file: Source of kernels that the plan may launch instead, in a cubin of their own beside the fast one:
            one optimisation level of ptxas does not suit both. Empty for none.
        second_level: The level of ptxas for it.
        library_math: For a reference: the cuBLAS math (``pedantic``, ``tf32``, ``fp16``, ``bf16``), or ``cutlass`` for
            one whose ``file`` is compiled with CUTLASS's headers.
        kernel_pattern: For a reference: a regular expression its kernel's name must match (precision, by name).
        expect: What it should show and change, each with its source; judged by ``ncu_lab.analyze.expectations``.
        tune: Which tiles ``ncu-lab tune`` may try; None where there is nothing to search.
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
    staged: bool = True
    grid: tuple[str, str] = ("n", "m")
    min_cc: int = 75
    arch_suffix: str = ""
    predecessor: str | None = None
    reference: str | None = None
    multiples: tuple[int, int, int] = (1, 1, 1)
    align_bytes: int = 4
    aligned: tuple[str, ...] = ("A", "B", "C")
    has_guarded: bool = False
    fallback: str | None = None
    plan: str = ""
    auxiliary: tuple[str, ...] = ()
    shared_bytes: int = 0
    second_file: str = ""
    second_level: int = 3
    library_math: str = ""
    kernel_pattern: str = ""
    expect: tuple[Expectation, ...] = ()
    tune: SearchSpace | None = None

    @property
    def is_reference(self) -> bool:
        """Whether this is a library call instead of a kernel of ours."""
        return bool(self.library_math)

    @property
    def is_compiled(self) -> bool:
        """Whether something is compiled for it here: a kernel of ours, or a reference made of headers."""
        return bool(self.file)

    @property
    def is_complete(self) -> bool:
        """Whether some path serves every shape and alignment, beside one that may be choosy."""
        return self.has_guarded or self.fallback is not None

    @property
    def needs(self) -> str:
        """The least architecture, ``sm_80``, or the only one, ``sm_90a``."""
        return f"sm_{self.min_cc}{self.arch_suffix}"

    def runs_on(self, compute_capability: int) -> bool:
        """Whether a GPU can run it; ``compute_capability`` is 10 * major + minor.

        Architecture-specific code (suffix ``a``) runs on its own architecture alone.
        """
        return compute_capability == self.min_cc if self.arch_suffix else compute_capability >= self.min_cc

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
        cubin: Path of the cubin in the build cache; that of ``second_file`` lies beside it.
        registers: Registers a thread.
        spill_store_bytes: Bytes of spill stores a thread.
        spill_load_bytes: Bytes of spill loads a thread.
        stack_bytes: Stack frame a thread.
        shared_bytes: Shared memory a block, static and dynamic.
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
    ``repetitions`` launches of the same input gave it, bit-equal where it passed.
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
    repetitions: int = 1


@dataclass(frozen=True, slots=True)
class TimingSample:
    """One unprofiled sample of one subject: ``ns`` from CUDA events around one call.

    Clock, power and temperature are what NVML told right after it, not what they were during it: the clock rises as
    soon as the load is gone, and the power is a mean over a second.
    """

    process: int
    sample: int
    order: int
    subject: str
    mode: Literal["interleaved", "alone"]
    ns: float
    sm_clock_mhz: float | None
    power_w: float | None
    temperature_c: float | None
