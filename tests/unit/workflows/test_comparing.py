"""Two runs, or the runs of two commits, beside each other."""

import gzip
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from example_runs import example
from golden_runs import ENVIRONMENT, H200, put
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import Attribution
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.comparing import compare, find_lines

DATA = Path(__file__).parents[2] / "data" / "golden"


@pytest.fixture(scope="module")
def examples():
    return data_dir("examples")


@pytest.fixture(scope="module")
def bundled():
    """Ids of the bundled runs: the ladder at 1024 and at 4096, and a program that is none of it."""
    return tuple(example(name).id for name in ("ladder 1024", "ladder 4096", "cupy-three-launches"))


def names(comparison):
    def stage(launch):
        return launch and launch.stage

    return [(one.status, stage(one.chosen_a), stage(one.chosen_b)) for one in comparison.pairs]


def test_two_stages_are_compared_with_each_other(examples, bundled):
    found = compare("1d", "2d", examples)
    (only,) = found.pairs
    assert (found.a.stage, found.b.stage, found.a.meta.id) == ("1d", "2d", bundled[1])
    assert (only.status, only.matched_by, only.confidence) == ("matched", "choice", 1.0)
    assert (only.duration.verdict, only.duration.source, only.duration.n_a) == ("faster", "timings", 20)
    assert only.duration.p < 1e-6
    assert 0.5 < only.duration.low < only.duration.ratio < only.duration.high < 0.6
    assert isinstance(only.attribution, Attribution)
    change = only.attribution.b_ns - only.attribution.a_ns
    assert sum(part.ns for part in only.attribution.parts) + only.attribution.residual_ns == pytest.approx(change)
    assert only.metric("registers_per_thread").verdict == "changed"
    assert only.metric("instructions_issued").verdict == "better"
    assert (found.reasons, only.same_code) == ((), False)
    assert {line.file for line in only.lines} >= {"kernels/gemm/06_1d.cu", "kernels/gemm/07_2d.cu"}


MIRROR = {"faster": "slower", "slower": "faster", "better": "worse", "worse": "better"}


def test_swapping_mirrors_everything(examples):
    (there,), (back,) = compare("1d", "2d", examples).pairs, compare("2d", "1d", examples).pairs
    assert [part.ns for part in there.attribution.parts] == [-part.ns for part in back.attribution.parts]
    assert back.duration.verdict == MIRROR[there.duration.verdict]
    assert [(one.key, one.delta, MIRROR.get(one.verdict, one.verdict)) for one in there.metrics] == [
        (one.key, None if one.delta is None else -one.delta, one.verdict) for one in back.metrics
    ]
    assert {(one.line_a, one.line_b, one.delta) for one in there.lines} == {
        (one.line_b, one.line_a, -one.delta) for one in back.lines
    }


def test_a_run_against_itself_is_the_same_to_the_last_digit(examples, bundled):
    for run in bundled:
        found = compare(run, run, examples)
        assert found.reasons == ()
        for one in found.pairs:
            assert (one.status, one.confidence) == ("matched", 1.0)
            assert (one.duration.verdict, one.duration.delta_ns) == ("same", 0.0)
            assert {(metric.verdict, metric.delta) for metric in one.metrics} == {("same", 0.0)}
            assert one.lines == ()
            assert {part.ns for part in one.attribution.parts} == {0.0}
            assert one.attribution.residual_ns == 0.0


def test_another_problem_leaves_only_what_the_compiler_decides(examples, bundled):
    small, large, _ = bundled
    found = compare(small, large, examples, stages=["2d"])
    (only,) = found.pairs
    assert [reason.code for reason in found.reasons] == ["other_problem"]
    assert (only.duration.verdict, only.duration.delta_ns, only.attribution) == ("not_comparable", None, None)
    assert only.metric("registers_per_thread").verdict == "same"
    assert only.metric("dram_bytes").verdict == "not_comparable"
    forced = compare(small, large, examples, stages=["2d"], force=True)
    assert (forced.forced, forced.pairs[0].duration.verdict) == (True, "slower")
    assert forced.reasons == found.reasons


def test_a_stage_and_a_run_compare_that_stage(examples, bundled):
    small, _, foreign = bundled
    assert names(compare(small, "2d", examples)) == [("matched", "2d", "2d")]
    assert names(compare("2d", foreign, examples)) == [("removed", "2d", None)]


def test_stages_and_launches_may_be_chosen(examples, bundled):
    small, large, foreign = bundled
    assert names(compare(small, large, examples, stages=["1d", "2d"])) == [
        ("matched", "1d", "1d"),
        ("matched", "2d", "2d"),
    ]
    chosen = compare(foreign, foreign, examples, launch_a=0, launch_b=2).pairs
    assert [(one.matched_by, one.chosen_a.launch, one.chosen_b.launch) for one in chosen] == [("choice", 0, 2)]


