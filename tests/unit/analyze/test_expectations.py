"""Expectations against what an H200 showed at 1024³ (the golden report), and against rows that lack something."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders import STAGES, row

from ncu_lab.analyze.expectations import judge
from ncu_lab.model import Expectation, StageBuild

KEY = "global_load_sectors_per_request"
BUILD = StageBuild(
    "2d", "fast", "sm_90", Path("kernel.cubin"), 130, 0, 0, 0, 8192, 1, False, 1.0, (), "13.0",
    sass_mix={"FFMA": 512, "LDS.128": 48},
)  # fmt: skip


def expected(key, low=None, high=None, **more):
    relation = "at_most" if low is None else "at_least" if high is None else "between"
    return Expectation(key, relation, low, high, "theory", "By hand.", **more)


def with_value(measured, key, value, metric="a / b"):
    reading = replace(measured.summary.readings[key], value=value, metric=metric)
    return replace(measured, summary=replace(measured.summary, readings={**measured.summary.readings, key: reading}))


def judged(measured, one, **others):
    """Judge one expectation of a row; others are rows by stage id, - for _."""
    rows = {key.replace("_", "-"): other for key, other in others.items()}
    wanting = replace(measured, stage=replace(measured.stage, expect=(one,)))
    (finding,) = judge(wanting, {**rows, measured.stage.id: wanting})
    return finding


@pytest.mark.parametrize(
    ("low", "high", "status", "margin"),
    [
        (16.0, None, "met", 0.5),  # 16.5 - 16
        (None, 17.5, "met", 1.0),  # 17.5 - 16.5
        (16.0, 17.5, "met", 0.5),  # the nearer bound
        (16.5, 16.5, "met", 0.0),  # on the bound
        (17.0, None, "missed", -0.5),
        (None, 16.0, "missed", -0.5),
        (1.0, 16.25, "missed", -0.25),
    ],
)
def test_margin_is_the_distance_to_the_nearer_bound(low, high, status, margin):
    finding = judged(with_value(row("naive"), KEY, 16.5), expected(KEY, low, high))
    assert (finding.status, finding.measured) == (status, 16.5)
    assert finding.margin == pytest.approx(margin)
    assert finding.lacks == ""


def test_a_stall_is_a_share_of_all_warp_cycles():
    naive = row("naive")
    cycles = naive.summary.stall_cycles
    finding = judged(naive, expected("stall:lg_throttle", 0.5))
    assert finding.measured == pytest.approx(cycles["lg_throttle"] / sum(cycles.values()))
    assert finding.status == "met"


def test_against_another_stage_it_is_their_quotient():
    # The golden report counts, over all shared stores, 16.7 wavefronts where one is ideal, and 1.13 once padded.
    one = expected("shared_store_wavefronts_over_ideal", None, 0.1, against="smem-conflict")
    padded, conflict = row("smem-padded"), row("smem-conflict")
    key = "shared_store_wavefronts_over_ideal"
    finding = judged(padded, one, smem_conflict=conflict)
    assert finding.measured == pytest.approx(padded.summary.value(key) / conflict.summary.value(key))
    assert finding.status == "met"


def test_times_are_read_off_the_row():
    tile = replace(row("2d", median_ns=200.0), step=1.5, share_of_reference=0.4, flop_per_s=5e12)
    assert judged(tile, expected("step", 1.4)).measured == 1.5
    assert judged(tile, expected("pct_of_reference", 39.0)).measured == pytest.approx(40.0)
    assert judged(tile, expected("gflops", 4000.0)).measured == pytest.approx(5000.0)


def test_figures_of_the_compiler():
    tile = replace(row("2d"), build=BUILD)
    assert judged(tile, expected("build:registers", None, 128.0)).margin == -2.0
    assert judged(tile, expected("sass:LDS.128", 32.0)).measured == 48.0
    assert judged(tile, expected("sass:LDS", None, 0.0)).status == "met"  # an opcode that is not there: 0 times


def lacks(measured, one, **others):
    finding = judged(measured, one, **others)
    assert (finding.status, finding.measured, finding.margin) == ("not_collected", None, None)
    return finding.lacks


def test_what_was_not_collected_is_never_judged_and_says_what_would_tell():
    sectors = expected("global_load_sectors_per_request", None, 1e9)
    without = row("2d", without=("global_load_sectors_per_request", "stalls"))
    assert lacks(without, sectors) == "--section MemoryWorkloadAnalysis_Tables"
    assert lacks(without, expected("stall:barrier", 0.0)) == "--section WarpStateStats"
    assert lacks(row("2d"), expected("stall:gmma_of_another_gpu", 0.0)).startswith("a GPU whose counters")
    assert lacks(row("2d", profiled=False), sectors) == "counters: ncu-lab profile"
    assert lacks(row("2d"), expected("build:registers", None, 1e9)) == "a build: ncu-lab profile"
    blind = replace(row("2d"), build=replace(BUILD, sass_mix=None))
    assert lacks(blind, expected("sass:LDS", None, 0.0)).startswith("a disassembler")


def test_a_quantity_that_is_undefined_is_not_collected():
    one = expected("shared_store_wavefronts_per_request", None, 1e9)
    assert lacks(row("naive"), one) == "no such access in the kernel"  # it has no shared stores


def test_times_that_are_not_there():
    tile = replace(row("2d"), step=None, share_of_reference=None, flop_per_s=None)
    assert lacks(tile, expected("step", 0.0)) == "a time beside that of 1d"
    assert lacks(tile, expected("pct_of_reference", 0.0)) == "a time beside that of cublas-fp32"
    assert lacks(tile, expected("gflops", 0.0)) == "a time"


def test_a_problem_too_small_cannot_tell():
    one = expected("global_load_sectors_per_request", 0.0, min_size=2048)
    assert lacks(row("2d"), one) == "a problem of at least 2048³"


def test_another_kernel_of_the_stage_cannot_tell():
    shown = row("2d")
    assert shown.summary is not None
    one = expected("shared_load_wavefronts_per_fma", 0.0)
    assert judged(shown, replace(one, kernel=shown.summary.function)).status == "met"
    other = replace(one, kernel="sgemm_small")
    assert lacks(shown, other) == "a profile of a problem that sgemm_small is launched for"
    assert lacks(row("2d", profiled=False), other) == "a profile of a problem that sgemm_small is launched for"


def test_against_a_stage_that_cannot_tell():
    one = expected("shared_load_wavefronts_per_fma", None, 1e9, against="1d")
    assert lacks(row("2d"), one) == "a run of 1d"
    blind = row("1d", without=("shared_load_wavefronts_per_fma",))
    assert judged(row("2d"), one, **{"1d": blind}).lacks == "of 1d: --section MemoryWorkloadAnalysis_Tables"
    ffma = expected("sass:FFMA", None, 1.0, against="1d")
    empty = replace(row("1d"), build=replace(BUILD, sass_mix={}))
    assert judged(replace(row("2d"), build=BUILD), ffma, **{"1d": empty}).lacks == "1d above 0"


def test_what_needs_counters_per_instruction_is_not_judged_by_the_hardware():
    key = "shared_store_wavefronts_over_ideal"
    one = expected(key, None, 1.001, per_instruction=True)
    assert lacks(row("smem-padded"), one) == "--section SourceCounters"  # the hardware's 1.10 would miss it
    metric = "memory_l1_wavefronts_shared / memory_l1_wavefronts_shared_ideal"
    assert judged(with_value(row("smem-padded"), key, 1.0, metric), one).status == "met"


def test_times_of_two_sources_are_not_compared():
    one = expected("gflops", 1.0, against="1d")
    timed = row("2d", samples_ns=(100.0, 101.0, 102.0))
    assert judged(timed, one, **{"1d": row("1d")}).lacks == "times of 1d and 2d by one source"


def test_a_stage_without_expectations_has_no_findings():
    assert judge(row("2d"), {}) == ()
    assert STAGES["2d"].expect == ()
