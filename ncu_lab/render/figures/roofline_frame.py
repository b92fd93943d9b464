"""The plot area of a roofline: its log ranges, its roofs and their names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ncu_lab.model import LadderRow, MeasuredPeak, Roof, Roofline, RooflinePoint
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.text import SMALL, plain, text_width

_SLOPE_ARROW_PX = (40, 34)
_RIGHT_OF_SLOPE_PX = (26, 22)
_SLOPE_SHARES = (0.3, 0.45, 0.6, 0.15)
"""How far up the slope its name may point where it stands right of it, the likeliest first."""
_SLOPE_PARTS = 60
_BEFORE_PX = 8
"""From a name to where its roof begins; widths are estimated to the wide, so that it may reach as far to the left."""
_LABEL_PX = 15
_ABOVE_FLAT_PX = 32
"""From the compute roof to the middle of a label two rows above it: the first row names that roof."""

_TERA = 1e12
_LABEL_GAP_PX = 2

NUMBERED_PX, DOT_PX = 19, 9
"""Diameter of a mark that carries its number, and of one that does not."""

_FLAT_SPACE = (2.4, 6.0)
"""How far the x axis goes beyond the last point, and beyond the ridge where several flat roofs have names."""

SAME_ROOF = 0.03
"""Roofs nearer to each other than this are drawn as one: two types of one rate differ by noise alone."""

_TENSOR = " tensor"
_SAME_PIPE = ("l1", "shared")
"""Levels of one bandwidth: shared memory is read through the data pipe of L1."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom in px within the plot area."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The plot area: its size in px, and the log10 ranges it shows."""

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]

    def x_px(self, intensity: float) -> float:
        """Return px from the left."""
        return (math.log10(intensity) - self.x[0]) / (self.x[1] - self.x[0]) * self.width

    def y_px(self, speed: float) -> float:
        """Return px from the top."""
        return (self.y[1] - math.log10(speed)) / (self.y[1] - self.y[0]) * self.height


@dataclass(frozen=True, slots=True)
class Mark:
    """A point with its row, its number on the ladder, and its place in px within the plot area."""

    row: LadderRow
    point: RooflinePoint
    number: int | None
    x_px: float
    y_px: float

    @property
    def id(self) -> str:
        """The stage's id."""
        return self.row.stage.id

    @property
    def box(self) -> Box:
        """What it covers."""
        half = (NUMBERED_PX if self.number is not None else DOT_PX) / 2
        return self.x_px - half, self.y_px - half, self.x_px + half, self.y_px + half


@dataclass(frozen=True, slots=True)
class FlatRoof:
    """One compute roof to draw, of all precisions that share it."""

    label: str
    per_second: float
    levels: tuple[str, ...]


def make_frame(charts: Sequence[Roofline], level: str, width: float, height: float) -> Frame:
    """Choose ranges that show every point and the ridge of every chart, with room for labels."""
    points = [point for chart in charts for point in chart.points if point.level == level]
    peaks = [found[0].per_second for chart in charts if (found := flat_roofs(chart))]
    ridges = [
        found[0].per_second / roof.per_second
        for chart in charts
        if (found := flat_roofs(chart)) and (roof := chart.roof(level))
    ]
    intensities = [*(point.intensity for point in points), *ridges]
    beyond_points, beyond_ridge = _FLAT_SPACE
    several = any(len(flat_roofs(chart)) > 1 for chart in charts)
    right = max(max(intensities) * beyond_points, max(ridges) * beyond_ridge if several else 0.0)
    x = (math.log10(min(intensities) / 1.6), math.log10(right))
    y = (math.log10(min(point.flop_per_s for point in points) / 1.8), math.log10(max(peaks) * 1.9))
    return Frame(width, height, x, y)


def flat_roofs(chart: Roofline) -> list[FlatRoof]:
    """Return the compute roofs of a chart, highest first; those that nearly agree are one."""
    groups: list[list[Roof]] = []
    for roof in (one for one in chart.roofs if one.kind == "compute"):
        near = next((same for same in groups if agree(same[0].per_second, roof.per_second)), None)
        if near is None:
            groups.append([roof])
        else:
            near.append(roof)
    groups.sort(key=lambda same: -same[0].per_second)
    return [FlatRoof(_shared_label(same), same[0].per_second, tuple(roof.level for roof in same)) for same in groups]


def agree(a: float, b: float) -> bool:
    """Whether two roofs are drawn as one."""
    return abs(a - b) <= SAME_ROOF * max(a, b)


