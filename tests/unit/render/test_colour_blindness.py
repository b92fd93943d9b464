"""Figures as colour-blind people, and people with a grey printer, see them: what only a colour tells is told twice.

Deficiencies are simulated by the matrices of Machado, Oliveira and Fernandes (2009) at severity 1, in linear RGB;
distances are Euclidean in OKLab (Ottosson, 2020). Grey is the luminance of WCAG.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise

import builders
import plotly.graph_objects as go
import pytest
from golden_runs import ENVIRONMENT, H200

from ncu_lab.analyze.attribution import split
from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.model import Estimate, Factors, GitState, KernelIdentity, RunMeta
from ncu_lab.model.comparison import TimeChange
from ncu_lab.model.history import ChangePoint, HistoryBreak, HistoryPoint, KernelHistory
from ncu_lab.model.published import PublishedFigure
from ncu_lab.render.change_words import SIGNS
from ncu_lab.render.figures.attribution import HATCHES, waterfall_figure
from ncu_lab.render.figures.dumbbell import dumbbell_figure, wait_changes
from ncu_lab.render.figures.history import Followed, history_figure
from ncu_lab.render.figures.matrix import ladder_matrix
from ncu_lab.render.figures.steps import FAMILY_REASONS, FAMILY_SIGNS, HATCHED, steps_figure
from ncu_lab.render.palette import DARK, LIGHT, Theme, stall_colour

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)

Matrix = tuple[tuple[float, float, float], ...]

SIGHTS: dict[str, Matrix] = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900),
    ),
    "grey": ((0.2126, 0.7152, 0.0722),) * 3,
}  # fmt: skip

COMMON = (
    "selected", "not_selected", "wait", "math_pipe_throttle", "barrier", "short_scoreboard", "mio_throttle",
    "lg_throttle", "long_scoreboard",
)  # fmt: skip
"""The reasons that most stacks are made of, in the order they stack."""

APART = 0.10


def seen(colour: str, sight: str) -> tuple[float, float, float]:
    """Return a colour in OKLab as somebody sees it."""
    channels = [int(colour[at : at + 2], 16) / 255.0 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    red, green, blue = (
        min(1.0, max(0.0, sum(weight * one for weight, one in zip(row, linear, strict=True)))) for row in SIGHTS[sight]
    )
    long, middle, short = (
        one ** (1 / 3)
        for one in (
            0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
            0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
            0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue,
        )
    )
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def distance(one: str, other: str, sight: str) -> float:
    return math.dist(seen(one, sight), seen(other, sight))


def test_black_and_white_are_one_apart_however_they_are_seen() -> None:
    for sight in SIGHTS:
        assert distance("#000000", "#ffffff", sight) == pytest.approx(1.0, abs=1e-3)
    # Red and green of one luminance are one grey.
    assert distance("#ff0000", "#7f7f7f", "grey") == pytest.approx(0.0, abs=0.03)


@pytest.mark.parametrize("sight", SIGHTS)
@THEMES
def test_common_reasons_that_touch_in_a_stack_are_told_apart(theme: Theme, sight: str) -> None:
    colours = [stall_colour(reason, theme) for reason in COMMON]
    near = [
        (COMMON[at], distance(one, other, sight))
        for at, (one, other) in enumerate(pairwise(colours))
        if distance(one, other, sight) < APART
    ]
    assert near == []


def test_verdicts_that_grey_makes_one_have_signs_of_their_own() -> None:
    assert distance(LIGHT.better, LIGHT.worse, "grey") < APART
    signs = {SIGNS[verdict] for verdict in ("faster", "slower", "better", "worse", "changed", "inconclusive")}
    assert len(signs) == 6


def test_factors_without_a_hue_have_hatches_of_their_own() -> None:
    assert set(HATCHED) == set(HATCHES)
    assert all(one != other for one, other in combinations(HATCHES.values(), 2))


# One instruction stream, twice the warps: of what each waits, barrier and mio_throttle grow alike.
BEFORE = Factors(0, "full", 2000.0, 1000.0, {"selected": 1.0, "barrier": 1.0, "mio_throttle": 2.0}, 2.0, 1.0, 1e9)
AFTER = Factors(0, "full", 8000.0, 1000.0, {"selected": 1.0, "barrier": 7.0, "mio_throttle": 8.0}, 2.0, 1.0, 1e9)


def test_families_that_touch_in_the_steps_have_signs_beside_their_hue() -> None:
    pairs = combinations((stall_colour(reason, DARK) for reason in FAMILY_REASONS.values()), 2)
    # Any two may touch, as families that did nothing are left out; without a second sign some would be one.
    assert any(distance(one, other, sight) < APART for one, other in pairs for sight in SIGHTS)
    assert list(FAMILY_SIGNS) == list(STALL_FAMILIES)
    names, letters = zip(*FAMILY_SIGNS.values(), strict=True)
    assert len(set(names)) == len(set(letters)) == len(STALL_FAMILIES)
    assert all(len(letter) == 1 for letter in letters)


@THEMES
def test_bars_of_families_are_named_where_there_is_room_and_keep_a_gap(theme: Theme) -> None:
    def named(after: Factors, width: int) -> tuple[go.Scatter, dict[str, go.Bar]]:
        rows = [builders.row("1d"), replace(builders.row("2d"), attribution=split(BEFORE, after))]
        drawn = steps_figure(builders.ladder(rows=rows, references=[]), theme, width).data
        (names,) = (one for one in drawn if one.name == "names of families")
        return names, {one.name: one for one in drawn if one.type == "bar"}

    wide, bars = named(AFTER, 700)
    assert list(wide.text) == ["sync", "MIO"]
    little = replace(AFTER, duration_ns=3000.0, stalls={"selected": 1.0, "barrier": 2.0, "mio_throttle": 3.0})
    narrow, _ = named(little, 320)
    assert list(narrow.text) == ["S", "M"]
    for name, x in zip(("Synchronisation", "Shared memory / MIO"), wide.x, strict=True):
        assert bars[name].base[0] < x < bars[name].base[0] + bars[name].x[0]
        assert (bars[name].marker.line.width, bars[name].marker.line.color) == (1, theme.card)


@THEMES
def test_rows_of_the_waterfall_are_named_and_bars_keep_a_gap(theme: Theme) -> None:
    figure = waterfall_figure(split(BEFORE, AFTER), "A", "B", theme, 620)
    names = " ".join(figure.layout.yaxis.ticktext)
    for bar in (one for one in figure.data if one.type == "bar" and one.name != "duration"):
        assert bar.name in names
        assert bar.marker.line.width == 1


@THEMES
def test_lines_of_a_history_differ_by_direction_and_dash_and_say_what_they_are(theme: Theme) -> None:
    def point(day: int, ns: float) -> HistoryPoint:
        run = RunMeta(f"run-{day}", "complete", f"2026-11-0{day}T00:00:00+00:00", "profile", ("2d",), device=H200,
                      environment=ENVIRONMENT, git=GitState(commit=f"{day:040x}", dirty=False))  # fmt: skip
        return HistoryPoint(run, KernelIdentity("2d", "fp32", "f", "f"), Estimate(ns, 10, ns, ns))

    points = (point(1, 1e6), point(2, 2e6), point(3, 1e6), point(4, 1e6))

    def change(at: int, verdict: str) -> ChangePoint:
        a, b = points[at - 1], points[at]
        ratio = b.estimate.value / a.estimate.value
        told = TimeChange(a.estimate.value, b.estimate.value, 10, 10, "timings", verdict, 1e-5, ratio, ratio, ratio)
        return ChangePoint(a, b, told, b)

    line = KernelHistory("2d", "2d", None, H200.name, points, changes=(change(1, "slower"), change(2, "faster")),
                         breaks=(HistoryBreak(points[2], points[3], "another driver"),))  # fmt: skip
    figure = history_figure(Followed("time_ns", "ns", line), (), theme, 900)
    lines = [one for one in figure.layout.shapes if one.type == "line"]
    assert sorted(one.line.dash for one in lines) == ["dot", "solid", "solid"]
    assert all(one.x0 == one.x1 for one in lines)
    assert all(len(set(one.y)) == 1 for one in figure.data if one.name == "level")
    words = " ".join(one.text for one in figure.layout.annotations)
    assert all(sign in words for sign in ("▲", "▼", "another driver"))


@THEMES
def test_both_ends_of_a_dumbbell_are_told_by_their_filling(theme: Theme) -> None:
    a, b = builders.summary("1d"), builders.summary("2d")
    figure = dumbbell_figure(wait_changes(a, b, "share"), "share", theme, 600)
    fillings = {one.name[0]: one.marker.color for one in figure.data if one.mode == "markers"}
    for sight in SIGHTS:
        assert distance(fillings["A"], fillings["B"], sight) > 0.5
        assert distance(fillings["B"], theme.card, sight) > 0.5


@THEMES
def test_published_figures_have_a_shape_of_their_own(theme: Theme) -> None:
    figure = PublishedFigure("2d", "A6000", "4092³", "speed", 160.0, "GFLOP/s", "a log", "u", "", 0.5, 1.9)
    drawn = ladder_matrix(replace(builders.ladder(), published=(figure,)), theme, 1400)
    shapes = {one.name: one.marker.symbol for one in drawn.data if one.type == "scatter" and one.mode == "markers"}
    assert shapes.pop("published") == "triangle-up-open"
    assert not any("triangle" in str(one) for one in shapes.values())
