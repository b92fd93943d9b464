"""The split of a duration's change: by hand, by properties that always hold, and on every recorded launch."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.analyze.attribution import (
    attribute,
    largest_contributions,
    log_ratio,
    logarithmic_mean,
    read_factors,
    split,
)
from ncu_lab.analyze.summary import counters
from ncu_lab.metrics import ATTRIBUTION_METRICS, STALL_ORDER, stall_metric
from ncu_lab.model.attribution import Factors, Unattributed
from ncu_lab.parse.files import read_any
from ncu_lab.resources import data_dir
from ncu_lab.store.stored_run import read_directory

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
LADDER = ("naive", "coalesced", "smem", "1d", "2d", "vectorized", "double-buffered", "warptiled", "sgemm-hopper")
DURATION = "gpu__time_duration.sum"


def full(ns=1000.0, instructions=500.0, warps=4.0, elapsed=1200.0, active=1000.0, hz=1.2e9, **stalls):
    """Counters of a launch in the full form; by default 500 x 8 / 4 x 1.2 / 1.2 GHz = 1000 ns."""
    stalls = stalls or {"selected": 1.0, "long_scoreboard": 7.0}
    return {
        DURATION: ns,
        "smsp__inst_issued.avg": instructions,
        "smsp__warps_active.avg.per_cycle_active": warps,
        "smsp__cycles_elapsed.avg": elapsed,
        "smsp__cycles_active.avg": active,
        "smsp__cycles_elapsed.avg.per_second": hz,
        **{stall_metric(reason): stalls.get(reason, 0.0) for reason in (*STALL_ORDER, *stalls)},
    }


def targeted(**values):
    """The same launch in the targeted form."""
    names = {
        "smsp__inst_issued.avg": "smsp__inst_executed.avg",
        "smsp__cycles_elapsed.avg": "gpc__cycles_elapsed.max",
        "smsp__cycles_active.avg": "sm__cycles_active.avg",
        "smsp__cycles_elapsed.avg.per_second": "gpc__cycles_elapsed.avg.per_second",
    }
    return {names.get(name, name): value for name, value in full(**values).items()}


def parts(found):
    return {part.factor: part.ns for part in found.parts}


# --- by hand ---------------------------------------------------------------------------------------------------


def test_half_the_instructions_halve_the_duration_and_take_all_of_it():
    # d0 = 1000, d1 = 500, and I alone halves: L = (500 - 1000) / ln(1/2) = 721.35; its part is L x ln(1/2) = -500.
    found = attribute(0, full(), 3, full(ns=500.0, instructions=250.0))
    assert found.part("instructions").ns == pytest.approx(-500.0)
    assert found.part("instructions").log2 == pytest.approx(-1.0)
    assert (found.launch_a, found.launch_b, found.form) == (0, 3, "full")
    assert all(ns == 0 for factor, ns in parts(found).items() if factor != "instructions")
    assert found.residual_ns == pytest.approx(0.0, abs=1e-9)


def test_every_factor_at_once():
    # A: 500 x (1 + 7) / 4 x 1.2 / 1.2 GHz = 1000 ns; B: 250 x (1 + 3 + 2) / 2 x 1.5 / 1.0 GHz = 1125 ns.
    # L(d) = 125 / ln(1.125) = 1061.27, L(S) = (6 - 8) / ln(6 / 8) = 6.95212.
    b = full(1125.0, 250.0, 2.0, 1500.0, 1000.0, 1.0e9, selected=1.0, long_scoreboard=3.0, mio_throttle=2.0)
    found = attribute(0, full(), 0, b)
    assert {factor: ns for factor, ns in parts(found).items() if ns} == pytest.approx(
        {
            "instructions": -735.61,  # L x ln(1/2)
            "stall:mio_throttle": 305.31,  # L x 2 / 6.95212
            "stall:long_scoreboard": -610.62,  # L x -4 / 6.95212
            "warps": 735.61,  # -L x ln(1/2)
            "imbalance": 236.81,  # L x ln(1.25)
            "clock": 193.49,  # -L x ln(1 / 1.2)
        },
        abs=0.01,
    )
    assert found.residual_ns == pytest.approx(0.0, abs=1e-9)
    assert found.stalls_ns == pytest.approx(-305.31, abs=0.01)
    assert found.net_ns == pytest.approx(430.30, abs=0.01)
    assert found.part("clock").value_b == 1.0e9
    with pytest.raises(KeyError):
        found.part("stall:no_such_reason")


def test_some_stall_reasons_are_no_sum_of_all():
    b = {name: value for name, value in full().items() if name != stall_metric("barrier")}
    assert attribute(0, full(), 0, b).sections == ("WarpStateStats",)


def test_what_the_counters_do_not_explain_is_the_residual():
    # B's factors make 500 ns, measured are 510: L = 490 / ln(1000 / 510) = 727.69, L x ln(510 / 500) = 14.41.
    found = attribute(0, full(), 0, full(ns=510.0, instructions=250.0))
    assert found.residual_ns == pytest.approx(14.41, abs=0.01)
    assert found.residual_log2 == pytest.approx(math.log2(510 / 500))
    assert sum(parts(found).values()) + found.residual_ns == pytest.approx(-490.0)


@pytest.mark.parametrize(("a", "b", "mean"), [(1.0, math.e, math.e - 1), (2.0, 1.0, 1 / math.log(2)), (5.0, 5.0, 5.0)])
def test_logarithmic_mean(a, b, mean):
    assert logarithmic_mean(a, b) == pytest.approx(mean)


@given(st.floats(1e-9, 1e12), st.floats(-1e-7, 1e-7))
def test_the_logarithmic_mean_of_nearly_equal_values_lies_between_them(value, change):
    # ln(b / a) by itself loses every digit here: it would give means far outside, or divide by zero.
    near = value * (1.0 + change)
    mean = logarithmic_mean(value, near)
    assert min(value, near) * (1 - 1e-15) <= mean <= max(value, near) * (1 + 1e-15)
    assert mean == pytest.approx((value + near) / 2, rel=1e-13)  # L = (a + b) / 2 up to (a - b)^2 / 12 a


# --- properties ------------------------------------------------------------------------------------------------

REASONS = ("selected", "barrier", "mio_throttle", "long_scoreboard", "of_the_future")


@st.composite
def factors(draw):
    stalls = {reason: draw(st.floats(0.0, 1e3)) for reason in draw(st.sets(st.sampled_from(REASONS[1:])))}
    made = Factors(
        launch=draw(st.integers(0, 9)),
        form="full",
        duration_ns=1.0,
        instructions=draw(st.floats(1.0, 1e9)),
        stalls={"selected": 1.0, **stalls},
        warps=draw(st.floats(0.01, 16.0)),
        imbalance=draw(st.floats(1.0, 1e3)),
        clock_hz=draw(st.floats(1e8, 3e9)),
    )
    return replace(made, duration_ns=made.predicted_ns * draw(st.floats(0.8, 1.25)))


@given(factors(), factors())
def test_the_parts_and_the_residual_sum_to_the_difference(a, b):
    found = split(a, b)
    size = max(a.duration_ns, b.duration_ns)
    assert sum(parts(found).values()) + found.residual_ns == pytest.approx(
        b.duration_ns - a.duration_ns, abs=1e-9 * size
    )
    assert sum(found.log2.values()) == pytest.approx(math.log2(b.duration_ns / a.duration_ns), abs=1e-9)
    assert sum(found.stall_families_log2.values()) == pytest.approx(found.log2["stalls"], abs=1e-9)


@given(factors(), factors())
def test_the_residual_is_the_change_of_the_identitys_error(a, b):
    found = split(a, b)
    error = math.log2(b.duration_ns / b.predicted_ns) - math.log2(a.duration_ns / a.predicted_ns)
    assert found.residual_log2 == pytest.approx(error, abs=1e-9)


@given(factors(), factors())
def test_swapping_flips_every_sign_exactly(a, b):
    there, back = split(a, b), split(b, a)
    assert [(part.factor, part.ns, part.log2) for part in there.parts] == [
        (part.factor, -part.ns, -part.log2) for part in back.parts
    ]
    assert (there.residual_ns, there.residual_log2) == (-back.residual_ns, -back.residual_log2)
    assert [(part.value_a, part.value_b) for part in there.parts] == [
        (part.value_b, part.value_a) for part in back.parts
    ]


@given(factors())
def test_a_launch_against_itself_is_zero(a):
    found = split(a, a)
    assert {part.ns for part in found.parts} | {part.log2 for part in found.parts} == {0.0}
    assert (found.residual_ns, found.residual_log2) == (0.0, 0.0)
    assert largest_contributions(found) == ()


@given(st.lists(factors(), min_size=3, max_size=6))
def test_log2_factors_add_along_a_chain(chain):
    direct = split(chain[0], chain[-1])
    steps = [split(a, b) for a, b in pairwise(chain)]
    for factor, value in direct.log2.items():
        assert sum(step.log2[factor] for step in steps) == pytest.approx(value, abs=1e-9)


@given(st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
def test_log_ratio_flips_and_is_the_logarithm(a, b):
    assert log_ratio(a, b) == -log_ratio(b, a)
    assert log_ratio(a, b) == pytest.approx(math.log(b) - math.log(a), rel=1e-9, abs=1e-12)


# --- what is missing -------------------------------------------------------------------------------------------


def test_both_launches_are_read_in_the_form_that_both_have():
    both = {**full(), **targeted()}
    assert attribute(0, both, 1, both).form == "full"
    assert attribute(0, both, 1, targeted()).form == "targeted"
    assert read_factors(0, targeted()).predicted_ns == pytest.approx(1000.0)


def test_launches_of_different_forms_are_not_mixed():
    found = attribute(0, full(), 1, targeted())
    assert isinstance(found, Unattributed)
    assert found.sides == ("a",)
    assert found.sections == ("InstructionStats", "SpeedOfLight")
    assert "gpc__cycles_elapsed.max" in found.metrics


@pytest.mark.parametrize(
    ("lacks", "section"),
    [
        (DURATION, "SpeedOfLight"),
        ("smsp__inst_executed.avg", "InstructionStats"),
        ("smsp__warps_active.avg.per_cycle_active", "SchedulerStats"),
        (stall_metric("selected"), "WarpStateStats"),
    ],
)
@pytest.mark.parametrize("value", [None, math.nan])
def test_a_counter_that_is_missing_or_nan_names_the_section_that_collects_it(lacks, section, value):
    b = targeted()
    if value is None:
        del b[lacks]
    else:
        b[lacks] = value
    assert attribute(0, targeted(), 1, b) == Unattributed("not_collected", ("b",), (lacks,), (section,))


def test_a_report_of_one_section_names_all_others():
    found = attribute(0, {DURATION: 5.0}, 0, {DURATION: 6.0})
    assert found.sides == ("a", "b")
    assert found.sections == ("WarpStateStats", "InstructionStats", "SchedulerStats", "SpeedOfLight")
    assert isinstance(read_factors(0, {}), Unattributed)


@pytest.mark.parametrize(
    "name", [name for name in full() if name.startswith(("smsp__inst", "smsp__w", "smsp__c", "gpu"))]
)
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf])
def test_a_factor_of_zero_is_undefined_and_named(name, value):
    assert attribute(0, full(), 0, {**full(), name: value}) == Unattributed("undefined", ("b",), (name,))


def test_stalls_of_nothing_are_undefined():
    idle = full(selected=0.0)
    assert read_factors(0, idle) == Unattributed("undefined", ("a",), (stall_metric("selected"),))


def test_counters_that_do_not_make_the_duration_split_nothing():
    # Only the issue itself among the reasons: 500 x 1 / 4 x 1.2 / 1.2 GHz = 125 ns of 1000.
    found = attribute(0, full(selected=1.0), 0, full())
    assert (found.why, found.sides, found.error) == ("inconsistent", ("a",), pytest.approx(-0.875))


def test_profile_asks_for_what_the_full_form_needs_beyond_the_sections():
    assert {name for name in full() if name.startswith("smsp__c")} <= set(ATTRIBUTION_METRICS)


# --- in plain figures ------------------------------------------------------------------------------------------


def test_the_largest_contributions_in_plain_figures():
    b = full(1125.0, 250.0, 2.0, 1500.0, 1000.0, 1.0e9, selected=1.0, long_scoreboard=3.0, mio_throttle=2.0)
    first, second, third = largest_contributions(attribute(0, full(), 0, b))
    assert (first.factor, first.change) == ("instructions", -0.5)
    assert first.share == pytest.approx(-0.736, abs=0.001)
    # Stalls fell to 6 / 8 and warps to 1 / 2: together they lengthen the launch by 1.5, mostly by the MIO.
    assert (second.factor, second.change, second.reasons) == ("stalls/warps", pytest.approx(0.5), ("mio_throttle",))
    assert third.factor == "imbalance"
    assert len(largest_contributions(attribute(0, full(), 0, b), most=9)) == 4


# --- on what was recorded --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """(where, launch) -> counters of every launch of the golden reports and of the bundled runs."""
    found = {}
    folder = tmp_path_factory.mktemp("golden")
    # Of the targeted report only the export is kept, which writes some counters with two decimals.
    for name, file in (("full", "ladder-full.ncu-rep"), ("targeted", "ladder-targeted.raw.base.csv")):
        (folder / file).write_bytes(gzip.decompress((GOLDEN / f"{file}.gz").read_bytes()))
        parsed = read_any(folder / file)
        for launch, values in counters(parsed.metrics).items():
            found[f"golden {name}", f"{launch} {parsed.launches['function'][launch]}"] = values
    for folder in sorted(data_dir("examples").glob("2*")):
        run = read_directory(folder)
        values = counters(run.metrics)
        for row in run.launches.to_dict("records"):
            where = f"example {run.meta.problem.m if run.meta.problem else 'foreign'}"
            name = row["stage"] if row["role"] == "main" and row["stage"] else row["function"]
            found[where, name] = values[row["launch"]]
    return found


LIMITS = {"golden full": 0.03, "golden targeted": 0.03, "example 1024": 0.03, "example 4096": 0.01}
"""Error of the identity that is allowed, by where; the golden reports are of kernels of 18 to 560 µs."""

BEYOND = {("example 4096", "cutlass-bf16"): 0.016}
"""Launches that miss their limit, with what they show; docs/attribution.md says why."""

LATENCY = "smsp__average_warp_latency_per_inst_issued.ratio"


def test_the_identity_holds_on_every_recorded_launch(recorded, capsys):
    table = []
    for (where, launch), values in recorded.items():
        found = read_factors(0, values)
        assert isinstance(found, Factors), (where, launch, found)
        table.append((where, launch, found))
    lines = [
        f"{where:16} {launch[:24]:24} {found.form:9} {found.duration_ns / 1e3:10.1f} µs {found.error:+8.2%}"
        for where, launch, found in table
    ]
    print("\n".join(lines))
    missed = [
        line
        for line, (where, launch, found) in zip(lines, table, strict=True)
        if abs(found.error) > BEYOND.get((where, launch), LIMITS.get(where, 0.03))
    ]
    assert missed == []


def test_the_error_is_all_in_the_stall_reasons(recorded):
    """With the latency that one replay measured in place of their sum, the identity of the full form is exact."""
    exact = {
        key: replace(found, stalls={"all": values[LATENCY]})
        for key, values in recorded.items()
        if isinstance(found := read_factors(0, values), Factors) and found.form == "full"
    }
    assert exact.keys() == {key for key in recorded if key[0] != "golden targeted"}
    assert {key: found.error for key, found in exact.items() if abs(found.error) > 1e-4} == {}


@pytest.mark.parametrize(("where", "most"), [("example 4096", 0.01), ("example 1024", 0.03)])
def test_the_steps_of_the_ladder_and_the_whole_of_it(recorded, where, most):
    chain = [recorded[where, stage] for stage in LADDER]
    steps = [attribute(0, a, 0, b) for a, b in pairwise(chain)]
    whole = attribute(0, chain[0], 0, chain[-1])
    assert whole.form == "full"
    for step in steps:
        assert sum(parts(step).values()) + step.residual_ns == pytest.approx(step.b_ns - step.a_ns, rel=1e-9)
        assert abs(step.residual_ns) < most * max(step.a_ns, step.b_ns)
    for factor, value in whole.log2.items():
        assert sum(step.log2[factor] for step in steps) == pytest.approx(value, abs=1e-9)
