"""Hot spots of one launch as a table: where warps wait, beside what they wait for, line by line or by instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ncu_lab.metrics import OVER_IDEAL
from ncu_lab.model import HotSpots, Json, Spot
from ncu_lab.render import numbers
from ncu_lab.render.launch_headlines import main_file
from ncu_lab.render.palette import Theme, stall_colour, stall_label
from ncu_lab.render.source import TAB, CodeChoice, chosen_spots
from ncu_lab.render.visible import visible
from ncu_lab.render.wording import reason_name
from ncu_lab_dash.kernel_view import KernelView
from ncu_lab_dash.parts import unbroken

MOST_ROWS = 3000
"""Rows of one table at most; the rest is counted in words."""

_LEAST_SEGMENT = 0.004
"""Share of the longest bar below which a reason is not drawn: it would be under a pixel."""


def spot_key(spot: Spot) -> str:
    """Name a spot for an address: ``gemm.cu:34``, or ``+0340`` for an instruction."""
    return f"+{spot.offset:04x}" if spot.offset is not None else f"{spot.file or ''}:{spot.line or 0}"


def find_spot(spots: HotSpots, key: str | None) -> Spot | None:
    """Return the spot of a key; None when there is none."""
    if not key:
        return None
    return next((spot for spot in (*spots.lines, *spots.instructions) if spot_key(spot) == key), None)


def is_of(spot: Spot, chosen: Spot | None) -> bool:
    """Whether a spot is the chosen one, an instruction of the chosen line, or the line of the chosen instruction."""
    if chosen is None:
        return False
    if (spot.offset is None) == (chosen.offset is None):
        return spot_key(spot) == spot_key(chosen)
    return chosen.file is not None and (spot.file, spot.line) == (chosen.file, chosen.line)


def spot_tables(spots: HotSpots, view: KernelView, theme: Theme) -> list[Json]:
    """Return the table of lines, of instructions, or both beside each other, for ``assets/tables.js`` to draw.

    The browser draws them itself: as Dash components, a thousand rows would take it many seconds.

    Returns:
        Per table ``columns`` (title and kind), ``rows`` (key, chosen, cells) and ``note``. A cell is text, or an object
        of what it is: ``text`` and ``value``, ``over`` (over its limit), ``code`` and ``file``, ``bar``.
    """
    chosen = find_spot(spots, view.line)
    wanted = [False, True] if view.code == "both" else [view.code == "sass"]
    if not spots.has_lines:
        wanted = [True]
    return [_table(spots, view, theme, chosen, sass=sass, compact=len(wanted) > 1) for sass in wanted]


def _table(spots: HotSpots, view: KernelView, theme: Theme, chosen: Spot | None, *, sass: bool, compact: bool) -> Json:
    every = spots.instructions if sass else spots.lines
    shown, left = _chosen(spots, view, chosen, sass=sass)
    most = max((spots.share(spot) or 0.0 for spot in every), default=0.0)
    columns = _columns(every, spots, sass=sass, compact=compact)
    main = main_file(spots)
    rows = []
    for spot in shown:
        cells = _cells(spots, spot, theme, most, main)
        rows.append({"key": spot_key(spot), "chosen": is_of(spot, chosen), "cells": [cells[key] for key in columns]})
    return {
        "columns": [{"title": title, "kind": kind} for title, kind in columns.values()],
        "rows": rows,
        "note": unbroken(_left_words(spots, left, sass=sass)),
    }


def _chosen(spots: HotSpots, view: KernelView, chosen: Spot | None, *, sass: bool) -> tuple[list[Spot], list[Spot]]:
    """Return the rows to show and those left out; the chosen one and what belongs to it is always shown."""
    lines = MOST_ROWS if view.rows == "all" else None
    shown, left = chosen_spots(spots, CodeChoice(sass=sass, sort=view.sort, lines=lines))
    mine = [spot for spot in left if is_of(spot, chosen)][:MOST_ROWS]
    if mine:
        keys = {spot_key(spot) for spot in mine}
        left = [spot for spot in left if spot_key(spot) not in keys]
        shown = [*shown, *mine]
        if view.sort == "source":
            place = {spot_key(spot): at for at, spot in enumerate(spots.instructions if sass else spots.lines)}
            shown.sort(key=lambda spot: place[spot_key(spot)])
    return shown, left


def _left_words(spots: HotSpots, left: Sequence[Spot], *, sass: bool) -> str:
    if not left:
        return ""
    what = "instruction" if sass else "line"
    told = f"{numbers.integer(len(left))} more {what}{'' if len(left) == 1 else 's'}"
    samples = sum(spot.samples or 0.0 for spot in left)
    return f"{told} with {numbers.share(samples / spots.samples)} of the samples" if spots.samples else told


def _columns(every: Sequence[Spot], spots: HotSpots, *, sass: bool, compact: bool) -> dict[str, tuple[str, str]]:
    """Return the columns that have something to tell: key -> title and kind."""
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


def _cells(spots: HotSpots, spot: Spot, theme: Theme, most: float, main: str | None) -> Mapping[str, Any]:
    """Return every cell of a row by the key of its column."""
    place = f"{spot.offset:04x}" if spot.offset is not None else str(spot.line) if spot.line else numbers.MISSING
    elsewhere = spot.file is not None and spot.offset is None and spot.file != main
    text = spot.sass if spot.offset is not None else spots.text(spot)
    waits = [item for item in spot.stalls.items() if item[0] != "selected"]
    mostly = max(waits, key=lambda item: item[1], default=None)
    return {
        "place": {"place": place},
        "code": {"code": _code(text), "file": PurePosixPath(spot.file or "").name if elsewhere else ""},
        "share": _number(numbers.share(spots.share(spot), table=True), spots.share(spot)),
        "bar": {"bar": _bar(spots, spot, theme, most)},
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


def _bar(spots: HotSpots, spot: Spot, theme: Theme, most: float) -> list[list[Any]]:
    """Return a spot's samples as a stack by reason, as long as its share of the longest: width, colour, words."""
    total, share = sum(spot.stalls.values()), spots.share(spot) or 0.0
    if not total or not most or not share:
        return []
    parts = [(reason, samples / total) for reason, samples in spot.stalls.items()]
    return [
        [
            round(100 * share / most * part, 2),
            stall_colour(reason, theme),
            f"{stall_label(reason)}: {numbers.share(part)} of its samples",
        ]
        for reason, part in parts
        if share / most * part >= _LEAST_SEGMENT
    ]


def _over_ideal(value: float | None) -> Json | str:
    if value is None:
        return numbers.MISSING
    return {"text": numbers.ratio(value), "value": value, "over": value > OVER_IDEAL}
