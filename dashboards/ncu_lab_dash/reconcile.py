"""One rule for address and controls: an address sets the controls, a control or a click rewrites the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ncu_lab_dash import ids
from ncu_lab_dash.view import View, read_search

CONTROLS: Mapping[str, str] = {
    "problem": ids.PROBLEM,
    "device": ids.DEVICE,
    "stage": ids.STAGE,
    "level": ids.LEVEL,
    "sort": ids.SORT,
    "scale": ids.SCALE,
    "panel": ids.PANEL,
    "theme": ids.THEME,
}
"""Field of a view -> the component that holds it."""

GRAPHS = (ids.MATRIX, ids.SPEED, ids.ROOFLINE)


def clicked_stage(click: Mapping[str, Any] | None) -> str | None:
    """Return the stage of a click in a figure; None when what was clicked stands for no stage."""
    points = (click or {}).get("points") or [{}]
    stage = points[0].get("customdata")
    if isinstance(stage, list):
        stage = stage[0] if stage else None
    return stage if isinstance(stage, str) else None


def reconcile(
    trigger: str | None, search: str | None, controls: Mapping[str, Any], clicks: Mapping[str, Mapping[str, Any] | None]
) -> View:
    """Return the view after something changed.

    Args:
        trigger: Component that changed; None when the page opens.
        search: Query of the address.
        controls: Field of a view -> value of its component.
        clicks: Graph -> its last click.
    """
    if trigger in (None, "", ids.URL):
        return read_search(search)
    view = View(**controls)
    if trigger in clicks:
        stage = clicked_stage(clicks[trigger])
        return view if stage is None else replace(view, stage=stage)
    return view