def _shared_label(roofs: Sequence[Roof]) -> str:
    """Name several roofs at once: ``FP16, BF16 tensor``."""
    labels = [roof.label for roof in roofs]
    if len(labels) > 1 and all(label.endswith(_TENSOR) for label in labels):
        return ", ".join(label.removesuffix(_TENSOR) for label in labels) + _TENSOR
    return ", ".join(labels)


def best_measured(chart: Roofline, levels: Sequence[str]) -> MeasuredPeak | None:
    """Return the highest peak that was measured for any of some levels; None without one."""
    wanted = {*levels, *(_SAME_PIPE if set(levels) & set(_SAME_PIPE) else ())}
    fitting = [peak for peak in chart.measured if peak.level in wanted]
    return max(fitting, key=lambda peak: peak.per_second, default=None)


def draw_roofs(canvas: Canvas, panel: Panel, frame: Frame, chart: Roofline, memory: Roof, marks: Sequence[Box]) -> None:
    """Draw the roofs of a level, shade what lies above them, and name them.

    Args:
        canvas: What is drawn on.
        panel: Where.
        frame: Its ranges.
        chart: Whose roofs.
        memory: The roof of the level.
        marks: What labels must not cover.
    """
    found = flat_roofs(chart)
    _outline(canvas, panel, frame, memory, found[0].per_second)
    lines = [flat.per_second for flat in found] + [peak.per_second for peak in chart.measured if peak.kind == "compute"]
    bandwidth = best_measured(chart, (memory.level,))
    if bandwidth is not None:
        _slope(canvas, panel, frame, bandwidth.per_second, found[0].per_second)
    slope = _slope_boxes(frame, memory.per_second, found[0].per_second)
    taken = [*marks, *slope, *(_line_box(frame, memory, peak) for peak in lines)]
    highest = _roof_words(found[0], chart, first=True)[0]
    kept = _flat_box(_flat_places(frame, memory, found[0].per_second)[0], found[0].per_second, highest, frame)
    ridge = found[0].per_second / memory.per_second
    taken.append(_slope_label(canvas, frame, memory, ridge, bandwidth, [*taken, kept]))
    for flat in found:
        first = flat is found[0]
        if not first:
            _flat(canvas, panel, frame, memory, flat.per_second, f"roof {flat.label}", {"width": 1.5})
        measured = best_measured(chart, flat.levels)
        if measured is not None:
            _dashed(canvas, panel, frame, memory, measured)
        texts = _roof_words(flat, chart, first=first)
        taken.append(_flat_label(canvas, frame, memory, flat.per_second, texts, taken))
    drawn = {level for flat in found for level in flat.levels}
    for peak in chart.measured:
        if peak.kind == "compute" and peak.level not in drawn and frame.y_px(peak.per_second) < frame.height:
            _dashed(canvas, panel, frame, memory, peak)
            text = f"{peak.label}, measured {numbers.significant(peak.per_second / _TERA)}"
            taken.append(_flat_label(canvas, frame, memory, peak.per_second, [text], taken))


def _roof_words(flat: FlatRoof, chart: Roofline, *, first: bool) -> list[str]:
    """Name a compute roof, the fullest name first; the highest roof tells the unit of all."""
    measured = best_measured(chart, flat.levels)
    speed = numbers.flop_rate(flat.per_second) if first else numbers.significant(flat.per_second / _TERA)
    name = f"{flat.label}  {speed}"
    return [f"{name}, measured {numbers.significant(measured.per_second / _TERA)}", name] if measured else [name]


def draw_other_roofs(
    canvas: Canvas, panel: Panel, frame: Frame, charts: tuple[Roofline, Roofline], level: str, dash: str
) -> None:
    """Draw the roofs of another run or GPU as one line of another dash, unless they are those of the first chart.

    Args:
        canvas: What is drawn on.
        panel: Where.
        frame: Its ranges.
        charts: The first chart, and the one whose roofs to draw.
        level: The memory level.
        dash: Plotly's name of the dash.
    """
    first, chart = charts
    main, top = first.roof(level), flat_roofs(first)[0].per_second
    memory, found = chart.roof(level), flat_roofs(chart)
    if memory is None or not found:
        return
    if main is not None and agree(main.per_second, memory.per_second) and agree(top, found[0].per_second):
        return
    line = {"color": canvas.theme.neutral_2, "width": 1.5, "dash": dash}
    x, y = _corner(frame, memory.per_second, found[0].per_second)
    canvas.marks(panel, f"roof of {chart.label}", mode="lines", x=x, y=y, line=line, cliponaxis=True)


