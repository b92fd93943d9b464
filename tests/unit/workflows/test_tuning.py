"""A search from its candidates to the stored best, against a GPU whose times are a formula of the tile."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tuning_records import FakeGpu

from ncu_lab.analyze.halving import planned_rungs
from ncu_lab.errors import CheckFailedError, EnvironmentLacksError, UsageError
from ncu_lab.gpu.devices import gpu_problem
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import Problem, ProgressEvent, shape_class
from ncu_lab.store.tuning_files import read_tuning
from ncu_lab.workflows.best_tiles import best_tiles
from ncu_lab.workflows.tuning import preview, tune

CUBE = Problem(4096, 4096, 4096)
DEFAULT = "BM128-BN128-BK16-TM8-TN8"
BEST = "BM128-BN256-BK32-TM8-TN16"


def time_of(tile: Mapping[str, int]) -> float:
    """Microseconds in ns; least where BM 128, BN 256, BK 32, TM 8, TN 16."""
    target = {"BM": 128, "BN": 256, "BK": 32, "TM": 8, "TN": 16}
    return 1000.0 + sum(abs(size.bit_length() - target[name].bit_length()) for name, size in tile.items()) * 100.0


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> FakeGpu:
    return FakeGpu(monkeypatch, time_of)


def test_finds_the_fastest_of_all_and_stores_the_whole_search(tmp_path: Path, gpu: FakeGpu) -> None:
    events: list[ProgressEvent] = []
    tuned = tune("autotuned", CUBE, tmp_path, report=events.append)
    record = tuned.record
    assert (record.best, record.default, record.left_out) == (BEST, DEFAULT, 0)
    assert read_tuning(tmp_path) == ([(tuned.file, record)], [])
    tried = [one for one in record.candidates if one.outcome != "rejected"]
    plan = planned_rungs(len(tried))
    assert [(rung.samples, rung.survivors) for rung in record.rungs] == [(samples, kept) for _, samples, kept in plan]
    for rung, (entrants, _, _) in zip(record.rungs, plan, strict=True):
        assert DEFAULT in rung.entrants
        assert len(rung.entrants) in (entrants, entrants + 1)  # the control, where its own time would not have it
    assert len(record.rungs[-1].entrants) == 5
    winner = record.winner
    assert winner is not None
    assert [len(rung) for rung in winner.samples_ns] == [rung.samples for rung in record.rungs]
    # 4 us less than no bit of distance; occupancy of 256 threads with 168 registers and 48 KiB: one block of 8 warps.
    assert (winner.registers, winner.shared_bytes, winner.blocks_per_sm, winner.occupancy) == (168, 49152, 1, 8 / 64)
    assert {one.outcome for one in record.candidates} == {"rejected", "outpaced", "finalist", "best"}
    # One check of all at their fast paths, the rungs, and the winner at every shape.
    assert [mode for mode, _, _ in gpu.asked] == ["check", *["contest"] * len(record.rungs), "check"]
    assert gpu.asked[-1][1] == ("autotuned",)
    assert next(event.detail for event in events if event.step == "check" and event.state == "done") == (
        f"{len(tried)} of {len(tried)} tiles are right"
    )


def test_what_is_wrong_crashes_or_does_not_compile_is_not_timed(tmp_path: Path, gpu: FakeGpu) -> None:
    gpu.wrong, gpu.crashing = {BEST}, {"BM128-BN256-BK16-TM8-TN16"}
    gpu.uncompilable = {"BM64-BN256-BK32-TM8-TN16"}
    record = tune("autotuned", CUBE, tmp_path).record
    outcomes = {one.label: (one.outcome, one.why) for one in record.candidates}
    assert outcomes[BEST] == ("wrong", "4096³ as asked: 3 of 9 elements wrong")
    assert outcomes["BM128-BN256-BK16-TM8-TN16"][0] == "crashed"
    assert outcomes["BM64-BN256-BK32-TM8-TN16"] == ("not_compiled", "stage autotuned does not compile: no luck")
    timed = {label for mode, labels, _ in gpu.asked if mode == "contest" for label in labels}
    assert timed.isdisjoint([BEST, *gpu.crashing, *gpu.uncompilable])
    checks = [labels for mode, labels, _ in gpu.asked if mode == "check"][:2]
    assert checks[1][0] != "BM128-BN256-BK16-TM8-TN16"  # the rest of the check went on in a new process
    assert set(checks[1]) < set(checks[0])
    assert record.winner is not None
    assert record.winner.label in timed


def test_a_finalist_that_fails_elsewhere_gives_way_to_the_next(tmp_path: Path, gpu: FakeGpu) -> None:
    gpu.wrong_guarded = {BEST}
    record = tune("autotuned", CUBE, tmp_path).record
    assert record.candidate(BEST).outcome == "wrong"
    winner = record.winner
    assert winner is not None
    assert time_of(winner.tile) == 1100.0  # one bit away


def test_the_default_stays_where_nothing_is_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    FakeGpu(monkeypatch, lambda tile: 1000.0)
    assert tune("autotuned", CUBE, tmp_path, budget=20).record.best == DEFAULT


def test_nothing_right_is_a_failed_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = FakeGpu(monkeypatch, time_of)
    gpu.wrong = {one.label for one in preview("autotuned", CUBE, "sm_90").candidates}
    with pytest.raises(CheckFailedError, match="no tile of autotuned gives a right result at 4096³"):
        tune("autotuned", CUBE, tmp_path)


@pytest.mark.parametrize("interrupted_in", [1, 3])
def test_an_interrupted_search_goes_on_where_it_stopped(tmp_path: Path, gpu: FakeGpu, interrupted_in: int) -> None:
    gpu.interrupt_in = interrupted_in
    with pytest.raises(KeyboardInterrupt):
        tune("autotuned", CUBE, tmp_path)
    [(file, half)] = read_tuning(tmp_path)[0]
    assert half.best is None
    assert len(half.rungs) == interrupted_in - 1
    before = len(gpu.asked)
    gpu.interrupt_in = None
    tuned = tune("autotuned", CUBE, tmp_path)
    assert (tuned.file, tuned.record.best) == (file, BEST)
    assert tuned.record.rungs[: len(half.rungs)] == half.rungs
    contests = [one for one in gpu.asked[before:] if one[0] == "contest"]
    assert len(contests) == len(tuned.record.rungs) - len(half.rungs)
    assert len(list((tmp_path / "tuning").iterdir())) == 1


def test_another_problem_or_fresh_begins_anew(tmp_path: Path, gpu: FakeGpu) -> None:
    gpu.interrupt_in = 2
    with pytest.raises(KeyboardInterrupt):
        tune("autotuned", CUBE, tmp_path)
    gpu.interrupt_in = None
    tune("autotuned", Problem(2048, 2048, 2048), tmp_path)
    tune("autotuned", CUBE, tmp_path, fresh=True)
    assert len(read_tuning(tmp_path)[0]) == 3


def test_a_budget_limits_what_is_compiled(tmp_path: Path, gpu: FakeGpu) -> None:
    record = tune("autotuned", CUBE, tmp_path, budget=16).record
    assert sum(one.outcome != "rejected" for one in record.candidates) == 16
    assert record.left_out == 305 - 16


def test_a_stage_without_a_space_and_a_size_without_a_tile_are_told(tmp_path: Path, gpu: FakeGpu) -> None:
    with pytest.raises(UsageError, match="stage naive has no search space") as caught:
        tune("naive", CUBE, tmp_path)
    assert "2d, autotuned, double-buffered, warptiled" in caught.value.hint
    with pytest.raises(UsageError, match="no tile of autotuned fits 1001³"):
        tune("autotuned", Problem(1001, 1001, 1001), tmp_path)
    with pytest.raises(UsageError, match="--budget 0 is too small"):
        tune("autotuned", CUBE, tmp_path, budget=0)


@pytest.mark.skipif(gpu_problem() is None, reason="a GPU is here")
def test_without_a_gpu_there_is_no_search(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLacksError):
        tune("autotuned", CUBE, tmp_path)
    assert not (tmp_path / "tuning").exists()


def test_a_preview_stores_nothing_and_lists_everything() -> None:
    record = preview("autotuned", CUBE, "sm_80", budget=12)
    assert (record.device, record.rungs, record.best) == ("sm_80", (), None)
    assert sum(one.outcome == "untried" for one in record.candidates) == 12


# --- What the result is good for


def test_shapes_fall_into_classes_by_their_nearest_powers_of_two() -> None:
    assert shape_class(CUBE) == "m4096-n4096-k4096"
    assert shape_class(Problem(4000, 3000, 100)) == "m4096-n4096-k128"  # log2 of 3000 is 11.55
    assert shape_class(Problem(2800, 1, 0)) == "m2048-n1-k1"  # log2 of 2800 is 11.45


def test_autotuned_is_built_with_the_best_of_its_gpu_and_shape(tmp_path: Path, gpu: FakeGpu) -> None:
    tune("autotuned", CUBE, tmp_path)
    events: list[ProgressEvent] = []
    with best_tiles(["autotuned", "2d"], Problem(4608, 4608, 4608), tmp_path, events.append) as choices:
        stage = load_stages()["autotuned"]
        assert (stage.tile["BN"], stage.block, stage.multiples) == (256, (256, 1, 1), (128, 256, 32))
        with best_tiles(["autotuned"], Problem(64, 64, 64), tmp_path) as inner:
            assert inner == {}
            assert load_stages()["autotuned"].tile["BN"] == 256
    choice = choices["autotuned"]
    assert (set(choices), choice.source) == ({"autotuned"}, "search")
    assert choice.reason.startswith("best of 305 tiles at 4096³ on 20")
    assert (tmp_path / (choice.record or "")).is_file()
    assert events[0].detail.startswith("128×256×32×8×16, best of 305 tiles")
    assert load_stages()["autotuned"].tile["BN"] == 128


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (Problem(1024, 1024, 1024), "no search of this shape and GPU is stored"),
        # 256 does not divide 3968, 128 does.
        (Problem(3968, 3968, 3968), "the stored search found a tile that does not fit"),
    ],
)
def test_another_shape_keeps_the_default_and_says_why(
    tmp_path: Path, gpu: FakeGpu, problem: Problem, words: str
) -> None:
    tune("autotuned", CUBE, tmp_path)
    with best_tiles(["autotuned"], problem, tmp_path) as choices:
        assert (choices["autotuned"].source, choices["autotuned"].reason) == ("default", words)
        assert load_stages()["autotuned"].tile["BN"] == 128


def test_searches_of_other_stages_change_nothing(tmp_path: Path, gpu: FakeGpu) -> None:
    tune("2d", CUBE, tmp_path, budget=20)
    with best_tiles(["2d"], CUBE, tmp_path) as choices:
        assert choices == {}
        assert load_stages()["2d"].tile["BK"] == 8
