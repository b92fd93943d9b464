"""``ncu-lab show``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import (
    ExampleOption,
    Format,
    FormatOption,
    StageOption,
    StoreOption,
    store_to_read,
    store_words,
)
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import LaunchSummary, RunView
    from ncu_lab.render.terminal import Terminal


def show(
    what: Annotated[
        str,
        typer.Argument(
            metavar="X",
            help="A run, the beginning of its id, @last, a commit, a stage, or a .ncu-rep or CSV file. Said outright: "
            "run:ID, rev:COMMIT, stage:ID, file:PATH.",
        ),
    ] = "@last",
    launch: Annotated[
        list[int] | None,
        typer.Option("--launch", metavar="N", help="Only this launch; repeatable.", show_default=False),
    ] = None,
    stage: StageOption = None,
    raw: Annotated[bool, typer.Option("--raw", help="Add every metric of the report, by its own name.")] = False,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Show one run, file or commit, and what limits it.

    Lists its launches; the longest one in full. A stage, 2d or stage:2d, is shown in full from its newest complete run.

    What ncu itself warned of when the run was made is in --format json.
    """
    from ncu_lab.store import Store
    from ncu_lab.workflows.climbing import view
    from ncu_lab.workflows.reading import find_run

    folder, where = store_to_read(store, example), store_words(store, example)
    found = find_run(what, folder, where)
    seen = view(found.run)
    for notice in (*found.passed_over, *seen.run.meta.warnings):
        if notice.code not in _OF_MAKING:
            warn(notice.message)
    asked = stage or ([found.stage] if found.stage and not launch else [])
    chosen = _chosen(seen, launch or [], asked)
    write_view(seen, chosen, format, selected=bool(launch or asked), raw=raw)
    if found.stage and format is Format.TABLE:
        _print_origin(seen, f"ncu-lab show {Store(folder).short_id(seen.run.meta.id)}{where}")


_OF_MAKING = ("ncu", "git")
"""Notices of how a run was made, told then; what they tell does not make its data doubtful."""


def write_view(
    view: RunView, chosen: list[LaunchSummary], format: Format, *, selected: bool = False, raw: bool = False
) -> None:
    """Write launches of a run to stdout.

    Args:
        view: The run.
        chosen: The launches to tell of.
        format: How.
        selected: Whether the user named them; each is then shown in full, else the longest is.
        raw: Whether to add every metric of the report.
    """
    from ncu_lab.render.documents import show_document
    from ncu_lab.render.markdown import show_markdown
    from ncu_lab.render.summary import flat_columns, launch_row
    from ncu_lab.render.terminal import Terminal, emit, emit_document

    if format is Format.JSON:
        emit_document(show_document(view, chosen, raw=raw), sys.stdout)
    elif format is Format.CSV:
        rows = [launch_row(summary) for summary in chosen]
        emit(rows, flat_columns(rows), format.value, sys.stdout)
    elif format is Format.MARKDOWN:
        sys.stdout.write(Terminal(sys.stdout).spell(show_markdown(view, chosen)))
    else:
        _print(view, chosen, Terminal(sys.stdout), selected=selected, raw=raw)


def _chosen(view: RunView, launches: list[int], stages: list[str]) -> list[LaunchSummary]:
    """Return the launches asked for, all when none are.

    Raises:
        UsageError: When a launch or stage asked for is not there; tells what is.
    """
    numbers = {summary.launch for summary in view.summaries}
    for number in launches:
        if number not in numbers:
            there = f"It has launches 0 to {max(numbers)}." if numbers else "It has none."
            raise UsageError(f"{view.run.meta.id} has no launch {number}", there)
    known = list(dict.fromkeys(summary.stage for summary in view.summaries if summary.stage))
    for one in stages:
        if one not in known:
            there = f"It has {', '.join(known)}." if known else "Its launches belong to no stage; choose with --launch."
            raise UsageError(f'{view.run.meta.id} has no profiled stage "{one}"', there)
    return [
        summary
        for summary in view.summaries
        if (not launches or summary.launch in launches) and (not stages or summary.stage in stages)
    ]


def _print(view: RunView, chosen: list[LaunchSummary], terminal: Terminal, *, selected: bool, raw: bool) -> None:
    """Print the table of launches where there are several, then those selected, else the longest."""
    from ncu_lab.render.summary import print_hints, print_launch, print_launches, print_metrics, state_words

    for words, style in state_words(view):
        terminal.paragraph(words, style)
    if not chosen:
        return
    if len(chosen) != 1:
        print_launches(view, chosen, terminal)
    detailed = chosen if selected else _longest(chosen)
    for summary in detailed:
        if len(chosen) != 1:
            terminal.line()
        print_launch(view, summary, terminal, context=len(chosen) == 1)
        if raw:
            print_metrics(view, summary, terminal)
    if not selected:
        print_hints(view, detailed, terminal)


def _print_origin(view: RunView, command: str) -> None:
    """Print which run a stage that was asked for by name is from, and what shows all of it."""
    from ncu_lab.render.terminal import MUTED, Terminal

    terminal = Terminal(sys.stdout)
    terminal.line()
    terminal.paragraph(f"of run {view.run.meta.id}; all of it:", MUTED)
    terminal.command(command, lead="  ")


def _longest(summaries: list[LaunchSummary]) -> list[LaunchSummary]:
    return sorted(summaries, key=lambda summary: -(summary.value("duration_ns") or 0.0))[:1]