def _corner(frame: Frame, bandwidth: float, peak: float) -> tuple[list[float], list[float]]:
    left, right = 10 ** frame.x[0], 10 ** frame.x[1]
    return [left, peak / bandwidth, right], [left * bandwidth, peak, peak]


def _outline(canvas: Canvas, panel: Panel, frame: Frame, memory: Roof, peak: float) -> None:
    left, right, top = 10 ** frame.x[0], 10 ** frame.x[1], 10 ** frame.y[1]
    x, y = _corner(frame, memory.per_second, peak)
    shade = {"fill": "toself", "fillcolor": canvas.theme.shade, "line": {"width": 0}}
    canvas.marks(
        panel, "out of reach", mode="lines", x=[*x, right, left], y=[*y, top, top], cliponaxis=True, **shade
    )  # fmt: skip
    canvas.marks(panel, "roof", mode="lines", x=x, y=y, line={"color": canvas.theme.text, "width": 2}, cliponaxis=True)


def _flat(
    canvas: Canvas, panel: Panel, frame: Frame, memory: Roof, peak: float, name: str, line: dict[str, Any]
) -> None:
    x = [peak / memory.per_second, 10 ** frame.x[1]]
    canvas.marks(
        panel, name, mode="lines", x=x, y=[peak, peak], line={"color": canvas.theme.text, **line}, cliponaxis=True
    )


def _dashed(canvas: Canvas, panel: Panel, frame: Frame, memory: Roof, peak: MeasuredPeak) -> None:
    _flat(
        canvas, panel, frame, memory, peak.per_second, f"measured {peak.label}",
        {"color": canvas.theme.muted, "width": 1.5, "dash": "dash"},
    )  # fmt: skip


def _slope(canvas: Canvas, panel: Panel, frame: Frame, bandwidth: float, peak: float) -> None:
    x, y = _corner(frame, bandwidth, peak)
    line = {"color": canvas.theme.muted, "width": 1.5, "dash": "dash"}
    canvas.marks(panel, "measured bandwidth", mode="lines", x=x[:2], y=y[:2], line=line, cliponaxis=True)


_Place = tuple[Literal["right", "left"], float, Literal["bottom", "top", "middle"]]
"""Which end of a name stands where in px from the left, and whether its bottom, top or middle is at the roof."""


def _flat_places(frame: Frame, memory: Roof, peak: float) -> list[_Place]:
    """Return where the name of a flat roof may stand: above or below either end, or left of where the roof begins."""
    ridge = frame.x_px(peak / memory.per_second)
    start = max(0.0, ridge + _LABEL_PX)
    return [
        ("right", frame.width, "bottom"), ("left", start, "bottom"),
        ("right", frame.width, "top"), ("left", start, "top"),
        ("right", ridge - _BEFORE_PX, "middle"),
    ]  # fmt: skip


def _flat_box(place: _Place, peak: float, text: str, frame: Frame) -> Box:
    anchor, x, side = place
    wide, line = text_width(text, SMALL), frame.y_px(peak)
    left = x - wide if anchor == "right" else x
    above = {"bottom": _LABEL_GAP_PX + _LABEL_PX, "middle": _LABEL_PX / 2, "top": -_LABEL_GAP_PX}[side]
    return left, line - above, left + wide, line - above + _LABEL_PX


def _flat_label(
    canvas: Canvas, frame: Frame, memory: Roof, peak: float, texts: Sequence[str], taken: Sequence[Box]
) -> Box:
    """Name a flat roof, as fully as it covers nothing, else where it covers least."""
    places = [(place, text) for text in texts for place in _flat_places(frame, memory, peak)]
    boxes = [(_flat_box(place, peak, text, frame), place, text) for place, text in places]
    fitting = [one for one in boxes if one[0][0] >= -_BEFORE_PX and one[0][2] <= frame.width + 1] or boxes[-2:]
    box, (anchor, x, side), text = min(fitting, key=lambda one: sum(_overlap(one[0], other) for other in taken))
    # What begins left of the roof crosses the slope as it was measured: that is not seen through it.
    ground = {"bgcolor": canvas.theme.shade} if side == "middle" else {}
    shift = {"bottom": _LABEL_GAP_PX, "middle": 0, "top": -_LABEL_GAP_PX}[side]
    canvas.annotations.append(
        {
            "xref": "paper", "x": x / frame.width, "xanchor": anchor, "yref": "y", "y": math.log10(peak),
            "yanchor": side, "yshift": shift, "showarrow": False, "text": plain(text), "borderpad": 0,
            "font": {"size": SMALL, "color": canvas.theme.muted}, **ground,
        }
    )  # fmt: skip
    return box


