"""Runs made for the purpose, beside each other: of commits, of other machines and problems, timed and only profiled."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from builders import golden_counters
from golden_runs import golden_run, put

from ncu_lab.analyze.metric_changes import STATIC
from ncu_lab.errors import InputError
from ncu_lab.model import Device, Environment, Problem, Unattributed
from ncu_lab.model.noise import NoiseTable, Repeatability
from ncu_lab.model.policy import Policy
from ncu_lab.store import Store
from ncu_lab.workflows.comparing import compare
from ncu_lab.workflows.gating import Reference, gate_runs

OLD, NEW = "a" * 40, "b" * 40
STEADY = [1e6 + 100.0 * i for i in range(10)]
SLOWER = [1.1 * ns for ns in STEADY]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "reports"


def verdicts(comparison):
    return {one.chosen_b.stage: one.duration.verdict for one in comparison.pairs if one.duration}


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


def test_one_launch_against_ten(store):
    counters = golden_counters()["2d"]
    extra = [{"stage": None, "kernel": "f", "grid": (1, 1, 1), "block": (32, 1, 1), "metrics": counters["metrics"]}]
    put(store, 1, [], extra=extra)
    put(store, 2, [], extra=extra * 10)
    (only,) = compare("@last~1", "@last", store).pairs
    assert (len(only.launches_a), len(only.launches_b), only.duration.n_b) == (1, 10, 10)
    assert (only.duration.delta_ns, only.duration.verdict, only.duration.p) == (0.0, "inconclusive", None)
    assert only.duration.reason == "1 + 10 profiled launches; a verdict needs 5"


@pytest.fixture
def shallow(store):
    """A shallow clone of the repository that the current folder becomes; the store has a run, not of its commit."""

    def git(*arguments):
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    git("clone", "-q", "--depth", "1", f"file://{Path.cwd()}", "shallow")
    (Path.cwd() / "shallow" / ".git" / "shallow").touch()  # git leaves it out where all fitted in
    put(store, 1, ["2d"])
    return Path.cwd() / "shallow"


@pytest.mark.usefixtures("shallow")
def test_a_revision_without_a_run_says_how_to_make_one(store):
    with pytest.raises(InputError, match=r'"HEAD" is commit .*, of which .* has no run') as caught:
        compare("HEAD", "@last", store)
    assert "ncu-lab profile --rev " in caught.value.hint
    with pytest.raises(InputError, match="there is no revision"):
        compare("rev:nope", "@last", store)


def test_in_a_shallow_clone_an_unknown_revision_is_told_of_it(store, shallow, monkeypatch):
    monkeypatch.chdir(shallow)
    with pytest.raises(InputError) as caught:
        compare("HEAD~5", "@last", store)
    assert "shallow" in caught.value.hint


def test_without_git_runs_and_hashes_still_work(store, monkeypatch):
    put(store, 1, ["2d"], OLD)
    put(store, 2, ["2d"], NEW)
    monkeypatch.setenv("PATH", "")
    (only,) = compare("aaaa", "bbbb", store).pairs
    assert (only.status, only.chosen_a.stage, only.chosen_b.stage) == ("matched", "2d", "2d")


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
