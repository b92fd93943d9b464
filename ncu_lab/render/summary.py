"""``show`` for people: a table of launches, and one launch in a few lines of counters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ncu_lab.model import LadderRow, LaunchSummary, Roof, RooflinePoint, RunView
from ncu_lab.render import numbers
from ncu_lab.render.access import Lines, Part, access_lines, packed
from ncu_lab.render.cells import (
    catalogue_values,
    conflicts_column,
    load_sectors_column,
    percent_of,
    waits_column,
)
from ncu_lab.render.expectations import row_of
from ncu_lab.render.explanation import Sentence, launch_sentences
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.roofs import headline, levels
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import BAD, GOOD, MUTED, STRONG, Terminal, note_dropped, sign
from ncu_lab.render.tuning import tile_words
from ncu_lab.render.verdict import sections_of_missing, verdict_words
from ncu_lab.render.wording import (
    apart_from_sections,
    context_words,
    extent,
    not_collected,
    problem_words,
    reason_name,
    top_stalls,
)

GAP = "   "
INDENT = 2
LABEL_WIDTH = 18
WAITS_SHOWN = 3
LEAST_SHARE = 0.05
"""Waits below this share are not worth a place in the line; all are in the JSON."""


def launch_row(summary: LaunchSummary) -> Row:
    """Return one launch as a flat row: identity, then every catalogue key, full precision."""
    return {
        "launch": summary.launch,
        "stage": summary.stage,
        "kernel": summary.kernel,
        "function": summary.function,
        "grid": list(summary.grid),
        "block": list(summary.block),
        "workload": summary.workload,
        "role": summary.role,
        **catalogue_values(summary),
    }


def launch_columns(summaries: Sequence[LaunchSummary]) -> list[Column]:
    """Return the columns of the table of launches; the stage only where some launch has one."""
    staged = any(summary.stage for summary in summaries)
    stage = [Column("stage", "stage", align="left")] if staged else []
    return [
        Column("launch", "#"),
        *stage,
        Column("function", "kernel", align="left", least=14, priority=6 if staged else 0),
        Column("duration_ns", "time", lambda row: numbers.duration(row["duration_ns"])),
        Column("sm_throughput_pct", "SM", percent_of("sm_throughput_pct"), priority=2),
        Column("memory_throughput_pct", "memory", percent_of("memory_throughput_pct"), priority=2),
        Column("dram_throughput_pct", "DRAM", percent_of("dram_throughput_pct"), priority=5),
        waits_column(priority=1),
        load_sectors_column(priority=3),
        conflicts_column(priority=3),
        Column("achieved_occupancy_pct", "occup.", percent_of("achieved_occupancy_pct"), priority=4),
        Column("registers_per_thread", "regs", lambda row: numbers.count(row["registers_per_thread"]), priority=7),
        Column("grid", "grid", lambda row: extent(row["grid"]), priority=8),
        Column("block", "block", lambda row: extent(row["block"]), priority=8),
    ]


def flat_columns(rows: Sequence[Row]) -> list[Column]:
    """Return one column for every key that any row has, for CSV."""
    return [Column(key, key) for key in dict.fromkeys(key for row in rows for key in row)]


def state_words(view: RunView) -> list[tuple[str, str]]:
    """Say where an incomplete run stopped and why, and that a run has no launches: words and style, none otherwise."""
    meta = view.run.meta
    told = []
    if meta.status != "complete":
        words = f"{meta.id} is {meta.status.replace('_', ' ')}" + (f": {meta.error}" if meta.error else "")
        told.append((words, BAD))
    elif not view.summaries:  # a session page tells of nothing else
        told.append((" · ".join([meta.id, *context_words(meta.device, meta.environment)]), STRONG))
    if not view.summaries:
        told.append((f"{meta.id} has no profiled launches.", ""))
    return told


def run_title(view: RunView, summaries: Sequence[LaunchSummary]) -> str:
    """Name a run, what it ran on, and how many of its launches are shown."""
    meta = view.run.meta
    count = f"{len(summaries)} launches" if len(summaries) != 1 else "1 launch"
    if len(summaries) != len(view.summaries):
        count = f"{len(summaries)} of {len(view.summaries)} launches"
    problem = [problem_words(meta.problem)] if meta.problem else []
    return " · ".join([meta.id, *problem, *context_words(meta.device, meta.environment), count])


def print_launches(view: RunView, summaries: Sequence[LaunchSummary], terminal: Terminal) -> None:
    """Print what a run is and the table of its launches."""
    terminal.paragraph(run_title(view, summaries), STRONG)
    terminal.line()
    rows = [launch_row(summary) for summary in summaries]
    columns = launch_columns(summaries)
    filled = [column for column in columns if any(column.cell(row) != MISSING for row in rows)]
    note_dropped(terminal, terminal.table(rows, filled))
    if rows and len(filled) < len(columns):
        absent = ", ".join(column.title for column in columns if column not in filled)
        terminal.paragraph(f"not in this report: {absent}", MUTED)


def print_launch(view: RunView, summary: LaunchSummary, terminal: Terminal, *, context: bool = True) -> None:
    """Print one launch: what it is and what bounds it, its figures line by line, and the other sentences on it.

    Args:
        view: The run.
        summary: The launch.
        terminal: Where to print.
        context: Whether the title names the GPU and the profiler; not below a table that has.
    """
    terminal.paragraph(launch_title(view, summary, context=context), STRONG)
    first, others = told_around(view, summary)
    for sentence in first:
        terminal.paragraph(sentence.words)
    for label, parts in launch_lines(view, summary):
        for place, piece in enumerate(_folded(parts, terminal.width - INDENT - LABEL_WIDTH)):
            terminal.line((f"{'':<{INDENT}}{label if place == 0 else '':<{LABEL_WIDTH}}", MUTED), *piece)
    for sentence in others:
        terminal.paragraph(sentence.words)


def _folded(parts: list[Part], room: int) -> list[list[Part]]:
    """Go on in a second line where one is too long: with its last item, or the section of what was not collected."""
    if sum(len(part if isinstance(part, str) else part[0]) for part in parts) <= room:
        return [parts]
    *others, last = parts
    words, style = (last, "") if isinstance(last, str) else last
    start, _, end = words.rpartition(GAP if GAP in words else " ")
    return [[*others, (start, style)], [(end, style)]] if start else [parts]


def told_around(view: RunView, summary: LaunchSummary) -> tuple[list[Sentence], list[Sentence]]:
    """Return the sentences on a launch: what bounds it, which stands before its figures, and those that follow."""
    explanation = view.explanations.get(summary.launch)
    sentences = launch_sentences(explanation) if explanation else []
    first = [one for one in sentences if one.topic == "bound"]
    if explanation and explanation.verdict and _named_apart(view, summary, _lines(view, summary)):
        first = [replace(one, words=verdict_words(explanation.verdict, sections=False)) for one in first]
    return first, [one for one in sentences if one.topic != "bound"]


def launch_lines(view: RunView, summary: LaunchSummary) -> Lines:
    """Return what is told of one launch, line by line: its label and its parts.

    Where much was not collected, the last line names all sections that would tell it, and the others none.
    """
    lines = _lines(view, summary)
    apart = _named_apart(view, summary, lines)
    if not apart:
        return lines
    short = [(label, [_without_sections(part) for part in parts]) for label, parts in lines]
    return [*short, *packed("collect", [[(f"--section {section}", MUTED)] for section in apart])]


def _named_apart(view: RunView, summary: LaunchSummary, lines: Lines) -> list[str]:
    """Return the sections to collect, where lines and verdict name more than one place to look; none otherwise."""
    explanation = view.explanations.get(summary.launch)
    verdict = explanation.verdict if explanation else None
    named = [apart_from_sections(_words(part))[1] for _, parts in lines for part in parts]
    places = [sections_of_missing(verdict)] if verdict and verdict.missing else []
    places += [list(sections) for sections in named if sections]
    return list(dict.fromkeys(section for place in places for section in place)) if len(places) > 1 else []


def _without_sections(part: Part) -> Part:
    words = apart_from_sections(_words(part))[0]
    return words if isinstance(part, str) else (words, part[1])


def _words(part: Part) -> str:
    return part if isinstance(part, str) else part[0]


def _lines(view: RunView, summary: LaunchSummary) -> Lines:
    row = row_of(view, summary)
    points, roofs = view.points.get(summary.launch, ()), view.roofs.get(summary.launch, ())
    lines: Lines = [
        ("duration", _duration(summary)),
        ("waits", _waits(summary)),
        ("occupancy", _occupancy(summary)),
        *access_lines(summary, view.accesses.get(summary.launch)),
        ("roofline", _roofline(summary, points, roofs)),
        *_each_roof(points, roofs),
        ("launch", _launch(summary)),
    ]
    if row is not None and row.time_source == "timings":
        lines.insert(0, ("timed", _timed(row)))
    if choice := view.run.meta.tiles.get(summary.stage or ""):
        lines.append(("tile", [tile_words(choice)]))
    if spills := summary.value("local_spill_requests"):
        lines.append(("spills", [f"{numbers.count(spills)} requests to local memory ", _sign(False)]))
    return lines


def print_metrics(view: RunView, summary: LaunchSummary, terminal: Terminal) -> None:
    """Print every metric of a launch, by its own name, in base units and full precision."""
    terminal.line()
    table = view.run.metrics[view.run.metrics["launch"] == summary.launch].sort_values("metric")
    rows = table[["metric", "value", "text", "unit"]].to_dict("records")
    for row in rows:
        value = row["value"]
        text = row["text"] if isinstance(row["text"], str) else MISSING if value != value else f"{value:.15g}"
        terminal.line(f"  {row['metric']}  {text} {row['unit'] or ''}".rstrip())


def print_hints(view: RunView, shown: Sequence[LaunchSummary], terminal: Terminal) -> None:
    """Say which launch is shown, and what to type next."""
    others = [summary for summary in view.summaries if summary not in shown]
    choice = "--stage ID" if any(summary.stage for summary in others) else "--launch N"
    timed = any(summary.value("duration_ns") is not None for summary in view.summaries)
    words = [f"This is the {'longest' if timed else 'first'} launch; another: {choice}"] if others else []
    terminal.line()
    terminal.paragraph(" · ".join([*words, "everything: --raw", "JSON: --format json"]), MUTED)


def launch_title(view: RunView, summary: LaunchSummary, *, context: bool = True) -> str:
    """Name a launch and what it ran on: ``2d · 2048³ FP32 · NVIDIA H200 · ncu 2025.3.1``."""
    meta = view.run.meta
    row = view.rows.get(summary.stage or "")
    words = [summary.stage] if summary.stage else [f"launch {summary.launch}", summary.function]
    if row is not None:
        words.append(problem_words(row.problem, row.stage))
    if summary.role != "main":
        words.append(f"auxiliary kernel {summary.function}")
    words += context_words(meta.device, meta.environment) if context else []
    return " · ".join(words)


def timed_text(row: LadderRow) -> str:
    """Write a stage's unprofiled time: ``767 µs ± 1 (n = 20)``; ± is half the distance between the quartiles."""
    return f"{numbers.duration_spread(row.median_ns, row.spread_ns)} (n = {len(row.samples_ns)})"