def test_kernels_may_be_paired_by_hand(examples, bundled):
    small, large, foreign = bundled
    found = compare(small, large, examples, by_hand=["1d=2d", "sgemm_naive=1d"])
    assert ("matched", "1d", "2d") in names(found)
    assert ("matched", "naive", "1d") in names(found)
    by_number = compare(foreign, foreign, examples, by_hand=["0=2"]).pairs
    assert [(one.matched_by, one.launches_b[0].launch) for one in by_number if one.matched_by == "choice"] == [
        ("choice", 2)
    ]
    for wrong, message in (("1d", "names no two kernels"), ("1d=2e", "B has no stage"), ("1dd=2d", "A has no stage")):
        with pytest.raises(UsageError, match=message):
            compare(small, large, examples, by_hand=[wrong])


@pytest.mark.parametrize(
    ("references", "options", "message", "hint"),
    [
        ((2, 1), {"stages": ["2x"]}, 'neither run has a profiled stage "2x"', "They have naive, coalesced"),
        ((2, 1), {"launch_a": 99, "launch_b": 0}, "has no launch 99 (--launch-a)", "It has launches 0 to 2."),
        ((2, 1), {"launch_a": 1}, "which launch of", "Name it: --launch-b N. It has"),
    ],
)
def test_a_choice_that_is_not_there_is_told(examples, bundled, references, options, message, hint):
    with pytest.raises(UsageError) as caught:
        compare(*(bundled[one] for one in references), examples, **options)
    assert message in caught.value.message
    assert caught.value.hint.startswith(hint)


def test_an_export_and_a_report_are_compared(tmp_path):
    files = []
    for name in ("cupy-nvtx.raw.csv", "cupy-nvtx.ncu-rep"):
        file = tmp_path / name
        with gzip.open(DATA / f"{name}.gz") as source, file.open("wb") as target:
            shutil.copyfileobj(source, target)
        files.append(str(file))
    found = compare(*files, tmp_path / "none")
    assert {one.status for one in found.pairs} == {"matched"}
    assert {one.duration.verdict for one in found.pairs} <= {"same", "inconclusive"}
    assert not any(metric.verdict in ("worse", "better", "changed") for one in found.pairs for metric in one.metrics)


def test_what_is_no_run_is_unusable_input(examples):
    with pytest.raises(InputError):
        compare("1d", "no-such-run", examples)


RUNS = st.fixed_dictionaries(
    {
        "stages": st.sets(st.sampled_from(["1d", "2d", "smem"]), min_size=1),
        "times": st.lists(st.floats(1e3, 1e7), max_size=7),
        "driver": st.sampled_from(["580.159", "590.1", None]),
        "name": st.sampled_from(["NVIDIA H200", "NVIDIA H100"]),
    }
)


def _random_run(number, made):
    return {
        "stages": made["stages"],
        "samples": dict.fromkeys(made["stages"], made["times"]),
        "environment": replace(ENVIRONMENT, driver=made["driver"]),
        "device": replace(H200, name=made["name"]),
    }


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(RUNS, RUNS)
def test_diff_mirrors_and_against_itself_is_empty(tmp_path_factory, a, b):
    store = tmp_path_factory.mktemp("reports")
    for number, made in ((1, a), (2, b)):
        put(store, number, **_random_run(number, made))
    there, back = compare("@last~1", "@last", store), compare("@last", "@last~1", store)
    states = {"added": "removed", "removed": "added"}

    def seen(comparison, *, flipped):
        found = {}
        for one in comparison.pairs:
            left, right = (one.launches_b, one.launches_a) if flipped else (one.launches_a, one.launches_b)
            key = (*(launch.stage for launch in left), "|", *(launch.stage for launch in right))
            verdict = one.duration.verdict if one.duration else None
            status = one.status
            found[key] = (
                states.get(status, status) if flipped else status,
                MIRROR.get(verdict, verdict) if flipped else verdict,
                [MIRROR.get(metric.verdict, metric.verdict) if flipped else metric.verdict for metric in one.metrics],
            )
        return found

    assert seen(there, flipped=False) == seen(back, flipped=True)
    itself = compare("@last", "@last", store)
    assert {one.duration.verdict for one in itself.pairs} == {"same"}
    assert {metric.verdict for one in itself.pairs for metric in one.metrics} == {"same"}


def test_a_stage_of_each_side_can_be_named_beside_the_references(examples, bundled):
    _, ladder, _ = bundled
    told = compare(ladder, ladder, examples, stage_a="1d", stage_b="2d")
    assert names(told) == [("matched", "1d", "2d")]
    assert (told.a.stage, told.b.stage) == ("1d", "2d")
    with pytest.raises(UsageError, match='no profiled stage "3d"'):
        compare(ladder, ladder, examples, stage_a="1d", stage_b="3d")


def test_lines_can_be_found_later_of_one_pair(examples, bundled):
    _, ladder, _ = bundled
    whole = compare(ladder, ladder, examples, stage_a="1d", stage_b="2d").pairs[0]
    (bare,) = compare(ladder, ladder, examples, stage_a="1d", stage_b="2d", lines=False).pairs
    run = Store(examples).read(ladder)
    assert bare.lines == ()
    assert whole.lines
    assert find_lines(bare, run, run) == whole.lines
    itself = compare(ladder, ladder, examples, stages=["2d"], lines=False).pairs[0]
    assert find_lines(itself, run, run) == ()
