"""Words for what a change rests on."""

from __future__ import annotations

import pytest

from ncu_lab.model.comparison import TimeChange
from ncu_lab.render.change_words import p_words, time_words
from ncu_lab.render.numbers import plain_spaces


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0.32, "p = 0.32"),
        (0.007937, "p = 0.0079"),
        (1.08e-5, "p = 1e-5"),
        (3e-120, "p = 3e-120"),
        (0.0, "p < 1e-300"),
    ],
)
def test_no_probability_is_written_as_zero(p: float, words: str) -> None:
    assert p_words(p) == words


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [(8.38e6, 4.53e6, "8.38 → 4.53 ms"), (4.42e6, 276e6, "4.42 ms → 276 ms"), (464e3, 35.3e6, "464 µs → 35.3 ms")],
)
def test_of_two_durations_far_apart_neither_loses_its_digits(a: float, b: float, words: str) -> None:
    change = TimeChange(a, b, 9, 9, "timings", "not_comparable", reason="another problem")
    assert time_words(change).replace("\u2009", " ") == f"⊘ not comparable   {words}"


def test_a_difference_does_not_point_away_from_the_ratio() -> None:
    def words(ratio: float, low: float, high: float) -> str:
        change = TimeChange(
            2e6, 2.0005e6, 9, 9, "timings", "same", 1, 1, "ranks", 0.4, ratio, low, high
        )  # the medians differ by +500 ns
        return plain_spaces(time_words(change))

    assert words(0.99998, 0.998, 1.002) == "= same   2.00 → 2.00 ms (≈ 0 % ± 0.2)"
    assert words(1.00002, 0.998, 1.002).endswith("(+0.0005 ms, +0.002 % ± 0.2)")
