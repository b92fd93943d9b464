"""Words for what a change rests on."""

from __future__ import annotations

import pytest

from ncu_lab.render.change_words import p_words


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
