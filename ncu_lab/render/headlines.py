"""Sentences with the number in them: what a ladder shows, for page and card titles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ncu_lab.metrics import METRICS, OVER_IDEAL
from ncu_lab.model import Family, Ladder, LadderRow, RooflinePoint
from ncu_lab.render import numbers
from ncu_lab.render.figures.accesses import conflict_marks, conflict_reading, sector_marks, sector_reading
from ncu_lab.render.figures.roofline import FAMILY_LABELS, LEVEL_LABELS, ROOF_NAMES, Level, level_points
from ncu_lab.render.figures.rows import place_rows
from ncu_lab.render.figures.speed import fp32_only
from ncu_lab.render.palette import stall_family

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_FAMILY_PLACES: Mapping[str, str] = {
    "issuing": "plain issue slots",
    "execution": "the math pipes",
    "fetch": "instruction fetch",
    "other": "other reasons",
    "sync": "barriers",
    "shared / MIO": "the shared-memory queue",
    "global / L1TEX": "the global-memory queue",
}
_MOST_PLACES = 4
_CLEAR_GAP = 0.10
_NEAR_PERCENT = 10


def count_word(count: int) -> str:
    """Write a small count in words: ``eleven``; above twelve in digits."""
    return _WORDS[count] if count < len(_WORDS) else str(count)


def ladder_headline(ladder: Ladder) -> str:
    """Return the page's heading: how far the FP32 stages climb, and how near to cuBLAS they come."""
    timed = _timed(ladder)
    if not timed:
        return f"No stage of this ladder was timed at {ladder.problem.label}"
    best = min(timed, key=_time)
    share = "" if best.share_of_reference is None else f", {numbers.share(best.share_of_reference)} of cuBLAS"
    first = timed[0]
    if best is first:
        return f"{best.stage.id} multiplies {ladder.problem.label} in {numbers.duration(best.median_ns)}{share}"
    factor = numbers.ratio(_time(first) / _time(best), 2)
    counted = _capital(f"{count_word(len(timed))} stages make FP32 matmul {factor} faster")
    return f"{counted}: {numbers.duration(first.median_ns)} to {numbers.duration(best.median_ns)}{share}"


def waits_sentence(ladder: Ladder) -> str:
    """Return where the largest wait moves along the FP32 ladder; empty when stalls were not collected.

    The cycle in which a warp issues (``selected``) is no wait and is left out.
    """
    places: list[tuple[str, list[str]]] = []
    for row in ladder.rows:
        if row.stage.dtype != "fp32" or row.stage.operation != "ab" or not row.summary or not row.summary.stalls:
            continue
        families: dict[str, float] = {}
        for reason, share in row.summary.stalls.items():
            if reason != "selected":
                families[stall_family(reason)] = families.get(stall_family(reason), 0.0) + share
        place = _FAMILY_PLACES[max(families, key=lambda family: families[family])]
        if places and places[-1][0] == place:
            places[-1][1].append(row.stage.id)
        else:
            places.append((place, [row.stage.id]))
    if not places:
        return ""
    if len(places) == 1:
        return f"Every stage waits most for {places[0][0]}."
    if len(places) <= _MOST_PLACES:
        steps = [f"{place} ({stages[0]}{f' to {stages[-1]}' if len(stages) > 1 else ''})" for place, stages in places]
        return f"The largest wait moves from {' to '.join(steps)}."
    return f"The largest wait is {_tally(places)}."


def _tally(places: Sequence[tuple[str, list[str]]]) -> str:
    """Count stages by place: ``the global-memory queue in five stages, the shared-memory queue in three``."""
    counts: dict[str, int] = {}
    for place, stages in places:
        counts[place] = counts.get(place, 0) + len(stages)
    (most, first), *rest = sorted(counts.items(), key=lambda item: -item[1])
    told = [f"{most} in {count_word(first)} stages", *(f"{place} in {count_word(count)}" for place, count in rest)]
    return ", ".join(told)


def matrix_headline(ladder: Ladder) -> str:
    """Return how many stages move more than 1.3 times the ideal sectors or wavefronts."""
    rows = place_rows(ladder)
    marks = [mark for mark in (*sector_marks(rows), *conflict_marks(rows)) if not mark.placed.row.stage.is_reference]
    judged = {mark.placed.id for mark in marks if mark.ideal is not None}
    over = {mark.placed.id for mark in marks if mark.over}
    if not judged:
        return "The ladder, stage by stage"
    verb = "moves" if len(over) in (0, 1) else "move"
    noun = "stage" if not over else f"of {count_word(len(judged))} stages"
    return _capital(f"{count_word(len(over))} {noun} {verb} over {OVER_IDEAL}× the ideal sectors or wavefronts")


