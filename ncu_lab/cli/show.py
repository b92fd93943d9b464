"""``ncu-lab show``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import (
    ExampleOption,
    Format,
    FormatOption,
    RawOption,
    StageOption,
    StoreOption,
    store_to_read,
    store_words,
)
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import LaunchSummary, RunView
    from ncu_lab.render.source import Code, CodeChoice
    from ncu_lab.render.terminal import Terminal


class Sort(StrEnum):
    """The order of lines and instructions."""

    SOURCE = "source"
    SAMPLES = "samples"
    EXCESS = "excess"
    EXECUTED = "executed"


def show(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="X",
            help="A run, the beginning of its id, @last, a commit, a stage, or a .ncu-rep or CSV file. Said outright: "
            "run:ID, rev:COMMIT, stage:ID, file:PATH. Default: @last; with --stage, the newest complete run with it.",
            show_default=False,
        ),
    ] = None,
    launch: Annotated[
        list[int] | None,
        typer.Option("--launch", metavar="N", help="Only this launch; repeatable.", show_default=False),
    ] = None,
    stage: StageOption = None,
    raw: RawOption = False,
    source: Annotated[
        bool, typer.Option("--source", help="Add the hot lines of source: samples, sectors and conflicts of each.")
    ] = False,
    sass: Annotated[bool, typer.Option("--sass", help="Likewise, instructions instead of lines.")] = False,
    sort: Annotated[
        Sort, typer.Option("--sort", help="Order of lines; excess is what sectors and conflicts are too many.")
    ] = Sort.SOURCE,
    lines: Annotated[
        int | None,
        typer.Option(
            "--lines",
            metavar="N",
            min=0,
            help="At most so many lines, those that matter most; 0 for all. Default: 20, and none below 0.1 %.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Show one run, file or commit, and what limits it.

    Lists its launches; the longest one in full. A stage, 2d or stage:2d, is shown in full from its newest complete run.

    Sentences say what limits it, what changed from the stage before and why, what there is to gain, what to try next.

    With --source, its hot lines follow: samples show where warps wait, sectors and wavefronts over their ideal what
    they wait for. --format json and csv have all lines.

    What ncu itself warned of when the run was made is in --format json.
    """
    from ncu_lab.cli.progress import index_with_progress
    from ncu_lab.render.source import CodeChoice
    from ncu_lab.store import Store
    from ncu_lab.workflows.climbing import view
    from ncu_lab.workflows.reading import find_run, find_run_of

    if (sort is not Sort.SOURCE or lines is not None) and not (source or sass):
        raise UsageError("--sort and --lines are of the lines of source", "Add --source or --sass.")
    choice = CodeChoice(sass, sort.value, lines) if source or sass else None
    folder, where = store_to_read(store, example), store_words(store, example)
    index_with_progress(folder)
    found = find_run_of(stage, folder, where) if what is None and stage else find_run(what or LAST, folder, where)
    seen = view(found.run)
    for notice in (*found.passed_over, *seen.run.meta.warnings):
        if notice.code not in _OF_MAKING:
            warn(notice.message)
    asked = stage or ([found.stage] if found.stage and not launch else [])
    chosen = _chosen(seen, launch or [], asked)
    named = Store(folder).short_id(seen.run.meta.id) if found.stage else what or LAST
    whole = f"ncu-lab show {shlex.quote(named)}"
    write_view(
        seen,
        chosen,
        format,
        selected=bool(launch or asked),
        raw=raw,
        choice=choice,
        show_stage=lambda stage: f"{whole} --stage {stage}{where}",
        where_to_write=store_words(store),
    )
    if found.stage and format is Format.TABLE:
        _print_origin(seen, f"{whole}{where}")


LAST = "@last"
"""What is shown unless the user names something."""

_OF_MAKING = ("ncu", "git")
"""Notices of how a run was made, told then; what they tell does not make its data doubtful."""


