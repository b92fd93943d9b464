"""What the Compare page shows, as its address says it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import parse_qs, urlencode

from ncu_lab.render.figures.roofline import Level
from ncu_lab.render.palette import ThemeName
from ncu_lab_dash.told import number_of, one_of, reference_of, text_of

Waits = Literal["cycles", "share"]
Rows = Literal["changed", "all"]

MOST_B = 8
"""Runs that are compared with A at most: one tab each."""


@dataclass(frozen=True, slots=True)
class CompareView:
    """One view of the page; None leaves the choice to the page.

    Attributes:
        a: What is compared with: id of a run or the beginning of it, ``@last~n``, a commit, a stage, or the key of an
            opened file.
        sa: Only this stage of A.
        la: Only this launch of A.
        b: What is compared, likewise; several are tabs.
        sb: Only this stage of every B.
        lb: Only this launch of every B.
        at: Which of several B is shown, from 0.
        pair: Key of the chosen pair of kernels.
        waits: Stalls as warp-cycles per instruction, or as shares.
        level: Memory level of the roofline.
        rows: Only quantities that changed, or all.
        theme: Only if chosen.
    """

    a: str | None = None
    sa: str | None = None
    la: int | None = None
    b: tuple[str, ...] = ()
    sb: str | None = None
    lb: int | None = None
    at: int = 0
    pair: str | None = None
    waits: Waits = "cycles"
    level: Level = "l1"
    rows: Rows = "changed"
    theme: ThemeName | None = None

    @property
    def shown_b(self) -> str | None:
        """The B that is shown; None without any."""
        return self.b[self.at] if self.at < len(self.b) else next(iter(self.b), None)

    def search(self) -> str:
        """Write the view as the query of an address; what is as by default is left out."""
        default = CompareView()
        changed: list[tuple[str, Any]] = []
        for name in self.__slots__:
            value = getattr(self, name)
            if name == "b":
                changed += [("b", one) for one in self.b]
            elif value is not None and value != getattr(default, name):
                changed.append((name, value))
        return f"?{urlencode(changed)}" if changed else ""


def compare_address(
    a: str,
    b: str | Iterable[str],
    *,
    stage_a: str | None = None,
    stage_b: str | None = None,
    launch_a: int | None = None,
    launch_b: int | None = None,
) -> str:
    """Return the address of the page that compares runs, or stages or launches of them.

    Args:
        a: Id of the run (or key of the opened file, or commit) that is compared with.
        b: Likewise of what is compared; several are shown one at a time.
        stage_a: Only this stage of A; with ``stage_b`` two stages are compared, also of one run.
        stage_b: Likewise of B.
        launch_a: Only this launch of A.
        launch_b: Likewise of B.
    """
    others = (b,) if isinstance(b, str) else tuple(b)
    return f"/compare{CompareView(a=a, sa=stage_a, la=launch_a, b=others, sb=stage_b, lb=launch_b).search()}"


def read_search(search: Any) -> CompareView:
    """Read a query; a value this page does not know falls back to the default."""
    text = search if isinstance(search, str) else ""
    found = parse_qs(text.removeprefix("?"))
    return read_view({name: values if name == "b" else values[0] for name, values in found.items()})


def read_view(found: Mapping[str, Any]) -> CompareView:
    """Read a view from values by field, of whatever kind a browser sent; what is unknown falls back to the default."""
    default = CompareView()
    told = found.get("b")
    others = told if isinstance(told, list | tuple) else [told]
    b = tuple(dict.fromkeys(one for other in others if (one := reference_of(other))))[:MOST_B]
    at = number_of(found.get("at")) or 0
    return CompareView(
        a=reference_of(found.get("a")),
        sa=reference_of(found.get("sa")),
        la=number_of(found.get("la")),
        b=b,
        sb=reference_of(found.get("sb")),
        lb=number_of(found.get("lb")),
        at=at if at < len(b) else 0,
        pair=text_of(found.get("pair")),
        waits=one_of(found.get("waits"), get_args(Waits), default.waits),
        level=one_of(found.get("level"), get_args(Level), default.level),
        rows=one_of(found.get("rows"), get_args(Rows), default.rows),
        theme=one_of(found.get("theme"), get_args(ThemeName), None),
    )
