"""Two runs, or the runs of two commits, beside each other."""

import gzip
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from builders import golden_counters
from example_runs import example
from golden_runs import ENVIRONMENT, H200, golden_run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncu_lab.analyze.metric_changes import STATIC
from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import Attribution, Device, Environment, GitState, Problem, Unattributed
from ncu_lab.model.noise import NoiseTable, Repeatability
from ncu_lab.model.policy import Policy
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.workflows.comparing import compare, find_lines
from ncu_lab.workflows.gating import Reference, gate_runs

DATA = Path(__file__).parents[2] / "data" / "golden"
OLD, NEW = "a" * 40, "b" * 40
STEADY = [1e6 + 100.0 * i for i in range(10)]
SLOWER = [1.1 * ns for ns in STEADY]


@pytest.fixture(scope="module")
def examples():
    return data_dir("examples")


@pytest.fixture(scope="module")
def bundled():
    """Ids of the bundled runs: the ladder at 1024 and at 4096, and a program that is none of it."""
    return tuple(example(name).id for name in ("ladder 1024", "ladder 4096", "cupy-three-launches"))


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports"


def put(store, number, stages, commit=None, dirty=False, **options):
    """Store a run of stages, the later the newer, and return its id."""
    run_id = f"202611{number:02d}T000000-run-{(commit or 'nogit')[:7]}-000{number % 10}"
    run = golden_run(stages, run_id=run_id, created=f"2026-11-{number:02d}T00:00:00+00:00", **options)
    Store(store).write(replace(run, meta=replace(run.meta, git=GitState(commit=commit, dirty=dirty))))
    return run_id


def names(comparison):
    def stage(launch):
        return launch and launch.stage

    return [(one.status, stage(one.chosen_a), stage(one.chosen_b)) for one in comparison.pairs]


def verdicts(comparison):
    return {one.chosen_b.stage: one.duration.verdict for one in comparison.pairs if one.duration}


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


def test_one_launch_each_is_a_pair_whatever_it_is_called(store):
    put(store, 1, ["1d"])
    other = Device("NVIDIA H100", compute_capability=(9, 0), sm_count=132)
    changed = Environment(driver="590.1", cuda="13.0", ncu="2026.1", clock_control="base")
    put(store, 2, ["2d"], device=other, environment=changed)
    found = compare("@last~1", "@last", store)
    assert [(one.matched_by, one.chosen_a.stage, one.chosen_b.stage) for one in found.pairs] == [("choice", "1d", "2d")]
    assert found.pairs[0].attribution is None
    assert [one.code for one in found.reasons] == ["other_device", "other_driver", "other_ncu", "other_clock_control"]
    # The golden counters of tests/data are a selection, without what the identity needs.
    assert isinstance(compare("@last~1", "@last", store, force=True).pairs[0].attribution, Unattributed)


def test_a_revision_is_its_newest_run_of_each_stage(store):
    put(store, 1, ["1d", "2d"], OLD, samples={"1d": STEADY, "2d": STEADY})
    put(store, 2, ["2d"], OLD, samples={"2d": SLOWER})
    put(store, 3, ["2d"], OLD, dirty=True, samples={"2d": STEADY})  # a clean tree comes first
    new = put(store, 4, ["1d", "2d"], NEW, samples={"1d": STEADY, "2d": SLOWER})
    found = compare("aaaaaaa", "bbbbbbb", store)
    assert verdicts(found) == {"1d": "same", "2d": "same"}
    assert [meta.id[:8] for meta in found.a.runs] == ["20261102", "20261101"]
    assert {one.chosen_a.stage: one.run_a.id[:8] for one in found.pairs} == {"1d": "20261101", "2d": "20261102"}
    assert verdicts(compare("20261101", new, store)) == {"1d": "same", "2d": "slower"}


def test_runs_of_one_problem_are_compared_and_the_others_told(store):
    large = Problem(4096, 4096, 4096)
    put(store, 1, ["2d"], OLD, samples={"2d": STEADY})
    put(store, 2, ["2d"], OLD, problem=large, samples={"2d": SLOWER})
    put(store, 3, ["2d"], NEW, samples={"2d": SLOWER})
    found = compare("aaaaaaa", "bbbbbbb", store)
    assert verdicts(found) == {"2d": "slower"}
    assert [notice.message for notice in found.warnings] == ["only A (aaaaaaa) has runs of 4096³ on NVIDIA H200"]
    put(store, 4, ["2d"], NEW, problem=large, samples={"2d": SLOWER})
    both = compare("aaaaaaa", "bbbbbbb", store)
    assert [(one.run_b.problem.m, one.duration.verdict) for one in both.pairs] == [(4096, "same"), (1024, "slower")]


