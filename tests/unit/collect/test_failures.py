from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.collect.causes import CAUSES, COUNTER_CODES, FAMILIES
from ncu_lab.collect.failures import failure_of_run, find_cause, last_words, nothing_profiled, unknown_failure
from ncu_lab.collect.log import parse_log
from ncu_lab.errors import Exit

DATA = Path(__file__).parents[2] / "data" / "ncu"


def recorded(name: str) -> str:
    return (DATA / f"{name}.txt").read_text()


@pytest.mark.parametrize(
    ("name", "code", "message", "exit_code"),
    [
        (
            "app-crash",
            "program_failed",
            "the program ended with exit code 11, which is what SIGSEGV gives",
            Exit.PROGRAM,
        ),
        ("app-exit3", "program_failed", "the program ended with exit code 3", Exit.PROGRAM),
        ("bad-section", "unknown_section", "ncu knows no section NoSuchSection", Exit.USAGE),
        ("bad-set", "empty_set", "the sections asked for collect nothing; ncu knows no such --set", Exit.USAGE),
        ("no-app", "no_program", "there is no program ./nosuchapp", Exit.USAGE),
        ("output-exists", "report_exists", "ncu would not overwrite ladder-targeted.ncu-rep", Exit.PROGRAM),
    ],
)
def test_recorded_failures(name: str, code: str, message: str, exit_code: Exit) -> None:
    failure = find_cause(recorded(name))
    assert failure is not None
    assert (failure.code, failure.error.message, failure.error.exit_code) == (code, message, exit_code)
    assert failure.error.hint


@pytest.mark.parametrize("name", ["ladder-full", "ladder-targeted", "bad-metric", "no-kernel", "app-without-cuda"])
def test_logs_without_a_failure_give_no_cause(name: str) -> None:
    assert find_cause(recorded(name)) is None


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("no-permission", "no_permission"),
        ("library-not-loaded", "library_not_loaded"),
        ("counters-busy", "counters_busy"),
        ("unreadable-home", "unreadable_home"),
        ("illegal-address", "kernel_failed"),
        ("trap", "kernel_failed"),
        ("out-of-memory", "out_of_memory"),
        ("disk-full", "report_not_saved"),
        ("program-disk-full", "disk_full"),
        ("no-gpu", "no_driver"),
        ("kernel-fault", "kernel_fault"),
        ("wrapper", "not_instrumented"),
        ("import-empty", "import_damaged"),
        ("export-page", "bad_option"),
        ("hang-ended", "launch_failed"),
        ("other-profiler", "other_profiler"),
        ("mig-clocks", "clocks"),
        ("lock-file", "lock_file"),
        ("old-driver", "old_driver"),
        ("unsupported-gpu", "unsupported_gpu"),
        ("metric-not-found", "unknown_metric"),
        ("metrics-not-accessible", "unknown_metric"),
        ("bad-option", "bad_option"),
        ("replay-memory", "replay_memory"),
        ("launch-failed", "launch_failed"),
        ("killed-program", "program_failed"),
        ("import-missing", "import_missing"),
        ("import-not-a-report", "import_not_a_report"),
        ("import-truncated", "import_damaged"),
    ],
)
def test_the_first_cause_wins_over_its_consequences(name: str, code: str) -> None:
    failure = find_cause(recorded(name))
    assert failure is not None
    assert failure.code == code
    assert failure.error.exit_code == CAUSES[code].error.exit_code


def test_only_busy_counters_are_worth_another_try() -> None:
    assert [cause.code for cause in CAUSES.values() if cause.retryable] == ["counters_busy"]


def test_the_lock_file_is_named() -> None:
    failure = find_cause("==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that …")
    assert failure is not None
    assert "/tmp/nsight-compute-lock cannot be opened" in failure.error.message
    unnamed = find_cause("InterprocessLockFailed")
    assert unnamed is not None
    assert unnamed.error.message.startswith("ncu's lock file cannot be opened")


