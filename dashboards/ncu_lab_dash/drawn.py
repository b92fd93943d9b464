"""One rule for the cards of figures: which properties a callback fills, and with what."""

from __future__ import annotations

from typing import Any

from dash import Output, no_update

from ncu_lab_dash import ids
from ncu_lab_dash.kernel_figures import Drawn
from ncu_lab_dash.parts import TABLE, table_json, unbroken


def card_outputs(name: str) -> list[Output]:
    """Return what a callback fills of the card that :func:`ncu_lab_dash.parts.figure_card` made."""
    return [
        Output(name, "figure"),
        Output(f"{name}-figure", "className"),
        Output(ids.state_of(name), "children"),
        Output(ids.title_of(name), "children"),
        Output(ids.note_of(name), "children"),
        Output(ids.foot_of(name), "children"),
        Output(ids.table_of(name), TABLE),
        Output(ids.details_of(name), "open"),
    ]


def card_values(drawn: Drawn) -> tuple[Any, ...]:
    """Return the values of :func:`card_outputs`."""
    return (
        drawn.figure if drawn.figure is not None else no_update,
        "" if drawn.figure is not None else "no-figure",
        drawn.missing,
        unbroken(drawn.card.title),
        unbroken(drawn.card.note),
        unbroken(drawn.card.foot),
        table_json(*drawn.card.table) if drawn.card.table[0] else "",
        True if drawn.folded else no_update,
    )
