"""What ncu's complaints mean: each known cause with its words, its fix and its exit code.

ncu's exit code says little (0 when nothing was profiled, the program's own when that failed), and its last line is
usually a consequence. So the whole log and the program's output are searched, and the first cause in them is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ncu_lab.collect.log import parse_log
from ncu_lab.errors import EnvironmentLacksError, NcuLabError, ProgramError, UsageError

COUNTER_CODES = frozenset({"no_permission", "library_not_loaded", "counters_busy", "unsupported_gpu", "old_driver"})
"""Causes by which no counter can be read here at all; building, checking and timing still work."""


@dataclass(frozen=True, slots=True)
class Cause:
    """A known cause of failure.

    Attributes:
        code: Stable name.
        pattern: What betrays it; named groups fill ``message``.
        message: What happened, for people.
        hint: What to do.
        error: The error it becomes, which carries the exit code.
        seen: Where its words come from: a recorded output, NVIDIA's documentation, or a public report.
        retryable: Whether the same command may succeed a little later.
        is_consequence: Whether ncu says it also after another failure; then it only counts where no cause is known.
        in_output: Whether it is looked for in the program's own output too.
    """

    code: str
    pattern: str
    message: str
    hint: str
    error: type[NcuLabError]
    seen: str
    retryable: bool = False
    is_consequence: bool = False
    in_output: bool = False


CAUSES: tuple[Cause, ...] = (
    Cause(
        "no_permission",
        r"ERR_NVGPUCTRPERM",
        "ERR_NVGPUCTRPERM: this user may not read GPU performance counters",
        "On the host: load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root (a container started "
        "with --cap-add=SYS_ADMIN). In a container nothing inside it can change this. On WSL2: Windows' NVIDIA control "
        "panel, Developer.",
        EnvironmentLacksError,
        "NVIDIA, ERR_NVGPUCTRPERM; ThunderKittens#73, DeepGEMM#46",
    ),
    Cause(
        "library_not_loaded",
        r"\bLibraryNotLoaded\b|Failed to load Nsight Compute CUDA modules",
        "ncu cannot load its part of the driver (LibraryNotLoaded): counters cannot be read on this machine",
        "Some virtual machines never allow it; use another machine. In a container, pass the driver in with "
        "NVIDIA_DRIVER_CAPABILITIES=all.",
        EnvironmentLacksError,
        "seen on a virtual machine with an H200",
    ),
    Cause(
        "counters_busy",
        r"driver resource (?:was|is) unavailable|CUPTI_ERROR_HARDWARE_BUSY",
        "the GPU's counters are held by another tool, often DCGM monitoring or a second profiler",
        "Pause it and try again: dcgmi profile --pause (later: dcgmi profile --resume).",
        EnvironmentLacksError,
        "NVIDIA, Profiling Guide, FAQ",
        retryable=True,
    ),
    Cause(
        "other_profiler",
        r"(?i)another (?:instance of a )?(?:profiler|tool) (?:is )?already|already attached to (?:this|the) process",
        "another profiler or debugger is attached to the program",
        "Stop it (cuda-gdb, compute-sanitizer, nsys, a profiling wrapper in the command) and profile again.",
        EnvironmentLacksError,
        "NVIDIA, Profiling Guide, FAQ",
    ),
    Cause(
        "clocks",
        r"(?i)failed to (?:lock|set) (?:the )?(?:gpu )?(?:clocks|clock frequenc)",
        "ncu could not lock the GPU's clocks; a MIG slice or this user may not",
        "Leave the clocks alone: --clock-control none",
        EnvironmentLacksError,
        "NVIDIA, Profiling Guide, FAQ (MIG)",
    ),
    Cause(
        "lock_file",
        r"(?:open|create)[/ \w]* lock file(?: (?P<file>[^\s:]+[^\s:.]))?|\bInterprocessLockFailed\b",
        "ncu's lock file {file} cannot be opened: another user left it behind",
        "Remove it, or give ncu a temporary folder of your own: TMPDIR=$HOME/tmp ncu-lab …",
        EnvironmentLacksError,
        "NVIDIA, Profiling Guide, FAQ; madgraph4gpu#603",
    ),
    Cause(
        "old_driver",
        r"(?i)cuda driver is not compatible with nsight compute",
        "the GPU driver is too old for this ncu",
        "Update the driver, or point NCU_LAB_NCU to an ncu of the driver's CUDA version.",
        EnvironmentLacksError,
        "tritonbench#632",
    ),
    Cause(
        "unsupported_gpu",
        r"(?i)profiling is not supported on (?:this )?device(?: \d+)?(?P<why> as it uses [^.\n]+)?",
        "this ncu cannot profile this GPU{why}",
        "ncu --list-chips names the GPUs it knows; an older or a newer ncu may know this one (NCU_LAB_NCU=…/ncu).",
        EnvironmentLacksError,
        "public report, ncu 2024.1 on Pascal",
    ),
    Cause(
        "no_driver",
        r"(?i)cudaErrorInsufficientDriver|cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE|no CUDA-capable device",
        "the program found no usable GPU or driver",
        "ncu-lab doctor says what this machine has.",
        EnvironmentLacksError,
        "CUDA runtime error names",
        in_output=True,
    ),
    Cause(
        "unknown_section",
        r"Option '--section (?P<name>[^']*)' did not match any section",
        "ncu knows no section {name}",
        "ncu --list-sections names those it knows.",
        UsageError,
        "golden/err/bad-section",
    ),
    Cause(
        "empty_set",
        r"No metrics to collect found in sections",
        "the sections asked for collect nothing; ncu knows no such --set",
        "ncu --list-sets names the sets it knows.",
        UsageError,
        "golden/err/bad-set",
    ),
    Cause(
        "no_program",
        r"'(?P<name>[^']*)' does not exist or is not an executable",
        "there is no program {name}",
        "Give its path, or a name on PATH, after the two dashes: ncu-lab profile --name NAME -- COMMAND …",
        UsageError,
        "golden/err/no-app",
    ),
    Cause(
        "bad_option",
        r"(?m)^==ERROR== (?P<why>(?:unrecognised option|unrecognized option|the required argument|the argument)[^\n]*)",
        "ncu refused its options: {why}",
        "This ncu may be too old; ncu-lab doctor shows its version.",
        EnvironmentLacksError,
        "ncu's option parser",
    ),
    Cause(
        "report_exists",
        r"File (?P<name>\S+) already exists",
        "ncu would not overwrite {name}",
        "Remove it and profile again.",
        ProgramError,
        "golden/err/output-exists",
    ),
    Cause(
        "kernel_fault",
        r"(?i)(?P<why>an illegal memory access|misaligned address|illegal instruction was|unspecified launch failure|"
        r"CUDA_ERROR_(?:ILLEGAL_ADDRESS|LAUNCH_FAILED|MISALIGNED_ADDRESS)|"
        r"cudaError(?:IllegalAddress|LaunchFailure|MisalignedAddress))",
        "a kernel of the program failed on the GPU: {why}",
        "The kernel is to blame, not the profiler: compute-sanitizer COMMAND shows where.",
        ProgramError,
        "CUDA runtime error names",
        in_output=True,
    ),
    Cause(
        "out_of_memory",
        r"(?i)cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|\bout of memory\b|OutOfMemoryError",
        "the program ran out of GPU memory under the profiler",
        "ncu keeps a copy of what a kernel writes while it replays it: choose a smaller size, or free the GPU.",
        ProgramError,
        "CUDA runtime error names",
        in_output=True,
    ),
    Cause(
        "launch_failed",
        r"==ERROR== LaunchFailed|Failed to profile (?:kernel )?\"(?P<name>[^\"]*)\"|Failed to prepare kernel",
        "ncu could not profile kernel {name}",
        "Run the program without ncu, then under compute-sanitizer; a kernel that waits for another (a collective, a "
        "grid-wide barrier with several processes) cannot be replayed alone.",
        ProgramError,
        "llvm#17007, PyProf#142, nccl-tests#339",
        is_consequence=True,
    ),
    Cause(
        "program_failed",
        r"The application returned an error code \((?P<status>-?\d+)\)",
        "the program ended with {status}",
        "Run it without ncu first.",
        ProgramError,
        "golden/err/app-crash, golden/err/app-exit3",
        is_consequence=True,
    ),
    Cause(
        "not_instrumented",
        r"terminated before first instrumented API call",
        "the program ended before it used CUDA",
        "Profile the program itself instead of a script that starts it elsewhere.",
        ProgramError,
        "TensorRT-LLM#183",
        is_consequence=True,
    ),
    Cause(
        "unknown_device_error",
        r"Unknown Error on device (?P<device>\d+)",
        "ncu met an unknown error on GPU {device}",
        "ncu-lab doctor profiles a small kernel and says what works here.",
        ProgramError,
        "FastSoftmax#1, llvm#17007",
        is_consequence=True,
    ),
)
"""Every known cause; among causes the one that comes first in the text wins, then among consequences."""

SIGNAL_NAMES = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure with its cause.

    Attributes:
        code: Code of the cause; ``unknown`` for none of those known.
        error: What to raise.
        retryable: Whether the same command may succeed a little later.
    """

    code: str
    error: NcuLabError
    retryable: bool = False


