"""What JSON cannot say of a number: a wrong result is infinitely wrong, or not a number, and its run is stored too."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import pytest

from ncu_lab.store.encoding import decode, encode


@dataclass(frozen=True)
class Errors:
    worst: float
    all: tuple[float, ...] = ()
    known: float | None = None


@pytest.mark.parametrize("worst", [math.inf, -math.inf, 1.5])
def test_numbers_come_back_as_they_were(worst: float) -> None:
    errors = Errors(worst, (worst, 0.0), worst)
    text = json.dumps(encode(errors), allow_nan=False)
    assert decode(Errors, json.loads(text)) == errors


def test_not_a_number_comes_back_as_such() -> None:
    text = json.dumps(encode(Errors(math.nan, (math.nan,), math.nan)), allow_nan=False)
    back = decode(Errors, json.loads(text))
    assert math.isnan(back.worst)
    assert math.isnan(back.all[0])
    assert back.known is not None
    assert math.isnan(back.known)


@pytest.mark.parametrize("text", ["NaN", "none", "", "1.5", "infinity"])
def test_other_words_are_no_numbers(text: str) -> None:
    with pytest.raises(ValueError, match="worst is text, not a"):
        decode(Errors, {"worst": text})
