"""Verdicts on counters: exact ones by what they repeat by, noisy ones by ranks or bands, and the compiler's figures."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders import summary
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.analyze.metric_changes import compare_builds, compare_counters, compare_metric
from ncu_lab.metrics import METRICS, Reading
from ncu_lab.model import StageBuild
from ncu_lab.model.comparison import Comparability, Difference
from ncu_lab.model.noise import NoiseTable, Repeatability, default_repeatability
from ncu_lab.render.change_words import metric_words
from ncu_lab.render.numbers import plain_spaces

REGISTERS, ISSUED, CONFLICTS, DRAM, SPILLS, OCCUPANCY = (
    METRICS[key]
    for key in (
        "registers_per_thread", "instructions_issued", "shared_store_bank_conflicts", "dram_bytes",
        "local_spill_requests", "achieved_occupancy_pct",
    )
)  # fmt: skip


def verdict(metric, a, b, **options):
    repeats = options.pop("repeats", default_repeatability(metric.key))
    return compare_metric(metric, a, b, repeats, **options).verdict


def test_what_the_compiler_decides_is_held_to_the_unit():
    assert verdict(REGISTERS, [130.0], [130.0]) == "same"
    assert verdict(REGISTERS, [130.0], [131.0]) == "changed"
    assert verdict(SPILLS, [0.0], [1.0]) == "worse"
    assert verdict(SPILLS, [8.0], [0.0]) == "better"


def test_counted_ones_are_held_to_what_they_repeat_by():
    # 0.02 % a launch: 99 % of differences lie within 2.576 * sqrt 2 * 0.02 % = 0.073 %.
    assert verdict(ISSUED, [1e8], [1.0007e8]) == "same"
    assert verdict(ISSUED, [1e8], [1.0008e8]) == "worse"
    assert verdict(ISSUED, [1.0008e8], [1e8]) == "better"
    assert verdict(CONFLICTS, [0.0], [3406.0]) == "same"  # arbitration
    assert verdict(CONFLICTS, [559e3], [2.46e6]) == "worse"


def test_their_own_launches_count_where_these_vary_more():
    assert verdict(ISSUED, [1e8, 1.01e8, 0.99e8], [1.02e8, 1.0e8, 1.01e8]) == "same"
    assert verdict(ISSUED, [1e8] * 3, [1.02e8] * 3) == "worse"


def test_noisy_ones_follow_the_rule_of_times():
    assert verdict(DRAM, [1e6], [1.01e6]) == "inconclusive"
    assert verdict(DRAM, [1e6], [1.1e6]) == "worse"
    assert verdict(DRAM, [1e6 + i for i in range(10)], [1.02e6 + i for i in range(10)]) == "worse"
    steady = Repeatability(0.001)
    assert verdict(DRAM, [1e6 + i for i in range(10)], [1e6 + i + 3 for i in range(10)], repeats=steady) == "same"
    assert verdict(OCCUPANCY, [25.0], [50.0]) == "changed"


def test_zero_has_no_ratio():
    assert verdict(OCCUPANCY, [0.0], [0.1]) == "same"  # within 2.576 * sqrt 2 * 0.05
    assert verdict(OCCUPANCY, [0.0], [12.0]) == "changed"
    assert verdict(DRAM, [0.0] * 10, [5e6] * 10) == "worse"
    assert verdict(DRAM, [0.0, 9e6] * 5, [9e6, 9e6, 0.0] * 3) == "inconclusive"


def test_nan_or_nothing_on_one_side_is_missing():
    found = compare_metric(DRAM, [], [1.0], default_repeatability("dram_bytes"))
    assert (found.verdict, found.reason, found.a, found.b, found.delta) == (
        "missing",
        "A does not have it",
        None,
        1.0,
        None,
    )
    nan = with_value("dram_bytes", float("nan"))
    one = changed(nan, with_value("dram_bytes", 5.0))["dram_bytes"]
    assert (one.verdict, one.reason, one.is_no_number) == ("missing", "A's is no number", True)
    assert plain_spaces(metric_words(one)) == "– DRAM bytes – → 5.00 B, missing"
    assert not found.is_no_number
    assert "dram_bytes" not in changed(nan, nan)


def with_value(key, value):
    made = summary("2d")
    return replace(made, readings={**made.readings, key: Reading(key, value, METRICS[key].unit, key)})


def changed(a, b, **options):
    return {one.key: one for one in compare_counters([a], [b], **options)}


def test_what_is_not_comparable_has_values_and_no_difference():
    other = Difference("other_ncu", "version of ncu", "2025", "2026", ("exact", "noisy"))
    found = changed(summary("1d"), summary("2d"), comparability=Comparability((other,)))
    assert found["registers_per_thread"].verdict == "changed"
    dram = found["dram_bytes"]
    assert (dram.verdict, dram.delta, dram.delta_pct) == ("not_comparable", None, None)
    assert dram.reason == "another version of ncu (2025 and 2026)"
    assert dram.a
    assert dram.b
    forced = changed(summary("1d"), summary("2d"), comparability=Comparability((other,), forced=True))
    assert forced["dram_bytes"].verdict != "not_comparable"


def test_times_are_not_among_them_and_a_launch_equals_itself():
    found = changed(summary("2d"), summary("2d"))
    assert "duration_ns" not in found
    assert {one.verdict for one in found.values()} == {"same"}
    assert {one.delta for one in found.values()} == {0.0}


def test_a_measured_table_decides():
    table = NoiseTable({"GPU": {"instructions_issued": Repeatability(0.05)}})
    a, b = with_value("instructions_issued", 1e8), with_value("instructions_issued", 1.05e8)
    assert changed(a, b, noise=table, device="GPU")["instructions_issued"].verdict == "same"
    assert changed(a, b, noise=table, device="other")["instructions_issued"].verdict == "worse"


def test_what_was_measured_of_one_kernel_is_not_held_against_another():
    # 4,000 wavefronts of arbitration are 3.6 % of 111,000 here, whatever share of millions another build repeated by.
    conflicts, ratio = "shared_store_bank_conflicts", "shared_store_wavefronts_per_request"
    table = NoiseTable(
        {"GPU": {conflicts: Repeatability(0.0001), ratio: Repeatability(0.0001)}}, {"GPU": frozenset({"2d"})}
    )

    def verdict(key, stage, before, after):
        sides = [replace(with_value(key, value), stage=stage) for value in (before, after)]
        return changed(*sides, noise=table, device="GPU")[key].verdict

    # The deviation of the difference is sqrt 2 x 4,000, of which 2.576 are 14,571.
    assert verdict(conflicts, "2d", 2_952_371.0, 2_966_900.0) == "same"
    assert verdict(conflicts, "2d", 2_952_371.0, 2_967_100.0) == "worse"
    # 2.576 x sqrt 2 x 2 % = 7.3 % for a kernel that was not measured, 0.036 % for the one that was.
    assert verdict(ratio, "1d", 1.19, 1.21) == "same"
    assert verdict(ratio, "2d", 1.19, 1.21) == "worse"


def test_what_the_sides_read_from_other_counters_need_not_be_a_change_of_the_kernel():
    key = "shared_store_wavefronts_over_ideal"
    a, b = with_value(key, 1.0), with_value(key, 1.09)
    by_hardware = replace(b, readings={**b.readings, key: Reading(key, 1.09, "", "by the hardware")})
    assert changed(a, b)[key].verdict == "worse"
    change = changed(a, by_hardware)[key]
    assert (change.verdict, change.delta) == ("not_comparable", None)
    assert change.reason == f"A has it from {key}, B from by the hardware"
    assert changed(a, by_hardware, comparability=Comparability(forced=True))[key].verdict == "worse"
    equal = replace(b, readings={**b.readings, key: Reading(key, 1.0, "", "by the hardware")})
    assert changed(a, equal)[key].verdict == "same"


MIRROR = {"better": "worse", "worse": "better"}
VALUES = st.lists(st.sampled_from([0.0, 1.0, 1.0001, 1.001, 1.01, 1.1, 2.0]).map(lambda v: v * 1e7), max_size=7)


@given(st.sampled_from([REGISTERS, ISSUED, CONFLICTS, DRAM, SPILLS, OCCUPANCY]), VALUES, VALUES)
def test_swapping_mirrors_the_verdict(metric, a, b):
    there = compare_metric(metric, a, b, default_repeatability(metric.key))
    back = compare_metric(metric, b, a, default_repeatability(metric.key))
    assert back.verdict == MIRROR.get(there.verdict, there.verdict)
    assert there.delta == (None if back.delta is None else -back.delta)
    if a:
        itself = compare_metric(metric, a, a, default_repeatability(metric.key))
        assert (itself.verdict, itself.delta) == ("same", 0.0)


def build(**changes):
    made = StageBuild("2d", "fast", "sm_90", Path("kernel.cubin"), 130, 0, 0, 0, 8192, 1, False, 1.0, (), "13.0",
                      sass_mix={"FFMA": 64, "LDS": 16}, sass_hash="one")  # fmt: skip
    return replace(made, **changes)


def test_the_compilers_figures():
    found = {
        one.key: one
        for one in compare_builds(build(), build(registers=107, spill_store_bytes=8, sass_mix={"FFMA": 90}))
    }
    assert (found["build:registers"].verdict, found["build:registers"].delta) == ("better", -23.0)
    assert found["build:spill_store_bytes"].verdict == "worse"
    assert (found["build:instructions"].a, found["build:instructions"].b) == (80.0, 90.0)
    assert found["build:shared_bytes"].verdict == "same"
    assert {one.verdict for one in compare_builds(build(), build(arch="sm_80"))} == {"not_comparable"}
    without = {one.key: one.verdict for one in compare_builds(build(sass_mix=None), build())}
    assert without["build:instructions"] == "missing"
    assert "build:instructions" not in {one.key for one in compare_builds(build(sass_mix=None), build(sass_mix=None))}


@pytest.mark.parametrize("key", METRICS)
def test_every_counter_has_a_default(key):
    repeats = default_repeatability(key)
    assert repeats.launches >= 0.0
    assert (repeats.launches == 0.0) <= (METRICS[key].kind == "exact")