def find_cause(log: str, output: str = "") -> Failure | None:
    """Return the first known cause in ncu's log or the program's output, None when there is none.

    Causes in the log come before those in the output, and both before consequences.
    """
    words = _words_of_ncu(log, output)
    causes = [cause for cause in CAUSES if not cause.is_consequence]
    consequences = [cause for cause in CAUSES if cause.is_consequence]
    in_output = [cause for cause in causes if cause.in_output]
    for text, candidates in ((words, causes), (output, in_output), (words, consequences)):
        found = min(_matches(text, candidates), key=lambda pair: pair[0].start(), default=None)
        if found is not None:
            return _failure(*found)
    return None


def nothing_profiled(log: str, output: str, kernel: str | None, nvtx_range: str | None) -> Failure:
    """Return why a report holds no result.

    Args:
        log: ncu's log.
        output: What the program printed.
        kernel: The kernel filter in force.
        nvtx_range: The NVTX filter in force.
    """
    known = find_cause(log, output)
    if known is not None:
        return known
    parsed = parse_log(_words_of_ncu(log, output))
    filters = [text for text, given in ((f"-k {kernel}", kernel), (f"--nvtx {nvtx_range}", nvtx_range)) if given]
    if filters:
        names = ", ".join(parsed.available)
        hint = f"Kernels it has: {names}" if names else "ncu names no kernel of this program: does it use the GPU?"
        return Failure("no_match", UsageError(f"no kernel of the program matches {' and '.join(filters)}", hint))
    if parsed.errors:
        return unknown_failure(log, output)
    return Failure(
        "no_kernels",
        ProgramError(
            "the program launched no kernel that ncu could profile",
            "Does it use the GPU? A program that starts the profiler itself must do so around its kernels.",
        ),
    )


