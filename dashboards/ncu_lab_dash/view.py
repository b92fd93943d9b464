"""What the page shows, as its address says it: a link restores the view, and Back works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, get_args
from urllib.parse import parse_qsl, urlencode

from ncu_lab.model import Family
from ncu_lab.render.figures.matrix import PanelName
from ncu_lab.render.figures.roofline import Level
from ncu_lab.render.figures.rows import Sort
from ncu_lab.render.figures.stalls import Scale
from ncu_lab.render.palette import ThemeName

T = TypeVar("T")

ALONE = "none"
"""The roofline with no other ladder drawn over it."""


@dataclass(frozen=True, slots=True)
class View:
    """One view of the ladder page; None leaves the choice to the page.

    Attributes:
        problem: Key of a problem, as :func:`ncu_lab_dash.data.problem_key` writes it.
        device: Name of a GPU.
        stage: The selected stage.
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
        problem=_text(found.get("problem")),
        device=_text(found.get("device")),
        stage=_text(found.get("stage")),
        level=_one_of(found.get("level"), get_args(Level), default.level),
        family=_one_of(found.get("family"), get_args(Family), default.family),
        beside=_text(found.get("beside")) or default.beside,
        sort=_one_of(found.get("sort"), get_args(Sort), default.sort),
        scale=_one_of(found.get("scale"), get_args(Scale), default.scale),
        panel=_one_of(found.get("panel"), get_args(PanelName), default.panel),
        theme=_one_of(found.get("theme"), get_args(ThemeName), None),
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _one_of(value: Any, known: tuple[T, ...], default: T) -> T:
    return next((one for one in known if one == value), default)
