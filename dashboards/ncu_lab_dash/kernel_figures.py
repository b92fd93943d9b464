"""The figures of the Kernel page: drawn where there is anything to draw, else what to collect stands in their place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from ncu_lab.model import Inspection
from ncu_lab.render.figures.launch_stalls import stall_bars
from ncu_lab.render.figures.launch_units import unit_bars
from ncu_lab.render.figures.memory_chart import LEAST_WIDTH, memory_chart
from ncu_lab.render.figures.occupancy_curves import occupancy_curves
from ncu_lab.render.launch_cards import (
    NEEDS_WIDTH,
    Card,
    Lacking,
    command_for,
    memory_card,
    occupancy_card,
    stalls_card,
    units_card,
)
from ncu_lab_dash.kernel_spots import find_spot
from ncu_lab_dash.kernel_view import KernelView
from ncu_lab_dash.parts import not_collected
from ncu_lab_dash.screen import Screen, column_width, theme_of


@dataclass(frozen=True, slots=True)
class Drawn:
    """One card: its words and table, and its figure or what stands in its place.

    ``folded`` says that the table is what can be read, as the figure does not fit.
    """

    card: Card
    figure: go.Figure | None
    missing: Any = None
    folded: bool = False


def lacks(found: Inspection, lacking: Lacking) -> Any:
    """Return what stands in place of a figure whose counters are not there."""
    command = command_for(found.view.summaries[0], *lacking.sections)
    return not_collected(lacking.what, lacking.sections, lacking.price, command)


def draw_units(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw how busy the units were."""
    every = view.units == "all"
    card = units_card(found, every=every)
    if card.lacking:
        return Drawn(card, None, lacks(found, card.lacking))
    return Drawn(card, unit_bars(found, theme_of(view.theme, screen), column_width(screen), every=every))


def draw_chart(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw the memory chart; a page too narrow for it shows its table."""
    card = memory_card(found)
    if card.lacking:
        return Drawn(card, None, lacks(found, card.lacking))
    width, duration = column_width(screen), found.view.summaries[0].value("duration_ns")
    rate = duration if view.amounts == "rate" else None
    if width < LEAST_WIDTH:
        return Drawn(replace(card, note=NEEDS_WIDTH), None, folded=True)
    return Drawn(card, memory_chart(found.traffic, theme_of(view.theme, screen), width, duration_ns=rate))


def draw_stalls(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw the stalls by size, beside them the samples of the chosen line."""
    spot = find_spot(found.spots, view.line)
    card = stalls_card(found, spot)
    if card.lacking:
        return Drawn(card, None, lacks(found, card.lacking))
    summary, theme = found.view.summaries[0], theme_of(view.theme, screen)
    return Drawn(card, stall_bars(summary, theme, column_width(screen), spot=spot))


def draw_curves(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw the occupancy curves."""
    card = occupancy_card(found)
    if card.lacking:
        return Drawn(card, None, lacks(found, card.lacking))
    return Drawn(card, occupancy_curves(found.occupancy, theme_of(view.theme, screen), column_width(screen)))
