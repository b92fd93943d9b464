"""The gate of stored runs, on the bundled H200 runs and copies of them that differ in known ways."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path

import history_repo
import pytest

from ncu_lab.errors import InputError
from ncu_lab.model import GitState, Problem, Run
from ncu_lab.model.gating import GateResult, Place
from ncu_lab.model.noise import Repeatability
from ncu_lab.model.noise_record import NoiseRecord
from ncu_lab.model.policy import Limit, Policy, Rule
from ncu_lab.resources import data_dir
from ncu_lab.store import Store
from ncu_lab.store.noise_files import write_noise
from ncu_lab.workflows.baselines import baseline_side, save_baseline
from ncu_lab.workflows.gating import (
    Reference,
    gate_runs,
    gated_side,
    merge_base,
)

BEFORE, AFTER = "20261101T000000-ladder-aaaaaaa-0001", "20261102T000000-ladder-bbbbbbb-0002"
ISSUED = "smsp__inst_issued.sum"


STAGES = ("naive", "2d")


@cache
def ladder() -> Run:
    """Two stages of the smallest bundled ladder, without their instances."""
    examples = Store(data_dir("examples"))
    metas = [meta for meta in examples.metas()[0] if meta.problem]
    run = examples.read(min(metas, key=lambda meta: meta.problem.m if meta.problem else 0).id)
    launches = run.launches[run.launches["stage"].isin(STAGES)]
    metrics = run.metrics[run.metrics["launch"].isin(launches["launch"])]
    return replace(
        run,
        meta=replace(run.meta, stages=STAGES),
        launches=launches,
        metrics=metrics,
        instances=run.instances.iloc[:0],
        rules=run.rules.iloc[:0],
        timings=run.timings[run.timings["subject"].isin(STAGES)],
        builds=tuple(build for build in run.builds if build.stage in STAGES),
        checks=(),
        sources={},
    )


def renewed(run: Run, id: str, *, slower: float = 1.0, commit: str | None = None, created: str = "") -> Run:
    """Return a run of another id; the samples of 2d take ``slower`` times as long, all others a whit more or less."""
    timings = run.timings.copy()
    wobble = 1.0 + (timings["sample"] * 7919 % 13 - 6) * 1e-5
    timings["ns"] = timings["ns"] * wobble
    timings.loc[timings["subject"] == "2d", "ns"] *= slower
    git = GitState(commit=commit or id.split("-")[2] * 5 + "12345")
    return replace(run, meta=replace(run.meta, id=id, git=git, created=created or run.meta.created), timings=timings)


def counted(run: Run, metric: str, stage: str, factor: float) -> Run:
    """Return a run in which one counter of a stage is so many times as large."""
    own = run.launches.loc[run.launches["stage"] == stage, "launch"]
    metrics = run.metrics.copy()
    metrics.loc[metrics["launch"].isin(own) & (metrics["metric"] == metric), "value"] *= factor
    return replace(run, metrics=metrics)


def stored(folder: Path, *runs: Run) -> Path:
    for run in runs:
        Store(folder).write(run)
    return folder


def gated(store: Path, policy: Policy = Policy(), **options: object) -> GateResult:
    return gate_runs(Reference(f"run:{BEFORE}"), Reference(f"run:{AFTER}"), store, policy, **options)  # type: ignore[arg-type]  # options vary by test


def failing(result: GateResult) -> set[tuple[str, str]]:
    return {(one.change.kernel, one.change.key) for one in result.failing}


def test_the_same_build_passes(tmp_path: Path) -> None:
    store = stored(tmp_path, renewed(ladder(), BEFORE), renewed(ladder(), AFTER, slower=1.0001))
    result = gated(store)
    assert result.passed
    assert len(result.judged) > 25
    assert (result.a, result.b) == ("aaaaaaa", "bbbbbbb")


def test_a_run_against_itself_passes_and_is_told_to_test_nothing(tmp_path: Path) -> None:
    store = stored(tmp_path, renewed(ladder(), BEFORE), renewed(ladder(), AFTER))
    itself = gate_runs(Reference(f"run:{BEFORE}"), Reference(f"run:{BEFORE}"), store, Policy())
    assert itself.passed
    assert "same_run" in {notice.code for notice in itself.notices}
    assert "same_run" not in {notice.code for notice in gated(store).notices}


def test_a_slowdown_of_3_percent_fails_at_its_kernel_and_a_policy_may_allow_it(tmp_path: Path) -> None:
    store = stored(tmp_path, renewed(ladder(), BEFORE), renewed(ladder(), AFTER, slower=1.03))
    result = gated(store)
    assert failing(result) == {("2d", "duration_ns")}
    [one] = result.failing
    assert one.change.estimate == pytest.approx(0.03, abs=0.002)
    assert one.change.place is not None
    assert one.change.place.file == "kernels/gemm/07_2d.cu"
    assert isinstance(one.change.place, Place)
    assert gated(store, Policy((Rule("duration_ns", limit=Limit(0.05)),))).passed
    assert gated(store, stages=["naive"]).passed


def test_a_speedup_is_told_and_passes(tmp_path: Path) -> None:
    store = stored(tmp_path, renewed(ladder(), BEFORE), renewed(ladder(), AFTER, slower=0.97))
    result = gated(store)
    assert result.passed
    assert ("2d", "duration_ns") in {(one.change.kernel, one.change.key) for one in result.of("improvement")}


def test_more_instructions_fail_and_more_than_repeats_do_not(tmp_path: Path) -> None:
    base = renewed(ladder(), BEFORE)
    store = stored(tmp_path, base, counted(renewed(ladder(), AFTER), ISSUED, "2d", 1.02))
    assert ("2d", "instructions_issued") in failing(gated(store))
    record = NoiseRecord(
        "NVIDIA H200", "2026-11-30T08:15:00+00:00", 10, 1, None, ("2d",), None, None, None,
        {"instructions_issued": Repeatability(0.02)},
    )  # fmt: skip
    write_noise(store, record)
    result = gated(store)
    assert result.passed, "what A/A runs measured counts"
    assert "noise_not_measured" not in {notice.code for notice in result.notices}


def test_without_a_measurement_defaults_are_said_to_stand_for_it(tmp_path: Path) -> None:
    store = stored(tmp_path, renewed(ladder(), BEFORE), renewed(ladder(), AFTER))
    assert "noise_not_measured" in {notice.code for notice in gated(store).notices}


def test_another_gpu_is_missing_not_slower_and_force_says_so(tmp_path: Path) -> None:
    after = renewed(ladder(), AFTER, slower=2.0)
    assert after.meta.device is not None
    other = replace(after.meta, device=replace(after.meta.device, name="NVIDIA A100", compute_capability=(8, 0)))
    store = stored(tmp_path, renewed(ladder(), BEFORE), replace(after, meta=other))
    result = gated(store)
    assert result.passed
    times = [one for one in result.judged if one.change.key == "duration_ns"]
    assert {one.outcome for one in times} == {"missing"}
    assert all(one.why.startswith("not comparable: another GPU") for one in times)
    assert not gated(store, Policy(missing="fail")).passed
    forced = gated(store, force=True)
    assert ("2d", "duration_ns") in failing(forced)
    assert any("another GPU" in words for words in forced.forced)


def test_a_baseline_file_stands_for_the_run(tmp_path: Path) -> None:
    store = stored(tmp_path / "store", renewed(ladder(), BEFORE), renewed(ladder(), AFTER, slower=1.03))
    file = tmp_path / "base.zip"
    assert [meta.id for meta in save_baseline(Reference(BEFORE), store, file)] == [BEFORE]
    Store(store).remove(BEFORE)
    with baseline_side(file, store) as before:
        result = gate_runs(before, Reference(AFTER), store, Policy())
    assert failing(result) == {("2d", "duration_ns")}
    assert result.a == "baseline base.zip"


def test_nothing_in_common_is_a_mistake(tmp_path: Path) -> None:
    examples = Store(data_dir("examples"))
    program = next(meta.id for meta in examples.metas()[0] if not meta.problem)
    store = stored(tmp_path, renewed(ladder(), BEFORE), examples.read(program))
    with pytest.raises(InputError, match="no kernel in common"):
        gate_runs(Reference(program), Reference(BEFORE), store, Policy())


@pytest.mark.git
def test_what_is_gated_and_against_what_where_nothing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "repo"
    commits = history_repo.make(folder)
    subprocess.run(["git", "-C", str(folder), "checkout", "-q", "-b", "work", "main~2"], check=True)
    monkeypatch.chdir(folder)
    assert merge_base(folder) == Reference(
        f"rev:{commits['renamed']}", f"merge base with main ({commits['renamed'][:7]})"
    )
    store = stored(tmp_path / "store", renewed(ladder(), BEFORE, commit=commits["comment"]))
    with pytest.raises(InputError, match="no complete run of HEAD"):
        gated_side(folder, store)
    stored(store, renewed(ladder(), AFTER, commit=commits["renamed"]))
    gated = gated_side(folder, store)
    assert (gated.text, gated.words) == (f"rev:{commits['renamed']}", f"HEAD ({commits['renamed'][:7]})")
    kernel = folder / history_repo.KERNEL
    kernel.write_text(kernel.read_text() + "// edited\n")
    assert gated_side(folder, store).words == f"{gated.words}, without the edits of this checkout"
    edited = renewed(ladder(), "20261103T000000-ladder-ccccccc-0003", created="2026-12-03T00:00:00+00:00")
    git = GitState(commit=commits["renamed"], dirty=True)
    stored(store, replace(edited, meta=replace(edited.meta, git=git)))
    assert gated_side(folder, store).text == "run:20261103T000000-ladder-ccccccc-0003"


def test_outside_of_git(tmp_path: Path) -> None:
    assert gated_side(tmp_path, tmp_path).text == "@last"
    with pytest.raises(InputError, match="nothing says what to compare with"):
        merge_base(tmp_path)


@pytest.mark.git
def test_a_baseline_holds_the_runs_of_all_stages_and_problems_of_a_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "repo"
    commits = history_repo.make(folder)
    monkeypatch.chdir(folder)
    small = Problem(512, 512, 512)
    ids = [f"2026110{day}T000000-ladder-aaaaaaa-000{day}" for day in range(1, 7)]
    made = [renewed(ladder(), id, commit=commits["renamed"] if id in ids[:3] else commits["comment"]) for id in ids]
    older = replace(made[0], meta=replace(made[0].meta, created="2026-10-01T00:00:00+00:00"))
    others = [replace(run, meta=replace(run.meta, problem=small)) for run in (made[2], made[4])]
    store = stored(tmp_path / "store", older, made[1], others[0])
    file = tmp_path / "base.zip"
    metas = save_baseline(Reference(f"rev:{commits['renamed']}"), store, file)
    assert {(meta.id, meta.problem) for meta in metas} == {(ids[1], made[1].meta.problem), (ids[2], small)}
    for meta in Store(store).metas()[0]:
        Store(store).remove(meta.id)
    slow = renewed(ladder(), ids[5], commit=commits["comment"], slower=1.03)
    stored(store, slow, others[1])
    with baseline_side(file, store) as before:
        result = gate_runs(before, Reference("rev:main"), store, Policy())
    assert failing(result) == {("2d", "duration_ns")}
    assert len([one for one in result.judged if one.change.key == "duration_ns"]) == 2 * len(ladder().meta.stages)
    Store(store).remove(ids[4])
    with baseline_side(file, store) as before:
        left = gate_runs(before, Reference("rev:main"), store, Policy())
    assert any("only A (baseline base.zip) has runs of 512³" in one.message for one in left.notices)
