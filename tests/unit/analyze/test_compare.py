"""Verdicts on times: one rule, few samples, several processes, another GPU, what is not comparable."""

import math
import random
import statistics
from dataclasses import replace

import pytest
from builders import summary
from hypothesis import given, settings
from hypothesis import strategies as st

from ncu_lab.analyze.compare import LogChange, TimeEvidence, call_durations, compare_processes, compare_times
from ncu_lab.metrics import Reading
from ncu_lab.model import TimingSample
from ncu_lab.model.comparison import Comparability, Difference
from ncu_lab.model.noise import NoiseTable, Repeatability

STEADY = NoiseTable({"GPU": {"time_ns": Repeatability(0.0), "duration_ns": Repeatability(0.001)}})


def taken(*times, process=0, mode="alone"):
    return tuple(
        TimingSample(process, place, place, "2d", mode, ns, None, None, None) for place, ns in enumerate(times)
    )


def judged(a, b, **options):
    return compare_times(TimeEvidence(a), TimeEvidence(b), noise=STEADY, device="GPU", **options)


@pytest.mark.parametrize(
    ("p", "low", "high", "verdict"),
    [
        (0.009, 1.0051, 1.02, "slower"),
        (0.01, 1.0051, 1.02, "inconclusive"),
        (0.009, 1.0049, 1.02, "inconclusive"),
        (0.009, 0.9, 0.9949, "faster"),
        (0.009, 0.9, 0.9951, "inconclusive"),
        (0.009, 0.9951, 1.0049, "same"),
        (0.9, 0.99, 1.01, "inconclusive"),
    ],
)
def test_the_one_rule(p, low, high, verdict):
    assert LogChange(p, 0.0, math.log(low), math.log(high)).verdict == verdict


def test_disjoint_samples_of_five_and_five():
    found = judged(taken(100.0, 101.0, 102.0, 103.0, 104.0), taken(120.0, 121.0, 122.0, 123.0, 124.0))
    assert (found.verdict, found.source, found.method) == ("slower", "timings", "ranks")
    assert found.p == pytest.approx(2 / 252)
    assert (found.a_ns, found.b_ns, found.delta_ns, found.n_a, found.n_b) == (102.0, 122.0, 20.0, 5, 5)
    assert found.delta_pct == pytest.approx(20 / 102 * 100)
    # The test does not reject ratios from 120 / 104 to 124 / 100; a fifth of what the samples scatter by widens that.
    logs = [[math.log(time) for time in range(first, first + 5)] for first in (100, 120)]
    scatter = math.sqrt(statistics.fmean(statistics.variance(side) for side in logs))
    drift = 2.5758 * 0.2 * scatter * math.sqrt(2.0)
    estimate = math.log(found.ratio)
    assert math.log(found.low) == pytest.approx(estimate - math.hypot(estimate - math.log(120 / 104), drift), abs=1e-5)
    assert math.log(found.high) == pytest.approx(estimate + math.hypot(math.log(1.24) - estimate, drift), abs=1e-5)


def test_four_samples_never_decide():
    found = judged(taken(1.0, 1.0, 1.0, 1.0), taken(*[9.0] * 10))
    assert (found.verdict, found.p, found.reason) == ("inconclusive", None, "fewer than 5 samples a side")
    assert (found.n_a, found.n_b, found.source) == (4, 10, "timings")


def profiled(*times, kernel="2d", samples=(), is_stage=True):
    return TimeEvidence(taken(*samples), times, kernel, is_stage)


def test_one_launch_a_side_is_no_verdict_and_has_no_p():
    found = compare_times(profiled(1e6, samples=(1.0,)), profiled(2e6, samples=(2.0,)), noise=STEADY, device="GPU")
    assert (found.verdict, found.source, found.n_a, found.n_b) == ("inconclusive", "profiler", 1, 1)
    assert found.reason == "1 profiled launch a side; a verdict needs 5 timings: profile with --samples 10"
    assert (found.delta_ns, found.ratio) == (1e6, 2.0)
    assert (found.p, found.low, found.high, found.method) == (None, None, None, None)
    # STEADY was measured with other kernels; that of a program that is no stage cannot be timed here.
    foreign = compare_times(profiled(*[1e6] * 4, kernel="f", is_stage=False), profiled(2e6, kernel="f", is_stage=False))
    assert foreign.reason == "4 + 1 profiled launches; a verdict needs 5"