def test_processes_of_a_run_are_told_apart(store):
    first = put(store, 1, ["2d"], samples={"2d": STEADY})
    run = golden_run(["2d"], run_id="20261102T000000-2d-nogit-0002", samples={"2d": STEADY * 5})
    Store(store).write(replace(run, timings=run.timings.assign(process=[i // 10 for i in range(50)])))
    (only,) = compare(first, "20261102", store).pairs
    assert (only.duration.processes_a, only.duration.processes_b, only.duration.n_b) == (1, 5, 50)


def test_what_the_store_measured_of_noise_decides(store):
    put(store, 1, ["2d"], samples={"2d": STEADY})
    put(store, 2, ["2d"], samples={"2d": [1.01 * ns for ns in STEADY]})
    assert verdicts(compare("@last~1", "@last", store)) == {"2d": "slower"}
    table = NoiseTable({"NVIDIA H200": {"time_ns": Repeatability(0.01, processes=0.01)}})
    assert verdicts(compare("@last~1", "@last", store, noise=table)) == {"2d": "inconclusive"}


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


def test_one_launch_against_ten(store):
    counters = golden_counters()["2d"]
    extra = [{"stage": None, "kernel": "f", "grid": (1, 1, 1), "block": (32, 1, 1), "metrics": counters["metrics"]}]
    put(store, 1, [], extra=extra)
    put(store, 2, [], extra=extra * 10)
    (only,) = compare("@last~1", "@last", store).pairs
    assert (len(only.launches_a), len(only.launches_b), only.duration.n_b) == (1, 10, 10)
    assert (only.duration.delta_ns, only.duration.verdict, only.duration.p) == (0.0, "inconclusive", None)
    assert only.duration.reason == "1 + 10 profiled launches; a verdict needs 5"


def test_a_revision_without_a_run_says_how_to_make_one(store):
    def git(*arguments):
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    put(store, 1, ["2d"])
    with pytest.raises(InputError, match=r'"HEAD" is commit .*, of which .* has no run') as caught:
        compare("HEAD", "@last", store)
    assert "ncu-lab profile --rev " in caught.value.hint
    with pytest.raises(InputError, match="there is no revision"):
        compare("rev:nope", "@last", store)
    git("clone", "-q", "--depth", "1", f"file://{Path.cwd()}", "shallow")


def test_in_a_shallow_clone_an_unknown_revision_is_told_of_it(store, monkeypatch):
    test_a_revision_without_a_run_says_how_to_make_one(store)
    monkeypatch.chdir(Path.cwd() / "shallow")
    (Path.cwd() / ".git" / "shallow").touch()
    with pytest.raises(InputError) as caught:
        compare("HEAD~5", "@last", store)
    assert "shallow" in caught.value.hint


def test_without_git_runs_and_hashes_still_work(store, monkeypatch):
    put(store, 1, ["2d"], OLD)
    put(store, 2, ["2d"], NEW)
    monkeypatch.setenv("PATH", "")
    assert names(compare("aaaa", "bbbb", store)) == [("matched", "2d", "2d")]


def test_a_newer_schema_is_refused_and_an_edited_tree_told(store):
    first = put(store, 1, ["2d"], OLD)
    put(store, 2, ["2d"], NEW, dirty=True)
    found = compare("aaaa", "bbbb", store)
    assert [(one.code, one.a, one.b) for one in found.differences] == [("edited_tree", "clean", "edited")]
    meta = store / first / "run.json"
    meta.write_text(meta.read_text().replace('"schema": 1', '"schema": 99'))
    with pytest.raises(InputError, match="99"):
        compare(first, "bbbb", store)


def test_runs_without_launches_have_no_pairs(store):
    put(store, 1, [])
    put(store, 2, [])
    assert compare("@last~1", "@last", store).pairs == ()


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


def program(size):
    """Launches of a program of which no stage is known, each of so many blocks a side."""
    return [{**golden_counters()["2d"], "grid": (size, size, 1), "block": (256, 1, 1)}]


def test_another_launch_shape_is_not_comparable_where_the_problem_is_not_known(store):
    a, b = (put(store, day, [], extra=program(size), problem=None) for day, size in ((1, 16), (2, 32)))
    (pair,) = compare(a, b, store).pairs
    why = "another launch shape (grid 16×16 and grid 32×32; the problem of either is not known)"
    assert (pair.matched_by, pair.confidence) == ("shape", 0.9)
    assert pair.duration is not None
    assert (pair.duration.verdict, pair.duration.reason) == ("not_comparable", why)
    assert pair.attribution is None
    measured = {one.key: one.verdict for one in pair.metrics if one.key not in STATIC}
    assert set(measured.values()) == {"not_comparable"}
    gated = gate_runs(Reference(a), Reference(b), store, Policy())
    assert {one.why for one in gated.judged if one.change.key == "duration_ns"} == {f"not comparable: {why}"}
    for options in ({"force": True}, {"by_hand": ["0=0"]}, {"launch_a": 0, "launch_b": 0}):
        (asked,) = compare(a, b, store, **options).pairs
        assert asked.duration is not None
        assert asked.duration.verdict != "not_comparable"
    known = put(store, 3, [], extra=program(32))
    (one_known,) = compare(a, known, store).pairs
    assert one_known.duration is not None
    assert "the problem of A is not known" in one_known.duration.reason


def test_between_runs_of_one_problem_another_grid_is_a_change_of_the_kernel(store):
    a, b = (put(store, day, [], extra=program(size)) for day, size in ((1, 16), (2, 32)))
    (pair,) = compare(a, b, store).pairs
    assert pair.comparability.is_comparable
    assert {one.verdict for one in pair.metrics} == {"same"}
