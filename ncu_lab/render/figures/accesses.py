"""Two panels of ratios against an ideal: sectors per global request, and wavefronts per conflict-free wavefront."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ncu_lab.metrics import METRICS, Reading
from ncu_lab.model import LadderRow
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel, log_range, spaced
from ncu_lab.render.figures.rows import PlacedRow, Rows
from ncu_lab.render.figures.text import SMALL, plain, text_width
from ncu_lab.render.wording import within_ideal

Access = Literal["loads", "stores"]

_OFFSET: dict[Access, float] = {"loads": -0.17, "stores": 0.17}
_SYMBOL: dict[Access, str] = {"loads": "circle", "stores": "diamond"}
_SECTOR_KEYS: dict[Access, str] = {
    "loads": "global_load_sectors_per_request",
    "stores": "global_store_sectors_per_request",
}
_CONFLICT_KEYS: dict[Access, str] = {
    "loads": "shared_load_wavefronts_over_ideal",
    "stores": "shared_store_wavefronts_over_ideal",
}


@dataclass(frozen=True, slots=True)
class AccessMark:
    """One dot of these panels: a ratio, its ideal (None when unknown), and what it was read from."""

    placed: PlacedRow
    access: Access
    value: float
    ideal: float | None
    reading: Reading

    @property
    def over(self) -> bool:
        """Whether it exceeds its ideal by more than ``metrics.OVER_IDEAL``."""
        return within_ideal(self.value, self.ideal) is False

    @property
    def y(self) -> float:
        """Loads stand in the upper half of the row, stores in the lower."""
        return self.placed.y + _OFFSET[self.access]


def sector_reading(row: LadderRow, access: Access) -> Reading | None:
    """Return a row's sectors per request; None when the stage was not profiled."""
    return row.summary.readings[_SECTOR_KEYS[access]] if row.summary else None


def conflict_reading(row: LadderRow, access: Access) -> Reading | None:
    """Return a row's shared wavefronts over the conflict-free ones; None when the stage was not profiled."""
    return row.summary.readings[_CONFLICT_KEYS[access]] if row.summary else None


def _ideal_sectors(row: LadderRow, access: Access) -> float | None:
    return row.load_sectors_ideal if access == "loads" else row.store_sectors_ideal


def sector_marks(rows: Rows) -> list[AccessMark]:
    """Return every sectors-per-request value with the ideal for the access width its kernel uses."""
    return [
        AccessMark(placed, access, reading.value, _ideal_sectors(placed.row, access), reading)
        for placed in rows.placed
        for access in _OFFSET
        if (reading := sector_reading(placed.row, access)) is not None and reading.value is not None
    ]


def conflict_marks(rows: Rows) -> list[AccessMark]:
    """Return every bank-conflict ratio; its ideal is 1."""
    return [
        AccessMark(placed, access, reading.value, 1.0, reading)
        for placed in rows.placed
        for access in _OFFSET
        if (reading := conflict_reading(placed.row, access)) is not None and reading.value is not None
    ]


def draw_sectors(canvas: Canvas, panel: Panel, rows: Rows) -> None:
    """Draw sectors per request; copies by TMA are counted apart, and the row says so."""
    marks = sector_marks(rows)
    values = [mark.value for mark in marks]
    low, high = min([1.0, *values]), max([32.0, *values])
    axis = log_range(low, high, panel.width, 4, _label_room(marks, _sector_text) + 8)
    ticks = [(float(2**power), str(2**power)) for power in range(6)]
    canvas.x_axis(panel, axis, spaced(ticks, math.log10(2) / (axis[1] - axis[0]) * panel.width), "log")
    for placed in rows.placed:
        readings = [sector_reading(placed.row, access) for access in _OFFSET]
        if _not_collected(readings):
            canvas.missing_cell(panel, placed.y, METRICS[_SECTOR_KEYS["loads"]].section)
        elif all(reading is None or reading.value is None for reading in readings):
            canvas.words(panel, placed.y, "TMA: counted apart", px=4)
    _draw(canvas, panel, marks, "sector/request", _sector_text)


