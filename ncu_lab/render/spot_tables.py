"""Hot spots of one launch as tables: where warps wait, beside what they wait for, line by line or by instruction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ncu_lab.metrics import OVER_IDEAL
from ncu_lab.model import HotSpots, Json, Spot
from ncu_lab.render import numbers
from ncu_lab.render.launch_headlines import main_file
from ncu_lab.render.numbers import unbroken
from ncu_lab.render.palette import stall_label
from ncu_lab.render.source import TAB
from ncu_lab.render.visible import visible
from ncu_lab.render.wording import reason_name

_LEAST_SEGMENT = 0.004
"""Share of the longest bar below which a reason is not drawn: it would be under a pixel."""


def longest_share(spots: HotSpots, *, sass: bool) -> float:
    """Return the share of the samples (0 to 1) of the line, or the instruction, that has most."""
    every = spots.instructions if sass else spots.lines
    return max((spots.share(spot) or 0.0 for spot in every), default=0.0)


def left_words(spots: HotSpots, left: Sequence[Spot], *, sass: bool) -> str:
    """Count the rows that are left out, and the samples they hold; empty without any."""
    if not left:
        return ""
    what = "instruction" if sass else "line"
    told = f"{numbers.integer(len(left))} more {what}{'' if len(left) == 1 else 's'}"
    samples = sum(spot.samples or 0.0 for spot in left)
    return f"{told} with {numbers.share(samples / spots.samples)} of the samples" if spots.samples else told


def spot_columns(spots: HotSpots, *, sass: bool, compact: bool = False) -> dict[str, tuple[str, str]]:
    """Return the columns that have something to tell: key -> title and kind.

    Args:
        spots: Of the launch.
        sass: Instructions instead of lines.
        compact: Only what fits into half the width of a page.
    """
    every = spots.instructions if sass else spots.lines
    main = main_file(spots)
    name = PurePosixPath(main).name if main else "source"
    columns = {
        "place": ("offset" if sass else "line", "number"),
        "code": ("SASS" if sass else name, "text code"),
        "share": ("samples", "number"),
        "bar": ("where warps wait, by reason", "text bar-cell"),
        "mostly": ("mostly", "text"),
        "executed": ("instr.", "number"),
        "shared_wavefronts": ("shared wavefronts", "number"),
        "wavefronts": ("÷ ideal", "number"),
        "global_sectors": ("L2 sectors", "number"),
        "sectors": ("÷ ideal", "number"),
        "local_sectors": ("local sectors", "number"),
        "live_registers": ("live regs", "number"),
    }
    absent = {
        "share": spots.samples is None,
        "bar": spots.samples is None,
        "mostly": spots.samples is None or compact,
        "executed": compact,
        "shared_wavefronts": compact or not any(spot.shared_wavefronts for spot in every),
        "wavefronts": not any(spot.shared_wavefronts for spot in every),
        "global_sectors": compact or not any(spot.global_sectors for spot in every),
        "sectors": not any(spot.global_sectors for spot in every),
        "local_sectors": not any(spot.local_sectors for spot in every),
        "live_registers": compact or not any(spot.live_registers for spot in every),
    }
    return {key: column for key, column in columns.items() if not absent.get(key, False)}


def spot_cells(spots: HotSpots, spot: Spot, colour: Callable[[str], str], most: float) -> Mapping[str, Any]:
    """Return every cell of a row by the key of its column.

    Args:
        spots: Of the launch.
        spot: The row.
        colour: Gives the colour of a stall reason.
        most: The share of the samples (see :func:`longest_share`) that is drawn as the longest bar.

    Returns:
        A cell is text, or an object of what it is: ``text`` and ``value``, ``over`` (over its limit), ``place``,
        ``code`` and ``file``, ``bar``: of each part width in percent, colour and words.
    """
    main = main_file(spots)
    place = f"{spot.offset:04x}" if spot.offset is not None else str(spot.line) if spot.line else numbers.MISSING
    elsewhere = spot.file is not None and spot.offset is None and spot.file != main
    text = spot.sass if spot.offset is not None else spots.text(spot)
    waits = [item for item in spot.stalls.items() if item[0] != "selected"]
    mostly = max(waits, key=lambda item: item[1], default=None)
    return {
        "place": {"place": place},
        "code": {"code": _code(text), "file": PurePosixPath(spot.file or "").name if elsewhere else ""},
        "share": _number(numbers.share(spots.share(spot), table=True), spots.share(spot)),
        "bar": {"bar": _bar(spots, spot, colour, most)},
        "mostly": reason_name(mostly[0]) if mostly else "",
        "executed": _number(numbers.count(spot.executed), spot.executed),
        "shared_wavefronts": _number(numbers.count(spot.shared_wavefronts), spot.shared_wavefronts),
        "wavefronts": _over_ideal(spot.wavefronts_over_ideal),
        "global_sectors": _number(numbers.count(spot.global_sectors), spot.global_sectors),
        "sectors": _over_ideal(spot.sectors_over_ideal),
        "local_sectors": _number(numbers.count(spot.local_sectors), spot.local_sectors),
        "live_registers": _number(numbers.count(spot.live_registers), spot.live_registers),
    }


def _number(text: str, value: float | None) -> Json | str:
    return unbroken(text) if value is None else {"text": unbroken(text), "value": value}


def _code(text: str | None) -> str:
    return visible((text or "text not in this run").expandtabs(TAB).strip())


def _bar(spots: HotSpots, spot: Spot, colour: Callable[[str], str], most: float) -> list[list[Any]]:
    """Return a spot's samples as a stack by reason, as long as its share of the longest: width, colour, words."""
    total, share = sum(spot.stalls.values()), spots.share(spot) or 0.0
    if not total or not most or not share:
        return []
    parts = [(reason, samples / total) for reason, samples in spot.stalls.items()]
    return [
        [
            round(100 * share / most * part, 2),
            colour(reason),
            f"{stall_label(reason)}: {numbers.share(part)} of its samples",
        ]
        for reason, part in parts
        if share / most * part >= _LEAST_SEGMENT
    ]


def _over_ideal(value: float | None) -> Json | str:
    if value is None:
        return numbers.MISSING
    return {"text": numbers.ratio(value), "value": value, "over": value > OVER_IDEAL}