def flat_box(frame: Frame, chart: Roofline, level: str) -> Box | None:
    """Return what the highest compute roof of a chart covers; None where its roofs are not known."""
    memory, found = chart.roof(level), flat_roofs(chart)
    return _line_box(frame, memory, found[0].per_second) if memory and found else None


def _line_box(frame: Frame, memory: Roof, peak: float) -> Box:
    line = frame.y_px(peak)
    return max(0.0, frame.x_px(peak / memory.per_second)), line - 1, frame.width, line + 1


def _slope_boxes(frame: Frame, bandwidth: float, peak: float) -> list[Box]:
    """Return what the sloped roof covers, in small boxes along it."""
    end = math.log10(peak / bandwidth)
    shares = [at / _SLOPE_PARTS for at in range(_SLOPE_PARTS)]
    points = [10 ** (frame.x[0] + share * (end - frame.x[0])) for share in shares]
    places = [(frame.x_px(one), frame.y_px(one * bandwidth)) for one in points]
    return [(x - 2, y - 4, x + 2, y + 4) for x, y in places if y < frame.height]


def _overlap(a: Box, b: Box) -> float:
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _slope_label(
    canvas: Canvas, frame: Frame, memory: Roof, ridge: float, measured: MeasuredPeak | None, taken: Sequence[Box]
) -> Box:
    """Name the sloped roof: left of it, or above the compute roof where the slope is too near to the y axis.

    Where the name would cover something there, it stands right of the slope, in what is within reach.
    """
    words = [plain(memory.label), numbers.byte_rate(memory.per_second)]
    if measured is not None:
        words.append(f"measured {numbers.significant(measured.per_second / _TERA)}")
    ax, ay = _SLOPE_ARROW_PX
    room = max(text_width(text, SMALL) for text in words) + ax + 8
    start, end = max(frame.x[0], frame.y[0] - math.log10(memory.per_second)), math.log10(ridge)
    foot = max((start + end) / 2, frame.x[0] + room / frame.width * (frame.x[1] - frame.x[0]))
    if foot < end:
        places = [_SlopeName(foot, -ax, -ay, "right", "<br>".join(words))]
    else:
        foot = (frame.x[0] + end) / 2
        below_flat = round((end - foot) / (frame.y[1] - frame.y[0]) * frame.height)
        places = [_SlopeName(foot, ax // 2, -below_flat - _ABOVE_FLAT_PX, "left", "  ".join(words))]
    right, down = _RIGHT_OF_SLOPE_PX
    feet = (start + share * (end - start) for share in _SLOPE_SHARES)
    places += [_SlopeName(foot, right, down, "left", "<br>".join(words)) for foot in feet]
    boxes = [(one.box(frame, memory.per_second), one) for one in places]
    fitting = [one for one in boxes if one[0][2] <= frame.width and one[0][3] <= frame.height] or boxes[:1]
    box, name = min(fitting, key=lambda one: sum(_overlap(one[0], other) for other in taken))
    canvas.annotations.append(
        {
            "xref": "x", "x": name.foot, "yref": "y", "y": name.foot + math.log10(memory.per_second),
            "ax": name.ax, "ay": name.ay, "showarrow": True, "arrowhead": 0, "arrowwidth": 1,
            "xanchor": name.anchor, "align": "left" if name.ax == right else "right",
            "arrowcolor": canvas.theme.neutral_2, "text": name.text,
            "font": {"size": SMALL, "color": canvas.theme.muted},
        }
    )  # fmt: skip
    return box


@dataclass(frozen=True, slots=True)
class _SlopeName:
    """A place for the name of the slope: the log10 intensity it points at, px from there, its end there, its lines."""

    foot: float
    ax: int
    ay: int
    anchor: Literal["left", "right"]
    text: str

    def box(self, frame: Frame, bandwidth: float) -> Box:
        """Return what it covers."""
        lines = self.text.split("<br>")
        wide, tall = max(text_width(line, SMALL) for line in lines), _LABEL_PX * len(lines)
        x, y = frame.x_px(10**self.foot) + self.ax, frame.y_px(10**self.foot * bandwidth) + self.ay
        left = x - wide if self.anchor == "right" else x
        return left, y - tall / 2, left + wide, y + tall / 2