def speed_headline(ladder: Ladder) -> str:
    """Return the fastest FP32 stage and the largest step."""
    timed = _timed(ladder)
    if not timed:
        return "Speed of each stage"
    best = min(timed, key=_time)
    share = "" if best.share_of_reference is None else f", {numbers.share(best.share_of_reference)} of cuBLAS FP32"
    text = f"{best.stage.id} reaches {numbers.flop_rate(best.flop_per_s)}{share}"
    steps = [(row.step, row) for row in timed if row.step is not None and row.step > 1]
    if steps:
        step, row = max(steps, key=lambda entry: entry[0])
        text += f"; the largest step is {row.stage.id}, {numbers.ratio(step)}"
    return text


def roofline_headline(ladder: Ladder, level: Level, family: Family = "fp32") -> str:
    """Return how many stages come how near to the roof above them, cut where their shares part most."""
    entries = level_points(ladder, level, family)
    points = [(row.stage.id, point) for row, point in entries if not row.stage.is_reference]
    if not points:
        return f"Roofline, {FAMILY_LABELS[family]}, {LEVEL_LABELS[level]}"
    points.sort(key=lambda entry: -entry[1].share_of_roof)
    near = points[: _near_count([point.share_of_roof for _, point in points])]
    roof = _roof_name(level, [point for _, point in near])
    least = math.floor(near[-1][1].share_of_roof * 100)
    if len(points) == 1:
        only, point = points[0]
        return f"{only} runs at {numbers.share(point.share_of_roof)} of {roof}"
    if least < _NEAR_PERCENT:
        nearest, point = points[0]
        return f"{nearest} comes nearest, with {numbers.share(point.share_of_roof)} of {roof}"
    who = "All" if len(near) == len(points) else f"{_capital(count_word(len(near)))} of"
    return f"{who} {count_word(len(points))} stages run at {numbers.percent(least)} or more of {roof}"


def _roof_name(level: Level, points: Sequence[RooflinePoint]) -> str:
    """Name the roof above some points: the memory's, unless one of them already stands under the compute roof."""
    below_ridge = all(point.bound == level for point in points)
    return f"the {ROOF_NAMES[level]} roof" if below_ridge else f"the roof at its {ROOF_NAMES[level]} intensity"


def not_collected(ladder: Ladder) -> list[str]:
    """Return, per quantity of the page, which stages lack it and the section that would bring it."""
    rows = (*ladder.rows, *ladder.references)
    lacking = {
        "Stalls": ("warp_cycles_per_instruction", [row for row in rows if not row.summary or not row.summary.stalls]),
        "Sectors per request": ("global_load_sectors_per_request", [row for row in rows if _lacks_sectors(row)]),
        "Bank conflicts": ("shared_load_wavefronts_over_ideal", [row for row in rows if _lacks_conflicts(row)]),
        "Occupancy": ("achieved_occupancy_pct", [row for row in rows if _lacks(row, "achieved_occupancy_pct")]),
    }
    return [
        f"{what} of {', '.join(row.stage.id for row in found)}: not collected; "
        f"profile with --section {METRICS[key].section}."
        for what, (key, found) in lacking.items()
        if found
    ]


def _timed(ladder: Ladder) -> list[LadderRow]:
    """Return FP32 stages of C = A·B whose times come from one source: that of the first of them."""
    rows = [row for row in fp32_only(ladder).rows if row.median_ns and row.stage.operation == "ab"]
    return [row for row in rows if row.time_source == rows[0].time_source]


def _time(row: LadderRow) -> float:
    return row.median_ns or math.inf


def _near_count(shares: Sequence[float]) -> int:
    """Return how many of the shares stand together at the top: at least half, cut at the widest clear gap."""
    ordered = sorted(shares, reverse=True)
    cuts = [
        (ordered[at - 1] - ordered[at], at)
        for at in range(math.ceil(len(ordered) / 2), len(ordered))
        if ordered[at - 1] - ordered[at] >= _CLEAR_GAP
    ]
    return max(cuts)[1] if cuts else len(ordered)


def _lacks(row: LadderRow, key: str) -> bool:
    return row.summary is None or bool(row.summary.readings[key].missing)


def _lacks_sectors(row: LadderRow) -> bool:
    readings = [sector_reading(row, "loads"), sector_reading(row, "stores")]
    return all(reading is None or bool(reading.missing) for reading in readings)


def _lacks_conflicts(row: LadderRow) -> bool:
    readings = [conflict_reading(row, "loads"), conflict_reading(row, "stores")]
    return all(reading is None or bool(reading.missing) for reading in readings)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