def test_the_programs_own_words_count_when_ncu_names_no_cause() -> None:
    log = "==ERROR== The application returned an error code (1).\n"
    failure = find_cause(log, "RuntimeError: CUDA error: an illegal memory access was encountered\n")
    assert failure is not None
    assert failure.code == "kernel_fault"
    # What only a program would print about permissions is not ncu's complaint.
    assert find_cause("", "docs: see ERR_NVGPUCTRPERM") is None


def test_an_empty_report_names_the_kernels_that_are_there() -> None:
    failure = nothing_profiled(recorded("no-kernel"), "", "sgem_2d", None)
    assert failure.code == "no_match"
    assert failure.error.exit_code == Exit.USAGE
    assert failure.error.message == "no kernel of the program matches -k sgem_2d"
    assert "sgemm_2d, sgemm_2d_db, sgemm_coalesced" in failure.error.hint


def test_an_empty_report_without_a_filter_blames_the_program() -> None:
    failure = nothing_profiled(recorded("app-without-cuda"), "hello\n", None, None)
    assert (failure.code, failure.error.exit_code) == ("no_kernels", Exit.PROGRAM)


def test_an_unknown_failure_is_told_in_ncus_words() -> None:
    failure = unknown_failure("==ERROR== Something new.\n==ERROR== And a consequence.\n", "")
    assert failure.error.message == "ncu failed: Something new."
    assert unknown_failure("", "Killed\n").error.message == "ncu failed: Killed"


def test_last_words_leave_out_ncus_lines_and_blank_ones() -> None:
    assert last_words("a\n\nb\n==PROF== x\nc\nd\n") == "b\n  c\n  d"


def test_every_cause_is_complete() -> None:
    for code, cause in CAUSES.items():
        assert cause.code == code
        named = set(re.findall(r"\{(\w+)\}", cause.message + cause.hint))
        if cause.pattern:
            assert named == set(re.compile(cause.pattern).groupindex), code
        assert cause.hint, code
        assert cause.when.endswith("."), code
        assert cause.seen or code == "unknown", code
    assert sum(len(family) for family in FAMILIES.values()) == len(CAUSES)
    assert set(CAUSES) >= COUNTER_CODES


def test_an_error_that_is_not_known_comes_before_what_follows_from_it() -> None:
    failure = find_cause(recorded("new-words"))
    assert failure is not None
    assert (failure.code, failure.error.message) == ("unknown", "ncu failed: The flux of the counters is reversed.")
    # The kernel that ncu stumbled over is named, its own ending of the program is not blamed on that.
    failure = find_cause(recorded("unknown-error"))
    assert failure is not None
    assert failure.error.message == "ncu failed: UnknownError (kernel scale_f32)"
    failure = find_cause(recorded("shut-down"))
    assert failure is not None
    assert "SIGKILL" not in failure.error.message


def test_causes_are_found_where_messages_do_not_begin_a_line() -> None:
    failure = find_cause("", recorded("interleaved"))
    assert failure is not None
    assert (failure.code, failure.retryable) == ("counters_busy", True)
    failure = find_cause(recorded("ended-by-signal"))
    assert failure is not None
    assert failure.code == "ended_by_signal"


def test_a_kernel_that_fails_amid_a_line_of_the_program_is_named() -> None:
    log = parse_log(recorded("muddled"))
    assert [(one.kernel, one.percent) for one in log.kernels] == [
        ("scale(float *, int)", 100),
        ("writes_astray(float *)", 100),
    ]
    assert log.warnings[0].startswith("Note: Running with unmodified GPU clocks")
    failure = find_cause("", recorded("muddled"))
    assert failure is not None
    assert (failure.code, failure.error.message) == ("kernel_failed", "kernel writes_astray(float *) failed on the GPU")


def test_a_fault_of_a_kernel_that_is_not_profiled_is_told_by_the_program() -> None:
    failure = find_cause(recorded("kernel-fault"))
    assert failure is not None
    assert failure.error.message == "a kernel of the program failed on the GPU: an illegal memory access"


