"""Judges changes by a policy: what fails a gate, and what only has to be told. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from ncu_lab.model import Notice
from ncu_lab.model.comparison import ALPHA, LEAST_SAMPLES, MARGIN
from ncu_lab.model.gating import Change, Judged, Outcome
from ncu_lab.model.policy import Direction, Held, Policy, Rule


def gate(changes: Iterable[Change], policy: Policy) -> tuple[Judged, ...]:
    """Judge every change that a policy speaks of; what it does not speak of is left out.

    Exact quantities fail when they are worse by more than the limit, and differ by more than profiles of one build do.
    Noisy ones fail when p < 0.01 and their whole interval is beyond the limit; they pass when the whole
    interval is within it. In between nothing is certain: inconclusive.
    """
    judged = []
    for change in changes:
        held = policy.held(change.stage, change.function, change.key)
        if held is not None:
            outcome, why = _outcome(change, held)
            consequence = {"inconclusive": held.inconclusive, "missing": held.missing}.get(outcome, "report")
            fails = outcome == "violation" or consequence == "fail"
            judged.append(Judged(change, outcome, held.limit, why, fails, held.better))
    return tuple(judged)


def unmatched(changes: Sequence[Change], policy: Policy, keys: Iterable[str]) -> tuple[Judged, ...]:
    """Return a missing quantity for each rule of a policy's file that speaks of nothing that was compared.

    A rule for a kernel that was renamed, or a counter that was not collected, guards nothing: that must not pass in
    silence.

    Args:
        changes: Everything that was compared.
        policy: Whose rules are looked at.
        keys: What such a comparison can have; a rule of none of these is for another one, with or without a GPU.
    """
    known = tuple(keys)
    fails = policy.unmatched == "fail"
    return tuple(
        Judged(_nothing(rule), "missing", None, f"rule {number} of {policy.file} matches nothing here", fails)
        for number, rule in enumerate(policy.rules, start=1)
        if any(fnmatchcase(key, rule.metric) for key in known)
        and not any(rule.fits(one.stage, one.function, one.key) for one in changes)
    )


def unmatched_notices(lost: Iterable[Judged]) -> tuple[Notice, ...]:
    """Say of rules that match nothing what they speak of, unless they fail the gate."""
    return tuple(Notice("rule_unmatched", f"{one.why}: {one.change.key}") for one in lost if not one.fails)


def _nothing(rule: Rule) -> Change:
    """Return the quantity that a rule speaks of and nobody compared."""
    return Change("policy", None, "", rule.words, "", "exact", None, None)


def _outcome(change: Change, held: Held) -> tuple[Outcome, str]:
    a, b = change.a, change.b
    if not change.comparable:
        return "missing", f"not comparable: {change.why}"
    if a is None or b is None or not (math.isfinite(a) and math.isfinite(b)):
        return "missing", change.why or "not collected on both sides"
    if change.same or a == b:
        return "passed", ""
    return _exact(a, b, held) if held.kind == "exact" else _noisy(change, a, held)


def _exact(a: float, b: float, held: Held) -> tuple[Outcome, str]:
    worse = abs(b - a) if held.better == "either" else b - a if held.better == "lower" else a - b
    if worse > held.limit.allowance(a):
        return "violation", "changed" if held.better == "either" else "worse than the limit"
    return ("improvement" if worse < 0 else "passed"), ""


def _noisy(change: Change, a: float, held: Held) -> tuple[Outcome, str]:
    if change.interval is None:
        few = min(change.n_a, change.n_b) < LEAST_SAMPLES
        return "inconclusive", change.why or (f"fewer than {LEAST_SAMPLES} samples a side" if few else "no interval")
    allowed = held.limit.allowance(a) / abs(a) if a else math.inf
    least, most = _worsening(change.interval, held.better)
    certain = change.p is None or change.p < ALPHA
    if least > allowed and certain:
        return "violation", "the whole interval is beyond the limit"
    if most <= allowed:
        return ("improvement" if most < -MARGIN and certain else "passed"), ""
    return "inconclusive", change.why or "the interval reaches over the limit"


def _worsening(interval: tuple[float, float], better: Direction) -> tuple[float, float]:
    """Return the least and the most by which a quantity got worse, as shares, by the interval of its change."""
    low, high = interval
    if better == "lower":
        return low, high
    if better == "higher":
        return -high, -low
    return max(low, -high, 0.0), max(high, -low)
