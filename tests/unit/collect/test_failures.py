from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.collect.failures import CAUSES, COUNTER_CODES, find_cause, last_words, nothing_profiled, unknown_failure
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
    ("log", "code", "exit_code"),
    [
        (
            "==PROF== Connected to process 7 (/usr/bin/python3)\n==ERROR== ERR_NVGPUCTRPERM - The user does not have "
            "permission to access NVIDIA GPU Performance Counters on the target device 0.\nTraceback …\n"
            "==ERROR== The application returned an error code (1).\n==WARNING== No kernels were profiled.\n",
            "no_permission",
            Exit.ENVIRONMENT,
        ),
        (
            "==ERROR== An error was reported by the driver:\n==ERROR== Profiling failed because a driver resource was "
            "unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data.\n"
            '==ERROR== Failed to profile "sgemm" in process 3\n',
            "counters_busy",
            Exit.ENVIRONMENT,
        ),
        (
            "==ERROR== An error was reported by the driver:\n"
            "==ERROR== Cuda driver is not compatible with Nsight Compute.\n"
            "==ERROR== The application returned an error code (11).\n",
            "old_driver",
            Exit.ENVIRONMENT,
        ),
        (
            "==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer --list-chips option.\n",
            "unsupported_gpu",
            Exit.ENVIRONMENT,
        ),
        ("==ERROR== LibraryNotLoaded\n", "library_not_loaded", Exit.ENVIRONMENT),
        ("==ERROR== Failed to lock clocks on device 0.\n", "clocks", Exit.ENVIRONMENT),
        (
            "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Unknown Error on device 0.\n"
            '==ERROR== Failed to profile "const:" in process 9\n'
            "==ERROR== The application returned an error code (9).\n",
            "launch_failed",
            Exit.PROGRAM,
        ),
    ],
)
def test_the_first_cause_wins_over_its_consequences(log: str, code: str, exit_code: Exit) -> None:
    failure = find_cause(log)
    assert failure is not None
    assert (failure.code, failure.error.exit_code) == (code, exit_code)


def test_only_busy_counters_are_worth_another_try() -> None:
    assert [cause.code for cause in CAUSES if cause.retryable] == ["counters_busy"]


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
    for cause in CAUSES:
        groups = re.compile(cause.pattern).groupindex
        assert set(re.findall(r"\{(\w+)\}", cause.message)) == set(groups), cause.code
        assert cause.hint, cause.code
        assert cause.seen, cause.code
    assert len({cause.code for cause in CAUSES}) == len(CAUSES)
    assert {cause.code for cause in CAUSES} >= COUNTER_CODES


@given(st.text(), st.text())
def test_any_text_is_searched_without_complaint(log: str, output: str) -> None:
    find_cause(log, output)
    unknown_failure(log, output)
