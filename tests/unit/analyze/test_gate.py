"""What fails a gate, and what only has to be told."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from ncu_lab.analyze.gate import gate, unmatched, unmatched_notices
from ncu_lab.model.gating import Change, Judged
from ncu_lab.model.policy import Limit, Policy, Rule

TIME = Change("2d", "2d", "sgemm_2d", "duration_ns", "ns", "noisy", 100.0, 103.0)
COUNT = Change("2d", "2d", "sgemm_2d", "instructions_issued", "inst", "exact", 100.0, 101.0)


def judge(change: Change, *rules: Rule, **policy: Any) -> Judged:
    [judged] = gate([change], Policy(rules, **policy))
    return judged


def timed(low: float, high: float, p: float = 1e-4) -> Change:
    return replace(TIME, interval=(low, high), p=p, n_a=10, n_b=10)


@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (timed(0.028, 0.034), "violation"),
        (timed(0.0049, 0.02), "inconclusive"),  # a part of the interval is within the limit of 0.5 %
        (timed(0.0051, 0.02), "violation"),
        (timed(0.028, 0.034, p=0.02), "inconclusive"),  # beyond the limit, yet not significant
        (timed(0.001, 0.0049), "passed"),  # really slower, by less than the limit
        (timed(-0.02, 0.0049, p=0.5), "passed"),  # whatever it is, it is not too slow
        (timed(-0.03, -0.02), "improvement"),
        (timed(-0.003, -0.001), "passed"),  # faster by less than the margin
        (timed(-0.01, 0.01, p=0.5), "inconclusive"),
        (replace(TIME, n_a=4, n_b=10), "inconclusive"),
    ],
)
def test_a_duration_fails_only_when_its_whole_interval_is_beyond_the_limit(change: Change, outcome: str) -> None:
    judged = judge(change)
    assert judged.outcome == outcome
    assert judged.fails == (outcome == "violation")


def test_too_few_samples_are_said() -> None:
    assert judge(replace(TIME, n_a=4)).why == "fewer than 5 samples a side"


def test_an_exact_counter_is_held_to_its_limit_and_its_repeatability() -> None:
    assert judge(COUNT).outcome == "violation"
    assert judge(replace(COUNT, same=True)).outcome == "passed"
    assert judge(replace(COUNT, b=99.0)).outcome == "improvement"
    assert judge(COUNT, Rule("instructions_issued", limit=Limit(0.01))).outcome == "passed"
    assert judge(COUNT, Rule("instructions_issued", limit=Limit(0.5, relative=False))).outcome == "violation"


def test_from_nothing_to_something_is_beyond_every_relative_limit() -> None:
    spilled = replace(COUNT, key="build:spill_store_bytes", a=0.0, b=16.0)
    assert judge(spilled, Rule("build:*", limit=Limit(5.0))).outcome == "violation"
    assert judge(spilled, Rule("build:*", limit=Limit(16.0, relative=False))).outcome == "passed"


def test_the_direction_decides_what_is_worse() -> None:
    blocks = replace(COUNT, key="build:blocks_per_sm", a=4.0, b=2.0)
    assert judge(blocks).outcome == "violation"
    assert judge(replace(blocks, b=8.0)).outcome == "improvement"
    either = Rule("build:blocks_per_sm", better="either")
    assert [judge(replace(blocks, b=b), either).outcome for b in (2.0, 8.0, 4.0)] == [
        "violation",
        "violation",
        "passed",
    ]
    speed = replace(timed(-0.04, -0.03), key="flop_per_s")
    assert judge(speed, Rule("flop_per_s", limit=Limit(0.02))).outcome == "violation"
    assert judge(speed, Rule("flop_per_s", limit=Limit(0.05))).outcome == "passed"
    assert judge(speed, Rule("flop_per_s", limit=Limit(0.02), better="either")).outcome == "violation"


def test_a_class_of_the_policy_wins_over_the_catalogue() -> None:
    assert judge(replace(TIME, a=100.0, b=100.6), Rule("duration_ns", kind="exact")).outcome == "violation"
    assert judge(COUNT, Rule("instructions_issued", kind="noisy")).outcome == "inconclusive"


@pytest.mark.parametrize("value", [None, math.nan, math.inf])
def test_what_is_missing_is_reported_and_fails_where_the_policy_says(value: float | None) -> None:
    lost = replace(TIME, b=value, why="B does not have it")
    assert (judge(lost).outcome, judge(lost).fails, judge(lost).why) == ("missing", False, "B does not have it")
    assert judge(lost, missing="fail").fails
    assert not judge(lost, Rule("duration_ns", missing="report"), missing="fail").fails


def test_what_is_inconclusive_fails_where_the_policy_says() -> None:
    unsure = timed(-0.01, 0.01, p=0.5)
    assert judge(unsure, inconclusive="fail").fails
    assert judge(unsure, Rule("duration_ns", inconclusive="fail")).fails


def test_what_is_not_comparable_is_missing_whatever_its_values() -> None:
    judged = judge(replace(timed(0.5, 0.6), comparable=False, why="another GPU (A100 and H200)"))
    assert (judged.outcome, judged.fails) == ("missing", False)
    assert judged.why == "not comparable: another GPU (A100 and H200)"


def test_only_what_a_policy_speaks_of_is_judged() -> None:
    assert gate([replace(COUNT, key="l2_bytes")], Policy()) == ()
    assert gate([COUNT], Policy(defaults=False)) == ()
    assert gate([COUNT], Policy((Rule("instructions_issued", limit="off"),))) == ()


def test_a_rule_that_matches_nothing_is_told_and_fails_where_the_policy_says() -> None:
    renamed = Rule("duration_ns", kernel="sgemm_3d", limit=Limit(0.03))
    rules = (Rule("duration_ns", stage="2d", limit="off"), renamed, Rule("sass:LDL"), Rule("shared_bytes"))
    policy = Policy(rules, file="ncu-lab.toml")
    keys = ("duration_ns", "instructions_issued", "shared_bytes")
    found = unmatched([TIME, COUNT], policy, keys)
    assert [(one.change.key, one.outcome, one.fails) for one in found] == [
        ("duration_ns of kernel sgemm_3d", "missing", False),
        ("shared_bytes", "missing", False),
    ]
    assert [one.message for one in unmatched_notices(found)] == [
        "rule 2 of ncu-lab.toml matches nothing here: duration_ns of kernel sgemm_3d",
        "rule 4 of ncu-lab.toml matches nothing here: shared_bytes",
    ]
    strict = unmatched([TIME, COUNT], replace(policy, unmatched="fail"), keys)
    assert [one.fails for one in strict] == [True, True]
    assert unmatched_notices(strict) == ()
    assert unmatched([TIME, COUNT], Policy(), keys) == ()