def _timed(row: LadderRow) -> list[Part]:
    parts: list[Part] = [f"{timed_text(row)}  {numbers.flop_rate(row.flop_per_s)}"]
    if row.share_of_reference is not None:  # two spaces: with a spread of three decimals the line just fits into 80
        parts.append(f"  {numbers.share(row.share_of_reference)} of {row.stage.reference}")
    return parts


def _duration(summary: LaunchSummary) -> list[Part]:
    percents = {"SM": "sm_throughput_pct", "memory": "memory_throughput_pct", "DRAM": "dram_throughput_pct"}
    duration = f"{numbers.duration(summary.value('duration_ns')):<10}   "
    if all(summary.value(key) is None for key in percents.values()):
        return [duration, (f"throughput {not_collected(summary.readings['sm_throughput_pct'])}", MUTED)]
    units = (f"{name} {numbers.percent(summary.value(key))}" for name, key in percents.items())
    return [duration, "   ".join(units)]


def _waits(summary: LaunchSummary) -> list[Part]:
    if not summary.stalls:
        return [(not_collected(summary.readings["warp_cycles_per_instruction"]), MUTED)]
    largest, *others = top_stalls(summary, WAITS_SHOWN)
    told = [largest, *(one for one in others if one[1] >= LEAST_SHARE)]
    parts: list[Part] = ["   ".join(f"{reason_name(reason)} {numbers.share(share)}" for reason, share in told)]
    return [*parts, ("   by samples", MUTED)] if summary.stalls_from == "samples" else parts


