"""How what the page shows follows its controls: one rule for every figure, title and table of a ladder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dash import Dash, Input, Output
from dash.exceptions import PreventUpdate

from ncu_lab.model import Ladder
from ncu_lab_dash import ids
from ncu_lab_dash.data import LadderData
from ncu_lab_dash.reconcile import CONTROLS
from ncu_lab_dash.screen import Screen, read_screen
from ncu_lab_dash.view import View, read_view

Show = Callable[[Ladder, View, Screen], Any]
"""Makes something of a ladder; may read only those fields of the view that it was registered for."""


def show(
    app: Dash, data: LadderData, what: Show, outputs: Output | list[Output], *fields: str, later: bool = False
) -> None:
    """Fill outputs from the ladder shown, again whenever it, the screen, or one of the view's ``fields`` changes.

    Without a ladder, or before the browser told its width, they stay as they are: the page's words say why. ``later``
    lets the matrix go first.
    """
    followed = ("problem", "device", *fields)
    after = [Input(ids.LATER, "data")] if later else []

    @app.callback(
        outputs,
        Input(ids.VERSION, "data"),
        Input(ids.SCREEN, "data"),
        *(Input(*CONTROLS[field]) for field in followed),
        *after,
    )
    def update(_: Any, told: Any, *values: Any) -> Any:
        chosen = dict(zip(followed, values[: len(followed)], strict=True))
        view, screen = read_view(chosen), read_screen(told)
        ladder = data.find(view.problem, view.device)
        if ladder is None or screen is None:
            raise PreventUpdate
        return what(ladder, view, screen)
