"""The panel of expectations: how many of a stage's were met, missed and not collected, each by sign and place."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_lab.model import ExpectationStatus
from ncu_lab.render.expectations import findings_words
from ncu_lab.render.figures.canvas import Canvas, Panel
from ncu_lab.render.figures.rows import Rows
from ncu_lab.render.figures.text import SMALL, plain

SIGNS: Mapping[ExpectationStatus, str] = {"met": "✓", "missed": "✗", "not_collected": "–"}
"""What stands for what became of an expectation, wherever it is shown by a sign."""

_COLUMN_PX = 28
_LINE_CHARACTERS = 90


def draw(canvas: Canvas, panel: Panel, rows: Rows) -> None:
    """Write a column a status: ``✓ 6  ✗ 2  – 1``; a count of none is left out, nothing expected is a dash."""
    theme = canvas.theme
    colours: Mapping[ExpectationStatus, str] = {
        "met": theme.better,
        "missed": theme.worse,
        "not_collected": theme.muted,
    }
    canvas.x_axis(panel, [0.0, panel.width], [], "linear")
    canvas.axes[f"xaxis{'' if panel.number == 1 else panel.number}"]["showline"] = False
    for column, (status, sign) in enumerate(SIGNS.items()):
        counts = [sum(one.status == status for one in placed.row.findings) for placed in rows.placed]
        shown = [(placed, count) for placed, count in zip(rows.placed, counts, strict=True) if count]
        if shown:
            canvas.marks(
                panel,
                status.replace("_", " "),
                mode="text",
                x=[float(column * _COLUMN_PX)] * len(shown),
                y=[placed.y for placed, _ in shown],
                text=[f"{sign} {count}" for _, count in shown],
                textposition="middle right",
                textfont={"size": SMALL, "color": colours[status]},
                customdata=[placed.id for placed, _ in shown],
                hovertext=[
                    f"<b>{plain(placed.id)}</b><br>{_folded(findings_words(placed.row.findings))}"
                    for placed, _ in shown
                ],
                hoverinfo="text",
            )
    for placed in rows.placed:
        if not placed.row.findings:
            canvas.words(panel, placed.y, "none declared")


def _folded(words: str) -> str:
    """Break words into lines that a hover can show, at spaces."""
    lines, line = [], ""
    for word in words.split(" "):
        if line and len(line) + len(word) >= _LINE_CHARACTERS:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "<br>".join(plain(one) for one in [*lines, line])