def write_view(
    view: RunView,
    chosen: list[LaunchSummary],
    format: Format,
    *,
    selected: bool = False,
    raw: bool = False,
    choice: CodeChoice | None = None,
    show_stage: Callable[[str], str] | None = None,
    where_to_write: str = "",
) -> None:
    """Write launches of a run to stdout.

    Args:
        view: The run.
        chosen: The launches to tell of.
        format: How.
        selected: Whether the user named them; each is then shown in full, else the longest is.
        raw: Whether to add every metric of the report.
        choice: What of their code to add; as CSV only that is written.
        show_stage: Gives the command that shows another stage of this run, for the one that is advised.
        where_to_write: The options that name the store to a command that writes, for that which is not measured.
    """
    from ncu_lab.render.documents import show_document
    from ncu_lab.render.markdown import show_markdown
    from ncu_lab.render.source import Code, source_rows
    from ncu_lab.render.summary import flat_columns, launch_row, print_hints
    from ncu_lab.render.terminal import Terminal, emit, emit_document
    from ncu_lab.workflows.locating import hot_spots

    in_full = chosen if selected or format is not Format.TABLE else _longest(chosen)
    code = Code(choice, hot_spots(view.run, [one.launch for one in in_full])) if choice else None
    if format is Format.JSON:
        emit_document(show_document(view, chosen, raw=raw, code=code), sys.stdout)
    elif format is Format.CSV:
        rows = source_rows(code) if code else [launch_row(summary) for summary in chosen]
        emit(rows, flat_columns(rows), format.value, sys.stdout)
    elif format is Format.MARKDOWN:
        sys.stdout.write(Terminal(sys.stdout).spell(show_markdown(view, chosen, code=code)))
    else:
        advised = _Advised(view, show_stage, where_to_write)
        _print(view, chosen, in_full, Terminal(sys.stdout), raw=raw, code=code, advised=advised)
        if chosen and not selected:
            print_hints(view, in_full, Terminal(sys.stdout))


@dataclass(frozen=True)
class _Advised:
    """What to type to see the stage that is advised next."""

    view: RunView
    show_stage: Callable[[str], str] | None
    where_to_write: str

    def command(self, summary: LaunchSummary) -> str:
        """Return what shows it, or profiles it where the run lacks it; empty where none is advised."""
        from ncu_lab.render.explanation import profile_command

        explanation = self.view.explanations.get(summary.launch)
        stage = explanation.advice.stage if explanation and explanation.advice else None
        if stage is None:
            return ""
        if self.show_stage is not None and stage in self.view.rows:
            return self.show_stage(stage)
        return profile_command(stage, self.view.run.meta.problem, self.where_to_write)


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


def _print(
    view: RunView,
    chosen: list[LaunchSummary],
    in_full: list[LaunchSummary],
    terminal: Terminal,
    *,
    raw: bool,
    code: Code | None,
    advised: _Advised,
) -> None:
    """Print the table of launches where there are several, then some in full."""
    from ncu_lab.render.source import print_source
    from ncu_lab.render.summary import print_launch, print_launches, print_metrics, state_words

    for words, style in state_words(view):
        terminal.paragraph(words, style)
    if len(chosen) > 1:
        print_launches(view, chosen, terminal)
    for summary in in_full:
        if len(chosen) != 1:
            terminal.line()
        print_launch(view, summary, terminal, context=len(chosen) == 1)
        if command := advised.command(summary):
            terminal.command(command, lead="  ")
        if code is not None:
            terminal.line()
            print_source(code.spots[summary.launch], terminal, code.choice)
        if raw:
            print_metrics(view, summary, terminal)


def _print_origin(view: RunView, command: str) -> None:
    """Print which run a stage that was asked for by name is from, and what shows all of it."""
    from ncu_lab.render.terminal import MUTED, Terminal

    terminal = Terminal(sys.stdout)
    terminal.line()
    terminal.paragraph(f"of run {view.run.meta.id}; all of it:", MUTED)
    terminal.command(command, lead="  ")


def _longest(summaries: list[LaunchSummary]) -> list[LaunchSummary]:
    return sorted(summaries, key=lambda summary: -(summary.value("duration_ns") or 0.0))[:1]
