"""Of the rules that fit the later wins, in each thing that it says."""

from __future__ import annotations

from ncu_lab.metrics import METRICS
from ncu_lab.model.policy import DEFAULT_RULES, Held, Limit, Policy, Rule, gated_unit


def test_defaults_without_a_file() -> None:
    policy = Policy()
    assert policy.held("2d", "k", "duration_ns") == Held(Limit(0.005), "noisy", "lower", "report", "report")
    for key in ("shared_store_bank_conflicts", "registers_per_thread", "build:registers", "build:stack_bytes"):
        assert policy.held("2d", "k", key) == Held(Limit(0.0), "exact", "lower", "report", "report")
    blocks = policy.held(None, "k", "build:blocks_per_sm")
    assert blocks is not None
    assert blocks.better == "higher"
    assert policy.held("2d", "k", "dram_bytes") is None
    assert policy.held("2d", "k", "sass:FFMA") is None


def test_every_default_names_a_quantity_once() -> None:
    keys = [rule.metric for rule in DEFAULT_RULES]
    assert len(keys) == len(set(keys))
    assert all(gated_unit(key) is not None for key in keys)
    exact = {key for key, metric in METRICS.items() if metric.kind == "exact" and metric.better == "lower"}
    assert exact <= set(keys)


def test_a_later_rule_wins_in_what_it_says_and_leaves_the_rest() -> None:
    policy = Policy(
        (
            Rule("duration_ns", limit=Limit(0.03)),
            Rule("duration_ns", stage="wmma*", inconclusive="fail"),
            Rule("duration_ns", kernel="*_naive", limit="off"),
        )
    )
    held = policy.held("wmma-tiled", "wgemm", "duration_ns")
    assert held == Held(Limit(0.03), "noisy", "lower", "fail", "report")
    assert policy.held("naive", "sgemm_naive", "duration_ns") is None
    assert policy.held("2d", "sgemm_2d", "duration_ns") == Held(Limit(0.03), "noisy", "lower", "report", "report")


def test_kernels_of_no_stage_match_no_stage_pattern_but_all() -> None:
    policy = Policy((Rule("duration_ns", stage="2*", limit=Limit(0.5)),))
    held = policy.held(None, "saxpy", "duration_ns")
    assert held is not None
    assert held.limit == Limit(0.005)


def test_a_neutral_quantity_may_change_in_no_direction_unless_a_rule_says_which_is_better() -> None:
    held = Policy((Rule("dram_bytes", limit=Limit(0.1)),)).held("2d", "k", "waves_per_sm")
    assert held is None
    held = Policy((Rule("waves_per_sm", limit=Limit(0.1)),)).held("2d", "k", "waves_per_sm")
    assert held is not None
    assert held.better == "either"


def test_a_limit_is_a_share_or_an_amount() -> None:
    assert Limit(0.03).allowance(200.0) == 6.0
    assert Limit(8.0, relative=False).allowance(200.0) == 8.0
