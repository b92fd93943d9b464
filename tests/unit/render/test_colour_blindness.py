"""Figures as colour-blind people, and people with a grey printer, see them: what only a colour tells is told twice.

Deficiencies are simulated by the matrices of Machado, Oliveira and Fernandes (2009) at severity 1, in linear RGB;
distances are Euclidean in OKLab (Ottosson, 2020). Grey is the luminance of WCAG.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import pytest

from ncu_lab.render.change_words import SIGNS
from ncu_lab.render.figures.attribution import HATCHES
from ncu_lab.render.figures.steps import HATCHED
from ncu_lab.render.palette import DARK, LIGHT, Theme, stall_colour

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
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
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
