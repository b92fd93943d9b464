"""``ladder`` for people: one row a stage, references apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ncu_lab.model import Ladder, LadderRow
from ncu_lab.render import numbers
from ncu_lab.render.cells import catalogue_values, conflicts_column, load_sectors_column, waits_column
from ncu_lab.render.explanation import ladder_sentences, profile_command
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.roofs import nearest, short_name
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import BAD, GOOD, MUTED, STRONG, Terminal, note_dropped
from ncu_lab.render.wording import context_words, problem_words

PROFILED_MARK = "*"
NO_CHANGE = 0.005
"""A step of less than half a percent is written as = (its significance is not judged here)."""


def ladder_rows(ladder: Ladder) -> list[Row]:
    """Return the ladder as flat rows of full precision; an empty row sets the references apart."""
    rows = [_row(row, ladder) for row in ladder.rows]
    references = [_row(row, ladder) for row in ladder.references]
    return [*rows, *([{}] if rows and references else []), *references]


def _row(row: LadderRow, ladder: Ladder) -> Row:
    points = [point for chart in ladder.rooflines for point in chart.points if point.stage == row.stage.id]
    near = nearest(points)
    share = row.share_of_reference
    return {
        "stage": row.stage.id,
        "run": row.run,
        "dtype": row.stage.dtype,
        "median_ns": row.median_ns,
        "samples": len(row.samples_ns),
        "time_source": row.time_source,
        "gflops": None if row.flop_per_s is None else row.flop_per_s / 1e9,
        "pct_of_reference": None if share is None else share * 100.0,
        "reference": row.stage.reference,
        "step": row.step,
        "roof": near.bound if near else None,
        "pct_of_roof": near.share_of_roof * 100.0 if near else None,
        "bound": row.verdict.bound if row.verdict else None,
        **catalogue_values(row.summary),
    }


def ladder_columns(*, mixed: bool = False, runs: bool = False) -> list[Column]:
    """Return the columns people see; the least needed go first where space is short.

    Args:
        mixed: Whether unprofiled and profiled times stand side by side, so that the latter need their mark.
        runs: Whether the rows come from several runs, so that each names its own.
    """

    def time(row: Row) -> str:
        mark = (PROFILED_MARK if row["time_source"] == "profiler" else " ") if mixed else ""
        return numbers.duration(row["median_ns"]) + mark

    return [
        Column("stage", "stage", align="left"),
        Column("median_ns", "time", time),
        Column("gflops", "TFLOP/s", _speed, priority=4),
        Column("pct_of_reference", "of ref", lambda row: numbers.percent(row["pct_of_reference"]), priority=1),
        Column("bound", "bound", align="left", priority=5),
        waits_column(priority=2),
        load_sectors_column(priority=3),
        conflicts_column(priority=3),
        Column("step", "step", _step, priority=2, style=_step_style),
        Column("registers_per_thread", "regs", lambda row: numbers.count(row.get("registers_per_thread")), priority=6),
        Column(
            "achieved_occupancy_pct",
            "occup.",
            lambda row: numbers.percent(row.get("achieved_occupancy_pct")),
            priority=7,
        ),
        Column("pct_of_roof", "roof", _roof, priority=5),
        *([Column("run", "run", align="left", priority=9)] if runs else []),
    ]


def print_ladder(
    ladder: Ladder,
    terminal: Terminal,
    where: str = "",
    short_id: Callable[[str], str] | None = None,
    which: str = "",
) -> None:
    """Print the ladder, what its marks mean, what is left out and why, and what to type next.

    Args:
        ladder: What to print.
        terminal: Where.
        where: The options that name the store (`` --example``), so that what is to be typed works as printed.
        short_id: Shortens the id of a run to what means it alone; by default ids are printed whole.
        which: The options that choose this ladder in the store (`` --size 2048``), likewise.
    """
    terminal.paragraph(ladder_title(ladder), STRONG)
    rows = (*ladder.rows, *ladder.references)
    mixed = {row.time_source for row in rows} >= {"timings", "profiler"}
    columns = ladder_columns(mixed=mixed, runs=len({row.run for row in rows}) > 1)
    note_dropped(terminal, terminal.table(ladder_rows(ladder), columns))
    if mixed:
        terminal.paragraph(
            f"{PROFILED_MARK} under the profiler, as no unprofiled samples are there; not to be compared with the "
            "other times",
            MUTED,
        )
    for notice in ladder.omitted:
        terminal.paragraph(notice.message, MUTED)
    sentences = ladder_sentences(ladder.explanation)
    if sentences:
        terminal.line()
    for sentence in sentences:
        terminal.paragraph(sentence.words)
    commands = list(_commands(ladder, where, short_id or str, which))
    advised = bool(sentences) and sentences[-1].topic == "next"
    for place, command in enumerate(commands):
        terminal.command(command, lead="  " if advised else "Next: " if not place else "      ")


def _commands(ladder: Ladder, where: str, short_id: Callable[[str], str], which: str) -> Iterator[str]:
    """Yield what to type next: what is advised and not measured, the fastest stage, expectations, the dashboard."""
    rows = (*ladder.rows, *ladder.references)
    advice = ladder.explanation.advice if ladder.explanation else None
    if advice and advice.stage and all(row.stage.id != advice.stage for row in rows):
        yield profile_command(advice.stage, ladder.problem, "" if where == " --example" else where)
    if (stage := _example(ladder.rows)) is not None:
        yield f"ncu-lab show {short_id(stage.run)} --stage {stage.stage.id}{where}"
        if any(row.findings for row in rows):
            yield f"ncu-lab ladder --expectations{which}{where}"
        yield f"ncu-lab dashboard{where}"


def _example(rows: Sequence[LadderRow]) -> LadderRow | None:
    """The fastest profiled stage: what to look at next."""
    profiled = [row for row in rows if row.summary is not None and row.flop_per_s is not None]
    return max(profiled, key=lambda row: row.flop_per_s or 0.0, default=None)


def ladder_title(ladder: Ladder) -> str:
    """Say of what problem a ladder is, what it was measured on and with, and how often."""
    timed = [len(row.samples_ns) for row in (*ladder.rows, *ladder.references) if row.samples_ns]
    words = [problem_words(ladder.problem), *context_words(ladder.device, ladder.environment)]
    if timed:
        least, most = min(timed), max(timed)
        words.append(f"medians of {least}" if least == most else f"medians of {least} to {most}")
    elif ladder.rows:
        words.append("profiled durations")
    return " · ".join(words)


def _speed(row: Row) -> str:
    gflops = row["gflops"]
    return numbers.significant(None if gflops is None else gflops / 1e3)


def _step(row: Row) -> str:
    return step_words(row["step"])


def step_words(step: float | None) -> str:
    """Write how many times shorter a stage is than its predecessor: ``▼ 1.66×``, longer: ``▲ 1.20×``."""
    if step is None:
        return MISSING
    if abs(step - 1.0) < NO_CHANGE:
        return f"= {numbers.ratio(step)}"
    return f"▼ {numbers.ratio(step)}" if step > 1 else f"▲ {numbers.ratio(1.0 / step)}"


def _step_style(row: Row) -> str:
    return step_style(row["step"])


def step_style(step: float | None) -> str:
    """Return the colour of a step."""
    return "" if step is None or abs(step - 1.0) < NO_CHANGE else GOOD if step > 1 else BAD


def _roof(row: Row) -> str:
    level = row["roof"]
    return MISSING if level is None else f"{short_name(level)} {numbers.percent(row['pct_of_roof'])}"