def test_what_kernels_and_programs_are_called_is_no_cause() -> None:
    log = (
        "==PROF== Connected to process 7 (/home/me/LibraryNotLoaded)\n"
        '==PROF== Profiling "ERR_NVGPUCTRPERM" - 0: 0%....50%....100% - 1 pass\n'
        "==PROF== Report: /tmp/InterprocessLockFailed.ncu-rep\n"
        "==WARNING== No kernels were profiled.\nAvailable Kernels:\n1. CUPTI_ERROR_HARDWARE_BUSY\n"
    )
    assert find_cause(log) is None
    assert nothing_profiled(log, "", "x", None).code == "no_match"


@pytest.mark.parametrize(
    ("kernel", "advice"),
    [
        ("_Z5sgemmPf", "looks like a mangled name"),
        (r"sgemm\(int", "Names are matched bare"),
        ("at::native::add", "Names are matched bare"),
        ("void sgemm", "Names are matched bare"),
        ("sgem_2d", "Kernels it has: Kernel2"),
    ],
)
def test_a_filter_for_another_form_of_the_name_is_noticed(kernel: str, advice: str) -> None:
    failure = nothing_profiled(recorded("no-kernel"), "", kernel, None)
    assert failure.error.hint.startswith(advice) or advice in failure.error.hint.partition("Kernels")[0]
    assert "Kernels it has: Kernel2" in failure.error.hint


def test_the_filters_that_were_recorded_get_their_advice() -> None:
    assert (
        "looks like a mangled name" in nothing_profiled(recorded("mangled-filter"), "", "_Z5scalePfi", None).error.hint
    )
    hint = nothing_profiled(recorded("mangled-filter"), "", r"scale\(float", None).error.hint
    assert hint == "Names are matched bare, without namespace, return type or arguments. Kernels it has: scale"
    assert (
        nothing_profiled(recorded("demangled-name"), "", "x", None).error.hint == "Kernels it has: scale(float *, int)"
    )
    failure = nothing_profiled(recorded("no-range"), "", None, "nothing")
    assert failure.error.message == "no kernel of the program matches --nvtx nothing"
    assert failure.error.hint.startswith("No kernel is launched in such a range")


def test_the_kernel_that_failed_is_the_last_that_was_begun() -> None:
    for name, kernel in (("illegal-address", "writes_astray(float *)"), ("trap", "traps()")):
        failure = find_cause(recorded(name))
        assert failure is not None
        assert failure.error.message == f"kernel {kernel} failed on the GPU"
    older = find_cause('==ERROR== LaunchFailed\n==ERROR== Failed to profile "scatter" in process 1\n')
    assert older is not None
    assert older.error.message == "kernel scatter failed on the GPU"


@pytest.mark.parametrize(("exit_code", "code"), [(143, "ended_by_signal"), (-9, "ended_by_signal"), (-11, "unknown")])
def test_a_signal_from_outside_is_told_though_ncu_says_no_word(exit_code: int, code: str) -> None:
    assert failure_of_run(exit_code, recorded("hang"), "").code == code
    assert failure_of_run(exit_code, recorded("interrupted"), "").code == code
    assert failure_of_run(exit_code, recorded("app-exit3"), "").code == "program_failed"


def test_output_of_the_program_may_stand_before_a_message() -> None:
    log = parse_log(recorded("unended-line"))
    assert log.warnings[0].startswith("Note: Running with unmodified GPU clocks")
    assert len(log.kernels) == 2


def test_of_many_kernels_some_are_named() -> None:
    listed = "\n".join(f"{number}. kernel_{number}" for number in range(1, 101))
    log = f"==WARNING== No kernels were profiled.\nAvailable Kernels:\n{listed}\n"
    hint = nothing_profiled(log, "", "x", None).error.hint
    assert hint.endswith("kernel_30, and 70 more")


@given(st.text(), st.text())
def test_any_text_is_searched_without_complaint(log: str, output: str) -> None:
    find_cause(log, output)
    unknown_failure(log, output)
