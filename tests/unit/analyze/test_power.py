"""How often samples show a slowdown: the formula against the rule itself, on made-up samples."""

from __future__ import annotations

import math
import random

import pytest

from ncu_lab.analyze.compare import DRIFT, TimeEvidence, Z, compare_times
from ncu_lab.analyze.power import power
from ncu_lab.model import TimingSample
from ncu_lab.model.comparison import TimeChange
from ncu_lab.model.power import Power
from ncu_lab.render.change_words import evidence_words, power_words
from ncu_lab.render.numbers import plain_spaces

PAIRS = 150
DEFAULT = 0.0005


def process(source: random.Random, samples: int, scatter: float, slower: float = 0.0) -> TimeEvidence:
    mean = 1e6 * (1.0 + slower) * math.exp(source.gauss(0.0, 0.0002))
    times = [mean * math.exp(source.gauss(0.0, scatter)) for _ in range(samples)]
    return TimeEvidence(tuple(TimingSample(0, n, n, "k", "alone", ns, None, None, None) for n, ns in enumerate(times)))


@pytest.mark.parametrize(("samples", "scatter"), [(10, 0.0017), (10, 0.003), (10, 0.004), (25, 0.004), (60, 0.004)])
def test_the_formula_agrees_with_the_rule(samples: int, scatter: float) -> None:
    source = random.Random(6)
    pairs = [(process(source, samples, scatter), process(source, samples, scatter, 0.01)) for _ in range(PAIRS)]
    seen = sum(compare_times(a, b).verdict == "slower" for a, b in pairs) / PAIRS
    found = power(samples, samples, scatter, DEFAULT, max(DEFAULT, DRIFT * scatter), Z)
    assert found.seen == pytest.approx(seen, abs=0.12)


def test_more_samples_and_less_scatter_show_more() -> None:
    seen = [power(n, n, 0.004, DEFAULT, 0.0008, Z).seen for n in (5, 10, 20, 50, 100)]
    assert seen == sorted(seen)
    quiet = power(10, 10, 0.001, DEFAULT, DEFAULT, Z)
    assert (quiet.needed, quiet.seen > 0.99) == (10, True)
    needed = power(10, 10, 0.003, DEFAULT, 0.0006, Z).needed
    assert needed is not None
    assert power(needed, needed, 0.003, DEFAULT, 0.0006, Z).seen >= 0.99
    assert power(needed - 1, needed - 1, 0.003, DEFAULT, 0.0006, Z).seen < 0.99
    assert power(10, 10, 0.02, DEFAULT, 0.004, Z).needed is None, "what processes may differ by is more than 1 %"
    assert power(10, 10, 0.0, 0.0, 0.0, Z).seen == 1.0


def test_only_what_is_inconclusive_by_its_samples_says_so() -> None:
    source = random.Random(1)
    a, b = process(source, 10, 0.004), process(source, 10, 0.004, 0.008)
    found = compare_times(a, b)
    assert found.verdict == "inconclusive"
    assert found.power is not None
    assert found.power.scatter == pytest.approx(0.004, rel=0.5)
    assert 0.0 < found.power.seen < 0.9
    assert compare_times(a, a).power is None
    assert compare_times(process(source, 10, 0.001), process(source, 10, 0.001, 0.05)).power is None
    assert compare_times(process(source, 4, 0.004), b).power is None


def test_words() -> None:
    low = Power(0.004, 0.01, 0.387, 142)
    known = TimeChange(1.0, 1.01, 10, 10, "timings", "inconclusive", ratio=1.01, power=low)
    seen = "samples that scatter by 0.40 % show a slowdown of 1.0 % in about 38 of 100 such comparisons"
    words = f"{seen}, 142 a side in 99"
    assert plain_spaces(power_words(known)) == words
    assert plain_spaces(evidence_words(known)).endswith(f"n = 10 + 10; {words}")
    never = TimeChange(1.0, 1.01, 10, 10, "timings", "inconclusive", power=Power(0.02, 0.01, 0.0, None))
    assert plain_spaces(power_words(never)).endswith("in about 0 of 100 such comparisons: profile --processes 10")
