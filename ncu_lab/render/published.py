"""Published figures beside the user's own: as ratios within their own source, so that unlike GPUs compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

from ncu_lab.model import Json, Ladder, PublishedFigure
from ncu_lab.render import numbers
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import MUTED, STRONG, Terminal, note_dropped
from ncu_lab.render.wording import context_words, problem_words

_MAKER = ("NVIDIA ", "RTX ", "Tesla ")
"""What a heading can do without."""


def published_rows(ladder: Ladder) -> list[Row]:
    """Return one row a stage: what was measured here, and what is published; stages with the latter alone come last."""
    own = {row.stage.id: row for row in (*ladder.rows, *ladder.references)}
    ids = dict.fromkeys([*own, *(figure.stage for figure in ladder.published)])
    rows: list[Row] = []
    for id in ids:
        row = own.get(id)
        share = row.share_of_reference if row else None
        found: dict[str, object] = {
            "stage": id,
            "gflops": row.flop_per_s / 1e9 if row and row.flop_per_s is not None else None,
            "pct_of_reference": None if share is None else 100.0 * share,
            "step": row.step if row else None,
        }
        for figure in ladder.published:
            if figure.stage == id:
                found |= _values(figure)
        rows.append(found)
    return rows


def _values(figure: PublishedFigure) -> Row:
    gpu, share = _gpu(figure), figure.share_of_reference
    return {
        f"{gpu}_value": figure.value,
        f"{gpu}_pct_of_reference": None if share is None else 100.0 * share,
        f"{gpu}_step": figure.step,
    }


def _gpu(figure: PublishedFigure) -> str:
    name = figure.gpu
    for word in _MAKER:
        name = name.removeprefix(word)
    return name


def published_columns(ladder: Ladder, rows: Sequence[Row]) -> list[Column]:
    """Return the user's own columns, then three for each GPU, the one of most figures first; without empty ones."""
    columns = [
        Column("stage", "stage", align="left"),
        Column("gflops", "here", partial(_speed, "gflops", "GFLOP/s"), priority=3),
        Column("pct_of_reference", "of ref", partial(_percent, "pct_of_reference")),
        Column("step", "step", partial(_step, "step")),
    ]
    groups = Counter((_gpu(figure), figure.unit) for figure in ladder.published)
    for rank, ((gpu, unit), _) in enumerate(groups.most_common()):
        columns += [
            Column(f"{gpu}_value", gpu, partial(_speed, f"{gpu}_value", unit), priority=rank + 3),
            Column(
                f"{gpu}_pct_of_reference",
                f"{gpu} of ref",
                partial(_percent, f"{gpu}_pct_of_reference"),
                priority=min(rank, 2),
            ),
            Column(f"{gpu}_step", f"{gpu} step", partial(_step, f"{gpu}_step"), priority=min(rank, 2)),
        ]
    return [column for column in columns if any(row.get(column.key) is not None for row in rows)]


def _speed(key: str, unit: str, row: Row) -> str:
    value = row.get(key)
    return MISSING if value is None else numbers.si(value * 1e9, unit.removeprefix("G"))


def _percent(key: str, row: Row) -> str:
    return numbers.percent(row.get(key), table=True)


def _step(key: str, row: Row) -> str:
    return numbers.ratio(row.get(key))


def print_published(ladder: Ladder, terminal: Terminal) -> None:
    """Print the user's own figures beside the published ones, then the source of every figure."""
    terminal.paragraph(
        " · ".join([problem_words(ladder.problem), *context_words(ladder.device, ladder.environment)]), STRONG
    )
    rows = published_rows(ladder)
    note_dropped(terminal, terminal.table(rows, published_columns(ladder, rows)))
    for words in source_words(ladder.published):
        terminal.paragraph(words, MUTED)


def source_words(figures: Iterable[PublishedFigure]) -> list[str]:
    """Name the source, hardware and problem of each group of figures, and what is to be known of single ones."""
    groups: dict[str, list[str]] = {}
    for figure in figures:
        problem = f", {figure.problem}" if figure.problem else ""
        group = f"{_gpu(figure)}: {figure.quantity} on {figure.gpu}{problem}, by {figure.source}, {figure.url}"
        groups.setdefault(group, []).extend([f"{figure.stage}: {figure.note}"] if figure.note else [])
    return [f"{group} ({'; '.join(notes)})" if notes else group for group, notes in groups.items()]


def published_document(figures: Iterable[PublishedFigure], stage: str) -> list[Json]:
    """Return the published figures of one stage as JSON has them."""
    return [
        {
            "gpu": figure.gpu,
            "problem": figure.problem or None,
            "quantity": figure.quantity,
            "value": figure.value,
            "unit": figure.unit,
            "pct_of_reference": None if figure.share_of_reference is None else 100.0 * figure.share_of_reference,
            "step": figure.step,
            "source": figure.source,
            "url": figure.url,
            "note": figure.note or None,
        }
        for figure in figures
        if figure.stage == stage
    ]
