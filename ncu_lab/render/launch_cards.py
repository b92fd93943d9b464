"""The words of every card about one launch, and what to collect where it has nothing to show."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from ncu_lab.advice import as_called
from ncu_lab.metrics import ACCESS_SECTIONS, METRICS
from ncu_lab.metrics.links import LINK_SECTION
from ncu_lab.metrics.units import UNIT_SECTION
from ncu_lab.model import Inspection, LaunchSummary, Spot
from ncu_lab.render import launch_headlines as headlines
from ncu_lab.render import numbers
from ncu_lab.render.launch_tables import (
    Table,
    access_rows,
    between_units_table,
    curves_table,
    links_table,
    stalls_table,
    units_table,
)

CHEAP = "This section takes a few passes of the kernel."
HEAVY = (
    "This section samples the program counter and patches the kernel: about a dozen passes, and -lineinfo for lines."
)


NEEDS_WIDTH = "The chart needs more width: its values are below."
"""The note of the memory chart where it does not fit."""

_SENTENCE = re.compile(r"(?<=[.!?]) +(?=[A-Z])|(?<=[a-z]\.)(?=[A-Z])")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, slots=True)
class Lacking:
    """What a card has nothing to show of, the sections that collect it, and what they cost."""

    what: str
    sections: tuple[str, ...]
    price: str = CHEAP


@dataclass(frozen=True, slots=True)
class Card:
    """The title of a card, the muted line under it, its foot, and the values behind its figure.

    ``lacking`` tells what stands in place of the figure; None where there is something to show.
    """

    title: str
    note: str = ""
    foot: str = ""
    table: Table = field(default_factory=lambda: ([], []))
    lacking: Lacking | None = None


def command_for(summary: LaunchSummary, *sections: str) -> str:
    """Return the command that collects sections: of the stage, or of any program."""
    chosen = "".join(f" --section {section}" for section in sections)
    what = f" --stage {summary.stage}" if summary.stage else ""
    return as_called(f"ncu-lab profile{what}{chosen}{'' if summary.stage else ' -- PROGRAM'}")


def units_card(found: Inspection, *, every: bool = False) -> Card:
    """Say how busy the units were; ``every`` when not only the largest are drawn."""
    if not found.units:
        return Card("Throughput of units", lacking=Lacking("how busy each unit was", (UNIT_SECTION,)))
    note = "Share of each unit's own peak; dotted: 80 %, red over it."
    if not every:
        note += " The six largest of memory and of the SM."
    return Card(headlines.units_headline(found), note, table=units_table(found))


def memory_card(found: Inspection) -> Card:
    """Say what moved through memory."""
    if found.traffic.missing:
        return Card("What moved through memory", lacking=Lacking("what moved through memory", (LINK_SECTION,)))
    note = (
        "Link width = % of that link's own peak, red from 80 %. Dotted boxes are address spaces, solid ones hardware."
    )
    return Card(headlines.memory_headline(found), note, table=links_table(found))


def stalls_card(found: Inspection, spot: Spot | None = None) -> Card:
    """Say what the warps wait for, beside it a chosen line."""
    summary = found.view.summaries[0]
    if not summary.stalls:
        section = METRICS["warp_cycles_per_instruction"].section
        return Card("What the warps wait for", lacking=Lacking("what the warps wait for", (section,)))
    note = headlines.stalls_note(summary)
    if spot is not None:
        note += f" ◇ share of the samples of {headlines.spot_name(spot, headlines.main_file(found.spots))}."
    foot = "Selected: the cycle in which a warp issues, which is no wait."
    return Card(headlines.stalls_headline(summary), note, foot, stalls_table(summary, spot))


def occupancy_card(found: Inspection) -> Card:
    """Say what occupancy hangs on."""
    summary, picture = found.view.summaries[0], found.occupancy
    if not picture.curves:
        lacking = Lacking("registers and shared memory of the launch", picture.missing)
        return Card("What occupancy hangs on", lacking=lacking)
    foot = "Curves as the report has them." if picture.origin == "report" else (
        "Curves calculated by the rules of CUDA's occupancy calculator; the report has none."
    )  # fmt: skip
    title = headlines.occupancy_headline(picture, summary)
    return Card(title, headlines.limits_note(summary), foot, curves_table(picture))


def spots_card(found: Inspection) -> Card:
    """Say which lines matter, and how to read their table."""
    spots = found.spots
    if not spots.lines:
        return Card("Source hot spots", lacking=Lacking("counters per instruction", spots.missing, HEAVY))
    note = (
        "Samples land on the instruction that is held up, not on the one that causes it: read the ÷ ideal columns too."
    )
    if spots.samples is None:
        note = f"Samples were not collected: profile with --section {ACCESS_SECTIONS['instructions']}."
    else:
        note = f"{numbers.count(spots.samples)} samples. {note}"
    if not spots.has_lines:
        note += " The code has no line information (compiled without -lineinfo): instructions instead."
    unsure = [PurePosixPath(file).name for file, text in spots.sources.items() if not text.certain]
    if unsure:
        note += f" Text as it is now, maybe not as it was profiled: {', '.join(unsure)}."
    return Card(headlines.spots_headline(spots), note)


def accesses_card(found: Inspection) -> Card:
    """Say how memory was accessed."""
    title = headlines.accesses_headline(found)
    if not access_rows(found) and not between_units_table(found)[1]:
        return Card(title, lacking=Lacking("requests, sectors and wavefronts", (LINK_SECTION,)))
    foot = "Hardware counters; ÷ ideal against what the widths of the accesses need at best."
    return Card(title, foot=foot)


def rules_card(found: Inspection) -> Card:
    """Say what ncu's own rules say."""
    if not found.rules:
        return Card(headlines.rules_headline(found), foot="The report holds no results of rules.")
    foot = "Global = of the launch's duration, local = of the part a rule looks at. "
    foot += "Estimates overlap: they do not add up."
    return Card(headlines.rules_headline(found), foot=foot)


def parted(rule: str) -> str:
    """Return the name of a rule in words: ``Issue Slot Utilization``."""
    return _WORD.sub(" ", rule)


def sentences(message: str) -> list[str]:
    """Return the first sentence of a rule's words, and all others as one where there are any."""
    return _SENTENCE.split(message.strip(), maxsplit=1)