def test_the_measured_band_of_one_launch_each():
    measured = {"duration_ns": Repeatability(0.0017, 0.0005, absolute=50.0)}
    table = NoiseTable({"GPU": measured}, {"GPU": frozenset({"2d"})})

    def of(a, b):
        return compare_times(profiled(*a), profiled(*b), noise=table, device="GPU")

    # 0.17 % a launch and 0.05 % a process, two of each: 99 % lie within 2.576 * 0.2506 % = 0.65 %.
    one = of((1e9,), (1.004e9,))
    assert (one.verdict, one.method, one.p) == ("inconclusive", "band", None)
    assert math.log(one.high / one.low) / 2.0 == pytest.approx(2.5758 * 0.002506, rel=1e-3)
    assert (of((1e9,), (1.013e9,)).verdict, of((1.013e9,), (1e9,)).verdict) == ("slower", "faster")
    assert of((1e9,), (1.011e9,)).verdict == "inconclusive"
    # Short launches repeat less well: 50 ns are 2.5 % of 2 us.
    assert of((2000.0,), (2100.0,)).verdict == "inconclusive"
    ten = of((1e6,), (2e6,) * 10)
    assert (ten.verdict, ten.method, ten.n_a, ten.n_b) == ("slower", "band", 1, 10)
    assert compare_times(profiled(1e9), profiled(2e9), noise=table, device="another").verdict == "inconclusive"
    assert compare_times(profiled(1e9), profiled(2e9, kernel="3d"), noise=table, device="GPU").verdict == "inconclusive"


def test_five_launches_a_side_are_judged_by_their_ranks():
    found = compare_times(profiled(*[1e6 + i for i in range(5)]), profiled(*[2e6 + i for i in range(5)]))
    assert (found.verdict, found.method, found.source) == ("slower", "ranks", "profiler")
    assert found.p == pytest.approx(2 / 252)


def test_a_measurement_against_itself_is_the_same_however_few():
    for evidence in (TimeEvidence(taken(5.0)), TimeEvidence(profiled_ns=(7.0,)), TimeEvidence(taken(1.0, 9.0, 4.0))):
        found = compare_times(evidence, evidence)
        assert (found.verdict, found.delta_ns, found.ratio, found.p) == ("same", 0.0, 1.0, None)


def test_what_was_taken_in_different_ways_is_not_mixed():
    # Beside the reference everything takes 10 % longer: that A has more of those must not make B faster.
    a = (
        *taken(*[110.0 + i / 100 for i in range(10)], mode="interleaved"),
        *taken(*[100.0 + i / 100 for i in range(5)]),
    )
    b = (
        *taken(*[110.0 + i / 100 for i in range(5)], mode="interleaved"),
        *taken(*[100.0 + i / 100 for i in range(10)]),
    )
    assert judged(a, b).verdict == "same"
    assert judged(a, taken(*[100.0 + i / 100 for i in range(5)])).n_a == 5
    nothing = judged(taken(*[1.0] * 9), taken(*[1.0] * 9, mode="interleaved"))
    assert (nothing.verdict, nothing.reason) == ("inconclusive", "A and B were not timed in the same way")


def test_no_time_is_told_and_nan_is_none():
    found = compare_times(TimeEvidence(taken(math.nan, 0.0)), TimeEvidence(profiled_ns=(5.0,)))
    assert (found.verdict, found.a_ns, found.b_ns, found.reason) == ("inconclusive", None, 5.0, "A has no time")
    assert compare_times(TimeEvidence(taken(math.nan)), TimeEvidence()).reason == "no time on either side"


def test_what_is_forbidden_is_not_compared_unless_forced():
    other = Difference("other_device", "GPU", "A100", "H100", ("time", "profiled_time"))
    a, b = taken(*[100.0 + i for i in range(5)]), taken(*[200.0 + i for i in range(5)])
    found = judged(a, b, comparability=Comparability((other,)))
    assert (found.verdict, found.p, found.delta_ns, found.ratio) == ("not_comparable", None, None, None)
    assert found.reason == "another GPU (A100 and H100)"
    assert (found.a_ns, found.b_ns) == (102.0, 202.0)
    assert judged(a, b, comparability=Comparability((other,), forced=True)).verdict == "slower"


def test_one_process_a_side_is_widened_by_what_processes_differ():
    a, b = taken(*[100.0] * 9), taken(*[101.0] * 9)
    table = NoiseTable({"GPU": {"time_ns": Repeatability(0.0, processes=0.001)}})
    found = compare_times(TimeEvidence(a), TimeEvidence(b), noise=table, device="GPU")
    # Without spread the interval is what two processes give: 2.576 * 0.1 % * sqrt 2.
    assert math.log(found.high / found.low) / 2 == pytest.approx(2.5758 * 0.001 * math.sqrt(2), rel=1e-4)
    assert found.verdict == "slower"
    table = NoiseTable({"GPU": {"time_ns": Repeatability(0.0, processes=0.002)}})
    assert compare_times(TimeEvidence(a), TimeEvidence(b), noise=table, device="GPU").verdict == "inconclusive"


