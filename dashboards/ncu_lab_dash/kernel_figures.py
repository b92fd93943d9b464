"""The figures of the Kernel page: drawn where there is anything to draw, else what to collect stands in their place."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import plotly.graph_objects as go

from ncu_lab.advice import as_called
from ncu_lab.metrics import ACCESS_SECTIONS, METRICS
from ncu_lab.metrics.links import LINK_SECTION
from ncu_lab.metrics.units import UNIT_SECTION
from ncu_lab.model import Inspection
from ncu_lab.render import launch_headlines as headlines
from ncu_lab.render import numbers
from ncu_lab.render.figures.launch_stalls import stall_bars
from ncu_lab.render.figures.launch_units import unit_bars
from ncu_lab.render.figures.memory_chart import LEAST_WIDTH, memory_chart
from ncu_lab.render.figures.occupancy_curves import occupancy_curves
from ncu_lab.render.launch_tables import Table, curves_table, links_table, stalls_table, units_table
from ncu_lab_dash.kernel_spots import find_spot
from ncu_lab_dash.kernel_view import KernelView
from ncu_lab_dash.parts import not_collected
from ncu_lab_dash.screen import Screen, column_width, theme_of

CHEAP = "This section takes a few passes of the kernel."
HEAVY = (
    "This section samples the program counter and patches the kernel: about a dozen passes, and -lineinfo for lines."
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One card: its title and note, its figure or what stands in its place, its foot and table.

    ``folded`` says that the table is what can be read, as the figure does not fit.
    """

    title: str
    note: Any
    figure: go.Figure | None
    missing: Any = None
    foot: str = ""
    table: Table = field(default_factory=lambda: ([], []))
    folded: bool = False


def command_for(found: Inspection, *sections: str) -> str:
    """Return the command that collects sections: of the stage, or of any program."""
    summary = found.view.summaries[0]
    chosen = "".join(f" --section {section}" for section in sections)
    what = f" --stage {summary.stage}" if summary.stage else ""
    return as_called(f"ncu-lab profile{what}{chosen}{'' if summary.stage else ' -- PROGRAM'}")


def lacks(found: Inspection, what: str, *sections: str, price: str = CHEAP) -> Any:
    """Return what stands in place of a figure whose counters are not there."""
    return not_collected(what, sections, price, command_for(found, *sections))


def draw_units(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw how busy the units were."""
    if not found.units:
        missing = lacks(found, "how busy each unit was", UNIT_SECTION)
        return Drawn("Throughput of units", "", None, missing)
    figure = unit_bars(found, theme_of(view.theme, screen), column_width(screen), every=view.units == "all")
    note = "Share of each unit's own peak; dotted: 80 %, red over it."
    if view.units == "largest":
        note += " The six largest of memory and of the SM."
    return Drawn(headlines.units_headline(found), note, figure, table=units_table(found))


def draw_chart(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw the memory chart; a page too narrow for it shows its table."""
    if found.traffic.missing:
        missing = lacks(found, "what moved through memory", LINK_SECTION)
        return Drawn("What moved through memory", "", None, missing)
    width, duration = column_width(screen), found.view.summaries[0].value("duration_ns")
    rate = duration if view.amounts == "rate" else None
    title, table = headlines.memory_headline(found), links_table(found)
    if width < LEAST_WIDTH:
        return Drawn(title, "The chart needs more width: its values are below.", None, table=table, folded=True)
    figure = memory_chart(found.traffic, theme_of(view.theme, screen), width, duration_ns=rate)
    note = (
        "Link width = % of that link's own peak, red from 80 %. Dotted boxes are address spaces, solid ones hardware."
    )
    return Drawn(title, note, figure, table=table)


def draw_stalls(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw the stalls by size, beside them the samples of the chosen line."""
    summary = found.view.summaries[0]
    if not summary.stalls:
        missing = lacks(found, "what the warps wait for", METRICS["warp_cycles_per_instruction"].section)
        return Drawn("What the warps wait for", "", None, missing)
    spot = find_spot(found.spots, view.line)
    figure = stall_bars(summary, theme_of(view.theme, screen), column_width(screen), spot=spot)
    note = headlines.stalls_note(summary)
    if spot is not None:
        note += f" ◇ share of the samples of {headlines.spot_name(spot, headlines.main_file(found.spots))}."
    foot = "Selected: the cycle in which a warp issues, which is no wait."
    return Drawn(headlines.stalls_headline(summary), note, figure, foot=foot, table=stalls_table(summary, spot))


def draw_curves(found: Inspection, view: KernelView, screen: Screen) -> Drawn:
    """Draw the occupancy curves."""
    summary, picture = found.view.summaries[0], found.occupancy
    if not picture.curves:
        missing = lacks(found, "registers and shared memory of the launch", *picture.missing)
        return Drawn("What occupancy hangs on", "", None, missing)
    figure = occupancy_curves(picture, theme_of(view.theme, screen), column_width(screen))
    foot = "Curves as the report has them." if picture.origin == "report" else (
        "Curves calculated by the rules of CUDA's occupancy calculator; the report has none."
    )  # fmt: skip
    title = headlines.occupancy_headline(picture, summary)
    return Drawn(title, headlines.limits_note(summary), figure, foot=foot, table=curves_table(picture))


def spots_words(found: Inspection) -> tuple[str, str, Any]:
    """Return the title and note of the hot spots, and what stands in their place without any."""
    spots = found.spots
    if not spots.lines:
        return "Source hot spots", "", lacks(found, "counters per instruction", *spots.missing, price=HEAVY)
    note = (
        "Samples land on the instruction that is held up, not on the one that causes it: read the ÷ ideal columns too."
    )
    if spots.samples is None:
        note = f"Samples were not collected: profile with --section {ACCESS_SECTIONS['instructions']}."
    else:
        note = f"{numbers.count(spots.samples)} samples. {note}"
    if not spots.has_lines:
        note += " The code has no line information (compiled without -lineinfo): instructions instead."
    unsure = [file for file, text in spots.sources.items() if not text.certain]
    if unsure:
        note += f" Text as it is now, maybe not as it was profiled: {', '.join(unsure)}."
    return headlines.spots_headline(spots), note, None
