"""The Compare page's choices and comparisons without a browser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden_runs import golden_run

from ncu_lab.errors import InputError, UsageError
from ncu_lab.model import GitState, Problem
from ncu_lab.store import Store
from ncu_lab_dash import compare_cards, compare_choices
from ncu_lab_dash.compare_data import CompareData, ServedShelf
from ncu_lab_dash.compare_figures import draw_shift, draw_waits, draw_waterfall, side_names
from ncu_lab_dash.compare_view import CompareView
from ncu_lab_dash.pages.compare import held, move, view_of
from ncu_lab_dash.pages.runs import _older_first
from ncu_lab_dash.run_data import RunData
from ncu_lab_dash.screen import Screen

OLD, NEW = "a" * 40, "b" * 40
STEADY = [1e6 + 100.0 * one for one in range(10)]
SCREEN = Screen(1440)


def put(store, day, stages, commit=OLD, branch=None, **options):
    """Store a run of stages, the later the newer, and return its id."""
    run_id = f"202611{day:02d}T000000-run-{commit[:7]}-0000"
    run = golden_run(stages, run_id=run_id, created=f"2026-11-{day:02d}T00:00:00+00:00", **options)
    Store(store).write(replace(run, meta=replace(run.meta, git=GitState(commit=commit, branch=branch))))
    return run_id


@pytest.fixture
def store(tmp_path):
    return tmp_path / "reports"


def served(store, opened=None):
    """Return comparisons of a store, and of files that were opened: key -> run."""
    return CompareData(RunData(store, lambda: "one state", (opened or {}).get))


def test_a_reference_is_a_run_its_beginning_a_place_a_commit_a_branch_or_a_stage(store):
    first = put(store, 1, ["1d", "2d"], OLD)
    second = put(store, 2, ["2d"], NEW, branch="faster")
    shelf = ServedShelf(served(store).runs)
    for reference in (first, first[:10], "@last~1", f"run:{first}"):
        assert shelf.of_revision(reference) == []
        assert shelf.find(reference).run.meta.id == first
    for reference in (NEW, NEW[:7], "faster", f"rev:{NEW}"):
        assert [meta.id for meta in shelf.of_revision(reference)] == [second]
    assert shelf.find("stage:1d").run.meta.id == first
    assert (shelf.find("2d").run.meta.id, shelf.find("2d").stage) == (second, "2d")
    assert shelf.find("@last").run.meta.id == second


@pytest.mark.parametrize(
    "reference", ["../reports", "/etc/passwd", "file:x.ncu-rep", "..", "@last~9", "run:", "rev:", ""]
)
def test_a_path_means_nothing(store, reference, tmp_path, monkeypatch):
    put(store, 1, ["2d"])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.ncu-rep").write_bytes(b"NVR")
    shelf = ServedShelf(served(store).runs)
    assert shelf.of_revision(reference) == []
    with pytest.raises(InputError, match="no run, commit or stage"):
        shelf.find(reference)


def test_a_run_directory_beside_the_store_is_not_reached_by_its_path(store, tmp_path):
    put(store, 1, ["2d"])
    put(tmp_path / "elsewhere", 2, ["2d"])
    run = next((tmp_path / "elsewhere").glob("2026*"))
    shelf = ServedShelf(served(store).runs)
    for reference in (str(run), f"../elsewhere/{run.name}", f"file:{run}", f"run:../elsewhere/{run.name}"):
        with pytest.raises(InputError):
            shelf.find(reference)


def test_a_beginning_of_two_ids_is_refused(store):
    put(store, 1, ["2d"])
    put(store, 2, ["2d"])
    with pytest.raises(InputError, match="begins the ids of 2 runs"):
        ServedShelf(served(store).runs).find("202611")


def test_an_opened_file_is_found_by_its_key_alone(store):
    run = put(store, 1, ["2d"])
    opened = golden_run(["2d"], run_id="opened-secret")
    data = served(store, {"opened-secret": opened})
    comparison = data.comparison(CompareView(a=run, b=("opened-secret",)))
    assert comparison.b.meta.id == "opened-secret"
    with pytest.raises(InputError):
        data.comparison(CompareView(a=run, b=("opened-",)))


def test_two_stages_of_one_run_are_one_pair(store):
    run = put(store, 1, ["1d", "2d"], samples={"1d": [2 * ns for ns in STEADY], "2d": STEADY})
    data = served(store)
    shown = data.pair(CompareView(a=run, sa="1d", b=(run,), sb="2d"))
    assert (shown.key, shown.pair.matched_by, shown.itself) == ("2d", "choice", False)
    assert shown.pair.duration.verdict == "faster"
    assert shown.pair.duration.ratio == pytest.approx(0.5)
    assert [chart.points[0].stage for chart in shown.rooflines] == ["1d", "2d"]
    assert data.pair(CompareView(a=run, sa="1d", b=(run,), sb="2d")) is shown
    with pytest.raises(UsageError, match='no profiled stage "3d"'):
        data.pair(CompareView(a=run, sa="1d", b=(run,), sb="3d"))
    assert data.find(CompareView(a=run, sa="1d", b=(run,), sb="3d")) is None


def test_the_page_opens_with_the_pair_that_surely_changed_most(store):
    times = {"1d": STEADY, "2d": STEADY, "smem": STEADY}
    a = put(store, 1, ["smem", "1d", "2d"], samples=times)
    b = put(store, 2, ["smem", "1d", "2d"], samples={**times, "1d": [1.2 * ns for ns in STEADY]})
    data = served(store)
    assert data.pair(CompareView(a=a, b=(b,))).key == "1d"
    assert data.pair(CompareView(a=a, b=(b,), pair="2d")).key == "2d"
    assert data.pair(CompareView(a=a, b=(b,), pair="gone")).key == "1d"


def test_nothing_is_drawn_of_a_kernel_on_one_side_or_of_a_launch_and_itself(store):
    a, b = put(store, 1, ["1d"]), put(store, 2, ["2d", "1d"])
    data = served(store)
    added = data.pair(CompareView(a=a, b=(b,), pair="2d"))
    itself = data.pair(CompareView(a=a, b=(a,)))
    for shown, words in ((added, "Only in B"), (itself, "Nothing changed")):
        for draw in (draw_waterfall, draw_waits, draw_shift):
            drawn = draw(shown, CompareView(), SCREEN)
            assert drawn.figure is None
            assert words in str(drawn.missing)
        assert words in str(compare_cards.no_lines(shown))
    assert compare_cards.chips(added) == []


def test_other_problems_are_said_to_be_not_comparable_and_drawn_as_nothing(store):
    a, b = put(store, 1, ["2d"]), put(store, 2, ["2d"], problem=Problem(512, 512, 512))
    shown = served(store).pair(CompareView(a=a, b=(b,)))
    for draw in (draw_waterfall, draw_waits, draw_shift):
        drawn = draw(shown, CompareView(), SCREEN)
        assert drawn.figure is None
        assert "another problem (1024³ and 512³)" in str(drawn.missing)
    chips = str(compare_cards.chips(shown))
    assert "⊘ another problem (1024³ and 512³)" in chips
    assert "Times: not comparable" in chips
    assert "✓ same GPU" in chips


def test_counters_that_were_not_collected_are_named_with_what_collects_them(store):
    run = golden_run(["1d", "2d"])
    bare = replace(run, metrics=run.metrics[~run.metrics["metric"].str.contains("issue_stalled|sass_thread_inst")])
    Store(store).write(bare)
    shown = served(store).pair(CompareView(a=run.meta.id, sa="1d", b=(run.meta.id,), sb="2d"))
    waits = draw_waits(shown, CompareView(), SCREEN)
    assert waits.figure is None
    assert "--section WarpStateStats" in str(waits.missing)
    assert "ncu-lab profile --stage 2d" in str(waits.missing)
    assert draw_waterfall(shown, CompareView(), SCREEN).figure is None
    assert "profile --stage 2d" in str(draw_shift(shown, CompareView(), SCREEN).missing)


def test_sides_are_named_and_long_names_cut(store):
    run = put(store, 1, ["1d", "2d"])
    shown = served(store).pair(CompareView(a=run, sa="1d", b=(run,), sb="2d"))
    assert side_names(shown) == ("A · 1d", "B · 2d")
    long = replace(shown.pair.chosen_b, stage=None, function="k" * 80)
    named = side_names(replace(shown, pair=replace(shown.pair, chosen_b=long)))[1]
    assert named == f"B · {'k' * 21}…"


def test_an_open_address_takes_the_newest_two_runs_that_are_alike(store):
    old, new = put(store, 1, ["2d"]), put(store, 2, ["2d"])
    put(store, 3, ["1d"])
    metas = served(store).runs.shown()
    assert compare_choices.settle(CompareView(), metas) == CompareView(a=old, b=(new,))
    assert compare_choices.settle(CompareView(b=(new,)), metas).a == old
    assert compare_choices.settle(CompareView(a=old), metas).b == (new,)
    assert compare_choices.settle(CompareView(a="x", b=("y",)), metas) == CompareView(a="x", b=("y",))
    assert compare_choices.settle(CompareView(), []) == CompareView()


def test_one_run_alone_opens_with_its_last_step(store):
    run = put(store, 1, ["smem", "1d", "2d"])
    metas = served(store).runs.shown()
    assert compare_choices.settle(CompareView(), metas) == CompareView(a=run, sa="1d", b=(run,), sb="2d")


def test_swapping_twice_is_no_change():
    view = CompareView(a="x", sa="1d", b=("y",), lb=3)
    there = compare_choices.swapped(view)
    assert there == CompareView(a="y", la=3, b=("x",), sb="1d")
    assert compare_choices.swapped(there) == view
    several = compare_choices.swapped(CompareView(a="x", b=("y", "z"), at=1))
    assert (several.a, several.b, several.shown_b) == ("z", ("y", "x"), "x")


def test_what_is_compared_of_a_run_is_a_control(store):
    run = put(store, 1, ["1d", "2d"])
    data = served(store)
    entries = data.launches(run)
    options = compare_choices.part_options(entries, "stage:2d")
    assert [one["value"] for one in options] == ["all", "stage:1d", "stage:2d"]
    assert compare_choices.part_options(entries, "launch:7")[-1]["label"] == "launch 7"
    for value, part in (
        ("all", (None, None)),
        ("stage:2d", ("2d", None)),
        ("launch:7", (None, 7)),
        ("launch:x", (None, None)),
    ):
        assert compare_choices.read_part(value) == part
    assert compare_choices.read_part(["all"]) == (None, None)
    view = CompareView(a=run, sa="1d", b=(run,), sb="2d", pair="2d")
    assert view_of(held(view), None) == view


def test_another_run_keeps_the_stage_that_it_has(store):
    first, second = put(store, 1, ["1d", "2d"]), put(store, 2, ["2d"])
    data = served(store)
    assert move(CompareView(a=second, sa="2d", b=(first,)), {"compare-a"}, data).sa == "2d"
    assert move(CompareView(a=second, sa="1d", b=(first,)), {"compare-a"}, data).sa is None
    assert move(CompareView(a=first, b=(second,), sb="1d"), {"compare-b"}, data).sb is None


def test_commits_and_opened_files_can_be_chosen(store):
    put(store, 1, ["2d"], OLD)
    put(store, 2, ["2d"], NEW)
    metas = served(store).runs.shown()
    options = compare_choices.run_options(metas, ["opened-k", metas[0].id], {"opened-k": "mine.ncu-rep"})
    assert options[0] == {
        "value": "opened-k",
        "label": "mine.ncu-rep, not stored",
        "search": "mine.ncu-rep, not stored",
    }
    assert [one["value"] for one in options[1:]] == [metas[0].id, metas[1].id, f"rev:{NEW}", f"rev:{OLD}"]


def test_ticked_runs_are_compared_in_the_order_they_were_made(store):
    old, new = put(store, 1, ["2d"]), put(store, 2, ["2d"])
    metas = served(store).runs.shown()
    assert _older_first(metas, (new, old)) == (old, new)
    assert _older_first(metas, (old, new)) == (old, new)