def test_how_processes_of_a_steadier_kernel_differ_does_not_narrow_the_interval_of_another():
    a, b = taken(*[100.0] * 9), taken(*[101.0] * 9)
    table = NoiseTable({"GPU": {"time_ns": Repeatability(0.0, processes=0.0001)}}, {"GPU": frozenset({"2d"})})

    def half_width(kernel):
        found = compare_times(TimeEvidence(a, kernel=kernel), TimeEvidence(b, kernel=kernel), noise=table, device="GPU")
        return math.log(found.high / found.low) / 2

    assert half_width("2d") == pytest.approx(2.5758 * 0.0001 * math.sqrt(2), rel=1e-4)
    assert half_width("1d") == pytest.approx(2.5758 * 0.0005 * math.sqrt(2), rel=1e-4)  # the default


def test_another_gpu_of_the_model_is_widened_by_what_those_differ():
    a, b = taken(*[100.0] * 9), taken(*[103.0] * 9)
    two = compare_times(TimeEvidence(a), TimeEvidence(b), Comparability(other_unit=True))
    assert (two.verdict, two.reason) == ("inconclusive", "two GPUs of one model differ by as much")
    assert compare_times(TimeEvidence(a), TimeEvidence(b)).verdict == "slower"
    assert compare_times(
        TimeEvidence(a), TimeEvidence(taken(*[130.0] * 9)), Comparability(other_unit=True)
    ).verdict == ("slower")


def test_five_processes_count_as_five_samples():
    def processes(*levels):
        return {number: {"alone": [level] * 10} for number, level in enumerate(levels)}

    found = compare_processes(processes(100, 101, 102, 103, 104), processes(110, 111, 112, 113, 114), 0.5)
    assert found.p == pytest.approx(2 / 252)
    assert (found.low, found.high) == (pytest.approx(math.log(110 / 104)), pytest.approx(math.log(114 / 100)))
    # Two a side: what they differ by among themselves counts where it is more than the table's.
    few = compare_processes(processes(100, 104), processes(101, 105), 0.0)
    assert few.high - few.low > 2 * 2.5 * 0.02


def test_a_change_within_what_processes_differ_by_is_no_alarm():
    generator = random.Random(6)

    def process(level=1.0):
        own = level * (1.0 + generator.gauss(0.0, 0.0004))
        return taken(*[1e6 * own * (1.0 + generator.gauss(0.0, 0.002)) for _ in range(10)])

    alarms = sum(
        compare_times(TimeEvidence(process()), TimeEvidence(process())).verdict in ("faster", "slower")
        for _ in range(200)
    )
    assert alarms == 0
    caught = sum(
        compare_times(TimeEvidence(process()), TimeEvidence(process(1.015))).verdict == "slower" for _ in range(100)
    )
    assert caught >= 99


TIMES = st.lists(st.floats(1.0, 1e9), min_size=0, max_size=8)
MIRROR = {"faster": "slower", "slower": "faster"}


@settings(max_examples=60)
@given(TIMES, TIMES, TIMES, TIMES)
def test_swapping_mirrors_the_verdict(times_a, times_b, profiled_a, profiled_b):
    a, b = TimeEvidence(taken(*times_a), tuple(profiled_a)), TimeEvidence(taken(*times_b), tuple(profiled_b))
    there, back = compare_times(a, b), compare_times(b, a)
    assert back.verdict == MIRROR.get(there.verdict, there.verdict)
    assert (there.a_ns, there.b_ns, there.n_a, there.source) == (back.b_ns, back.a_ns, back.n_b, back.source)
    assert (there.p is None) == (back.p is None)
    if there.p is not None:
        assert there.p == pytest.approx(back.p)
    if there.ratio is not None:
        assert there.ratio * back.ratio == pytest.approx(1.0)
    if there.low is not None:
        assert there.low * back.high == pytest.approx(1.0)


@settings(max_examples=40)
@given(TIMES, TIMES)
def test_against_itself_nothing_changed(times, profiled):
    evidence = TimeEvidence(taken(*times), tuple(profiled))
    found = compare_times(evidence, evidence)
    assert found.delta_ns in (0.0, None)
    assert found.verdict == ("same" if times or profiled else "inconclusive")


def launch(kernel, ns):
    made = summary("2d")
    readings = {**made.readings, "duration_ns": Reading("duration_ns", ns, "ns", "gpu__time_duration.sum")}
    return replace(made, kernel=kernel, readings=readings)


def test_a_call_is_the_sum_of_its_kernels():
    assert call_durations([launch("f", 1.0), launch("f", 2.0)]) == (1.0, 2.0)
    assert call_durations([launch("t", 10.0), launch("f", 1.0), launch("t", 20.0), launch("f", 2.0)]) == (11.0, 22.0)
    twice = [
        launch("t", 1.0),
        launch("t", 2.0),
        launch("f", 10.0),
        launch("t", 3.0),
        launch("t", 4.0),
        launch("f", 20.0),
    ]
    assert call_durations(twice) == (13.0, 27.0)
    assert call_durations(
        [launch("t", 1.0), launch("t", 2.0), launch("t", 3.0), launch("f", 1.0), launch("f", 1.0)]
    ) == (8.0,)
    assert call_durations([launch("f", None)]) == ()
    assert call_durations([]) == ()
