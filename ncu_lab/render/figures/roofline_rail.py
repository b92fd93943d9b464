"""The rail beside a roofline: number, name, speed and share of every mark, with a leader to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ncu_lab.model import Stage
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas
from ncu_lab.render.figures.roofline_frame import Frame, Mark
from ncu_lab.render.figures.rows import stage_label
from ncu_lab.render.figures.text import SMALL, plain, text_width

_ROW_PX = 17
_LEADER_PX = 34
_TERA = 1e12


def rail_px(stages: Sequence[Stage]) -> int:
    """Return how wide the rail of some stages is, in px."""
    names = max(text_width(stage_label(stage)) for stage in stages)
    return round(_LEADER_PX + 26 + names + 110)


def _rail_places(marks: Sequence[Mark], height: float) -> dict[str, float]:
    """Return stage -> px from the top of its rail row: as near its mark as rows of one height allow."""
    ordered = sorted(marks, key=lambda mark: mark.y_px)
    places: list[float] = []
    for index, mark in enumerate(ordered):
        least = places[-1] + _ROW_PX if places else 8.0
        # Enough room must stay below for those that follow.
        most = height - _ROW_PX * (len(ordered) - 1 - index) - 8
        places.append(max(least, min(mark.y_px - 20, most)))
    return {mark.id: place for mark, place in zip(ordered, places, strict=True)}


def draw_rail(canvas: Canvas, frame: Frame, marks: Sequence[Mark], selected: str | None) -> None:
    """Write number, name, speed and share of each mark to the right of the plot, with a leader to it."""
    theme = canvas.theme
    names = max(text_width(stage_label(mark.row.stage)) for mark in marks)
    columns = (_LEADER_PX + 14, _LEADER_PX + 24, _LEADER_PX + 24 + names + 58, _LEADER_PX + 24 + names + 100)
    places = _rail_places(marks, frame.height)
    for mark in marks:
        chosen = mark.id == selected
        y = 1 - places[mark.id] / frame.height
        colour = theme.accent if chosen else theme.text
        texts = (
            (str(mark.number) if mark.number is not None else "■", "right", colour),
            (plain(stage_label(mark.row.stage)), "left", colour),
            (numbers.significant(mark.point.flop_per_s / _TERA), "right", colour),
            (numbers.share(mark.point.share_of_roof), "right", colour if chosen else theme.muted),
        )
        for shift, (text, anchor, ink) in zip(columns, texts, strict=True):
            canvas.annotations.append(_rail_text(f"<b>{text}</b>" if chosen else text, shift, y, anchor, ink))
        path = (
            f"M {mark.x_px / frame.width:.5f} {1 - mark.y_px / frame.height:.5f} "
            f"L {1 + 10 / frame.width:.5f} {y:.5f} L {1 + (_LEADER_PX - 8) / frame.width:.5f} {y:.5f}"
        )
        line = {"color": theme.accent if chosen else theme.neutral_4, "width": 1}
        canvas.shapes.append(
            {"type": "path", "xref": "paper", "yref": "paper", "path": path, "layer": "below", "line": line}
        )
    canvas.annotations.append(
        {**_rail_text("TFLOP/s · % of roof", columns[-1], 1.0, "right", theme.muted), "yanchor": "bottom", "yshift": 8}
    )


def _rail_text(text: str, shift: float, y: float, anchor: str, colour: str) -> dict[str, Any]:
    return {
        "xref": "paper", "x": 1, "xanchor": anchor, "xshift": shift, "yref": "paper", "y": y, "yanchor": "middle",
        "text": text, "showarrow": False, "font": {"size": SMALL, "color": colour},
    }  # fmt: skip
