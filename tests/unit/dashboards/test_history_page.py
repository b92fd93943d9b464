"""The History page without a browser: its address, ranges, where a click leads, words, and what it reads when."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import history_repo
import pytest
from golden_runs import H200, golden_run

from ncu_lab.errors import InputError
from ncu_lab.model import Estimate, GitState, KernelIdentity, Problem, RunMeta
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.comparison import TimeChange
from ncu_lab.model.history import ChangePoint, History, HistoryBreak, HistoryGap, HistoryPoint, KernelHistory
from ncu_lab.render import history_headlines as headlines
from ncu_lab.store import Store
from ncu_lab_dash.data import LadderData
from ncu_lab_dash.history_cards import bisect_command, changes_body, heading, range_buttons
from ncu_lab_dash.history_data import HistoryData, choose, git_folder, kernel_key
from ncu_lab_dash.history_view import (
    BELOW,
    HistoryView,
    cut,
    dragged,
    places_shown,
    point_address,
    predecessor,
    read_search,
    read_view,
    row_key,
)

RECORDED = Path(__file__).parents[2] / "data" / "history" / "commits"
KERNEL = KernelIdentity("gram", "fp32", "gram", "gram", grid=(8, 8, 1), block=(16, 16, 1))


def commit(number: int) -> CommitInfo:
    return CommitInfo(f"{number:07x}" + "0" * 33, f"2026-11-{number:02d}T09:00:00+00:00", f"Change <b>{number}</b>")


def meta(number: int, dirty: bool = False) -> RunMeta:
    git = GitState(commit=commit(number).hash, dirty=dirty, subject="as recorded")
    return RunMeta(f"run-{number}{'-edited' if dirty else ''}", "complete", f"2026-12-{number:02d}T00:00:00+00:00",
                   "profile", ("gram",), problem=Problem(2048, 2048, 2048), device=H200, git=git)  # fmt: skip


def point(number: int, ms: float, dirty: bool = False) -> HistoryPoint:
    return HistoryPoint(meta(number, dirty), KERNEL, Estimate(ms * 1e6, 10, ms * 1e6 - 9, ms * 1e6 + 9), commit(number))


@pytest.fixture
def line() -> KernelHistory:
    """Rows: 1, 2, edited 2, failed 3, 4 (slower), 5 after another driver."""
    points = [point(1, 2.0), point(2, 2.0), point(2, 7.0, dirty=True), point(4, 2.5), point(5, 3.0)]
    gap = HistoryGap(replace(meta(3), status="build_failed"), "build_failed", "no semicolon", commit(3))
    verdict = TimeChange(2e6, 2.5e6, 10, 10, "timings", "slower", p=1e-5, ratio=1.25, low=1.24, high=1.26)
    return KernelHistory(
        "gram", "gram", Problem(2048, 2048, 2048), H200.name, (*points[:3], gap, *points[3:]),
        changes=(ChangePoint(points[1], points[3], verdict, points[3]),),
        breaks=(HistoryBreak(points[3], points[4], "another driver (1 and 2)"),),
    )  # fmt: skip


def history_of(line: KernelHistory, key: str = "time_ns", unit: str = "ns") -> History:
    return History(key, unit, "commits", (line,))


@pytest.mark.parametrize(
    "view",
    [
        HistoryView(),
        HistoryView("fma_pipe_pct", "gram", "2048", "NVIDIA H200", "last12", ("flop",), "dark"),
        HistoryView(stage="app/saxpy<<<4 096, 256>>>", range="0000001~..0000004", below=()),
    ],
)
def test_an_address_restores_the_view_it_was_made_of(view: HistoryView) -> None:
    assert read_search(view.search()) == view


def test_values_that_no_page_writes_fall_back() -> None:
    assert read_view({"metric": 7, "stage": 3, "range": ["x"], "below": {"a": 1}, "theme": "red"}) == HistoryView(
        below=()
    )
    assert read_view({"below": "flop,nope,flop,duration_ns"}).below == ("flop",)
    assert read_view({}).below == BELOW
    assert read_search(None) == HistoryView()


def test_a_range_means_rows_and_nothing_else_means_all(line: KernelHistory) -> None:
    assert [row_key(row) for row in line.rows] == ["0000001", "0000002", "0000002~", "0000003", "0000004", "0000005"]
    assert places_shown(line, None) == (0, 5)
    assert places_shown(line, "last2") == (4, 5)
    assert places_shown(line, "last99") == (0, 5)
    assert places_shown(line, "0000002~..0000004") == places_shown(line, "0000004..0000002~") == (2, 4)
    for told in ("0000002", "0000002..fffffff", "..", "last", "lastx", "last-3"):
        assert places_shown(line, told) == (0, 5)
    assert places_shown(line, "last0") == (5, 5)


def test_a_cut_keeps_the_changes_and_breaks_of_its_rows(line: KernelHistory) -> None:
    shown = cut(line, "0000003..0000004")
    assert (len(shown.rows), len(shown.changes), len(shown.breaks)) == (2, 1, 0)
    assert (len(cut(line, "last1").changes), len(cut(line, "last1").breaks)) == (0, 1)


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ([0.7, 4.2], "0000002..0000004"),
        ([4.2, 0.7], "0000002..0000004"),
        ([-9.0, 9.0], None),  # all
        ([1.6, 1.9], "0000002~..0000002~"),  # the nearer of two rows
        ([1.2, 1.4], "0000002..0000002"),
        (["a", float("nan")], None),
        ({"autosize": True}, None),
        (None, None),
    ],
)
def test_what_is_dragged_out_becomes_a_range(line: KernelHistory, told: Any, found: str | None) -> None:
    assert dragged(line, told) == found


def test_a_point_is_compared_with_the_one_before_that_is_of_its_commit(line: KernelHistory) -> None:
    before = {run: predecessor(line.points, run) for run in ("run-1", "run-2", "run-2-edited", "run-4", "nope")}
    assert {run: found and found.meta.id for run, found in before.items()} == {
        "run-1": None, "run-2": "run-1", "run-2-edited": "run-2", "run-4": "run-2", "nope": None,
    }  # fmt: skip
    assert point_address(line, "run-4") == "/compare?a=run-2&sa=gram&b=run-4&sb=gram"
    assert point_address(line, "run-1") == "/kernel?run=run-1&stage=gram"
    assert point_address(line, "run-3") is None


def test_headings_say_what_changed_last(line: KernelHistory) -> None:
    head, evidence = headlines.banner(line, history_of(line))
    assert head == "▲ +25.0\u2009% ± 1 since 0000004: slower, now 3.00\u2009ms"
    assert evidence.startswith("“Change <b>4</b>”: 2.00\u2009ms → 2.50\u2009ms, p = 1e-5. One change in five commits, ")
    assert evidence.endswith("one break in the record, one failed run.")
    assert headlines.title(line, history_of(line)) == "Time: up once in five commits"
    assert headlines.changes_title(line) == "One change point, one break in the record, one failed run"
    assert heading(line, history_of(line))[1] == "banner at-limit"


def test_one_commit_and_a_level_line_say_so(line: KernelHistory) -> None:
    one = replace(line, rows=line.rows[:1], changes=(), breaks=())
    assert headlines.banner(one, history_of(one))[0] == "One commit so far: 2.00\u2009ms"
    two = replace(line, rows=(point(1, 2.0), point(2, 2.02)), changes=(), breaks=())
    head, evidence = headlines.banner(two, history_of(two))
    assert (head, evidence) == ("No change in two commits: 2.02\u2009ms", "Values differ by 1.0\u2009% at most.")
    body = json.dumps([part.to_plotly_json() for part in changes_body(one, history_of(one), "") if part], default=str)
    assert "ncu-lab profile --rev HEAD~5..HEAD --stage gram" in body


def test_a_gap_has_no_numbers_in_the_table(line: KernelHistory) -> None:
    head, rows = headlines.points_table(line, history_of(line))
    assert len(rows) == 6
    assert rows[3] == ["0000003", "Change <b>3</b>", "build failed: no semicolon", *["–"] * 5]
    assert [getattr(row[3], "value", None) for row in rows] == [2e6, 2e6, 7e6, None, 2.5e6, 3e6]
    assert len(head) == len(rows[0])


def test_bisect_is_told_what_it_can_be_asked(line: KernelHistory) -> None:
    (change,) = line.changes
    command = bisect_command(change, line, history_of(line, "flop", "FLOP"), " --store s")
    assert command == (
        "ncu-lab bisect --good 0000002 --bad 0000004 --stage gram --metric flop --size 2048 --device 'NVIDIA H200' "
        "--store s"
    )
    assert bisect_command(change, replace(line, problem=Problem(8, 4, 2)), history_of(line), "") == ""
    assert bisect_command(change, replace(line, stage=None), history_of(line), "") == ""
    by_time = replace(change, before=replace(change.before, commit=None))
    assert bisect_command(by_time, line, history_of(line), "") == ""


def test_ranges_are_offered_where_there_is_a_choice(line: KernelHistory) -> None:
    def labels(view: HistoryView) -> list[tuple[str, str]]:
        return [(one.children, getattr(one, "aria-pressed")) for one in range_buttons(line, view)[1:]]

    assert labels(HistoryView()) == []
    assert labels(HistoryView(range="0000002..0000004")) == [("All", "false"), ("0000002 to 0000004", "true")]
    assert labels(HistoryView(range="nonsense")) == []
    long = replace(line, rows=tuple(point(number, 2.0) for number in range(1, 15)), changes=(), breaks=())
    assert [one.children for one in range_buttons(long, HistoryView())] == ["Rows", "All", "Last 12"]


def recorded(folder: Path) -> tuple[HistoryData, dict[str, str]]:
    """Return the recorded history, its store within its repository."""
    commits = history_repo.make(folder)
    store = folder / "reports"
    shutil.copytree(RECORDED, store)
    return HistoryData.of(store, LadderData(store).version), commits


@pytest.mark.git
def test_a_store_within_a_repository_goes_by_its_commits(tmp_path: Path) -> None:
    data, commits = recorded(tmp_path)
    assert (data.stages(), data.others(), data.usual_stage()) == (["gram", "product"], [], "gram")
    view = data.settle(HistoryView())
    assert (view.stage, view.problem, view.device) == ("gram", "2048", "NVIDIA H200")
    history = data.lines("time_ns", "gram")
    assert history.order == "commits"
    assert [one.first.commit and one.first.commit.hash for one in history.kernels[0].changes] == [
        commits[name] for name in ("padded", "tile", "unpadded")
    ]
    assert data.lines("time_ns", "gram") is history  # judged once
    (data.store / "later").mkdir()
    shutil.copy(next(RECORDED.glob("*/run.json")), data.store / "later" / "run.json")
    assert data.lines("time_ns", "gram") is not history


@pytest.mark.git
def test_without_a_repository_beside_it_rows_stand_in_time_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert git_folder(tmp_path / "none") == tmp_path
    data = HistoryData.of(RECORDED, LadderData(RECORDED).version)
    data.folder = tmp_path
    history = data.lines("time_ns", "gram")
    assert history.order == "time"
    assert headlines.order_words(history).endswith("there is no git repository beside this store")
    one = choose(history.kernels, HistoryView())
    # The runs tell their commits' messages themselves.
    assert headlines.subject_of(one.points[-1]) == "Explain the barriers"
    assert headlines.row_name(one.points[-1]) == (one.points[-1].meta.git.commit or "")[:7]


def test_kernels_of_other_programs_are_followed_by_name_and_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = golden_run(["naive"])
    launches = run.launches.assign(stage=None)
    Store(tmp_path / "s").write(
        replace(run, meta=replace(run.meta, stages=(), problem=None, source="import"), launches=launches)
    )
    data = HistoryData.of(tmp_path / "s", LadderData(tmp_path / "s").version)
    (name,) = data.others()
    assert name.endswith(">>>")
    assert data.settle(HistoryView(metric="duration_ns")).stage == name
    # It is not timed: opened without more, the page follows what the profiler tells.
    assert (data.settle(HistoryView()).stage, data.settle(HistoryView()).metric) == (name, "duration_ns")
    assert data.settle(HistoryView(stage=name)).metric == "time_ns"
    (one,) = data.lines("duration_ns", name).kernels
    assert kernel_key(one.points[0].kernel) == name
    one_long, other_long = (kernel_key(replace(KERNEL, function="x" * 5000 + end)) for end in "ab")
    assert one_long != other_long
    assert len(one_long) == len(other_long) < 200
    with pytest.raises(InputError, match="no run here is of nope"):
        data.lines("duration_ns", "nope")


def test_a_metric_that_is_none_stays_as_it_was_asked_for_and_the_nearest_is_named(tmp_path: Path) -> None:
    data = HistoryData(tmp_path, lambda: "", tmp_path)
    view = data.settle(read_search("?metric=duration_n&stage=naive"))
    assert (view.metric, view.stage) == ("duration_n", "naive")
    with pytest.raises(InputError, match='there is no metric "duration_n"') as refused:
        data.lines(view.metric, "naive")
    assert (refused.value.hint or "").startswith("Nearest: duration_ns. There are: time_ns, ")
