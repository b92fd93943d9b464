"""The duration panel: a dot on a log scale, its stem the gap to the like-for-like cuBLAS."""

from __future__ import annotations

import math

from ncu_lab.model import Ladder, LadderRow
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel, spaced
from ncu_lab.render.figures.published import draw_published, published_marks
from ncu_lab.render.figures.rows import PlacedRow, Rows
from ncu_lab.render.figures.text import SIZE, plain, text_width

_DOT_PX = 10
_LEFT_PX = 10
_LEAST_DECADES = 0.5


def time_label(row: LadderRow) -> str:
    """Return what stands beside a dot: ``769 µs  45 %``."""
    text = numbers.duration(row.median_ns)
    if row.share_of_reference is None:
        return text
    of = "" if row.stage.dtype == "fp32" else f" of {row.stage.dtype.upper()}"
    return f"{text}  {numbers.share(row.share_of_reference)}{of}"


def time_hover(row: LadderRow) -> str:
    """Return a duration in full: four digits, how it was taken, n, the reference."""
    lines = [f"<b>{plain(row.stage.id)}</b>  {numbers.duration(row.median_ns, 4)}"]
    if row.time_source == "timings":
        low, high = min(row.samples_ns), max(row.samples_ns)
        spread = f"{numbers.duration(low, 4)} to {numbers.duration(high, 4)}"
        lines.append(f"median of n = {len(row.samples_ns)} unprofiled samples, {spread}")
    else:
        lines.append("under the profiler, n = 1 (gpu__time_duration)")
    lines.append(numbers.flop_rate(row.flop_per_s, 4))
    if row.share_of_reference is not None and row.stage.reference:
        lines.append(f"{numbers.share(row.share_of_reference, table=True)} of {plain(row.stage.reference)}")
    if row.step is not None and row.stage.predecessor:
        lines.append(f"{numbers.ratio(row.step)} the speed of {plain(row.stage.predecessor)}")
    return "<br>".join(lines)


def draw(canvas: Canvas, panel: Panel, rows: Rows, ladder: Ladder) -> None:
    """Draw the panel; a row without a time says so in its place."""
    timed = [(placed, placed.row.median_ns) for placed in rows.placed if placed.row.median_ns]
    for placed in rows.placed:
        if not placed.row.median_ns:
            canvas.missing_cell(panel, placed.y, "SpeedOfLight")
    published = published_marks(ladder, rows)
    axis = _axis_range(timed, [_at_share(one.placed.row, one.share) for one in published], panel.width)
    ticks = _decades(*axis)
    px_apart = panel.width * (math.log10(ticks[1][0] / ticks[0][0]) if len(ticks) > 1 else 1.0) / (axis[1] - axis[0])
    canvas.x_axis(panel, axis, spaced(ticks, px_apart), "log")
    _reference_line(canvas, panel, rows, ladder)
    _stems(canvas, panel, [placed for placed, _ in timed])
    for name, chosen, symbol in (
        ("duration", [entry for entry in timed if not entry[0].row.stage.is_reference], "circle"),
        ("duration of references", [entry for entry in timed if entry[0].row.stage.is_reference], "square-open"),
    ):
        if not chosen:
            continue
        colour = canvas.theme.text
        canvas.marks(
            panel,
            name,
            mode="markers",
            x=[time for _, time in chosen],
            y=[placed.y for placed, _ in chosen],
            customdata=[placed.id for placed, _ in chosen],
            hovertext=[time_hover(placed.row) for placed, _ in chosen],
            hoverinfo="text",
            marker={
                "symbol": symbol,
                "size": _DOT_PX,
                "color": colour,
                "opacity": 1,
                "line": {"width": 1.5, "color": colour},
            },
        )
    draw_published(canvas, panel, published, _at_share)
    _labels(canvas, panel, timed)


def _at_share(row: LadderRow, share: float) -> float:
    """Return the time that would be a share of the row's own reference."""
    return (row.median_ns or 0.0) * (row.share_of_reference or 0.0) / share


def _axis_range(timed: list[tuple[PlacedRow, float]], marks: list[float], width: float) -> tuple[float, float]:
    """Return the log10 range that uses the panel as far as the label of every dot, and every mark, still fits."""
    times = [*(time for _, time in timed), *marks]
    times += [time * placed.row.share_of_reference for placed, time in timed if placed.row.share_of_reference]
    start = math.log10(min(times, default=1e3))
    px_per_decade = width / _LEAST_DECADES
    for placed, time in timed:
        room = width - _LEFT_PX - _DOT_PX - text_width(time_label(placed.row)) - 4
        decades = math.log10(time) - start
        if decades > 0:
            px_per_decade = min(px_per_decade, max(20.0, room) / decades)
    furthest = math.log10(max(marks, default=min(times, default=1e3))) - start
    if furthest > 0:
        px_per_decade = min(px_per_decade, (width - _LEFT_PX - _DOT_PX) / furthest)
    return start - _LEFT_PX / px_per_decade, start + (width - _LEFT_PX) / px_per_decade


def _labels(canvas: Canvas, panel: Panel, timed: list[tuple[PlacedRow, float]]) -> None:
    """Write the labels as annotations: a shift in px keeps them clear of the dots at every width."""
    for placed, time in timed:
        duration, _, share = time_label(placed.row).partition("  ")
        muted = f'  <span style="color:{canvas.theme.muted}">{plain(share)}</span>' if share else ""
        canvas.mark_label(panel, time, placed.y, plain(duration) + muted, shift=_DOT_PX, log=True, size=SIZE)


def _stems(canvas: Canvas, panel: Panel, timed: list[PlacedRow]) -> None:
    x: list[float | None] = []
    y: list[float | None] = []
    for placed in timed:
        row = placed.row
        if row.median_ns and row.share_of_reference:
            x += [row.median_ns * row.share_of_reference, row.median_ns, None]
            y += [placed.y, placed.y, None]
    if x:
        canvas.marks(panel, "gap to cuBLAS", mode="lines", x=x, y=y, line={"color": canvas.theme.neutral_3, "width": 4})


def _reference_line(canvas: Canvas, panel: Panel, rows: Rows, ladder: Ladder) -> None:
    """Draw the dotted line of cuBLAS FP32 over the rows that are measured against it, and no others' labels."""
    reference = next((row for row in ladder.references if row.stage.dtype == "fp32" and row.median_ns), None)
    if reference is None or reference.median_ns is None:
        return
    x: list[float | None] = []
    y: list[float | None] = []
    for placed in rows.placed:
        if placed.row.stage.reference != reference.stage.id:
            continue
        if y and y[-2] == placed.y - 0.5:
            y[-2] = placed.y + 0.5  # goes on from the row above
        else:
            x += [reference.median_ns, reference.median_ns, None]
            y += [placed.y - 0.5, placed.y + 0.5, None]
    if x:
        canvas.marks(
            panel,
            "cuBLAS FP32",
            mode="lines",
            x=x,
            y=y,
            line={"color": canvas.theme.text, "width": 1, "dash": "dot"},
        )


def _decades(start: float, end: float) -> list[tuple[float, str]]:
    """Return ticks at whole decades (ns), or at 1-2-5 steps where less than two decades are shown."""
    steps = (1.0,) if end - start >= 2 else (1.0, 3.0)
    values = [step * 10.0**power for power in range(int(start) - 1, int(end) + 2) for step in steps]
    shown = [value for value in values if 10**start <= value <= 10**end]
    return [(value, numbers.duration(value, 1)) for value in shown]
