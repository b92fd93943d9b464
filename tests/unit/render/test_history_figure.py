"""The history figure: rows in their places, a level for each stretch, a line for each change and break."""

from __future__ import annotations

from dataclasses import replace

import pytest
from golden_runs import ENVIRONMENT, H200

from ncu_lab.model import Estimate, GitState, KernelIdentity, Problem, RunMeta, Status
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.comparison import TimeChange
from ncu_lab.model.history import ChangePoint, History, HistoryBreak, HistoryGap, HistoryPoint, KernelHistory
from ncu_lab.render.figures.history import Followed, history_figure, levels
from ncu_lab.render.figures.text import text_width
from ncu_lab.render.history import history_document, history_markdown, history_rows
from ncu_lab.render.palette import DARK, LIGHT

KERNEL = KernelIdentity("2d", "fp32", "sgemm_2d", "sgemm_2d")


def meta(number: int, status: Status = "complete", dirty: bool = False) -> RunMeta:
    git = GitState(commit=f"{number:040x}", dirty=dirty)
    return RunMeta(f"run-{number}{dirty}", status, f"2026-11-{number:02d}T00:00:00+00:00", "profile", ("2d",),
                   problem=Problem(8, 8, 8), device=H200, environment=ENVIRONMENT, git=git)  # fmt: skip


def commit(number: int) -> CommitInfo:
    return CommitInfo(f"{number:040x}", f"2026-11-{number:02d}", f"Change {number}")


def point(number: int, value: float, dirty: bool = False) -> HistoryPoint:
    return HistoryPoint(
        meta(number, dirty=dirty), KERNEL, Estimate(value, 10, value - 1e3, value + 1e3), commit(number)
    )


@pytest.fixture
def line() -> KernelHistory:
    points = [point(1, 1e6), point(2, 1e6), point(2, 5e6, dirty=True), point(4, 1.2e6), point(5, 1.2e6), point(6, 2e6)]
    gap = HistoryGap(meta(3, "build_failed"), "build_failed", "stage 2d does not compile: a.cu:1", commit(3))
    verdict = TimeChange(1e6, 1.2e6, 10, 10, "timings", "slower", p=1e-5, ratio=1.2, low=1.19, high=1.21)
    return KernelHistory(
        "2d", "2d", Problem(8, 8, 8), H200.name, (*points[:3], gap, *points[3:]),
        changes=(ChangePoint(points[1], points[3], verdict, points[3]),),
        breaks=(HistoryBreak(points[4], points[5], "another driver (1 and 2)"),),
        not_profiled=(commit(7),),
    )  # fmt: skip


def test_levels_end_at_changes_and_breaks_and_leave_edited_trees_out(line: KernelHistory) -> None:
    assert [[one.estimate.value for one in level] for level in levels(line)] == [[1e6, 1e6], [1.2e6, 1.2e6], [2e6]]


def test_every_row_keeps_its_place(line: KernelHistory) -> None:
    figure = history_figure(Followed("time_ns", "ns", line), (), LIGHT, 900)
    traces = {trace.name: trace for trace in figure.data}
    assert list(traces["median"].x) == [0, 1, 4, 5, 6]
    assert (list(traces["edited tree"].x), traces["edited tree"].marker.symbol) == ([2], "circle-open")
    assert (list(traces["failed"].x), "does not compile" in traces["failed"].hovertext[0]) == ([3], True)
    assert list(traces["median"].error_y.array) == [1e3] * 5
    lines = [(shape.x0, shape.line.color, shape.line.dash) for shape in figure.layout.shapes if shape.type == "line"]
    assert lines == [(3.5, LIGHT.worse, "solid"), (5.5, LIGHT.muted, "dot")]
    words = " ".join(note.text for note in figure.layout.annotations)
    assert "▲ +20.0" in words
    assert "⊘ another driver (1 and 2)" in words
    assert "not compared across" in words