def draw_conflicts(canvas: Canvas, panel: Panel, rows: Rows) -> None:
    """Draw wavefronts over conflict-free wavefronts of shared loads and stores."""
    marks = conflict_marks(rows)
    high = max([16.0, *(mark.value for mark in marks)])
    axis = log_range(1.0, high, panel.width, 6, _label_room(marks, numbers.ratio) + 8)
    ticks = spaced([(1.0, "1×"), (4.0, "4×"), (16.0, "16×")], math.log10(4) / (axis[1] - axis[0]) * panel.width)
    canvas.x_axis(panel, axis, ticks, "log")
    for placed in rows.placed:
        readings = [conflict_reading(placed.row, access) for access in _OFFSET]
        if _not_collected(readings):
            canvas.missing_cell(panel, placed.y, METRICS[_CONFLICT_KEYS["loads"]].section)
        elif all(reading is None or reading.value is None for reading in readings):
            canvas.words(panel, placed.y, "no shared memory", px=4)
    _draw(canvas, panel, marks, "× the conflict-free wavefronts", numbers.ratio)


def _sector_text(value: float) -> str:
    return numbers.significant(value)


def _not_collected(readings: list[Reading | None]) -> bool:
    """Whether a row has no value because a counter is missing, rather than because there were no accesses."""
    return all(reading is None or (reading.value is None and reading.missing) for reading in readings)


def _label_room(marks: list[AccessMark], text: Callable[[float], str]) -> float:
    return max((text_width(text(mark.value), SMALL) for mark in marks if mark.over), default=0.0) + 6


def _draw(canvas: Canvas, panel: Panel, marks: list[AccessMark], unit: str, text: Callable[[float], str]) -> None:
    theme = canvas.theme
    ideals = [mark for mark in marks if mark.ideal is not None]
    for over, colour, width in ((False, theme.neutral_3, 2), (True, theme.worse, 2.5)):
        chosen = [mark for mark in ideals if mark.over is over]
        x: list[float | None] = []
        y: list[float | None] = []
        for mark in chosen:
            x += [mark.ideal, mark.value, None]
            y += [mark.y, mark.y, None]
        if chosen:
            name = "over the limit" if over else "against ideal"
            canvas.marks(panel, name, mode="lines", x=x, y=y, line={"color": colour, "width": width})
    canvas.marks(
        panel,
        "ideal",
        mode="markers",
        x=[mark.ideal for mark in ideals],
        y=[mark.y for mark in ideals],
        marker={"symbol": "line-ns", "size": 11, "opacity": 1, "line": {"width": 1.5, "color": theme.neutral_2}},
    )
    for access, symbol in _SYMBOL.items():
        chosen = [mark for mark in marks if mark.access == access]
        colours = [theme.worse if mark.over else theme.text for mark in chosen]
        canvas.marks(
            panel,
            access,
            mode="markers",
            x=[mark.value for mark in chosen],
            y=[mark.y for mark in chosen],
            customdata=[mark.placed.id for mark in chosen],
            hovertext=[_hover(mark, unit) for mark in chosen],
            hoverinfo="text",
            marker={
                "symbol": symbol,
                "size": 8,
                "opacity": 1,
                "color": colours if access == "loads" else theme.card,
                "line": {"width": 1.5, "color": colours},
            },
        )
    for mark in (mark for mark in marks if mark.over):
        label = f'<span style="color:{theme.worse}">{text(mark.value)}</span>'
        canvas.mark_label(panel, mark.value, mark.y, label, shift=7, log=True)


def _hover(mark: AccessMark, unit: str) -> str:
    against = "" if mark.ideal is None else f", ideal {numbers.significant(mark.ideal)}"
    return (
        f"<b>{plain(mark.placed.id)}</b>  {mark.access}  "
        f"{numbers.significant(mark.value, 4)} {unit}{against}, n = 1<br>"
        f"{plain(mark.reading.metric)}"
    )
