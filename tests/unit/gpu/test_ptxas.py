"""Against what nvcc 13.0.88 really printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.gpu.ptxas import Resources, first_error, parse_resources, parse_warnings

SPILLING = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sgemm_double_buffered' for 'sm_90'
ptxas info    : Function properties for sgemm_double_buffered
    48 bytes stack frame, 44 bytes spill stores, 40 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 48 bytes cumulative stack size, 16640 bytes smem
ptxas info    : Compile time = 20.110 ms
"""
BARE = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers
"""
OLDER = """\
ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, 8192+0 bytes smem, 400 bytes cmem[0]
"""
SERIALISED = (
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
    "insufficient register resources for the wgmma pipeline in the function 'k'"
)


def test_reads_every_resource() -> None:
    assert parse_resources(SPILLING, "sgemm_double_buffered") == Resources(128, 44, 40, 48, 16640, 1)


def test_what_ptxas_does_not_mention_is_not_used() -> None:
    assert parse_resources(BARE, "k") == Resources(12, 0, 0, 0, 0, 0)
    assert parse_resources(OLDER, "k") == Resources(40, 0, 0, 0, 8192, 0)


def test_finds_the_entry_among_others() -> None:
    both = SPILLING + BARE
    assert parse_resources(both, "k") == Resources(12, 0, 0, 0, 0, 0)
    assert parse_resources(both, "sgemm_double_buffered") == Resources(128, 44, 40, 48, 16640, 1)
    assert parse_resources(both, "other") is None
    assert parse_resources("", "k") is None


def test_warnings_once_each() -> None:
    log = f'gemm/x.cu(6): warning #550-D: variable "s" was set but never used\n{SERIALISED}\n{SERIALISED}\n{BARE}'
    warnings = parse_warnings(log)
    assert len(warnings) == 2
    assert "C7510" in warnings[1]
    assert parse_warnings(SPILLING) == ()


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (
            'gemm/bad.cu(6): error: identifier "q" is undefined\n  c[0] = q;\n         ^\n1 error detected',
            'gemm/bad.cu:6: identifier "q" is undefined',
        ),
        (
            'gemm/bad.cu(3): warning #550-D: variable "s"\ngemm/bad.cu(9): error: expected a ";"',
            'gemm/bad.cu:9: expected a ";"',
        ),
        (
            "gemm/bad2.cu:1:10: fatal error: nope.cuh: No such file or directory\n    1 | #include",
            "gemm/bad2.cu:1: nope.cuh: No such file or directory",
        ),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_60'", "Unsupported gpu architecture 'compute_60'"),
        (
            "ptxas error   : Entry function 'k' uses too much shared data (0x1f400 bytes, 0xc000 max)",
            "Entry function 'k' uses too much shared data (0x1f400 bytes, 0xc000 max)",
        ),
        ("something else went wrong\n", "something else went wrong"),
        ("", "nvcc said nothing"),
    ],
)
def test_first_error(log: str, expected: str) -> None:
    assert first_error(log) == expected


@given(st.text())
def test_any_text_is_read_without_failing(log: str) -> None:
    parse_resources(log, "k")
    parse_warnings(log)
    assert first_error(log)