def test_a_change_has_its_sign_however_little_room_there_is(line: KernelHistory) -> None:
    figure = history_figure(Followed("time_ns", "ns", line), (), LIGHT, 140)
    assert "<b>▲</b>" in [note.text for note in figure.layout.annotations]


@pytest.mark.parametrize("width", range(320, 1300, 7))
def test_a_label_does_not_reach_the_next_change(line: KernelHistory, width: int) -> None:
    two = replace(line, changes=(*line.changes, replace(line.changes[0], first=line.points[-1])))
    figure = history_figure(Followed("time_ns", "ns", two), (), LIGHT, width)
    first, second = [one for one in figure.layout.annotations if one.text.startswith("<b>▲")]
    bold = first.text.split("</b>")[0].removeprefix("<b>")
    rows = width - figure.layout.margin.l - figure.layout.margin.r
    # DejaVu Sans Bold is some 12 % wider than the regular face.
    assert text_width(bold, first.font.size) * 1.12 <= (second.x - first.x) / len(line.rows) * rows


def test_ticks_of_values_that_hardly_differ_are_told_apart(line: KernelHistory) -> None:
    level = replace(line, rows=(point(1, 1.9351e6), point(2, 1.9352e6)), changes=(), breaks=())
    axis = history_figure(Followed("time_ns", "ns", level), (), LIGHT, 900).layout.yaxis
    assert len(set(axis.ticktext)) == len(axis.ticktext) > 2
    assert all(axis.range[0] <= value <= axis.range[1] for value in axis.tickvals)
    # A counter that moves by a millionth is a level line, not a cliff.
    counter = Followed("instructions_issued", "inst", replace(level, rows=(point(1, 836e6), point(2, 836.001e6))))
    low, high = history_figure(Followed("time_ns", "ns", level), [counter], LIGHT, 900).layout.yaxis2.range
    assert high - low > 0.019 * 836e6


def test_a_counter_shares_the_axis_and_steps(line: KernelHistory) -> None:
    counter = replace(
        line, rows=tuple(row for row in line.rows if isinstance(row, HistoryPoint)), changes=(), breaks=()
    )
    figure = history_figure(Followed("time_ns", "ns", line), [Followed("registers_per_thread", "", counter)], DARK, 900)
    steps = next(trace for trace in figure.data if trace.name == "registers_per_thread")
    assert (list(steps.x), steps.line.shape, steps.yaxis) == ([0, 1, 2, 4, 5, 6], "hvh", "y2")
    assert figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]
    assert figure.layout.height > history_figure(Followed("time_ns", "ns", line), (), DARK, 900).layout.height


@pytest.mark.parametrize("width", [320, 2200])
def test_a_line_of_nothing_and_of_one_point_is_drawn(line: KernelHistory, width: int) -> None:
    for rows in ((), line.rows[:1]):
        one = replace(line, rows=rows, changes=(), breaks=())
        figure = history_figure(
            Followed("time_ns", "ns", one), [Followed("registers_per_thread", "", one)], LIGHT, width
        )
        assert figure.layout.xaxis.range[1] > figure.layout.xaxis.range[0]


def test_documents_keep_gaps_breaks_and_what_was_not_profiled(line: KernelHistory) -> None:
    history = History("time_ns", "ns", "commits", (line,))
    document = history_document(history)
    assert [one["dirty"] for one in document["points"]] == [False, False, True, False, False, False]
    (change,) = document["changes"]
    assert (change["before"], change["after"], change["p"], change["commit"]) == (1e6, 1.2e6, 1e-5, f"{4:040x}")
    assert change["delta_pct"] == pytest.approx(20.0)
    assert [one["reason"] for one in document["breaks"]] == ["another driver (1 and 2)"]
    assert [one["commit"] for one in document["not_profiled"]] == [f"{7:040x}"]
    assert [row.get("value") for row in history_rows(history)] == [1e6, 1e6, 5e6, None, 1.2e6, 1.2e6, 2e6]
    markdown = history_markdown(history)
    assert "| 0000000+ | Change 2 (edited) |" in markdown
    assert "- 1 commit between them has no run: 0000000" in markdown