def unknown_failure(log: str, output: str) -> Failure:
    """Return a failure in ncu's own words: its first error, else the last line of the program."""
    errors = parse_log(_words_of_ncu(log, output)).errors
    told = errors[0] if errors else (last_words(output, lines=1) or "it ended without a report and without a word")
    return Failure("unknown", ProgramError(f"ncu failed: {told}", "ncu-lab doctor checks what this machine can do."))


def last_words(output: str, lines: int = 3) -> str:
    """Return the last lines a program printed, empty when it printed nothing."""
    printed = [line.rstrip() for line in output.splitlines() if line.strip() and not line.startswith("==")]
    return "\n  ".join(printed[-lines:])


def _words_of_ncu(log: str, output: str) -> str:
    """Return what ncu said: it complains of its options on the console, before its log is open."""
    return "\n".join([log, *(line for line in output.splitlines() if line.startswith("=="))])


def _matches(text: str, causes: list[Cause]) -> Iterator[tuple[re.Match[str], Cause]]:
    for cause in causes:
        match = re.search(cause.pattern, text)
        if match is not None:
            yield match, cause


def _failure(match: re.Match[str], cause: Cause) -> Failure:
    words = {name: value or "" for name, value in match.groupdict().items()}
    if "status" in words:
        words["status"] = _status(int(words["status"]))
    message = " ".join(cause.message.format(**words).split())
    return Failure(cause.code, cause.error(message, cause.hint), cause.retryable)


def _status(code: int) -> str:
    """Say an exit status: ncu reports a signal by its bare number, a shell by 128 more."""
    name = SIGNAL_NAMES.get(code - 128 if code > 128 else abs(code))
    return f"exit code {code}, which is what {name} gives" if name else f"exit code {code}"
