import io
from dataclasses import replace

import pytest
from builders import ladder, row

from ncu_lab.analyze.explanation import explain_ladder
from ncu_lab.model import Expectation, Finding
from ncu_lab.render.expectations import built_words, expectation_words, print_expectations, tally_words, value_words
from ncu_lab.render.ladder import print_ladder
from ncu_lab.render.terminal import Terminal


def one(key, low=None, high=None, **more):
    return Expectation(key, "between", low, high, "theory", "By hand.", **more)


REGISTERS = one("build:registers", None, 128.0)
MET = Finding(REGISTERS, "met", 127.0, 1.0)
MISSED = Finding(REGISTERS, "missed", 130.0, -2.0)
UNKNOWN = Finding(one("stall:barrier", None, 0.5), "not_collected", lacks="--section WarpStateStats")


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (one("global_load_sectors_per_request", 16.0, 17.0, near=16.5, within=0.03), "sectors/load 16.5 ± 3 %"),
        (one("shared_load_wavefronts_per_fma", 1.0, 1.2, near=1.125, within=0.05), "shared wavefronts/FMA 1.125 ± 5 %"),
        (one("sass:LDS.128", 32.0, 32.0, near=32.0, within=0.0), "LDS.128 in SASS = 32"),
        (one("build:shared_bytes", None, 8192.0), "shared memory ≤ 8192 B"),
        (one("stall:long_scoreboard", 0.5), "long scoreboard ≥ 50 %"),
        (one("stall:long_scoreboard", None, 0.5, against="2d"), "long scoreboard ≤ 0.5× 2d"),
        (one("fma_pipe_pct", 70.0, 80.0), "FMA pipe 70 % to 80 %"),
        (one("l2_throughput_pct", None, 80.0), "l2 throughput ≤ 80 %"),
        (one("step", 1.5), "step ≥ 1.5×"),
    ],
)
def test_bounds_keep_the_digits_they_were_declared_with(expected, words):
    assert expectation_words(expected).replace("\u2009", " ") == words


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("stall:barrier", 0.123, "12 %"),
        ("fma_pipe_pct", 67.61, "67.6 %"),
        ("build:shared_bytes", 16640.0, "16 640 B"),
        ("build:registers", 130.0, "130"),
        ("step", 1.8825, "1.88×"),
        ("step", None, "–"),
        ("build:shared_bytes", None, "–"),
    ],
)
def test_values(key, value, words):
    assert value_words(one(key, 0.0), value).replace("\u2009", " ") == words


@pytest.mark.parametrize(
    ("key", "low", "high", "value", "words"),
    [
        ("shared_store_wavefronts_per_request", None, 1.15, 1.1544, "1.154"),
        ("intensity_l2", 16.0, None, 15.996, "15.996"),  # 16.00 with four digits
        ("stall:barrier", 0.5, None, 0.4996, "49.96 %"),
        ("fma_pipe_pct", 86.0, None, 85.98, "85.98 %"),
        ("step", 1.5, None, 1.498, "1.498×"),
        ("build:registers", None, 128.0, 128.0, "128"),  # the limit itself
        ("step", 1.0, None, 1.0 + 1e-12, "1.00×"),  # rounding
    ],
)
def test_a_value_is_told_from_a_limit_that_it_is_not(key, low, high, value, words):
    assert value_words(one(key, low, high), value).replace("\u2009", " ") == words


def test_counts_leave_out_what_is_zero():
    assert tally_words([MET, MISSED, UNKNOWN]) == "1 of 3 expectations met, 1 missed, 1 not collected"
    assert tally_words([MET]) == "1 of 1 expectations met"


def printed(shown, width=80, print_it=print_expectations):
    stream = io.StringIO()
    print_it(shown, Terminal(stream, width))
    return stream.getvalue().splitlines()


def test_table_what_would_tell_and_the_count():
    rows = [replace(row("2d"), findings=(MISSED, UNKNOWN)), replace(row("vectorized"), findings=(MET,))]
    lines = printed(ladder(rows=rows, references=[]), 100)
    assert lines[1:5] == [
        "stage       expected         measured  status         from    arithmetic",
        "2d          registers ≤ 128     130 ✗  missed         theory  By hand.",
        "2d          barrier ≤ 50 %        –    not collected  theory  By hand.",
        "vectorized  registers ≤ 128     127 ✓  met            theory  By hand.",
    ]
    assert "1 not collected, need --section WarpStateStats: 2d" in lines
    assert "1 of 3 expectations met, 1 missed, 1 not collected. Why some" in " ".join(lines)


def test_figures_of_the_compiler_name_their_kernel_where_another_ran():
    built = row("2d")
    assert built.summary.function == "sgemm_2d"
    built = replace(built, findings=(MET,), stage=replace(built.stage, entry="sgemm_2d"))
    small = replace(built, summary=replace(built.summary, function="sgemm_small"))
    others = [built, replace(small, findings=(UNKNOWN,)), replace(row("vectorized"), findings=(MET,))]
    told = "Registers and spills by the compiler are of sgemm_2d, not of sgemm_small, which ran here: 2d"
    assert built_words([small, *others]) == [told]
    assert built_words(others) == []
    assert told in printed(ladder(rows=[small], references=[]), 120)


def test_the_ladder_ends_with_the_count_and_the_command():
    shown = ladder(rows=[replace(row("2d"), findings=(MISSED, MET))], references=[])
    lines = printed(replace(shown, explanation=explain_ladder(shown, {})), print_it=print_ladder)
    assert any(line.startswith("1 of 2 expectations met, 1 missed, the furthest by 2d: ") for line in lines)
    assert "      ncu-lab ladder --expectations" in lines
    assert not any("expectations" in line for line in printed(ladder(), print_it=print_ladder))


def test_nothing_expected_is_said():
    assert "Nothing is expected of these stages" in " ".join(printed(ladder()))
