"""Figures leave out Plotly's check of their properties, for its time; tests make it."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
import pytest

from ncu_lab.render.figures.canvas import Canvas


@pytest.fixture(autouse=True)
def _checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Plotly check every figure that a test draws: it raises ValueError for a property that it does not know."""
    draw = Canvas.figure

    def checked(*arguments: Any, **layout: Any) -> go.Figure:
        figure = draw(*arguments, **layout)
        go.Figure(figure.to_dict())
        return figure

    monkeypatch.setattr(Canvas, "figure", checked)
