"""Hot spots of one launch as a table: where warps wait, beside what they wait for, line by line or by instruction."""

from __future__ import annotations

from functools import partial

from ncu_lab.model import HotSpots, Json, Spot
from ncu_lab.render.numbers import unbroken
from ncu_lab.render.palette import Theme, stall_colour
from ncu_lab.render.source import CodeChoice, chosen_spots
from ncu_lab.render.spot_tables import left_words, longest_share, spot_cells, spot_columns
from ncu_lab_dash.kernel_view import KernelView

MOST_ROWS = 3000
"""Rows of one table at most; the rest is counted in words."""


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
        Per table ``columns`` (title and kind), ``rows`` (key, chosen, and cells as
        :func:`ncu_lab.render.spot_tables.spot_cells` makes them) and ``note``.
    """
    chosen = find_spot(spots, view.line)
    wanted = [False, True] if view.code == "both" else [view.code == "sass"]
    if not spots.has_lines:
        wanted = [True]
    return [_table(spots, view, theme, chosen, sass=sass, compact=len(wanted) > 1) for sass in wanted]


def _table(spots: HotSpots, view: KernelView, theme: Theme, chosen: Spot | None, *, sass: bool, compact: bool) -> Json:
    shown, left = _chosen(spots, view, chosen, sass=sass)
    most = longest_share(spots, sass=sass)
    columns = spot_columns(spots, sass=sass, compact=compact)
    colour = partial(stall_colour, theme=theme)
    rows = []
    for spot in shown:
        cells = spot_cells(spots, spot, colour, most)
        rows.append({"key": spot_key(spot), "chosen": is_of(spot, chosen), "cells": [cells[key] for key in columns]})
    return {
        "columns": [{"title": title, "kind": kind} for title, kind in columns.values()],
        "rows": rows,
        "note": unbroken(left_words(spots, left, sass=sass)),
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