def _occupancy(summary: LaunchSummary) -> list[Part]:
    achieved, possible = summary.readings["achieved_occupancy_pct"], summary.readings["theoretical_occupancy_pct"]
    if achieved.value is None and possible.value is None:
        return [(not_collected(possible), MUTED)]
    if achieved.value is None:
        return [
            f"{numbers.percent(possible.value, digits=3)} possible   ",
            (f"achieved {not_collected(achieved)}", MUTED),
        ]
    if possible.value is None:
        return [f"{numbers.percent(achieved.value, digits=3)}   ", (f"possible {not_collected(possible)}", MUTED)]
    text = f"{numbers.percent(achieved.value, digits=3)} of {numbers.percent(possible.value, digits=3)} possible"
    limits = summary.limited_by
    if possible.value == 100 or not limits:
        return [text]
    return [f"{text:<25}   limit: {', '.join(limits)}"]


def _sign(good: bool | None) -> tuple[str, str]:
    return sign(good), "" if good is None else GOOD if good else BAD


def _roofline(summary: LaunchSummary, points: Sequence[RooflinePoint], roofs: Sequence[Roof]) -> list[Part]:
    speed, tensor = summary.readings["flop_per_s"], summary.readings["tensor_flop"]
    if speed.missing and not tensor.value and not summary.value("fp64_flop"):
        return [(not_collected(speed), MUTED)]
    if points:
        return [headline(points, roofs)]
    if speed.value and not roofs:
        return [f"{numbers.flop_rate(speed.value)}   ", (f"roofs {not_collected(speed)}", MUTED)]
    if tensor.missing and (summary.value("tensor_pipe_pct") or 0.0) > (summary.value("fma_pipe_pct") or 0.0):
        return [(f"tensor work {not_collected(tensor)}", MUTED)]
    if speed.value is None:
        return [f"{MISSING}  (without time or clock it has no speed)"]
    return ["no floating-point work counted" if not speed.value else f"{MISSING}  (its bytes were not counted)"]


def _each_roof(points: Sequence[RooflinePoint], roofs: Sequence[Roof]) -> list[tuple[str, list[Part]]]:
    return [("of each roof", [levels(points, roofs)])] if points else []


def _launch(summary: LaunchSummary) -> list[Part]:
    blocks = "block" if summary.grid == (1, 1, 1) else "blocks"
    words = [f"{extent(summary.grid)} {blocks} of {extent(summary.block)}"]
    if (waves := summary.value("waves_per_sm")) is not None:
        words.append(f"{numbers.significant(waves)} waves")
    if (registers := summary.value("registers_per_thread")) is not None:
        words.append(f"{numbers.count(registers)} regs")
    if (shared := summary.own_shared_bytes) is not None:
        words.append(f"{numbers.byte_count(shared)} shared")
    return [", ".join(words)]
