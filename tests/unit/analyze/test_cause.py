"""Which counter a change of time is put down to, and when none is."""

from __future__ import annotations

import pytest

from ncu_lab.analyze.attribution import split
from ncu_lab.analyze.cause import find_cause
from ncu_lab.model.attribution import Attribution, Factors, Unattributed
from ncu_lab.model.cause import Cause
from ncu_lab.model.comparison import MetricChange, MetricVerdict, TimeChange, TimeVerdict
from ncu_lab.render.cause_words import cause_words, time_sentence
from ncu_lab.render.numbers import plain_spaces


def factors(instructions: float = 1000.0, warps: float = 8.0, clock: float = 1e9, **stalls: float) -> Factors:
    waits = {"selected": 1.0, "long_scoreboard": 2.0, "mio_throttle": 2.0, "barrier": 1.0, "wait": 1.0, **stalls}
    duration = instructions * sum(waits.values()) / warps / clock * 1e9
    return Factors(0, "full", duration, instructions, waits, warps, 1.0, clock)


def attributed(b: Factors) -> Attribution:
    return split(factors(), b)


def time(attribution: Attribution, verdict: TimeVerdict | None = None) -> TimeChange:
    ratio = attribution.b_ns / attribution.a_ns
    found: TimeVerdict = verdict or ("slower" if ratio > 1.0 else "faster")
    return TimeChange(attribution.a_ns, attribution.b_ns, 10, 10, "timings", found, p=2e-4, ratio=ratio)


def moved(key: str, a: float, b: float, verdict: MetricVerdict = "worse") -> MetricChange:
    return MetricChange(key, a, b, "", "exact", "lower", verdict)


def cause(b: Factors, *metrics: MetricChange) -> Cause | None:
    attribution = attributed(b)
    return find_cause(attribution, metrics, time(attribution))


def key_of(b: Factors, *metrics: MetricChange) -> str | None:
    found = cause(b, *metrics)
    assert found is not None
    return found.key


def test_waits_on_shared_memory_are_put_down_to_its_wavefronts() -> None:
    slower = factors(mio_throttle=3.4)
    wavefronts, conflicts = moved("shared_bytes", 100.0, 122.0), moved("shared_store_bank_conflicts", 1.0, 600.0)
    found = cause(slower, conflicts, wavefronts, moved("instructions_issued", 1.0, 2.0))
    assert found is not None
    assert (found.factor, found.reasons, found.key, found.a, found.b) == (
        "stalls/warps", ("mio_throttle",), "shared_bytes", 100.0, 122.0
    )  # fmt: skip
    assert found.share == pytest.approx(0.2)
    assert key_of(slower, conflicts) == "shared_store_bank_conflicts"


def test_of_several_counters_the_one_that_moved_farthest() -> None:
    loads, stores = (
        moved(f"global_{kind}_sectors_per_request", 4.0, to) for kind, to in (("load", 8.0), ("store", 32.0))
    )
    slower = factors(long_scoreboard=6.0)
    assert key_of(slower, loads, stores, moved("dram_bytes", 1.0, 100.0)) == "global_store_sectors_per_request"
    assert key_of(slower, moved("dram_bytes", 1.0, 1.5)) == "dram_bytes"


@pytest.mark.parametrize(
    ("changed", "key", "a", "b"),
    [
        (factors(instructions=1500.0), "instructions_issued", 1.0, 1.5),
        (factors(clock=0.7e9), "sm_clock_hz", 1e9, 0.7e9),
        (factors(warps=4.0), "theoretical_occupancy_pct", 100.0, 50.0),
    ],
)
def test_every_factor_has_its_counter(changed: Factors, key: str, a: float, b: float) -> None:
    assert key_of(changed, moved(key, a, b)) == key
    assert key_of(changed, moved(key, b, a)) is None, "moved the other way"
    assert key_of(changed, moved(key, a, b, "same")) is None
    assert key_of(changed, moved(key, a, a + (b - a) / 50.0)) is None, "too little to explain it"


def test_what_no_counter_explains_says_so() -> None:
    found = cause(factors(barrier=5.0), moved("shared_bytes", 1.0, 9.0))
    assert plain_spaces(cause_words(found)) == "because of waits (barrier), which no counter explains"
    assert cause_words(cause(factors(wait=5.0))) == "because of waits (wait), which no counter explains"
    assert cause_words(Cause("clock", 0.1)) == "because of the clock, which no counter explains"
    assert cause_words(None) == "and no attribution tells why"


def test_no_cause_without_a_change_or_an_attribution() -> None:
    slower = attributed(factors(mio_throttle=3.4))
    assert find_cause(slower, (), time(slower, "same")) is None
    assert find_cause(Unattributed("not_collected", ("a",)), (), time(slower)) is None
    # The samples say faster, the profiler slower: what the profiler saw does not explain the samples.
    assert find_cause(slower, (), time(slower, "faster")) is None


@pytest.mark.parametrize(
    ("key", "a", "b", "words"),
    [
        ("shared_bytes", 100.0, 122.0, "22.0 % more shared-memory wavefronts"),
        ("instructions_issued", 100.0, 60.0, "40.0 % fewer instructions"),
        ("global_load_sectors_per_request", 4.0, 32.0, "8.00× the sectors per global load"),
        ("local_spill_requests", 0.0, 5000.0, "5.00 k spill requests where there were none"),
        ("local_spill_requests", 5000.0, 0.0, "100.0 % fewer spill requests"),
        ("dram_bytes", 10.0, 13.0, "30.0 % more DRAM traffic"),
        ("sm_clock_hz", 2e9, 1.9e9, "5.0 % lower clock"),
    ],
)
def test_words(key: str, a: float, b: float, words: str) -> None:
    assert plain_spaces(cause_words(Cause("instructions", 0.2, (), key, a, b))) == f"because of {words}"


def test_the_whole_sentence() -> None:
    change = TimeChange(100.0, 103.1, 20, 20, "timings", "slower", p=2e-4, ratio=1.031)
    known = Cause("stalls/warps", 0.03, ("mio_throttle",), "shared_bytes", 100.0, 122.0)
    assert plain_spaces(time_sentence("2d", change, known, "since 4f2c")) == (
        "2d is 3.1 % slower since 4f2c, because of 22.0 % more shared-memory wavefronts; p = 2e-4"
    )
