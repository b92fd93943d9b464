"""One rule for address and controls: an address sets the controls, a control or a click rewrites the address.

What the address leaves open is settled once, when the page opens: a run that lands later changes no page being read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ncu_lab.model import Ladder
from ncu_lab_dash import ids
from ncu_lab_dash.data import problem_key
from ncu_lab_dash.view import View, read_search, read_view

CONTROLS: Mapping[str, tuple[str, str]] = {
    "problem": (ids.PROBLEM, "value"),
    "device": (ids.DEVICE, "value"),
    "stage": (ids.STAGE, "value"),
    "a": (ids.FALL_A, "data"),
    "b": (ids.FALL_B, "data"),
    "focus": (ids.FOCUS, "data"),
    "level": (ids.LEVEL, "value"),
    "family": (ids.FAMILY, "value"),
    "beside": (ids.BESIDE, "value"),
    "sort": (ids.SORT, "value"),
    "scale": (ids.SCALE, "value"),
    "panel": (ids.PANEL, "value"),
    "theme": (ids.THEME, "data"),
}
"""Field of a view -> the component that holds it, and the property that does."""

GRAPHS = (ids.MATRIX, ids.SPEED, ids.ROOFLINE, ids.STEPS)

Find = Callable[[str | None, str | None], Ladder | None]
"""Finds the ladder of a problem's key and a device; None leaves the choice to the newest run."""


def clicked_stage(click: Any) -> str | None:
    """Return the stage of a click in a figure; None when what was clicked stands for no stage."""
    points = click.get("points") if isinstance(click, dict) else None
    point = points[0] if isinstance(points, list) and points else None
    stage = point.get("customdata") if isinstance(point, dict) else None
    if isinstance(stage, list):
        stage = stage[0] if stage else None
    return stage if isinstance(stage, str) else None


def opens(trigger: str | None, controls: Mapping[str, Any]) -> bool:
    """Whether the address decides: the page opens, Back was pressed, or the first run of an empty folder appears."""
    return trigger in (None, "", ids.URL) or (trigger == ids.VERSION and controls["problem"] is None)


def reconcile(
    trigger: str | None, search: str | None, controls: Mapping[str, Any], clicks: Mapping[str, Any], find: Find
) -> View:
    """Return the view after something changed, its problem and device settled wherever there is a ladder.

    Args:
        trigger: Component that changed; None when the page opens.
        search: Query of the address.
        controls: Field of a view -> value of its component.
        clicks: Graph -> its last click.
        find: Finds ladders.
    """
    if opens(trigger, controls):
        return _settled(read_search(search), find)
    view = read_view(controls)
    if trigger is not None and trigger in clicks:
        return replace(view, stage=clicked_stage(clicks[trigger]) or view.stage)
    if trigger == ids.PROBLEM and find(view.problem, view.device) is None:
        return _settled(replace(view, device=None), find)
    if trigger == ids.DEVICE and find(view.problem, view.device) is None:
        return _settled(replace(view, problem=None), find)
    return view


def _settled(view: View, find: Find) -> View:
    ladder = find(view.problem, view.device)
    if ladder is None:
        return view
    device = ladder.device.name if ladder.device else None
    return replace(view, problem=view.problem or problem_key(ladder.problem), device=view.device or device)
