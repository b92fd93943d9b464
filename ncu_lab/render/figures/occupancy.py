"""The occupancy panel: achieved as a bar, the most the launch allows as a tick, registers beside it."""

from __future__ import annotations

from ncu_lab.metrics import METRICS
from ncu_lab.model import LadderRow
from ncu_lab.render import numbers
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.rows import PlacedRow, Rows
from ncu_lab.render.figures.text import plain

_BAR = 0.4


def registers(row: LadderRow) -> float | None:
    """Return registers a thread: as launched, else as built."""
    launched = row.summary.value("registers_per_thread") if row.summary else None
    return launched if launched is not None or row.build is None else float(row.build.registers)


def draw(canvas: Canvas, panel: Panel, rows: Rows) -> None:
    """Draw the panel: percent of the warps an SM holds."""
    canvas.x_axis(panel, [0, 103], [(0, "0"), (50, "50"), (100, numbers.percent(100))], "linear")
    achieved = _values(rows, "achieved_occupancy_pct")
    most = _values(rows, "theoretical_occupancy_pct")
    canvas.bars(
        panel,
        "achieved occupancy",
        x=[value for _, value in achieved],
        y=[placed.y for placed, _ in achieved],
        width=_BAR,
        customdata=[placed.id for placed, _ in achieved],
        hovertext=[_hover(placed) for placed, _ in achieved],
        hoverinfo="text",
        marker={"color": canvas.theme.neutral_3, "line": {"width": 0}},
    )
    canvas.marks(
        panel,
        "theoretical occupancy",
        mode="markers",
        x=[value for _, value in most],
        y=[placed.y for placed, _ in most],
        customdata=[placed.id for placed, _ in most],
        hovertext=[_hover(placed) for placed, _ in most],
        hoverinfo="text",
        marker={"symbol": "line-ns", "size": 15, "opacity": 1, "line": {"width": 2, "color": canvas.theme.text}},
    )
    shown = {placed.id for placed, _ in achieved}
    for placed in rows.placed:
        if placed.id not in shown:
            canvas.missing_cell(panel, placed.y, METRICS["achieved_occupancy_pct"].section)
        count = registers(placed.row)
        canvas.side_text(panel, placed.y, f"{numbers.integer(count)} regs" if count is not None else numbers.MISSING)


def _values(rows: Rows, key: str) -> list[tuple[PlacedRow, float]]:
    return [
        (placed, value)
        for placed in rows.placed
        if placed.row.summary and (value := placed.row.summary.value(key)) is not None
    ]


def _hover(placed: PlacedRow) -> str:
    summary = placed.row.summary
    assert summary is not None
    achieved = summary.readings["achieved_occupancy_pct"]
    most = summary.readings["theoretical_occupancy_pct"]
    block = "×".join(str(size) for size in summary.block)
    return (
        f"<b>{plain(placed.id)}</b>  {numbers.percent(achieved.value, table=True)} of "
        f"{numbers.percent(most.value, table=True)} possible, n = 1<br>"
        f"{numbers.integer(registers(placed.row))} registers a thread, block of {block} threads<br>"
        f"{plain(achieved.metric)}"
    )
