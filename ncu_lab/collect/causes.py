"""Every cause of failure that is known of ncu: its words, what we say, the fix, and where its words come from.

A table and nothing else: :mod:`ncu_lab.collect.failures` searches with it, ``docs/failures.md`` is generated from it.
Where words differ between versions of ncu, a pattern covers all that were seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from ncu_lab.collect.cause import Cause
from ncu_lab.errors import EnvironmentLacksError, InputError, ProgramError, UsageError

__all__ = ["CAUSES", "COUNTER_CODES", "FAMILIES", "Cause"]

COUNTER_CODES = frozenset({"no_permission", "library_not_loaded", "counters_busy", "unsupported_gpu", "old_driver"})
"""Causes by which no counter can be read here at all; building, checking and timing still work."""

_MACHINE = (
    Cause(
        "no_permission",
        "The driver gives counters to administrators only, or a container lacks the capability.",
        r"ERR_NVGPUCTRPERM",
        "ERR_NVGPUCTRPERM: this user may not read GPU performance counters",
        "On the host: load the driver with NVreg_RestrictProfilingToAdminUsers=0, or run as root (a container started "
        "with --cap-add=SYS_ADMIN). In a container nothing inside it can change this. On WSL2: Windows' NVIDIA control "
        "panel, Developer.",
        EnvironmentLacksError,
        "NVIDIA, ERR_NVGPUCTRPERM; ThunderKittens#73, DeepGEMM#46; not provoked by us",
    ),
    Cause(
        "library_not_loaded",
        "The driver's part for profiling is not there: some virtual machines, WSL2, containers with half a driver.",
        r"\bLibraryNotLoaded\b|Failed to load Nsight Compute CUDA modules",
        "ncu cannot load its part of the driver (LibraryNotLoaded): counters cannot be read on this machine",
        "Some virtual machines never allow it; use another machine. In a container, pass the driver in with "
        "NVIDIA_DRIVER_CAPABILITIES=all.",
        EnvironmentLacksError,
        "seen on a virtual machine with an H200; public reports of ncu 2025.1 and 2025.3",
    ),
    Cause(
        "counters_busy",
        "Monitoring (DCGM) or another profiler holds the hardware counters.",
        r"driver resource (?:was|is) unavailable|CUPTI_ERROR_HARDWARE_BUSY",
        "the GPU's counters are held by another tool, often DCGM monitoring or a second profiler",
        "Pause it and try again: dcgmi profile --pause (later: dcgmi profile --resume).",
        EnvironmentLacksError,
        "recorded/counters-busy; NVIDIA, Profiling Guide, FAQ; public reports of ncu 2023 to 2025",
        retryable=True,
    ),
    Cause(
        "other_profiler",
        "The program runs under, or starts, another profiler or debugger of CUDA. Under compute-sanitizer, or "
        "with a second ncu, ncu says no word of it: that ends in no_kernels, and in timeout.",
        r"(?i)another (?:instance of a )?(?:profiler|tool) (?:is )?already|already attached to (?:this|the) process|"
        r"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
        "another profiler or debugger is attached to the program",
        "Stop it (cuda-gdb, compute-sanitizer, nsys, a profiling wrapper in the command) and profile again.",
        EnvironmentLacksError,
        "NVIDIA, CUPTI, error codes; not provoked by us",
    ),
    Cause(
        "clocks",
        "ncu was to lock the clocks, which a MIG slice or this user may not.",
        r"(?i)(?:failed to|cannot) (?:lock|set) (?:the )?(?:gpu )?(?:clocks|clock frequenc)",
        "ncu could not lock the GPU's clocks; a MIG slice or this user may not",
        "Leave the clocks alone: --clock-control none",
        EnvironmentLacksError,
        "NVIDIA, Profiling Guide, FAQ (MIG); a public report of a MIG slice",
    ),
    Cause(
        "lock_file",
        "Runs of ncu take turns through a file in the temporary folder, which another user left behind.",
        r"(?:open|create)[/ \w]* lock file(?: (?P<file>[^\s:]+[^\s:.]))?|\bInterprocessLockFailed\b",
        "ncu's lock file {file} cannot be opened: another user left it behind",
        "Remove it, or give ncu a temporary folder of your own: TMPDIR=$HOME/tmp ncu-lab …",
        EnvironmentLacksError,
        "NVIDIA, Profiling Guide, FAQ; madgraph4gpu#603; public reports; not provoked by us",
    ),
    Cause(
        "unreadable_home",
        "HOME names the folder of another user (sudo -u, setpriv, a container's user without a home).",
        r"Failed to parse options: filesystem error: [^\n[]*(?:\[(?P<file>[^\n\]]*)\])?",
        "ncu may not look for its settings in {file}",
        "Set HOME to a folder of your own: HOME=/tmp ncu-lab …",
        EnvironmentLacksError,
        "recorded/unreadable-home",
    ),
    Cause(
        "old_driver",
        "ncu is newer than the driver supports.",
        r"(?i)cuda driver is not compatible with nsight compute",
        "the GPU driver is too old for this ncu",
        "Update the driver, or point NCU_LAB_NCU to an ncu of the driver's CUDA version.",
        EnvironmentLacksError,
        "tritonbench#632; public reports",
    ),
    Cause(
        "unsupported_gpu",
        "The GPU is older or newer than this ncu knows, or virtual (WSL2 on Windows 10).",
        r"(?i)profiling is not supported on (?:this )?device(?: \d+)?(?P<why> as it uses [^.\n]+)?",
        "this ncu cannot profile this GPU{why}",
        "ncu --list-chips names the GPUs it knows; an older or a newer ncu may know this one (NCU_LAB_NCU=…/ncu).",
        EnvironmentLacksError,
        "public reports: ncu 2022.4 on CC 12.0, ncu 2024.1 on Pascal, WSL2",
    ),
    Cause(
        "no_driver",
        "The program itself found no GPU.",
        r"(?i)cudaErrorInsufficientDriver|cudaErrorNoDevice|CUDA_ERROR_NO_DEVICE|no CUDA-capable device",
        "the program found no usable GPU or driver",
        "ncu-lab doctor says what this machine has.",
        EnvironmentLacksError,
        "recorded/no-gpu; CUDA runtime error names",
        in_output=True,
    ),
    Cause(
        "report_not_saved",
        "The report does not fit on the disk, or may not be written. Of the reason ncu says no word.",
        r"==ERROR== Failed to save the report to file (?P<file>[^\n]+)",
        "ncu could not save its report to {file}",
        "Is the disk full? Free some room, or choose another temporary folder: TMPDIR=/elsewhere ncu-lab …",
        EnvironmentLacksError,
        "recorded/disk-full",
    ),
    Cause(
        "disk_full",
        "What the program writes, or ncu saves while it replays a kernel, does not fit.",
        r"(?i)no space left on device",
        "the disk is full",
        "Free some room, or choose another temporary folder: TMPDIR=/elsewhere ncu-lab …",
        EnvironmentLacksError,
        "recorded/program-disk-full; the system's own words (ENOSPC)",
        in_output=True,
    ),
)

_REQUEST = (
    Cause(
        "unknown_section",
        "A section is asked for that this ncu does not have.",
        r"Option '--section (?P<name>[^']*)' did not match any section",
        "ncu knows no section {name}",
        "ncu --list-sections names those it knows.",
        UsageError,
        "recorded/bad-section",
    ),
    Cause(
        "empty_set",
        "A set is asked for that this ncu does not have; it then profiles, and collects nothing.",
        r"No metrics to collect found in sections",
        "the sections asked for collect nothing; ncu knows no such --set",
        "ncu --list-sets names the sets it knows.",
        UsageError,
        "recorded/bad-set",
    ),
    Cause(
        "unknown_metric",
        "Some versions refuse a metric that this GPU lacks; others leave it out (not_collected).",
        r"==ERROR== Failed to (?:find metric|access the following \d+ metrics?:)\s*(?:regex:\^?)?"
        r"(?P<name>\w+(?:\.\w+)*(?:, \w+(?:\.\w+)*)*)",
        "ncu has no such metric on this GPU: {name}",
        "ncu --query-metrics lists what this GPU has.",
        UsageError,
        "recorded/metric-not-found; public reports of ncu 2021.2 and 2025",
    ),
    Cause(
        "no_program",
        "The program to profile is not there, or may not be run.",
        r"'(?P<name>[^']*)' does not exist or is not an executable",
        "there is no program {name}",
        "Give its path, or a name on PATH, after the two dashes: ncu-lab profile --name NAME -- COMMAND …",
        UsageError,
        "recorded/no-app",
    ),
    Cause(
        "bad_option",
        "ncu is of another version than its options.",
        r"==ERROR== (?P<why>(?:unrecognised option|unrecognized option|the required argument|the argument|"
        r"Option '--[\w-]+' is (?:only|not) )[^\n]*)",
        "ncu refused its options: {why}",
        "This ncu may be too old; ncu-lab doctor shows its version.",
        EnvironmentLacksError,
        "recorded/bad-option, recorded/export-page; public reports of ncu 2025 and 2026",
    ),
    Cause(
        "report_exists",
        "The report's name is taken; ncu-lab itself writes into a folder of its own.",
        r"File (?P<name>\S+) already exists",
        "ncu would not overwrite {name}",
        "Remove it and profile again.",
        ProgramError,
        "recorded/output-exists",
    ),
)

_PROGRAM = (
    Cause(
        "kernel_fault",
        "A kernel that is not profiled reads or writes where it may not; of a profiled one see kernel_failed.",
        r"(?i)(?P<why>an illegal memory access|misaligned address|illegal instruction was|unspecified launch failure|"
        r"CUDA_ERROR_(?:ILLEGAL_ADDRESS|LAUNCH_FAILED|MISALIGNED_ADDRESS)|"
        r"cudaError(?:IllegalAddress|LaunchFailure|MisalignedAddress))",
        "a kernel of the program failed on the GPU: {why}",
        "The kernel is to blame, not the profiler: compute-sanitizer COMMAND shows where.",
        ProgramError,
        "recorded/kernel-fault; CUDA runtime error names",
        in_output=True,
    ),
    Cause(
        "out_of_memory",
        "The program and what ncu saves of it do not fit into the GPU.",
        r"(?i)cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|\bout of memory\b|OutOfMemoryError",
        "the program ran out of GPU memory under the profiler",
        "ncu keeps a copy of what a kernel writes while it replays it: choose a smaller size, or free the GPU.",
        ProgramError,
        "recorded/out-of-memory; CUDA runtime error names",
        in_output=True,
    ),
    Cause(
        "replay_memory",
        "What a kernel writes fits neither into the GPU nor into memory, where ncu would keep it between replays.",
        r"(?i)==ERROR== Unhandled C\+\+ exception: (?:std::)?bad[ _]alloc",
        "ncu ran out of memory while it kept what the kernel writes, to replay it",
        "Choose a smaller size, or free memory.",
        ProgramError,
        "a public report",
    ),
    Cause(
        "ended_by_signal",
        "Somebody ended ncu: a batch system's limit of time or memory, kill. Also told from the exit code alone.",
        r"==PROF== Received signal",
        "ncu was ended by a signal from outside",
        "A batch system's limit of time or memory? Fewer launches (-k, --launches) or sections take less.",
        ProgramError,
        "a public report (DeepBench under a time limit); recorded/hang, recorded/interrupted, where it says no word",
    ),
    Cause(
        "kernel_failed",
        "A profiled kernel reads or writes where it may not, or traps; ncu ends the program before it can say more.",
        r"==ERROR== LaunchFailed(?:[^\"]*Failed to profile (?:kernel )?\"(?P<kernel>[^\"]*)\")?",
        "kernel {kernel} failed on the GPU",
        "It is to blame, not the profiler: compute-sanitizer COMMAND shows where.",
        ProgramError,
        "recorded/illegal-address, recorded/trap, recorded/muddled",
        is_consequence=True,
    ),
    Cause(
        "launch_failed",
        "ncu could not prepare, replay or measure a kernel, and does not say why.",
        r"Failed to profile (?:kernel )?\"(?P<kernel>[^\"]*)\"|Failed to prepare kernel",
        "ncu could not profile kernel {kernel}",
        "Run the program without ncu, then under compute-sanitizer; a kernel that waits for another (a collective, a "
        "grid-wide barrier with several processes) cannot be replayed alone.",
        ProgramError,
        "recorded/hang-ended, llvm#17007, PyProf#142, nccl-tests#339",
        is_consequence=True,
    ),
    Cause(
        "not_instrumented",
        "The program named is a wrapper: it ends before a CUDA call of its own.",
        r"terminated before first instrumented API call|requires the --target-processes all option",
        "the program ended before it used CUDA",
        "Profile the program itself instead of a script that starts it elsewhere.",
        ProgramError,
        "recorded/wrapper, TensorRT-LLM#183",
        is_consequence=True,
    ),
    Cause(
        "unknown_device_error",
        "The measuring library failed without a reason.",
        r"(?i)Unknown Error on device (?P<device>\d+)",
        "ncu met an unknown error on GPU {device}",
        "ncu-lab doctor profiles a small kernel and says what works here.",
        ProgramError,
        "FastSoftmax#1, llvm#17007",
        is_consequence=True,
    ),
    Cause(
        "program_failed",
        "The program ends with another code than 0, or crashes; ncu passes its code on.",
        r"The application returned an error code \((?P<status>-?\d+)\)",
        "the program ended with {status}",
        "Run it without ncu first.",
        ProgramError,
        "recorded/app-crash, recorded/app-exit3, recorded/killed-program",
        is_consequence=True,
    ),
)

_IMPORT = (
    Cause(
        "import_missing",
        "ncu --import was given a file that is not there.",
        r"Could not open report file '(?P<name>[^']*)'",
        "ncu found no report {name}",
        "Check the path, then export again.",
        InputError,
        "recorded/import-missing",
    ),
    Cause(
        "import_not_a_report",
        "ncu --import was given a file of another kind.",
        r"(?:Failed to load report file '(?P<name>[^']*)'\.\s+(?:==ERROR== )?)?"
        r"The file is not an Nsight Compute profiler report",
        "{name} is not a report of ncu",
        "Give ncu --import the .ncu-rep file.",
        InputError,
        "recorded/import-not-a-report",
    ),
    Cause(
        "import_damaged",
        "ncu --import was given a report that is cut or damaged, or one of a newer ncu.",
        r"(?:Failed to load report file '(?P<name>[^']*)'\.\s+(?:==ERROR== )?)?"
        r"(?:An unexpected incompatibility with this Nsight Compute version|File is too small)",
        "ncu cannot load the report {name}: it is damaged, or of another version",
        "Import the .ncu-rep itself: ncu-lab import reads what is left of a damaged one.",
        InputError,
        "recorded/import-truncated, recorded/import-empty",
    ),
)

_OUTCOME = (
    Cause(
        "no_match",
        "The report holds no result, and a filter was in force.",
        "",
        "no kernel of the program matches {filters}",
        "{kernels_it_has}",
        UsageError,
        "recorded/no-kernel, recorded/mangled-filter, recorded/demangled-name, recorded/no-range",
    ),
    Cause(
        "no_kernels",
        "The report holds no result, and no filter was in force.",
        "",
        "the program launched no kernel that ncu could profile",
        "Does it use the GPU? A program that starts the profiler itself must do so around its kernels; one under "
        "compute-sanitizer or another profiler shows none.",
        ProgramError,
        "recorded/app-without-cuda, recorded/sanitizer",
    ),
    Cause(
        "not_collected",
        "A metric asked for is in no result of the report; the run is kept as partial.",
        "",
        "not collected, though asked for with --metrics: {metrics}",
        "ncu --query-metrics lists what this GPU has.",
        UsageError,
        "recorded/bad-metric",
    ),
    Cause(
        "timeout",
        "The profile takes longer than --timeout: a hang, a collective, a program that starts ncu, or much to do.",
        "",
        "profiling took longer than {seconds} s and was ended{where}",
        "A larger --timeout, fewer --section, or a filter (-k, --launches) helps. A kernel that waits for another, "
        "as collectives do, hangs when it is replayed.",
        ProgramError,
        "recorded/hang, recorded/nested-ncu; NVIDIA, Profiling Guide, Kernel Replay; nccl#466, nccl#536",
    ),
    Cause(
        "incomplete",
        "ncu ended while it wrote the report; what can be read of it is kept as partial.",
        "",
        "ncu's report is incomplete: {loss}",
        "Profile again.",
        ProgramError,
        "a recorded report, cut",
    ),
    Cause(
        "unknown",
        "None of these; told in ncu's own words, or the program's last.",
        "",
        "ncu failed: {words}",
        "ncu-lab doctor checks what this machine can do.",
        ProgramError,
        "",
    ),
)

FAMILIES: Mapping[str, tuple[Cause, ...]] = {
    "What the machine lacks": _MACHINE,
    "What was asked for": _REQUEST,
    "The program and its kernels": _PROGRAM,
    "Importing a report with ncu": _IMPORT,
    "Told from the report, not from words": _OUTCOME,
}
"""Every known cause, in the groups of the documentation."""

CAUSES: Mapping[str, Cause] = {cause.code: cause for family in FAMILIES.values() for cause in family}
"""Code -> cause."""
