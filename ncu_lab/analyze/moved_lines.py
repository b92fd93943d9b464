"""The lines of source whose share of a kernel's samples moved between two runs."""

from __future__ import annotations

import math
from difflib import SequenceMatcher

from ncu_lab.analyze.compare import Z
from ncu_lab.model import HotSpots, SourceText
from ncu_lab.model.comparison import MovedLine

LEAST_MOVE = 0.01
"""Lines that moved by less than a hundredth of the samples are not worth a word."""

_Place = tuple[str, int]


def moved_lines(a: HotSpots, b: HotSpots) -> tuple[MovedLine, ...]:
    """Return the lines whose share of the samples changed by more than sampling itself does, the farthest first.

    A line is the same one where an edit moved it: the texts of both versions tell. Without them its number counts.

    Args:
        a: Hot spots of the launch of A, with the texts that are known.
        b: Likewise of B.
    """
    if not (a.samples and b.samples and a.has_lines and b.has_lines):
        return ()
    shares_a, shares_b = _shares(a), _shares(b)
    to_b = _same_lines(a, b)
    to_a = {there: here for here, there in to_b.items() if there is not None}
    places: list[tuple[_Place | None, _Place | None]] = [(here, to_b[here]) for here in shares_a]
    places += [(to_a.get(there), there) for there in shares_b if to_a.get(there) not in shares_a]
    found = []
    for here, there in places:
        share_a = shares_a.get(here, 0.0) if here else 0.0
        share_b = shares_b.get(there, 0.0) if there else 0.0
        noise = Z * math.hypot(_deviation(share_a, a.samples), _deviation(share_b, b.samples))
        if abs(share_b - share_a) >= max(LEAST_MOVE, noise):
            found.append(_moved(a, b, here, there, share_a, share_b))
    return tuple(sorted(found, key=lambda one: (-abs(one.delta), one.file, one.line_b or 0, one.line_a or 0)))


def _moved(
    a: HotSpots, b: HotSpots, here: _Place | None, there: _Place | None, share_a: float, share_b: float
) -> MovedLine:
    file = there[0] if there else here[0] if here else ""
    text = _text(b, there) or _text(a, here)
    return MovedLine(file, here[1] if here else None, there[1] if there else None, text, share_a, share_b)


def _shares(spots: HotSpots) -> dict[_Place, float]:
    """Return the share of the samples (0 to 1) of each line that is known."""
    return {
        (spot.file, spot.line): spots.share(spot) or 0.0
        for spot in spots.lines
        if spot.file is not None and spot.line is not None
    }


def _same_lines(a: HotSpots, b: HotSpots) -> dict[_Place, _Place | None]:
    """Return, for lines of A, the same ones in B: None for those that B's text does not have."""
    files = {spot.file for spot in b.lines}
    found: dict[_Place, _Place | None] = {place: place if place[0] in files else None for place in _shares(a)}
    for file in a.sources.keys() & b.sources.keys():
        if a.sources[file].lines == b.sources[file].lines:
            continue
        numbers = _same_numbers(a.sources[file], b.sources[file])
        found.update({place: None for place in found if place[0] == file})
        found.update({(file, here): (file, there) for here, there in numbers.items()})
    return found


def _same_numbers(a: SourceText, b: SourceText) -> dict[int, int]:
    """Return which line of A is which of B, from 1; the same lines when A and B are swapped."""
    if b.lines < a.lines:  # the matcher is not symmetric by itself
        return {here: there for there, here in _same_numbers(b, a).items()}
    blocks = SequenceMatcher(None, a.lines, b.lines, autojunk=False).get_matching_blocks()
    return {block.a + step + 1: block.b + step + 1 for block in blocks for step in range(block.size)}


def _deviation(share: float, samples: float) -> float:
    """Return the standard deviation of a share of so many samples, at least that of one sample."""
    return math.sqrt(max(share * (1.0 - share), 1.0 / samples) / samples)


def _text(spots: HotSpots, place: _Place | None) -> str | None:
    source = spots.sources.get(place[0]) if place else None
    return source.line(place[1]) if source and place else None
