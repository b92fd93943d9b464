"""What the Runs page shows, as its address says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args
from urllib.parse import parse_qsl, urlencode

from ncu_lab.render.palette import THEMES, ThemeName

RunSort = Literal["newest", "oldest", "name", "problem", "device", "size", "state"]
MOST_PICKED = 2


@dataclass(frozen=True, slots=True)
class RunsView:
    """One view of the page.

    Attributes:
        filter: Words that a run must have: of its name, stages, problem, commit, device or state.
        sort: Order of the rows.
        picked: Ids of up to two ticked runs.
        theme: Only if chosen.
    """

    filter: str = ""
    sort: RunSort = "newest"
    picked: tuple[str, ...] = ()
    theme: ThemeName | None = None

    def search(self) -> str:
        """Write the view as the query of an address; what is as by default is left out."""
        fields = {
            "filter": self.filter,
            "sort": "" if self.sort == "newest" else self.sort,
            "picked": ",".join(self.picked),
            "theme": self.theme or "",
        }
        changed = {name: value for name, value in fields.items() if value}
        return f"?{urlencode(changed)}" if changed else ""


def read_search(search: Any) -> RunsView:
    """Read a query; a value this page does not know falls back to the default."""
    text = search if isinstance(search, str) else ""
    return read_view(dict(parse_qsl(text.removeprefix("?"))))


def read_view(found: Mapping[str, Any]) -> RunsView:
    """Read a view from values by field, of whatever kind a browser sent."""
    words, picked, sort, theme = (found.get(name) for name in ("filter", "picked", "sort", "theme"))
    parts = picked.split(",") if isinstance(picked, str) else picked if isinstance(picked, list) else []
    ids = dict.fromkeys(one for one in parts if isinstance(one, str) and one)
    return RunsView(
        filter=words if isinstance(words, str) else "",
        sort=next((one for one in get_args(RunSort) if one == sort), "newest"),
        picked=tuple(ids)[-MOST_PICKED:],
        theme=next((one for one in THEMES if one == theme), None),
    )


def toggle(picked: tuple[str, ...], run: str) -> tuple[str, ...]:
    """Tick a run, or take its tick away; a third tick takes that of the first."""
    kept = tuple(one for one in picked if one != run)
    return kept if run in picked else (*kept, run)[-MOST_PICKED:]
