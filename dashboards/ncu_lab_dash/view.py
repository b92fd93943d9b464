"""What the page shows, as its address says it: a link restores the view, and Back works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import parse_qsl, urlencode

from ncu_lab.metrics import STALL_FAMILIES
from ncu_lab.model import Family
from ncu_lab.render.figures.matrix import PanelName
from ncu_lab.render.figures.roofline import Level
from ncu_lab.render.figures.rows import Sort
from ncu_lab.render.figures.stalls import Scale
from ncu_lab.render.palette import ThemeName
from ncu_lab_dash.told import one_of, reference_of, text_of

ALONE = "none"
"""The roofline with no other ladder drawn over it."""

AUTO = "auto"
"""An end of the waterfall that follows the selected stage."""


@dataclass(frozen=True, slots=True)
class View:
    """One view of the ladder page; None leaves the choice to the page.

    Attributes:
        problem: Key of a problem, as :func:`ncu_lab_dash.data.problem_key` writes it.
        device: Name of a GPU.
        stage: The selected stage.
        a: Stage that the waterfall begins with; by itself the predecessor of where it ends.
        b: Stage that it leads to; by itself the selected one.
        focus: Family of stall reasons that is looked at; the others are dimmed.
        level: Memory level of the roofline.
        family: Launches that the roofline shows.
        beside: Key of the ladder drawn over the roofline, as :func:`ncu_lab_dash.data.ladder_key` writes it.
        sort: Order of the rows.
        scale: Stalls as shares or cycles.
        panel: The panel a narrow page shows.
        theme: Only if chosen.
    """

    problem: str | None = None
    device: str | None = None
    stage: str | None = None
    a: str = AUTO
    b: str = AUTO
    focus: str | None = None
    level: Level = "l1"
    family: Family = "fp32"
    beside: str = ALONE
    sort: Sort = "ladder"
    scale: Scale = "share"
    panel: PanelName = "duration"
    theme: ThemeName | None = None

    def search(self) -> str:
        """Write the view as the query of an address; what is as by default is left out."""
        default = View()
        changed = {
            name: value
            for name in self.__slots__
            if (value := getattr(self, name)) not in (None, getattr(default, name))
        }
        return f"?{urlencode(changed)}" if changed else ""


def read_search(search: str | None) -> View:
    """Read a query; a value this page does not know falls back to the default."""
    return read_view(dict(parse_qsl((search or "").removeprefix("?"))))


def read_view(found: Mapping[str, Any]) -> View:
    """Read a view from values by field, of whatever kind a browser sent; what is unknown falls back to the default."""
    default = View()
    return View(
        problem=text_of(found.get("problem")),
        device=text_of(found.get("device")),
        stage=reference_of(found.get("stage")),
        a=reference_of(found.get("a")) or default.a,
        b=reference_of(found.get("b")) or default.b,
        focus=one_of(found.get("focus"), tuple(STALL_FAMILIES), None),
        level=one_of(found.get("level"), get_args(Level), default.level),
        family=one_of(found.get("family"), get_args(Family), default.family),
        beside=text_of(found.get("beside")) or default.beside,
        sort=one_of(found.get("sort"), get_args(Sort), default.sort),
        scale=one_of(found.get("scale"), get_args(Scale), default.scale),
        panel=one_of(found.get("panel"), get_args(PanelName), default.panel),
        theme=one_of(found.get("theme"), get_args(ThemeName), None),
    )
