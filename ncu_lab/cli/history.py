"""``ncu-lab history``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import (
    DeviceOption,
    ExampleOption,
    Format,
    FormatOption,
    SinceOption,
    SizeOption,
    StageOption,
    StoreOption,
    moment_from,
    problem_from,
    store_to_read,
    store_words,
)

MetricOption = Annotated[
    str,
    typer.Option(
        "--metric",
        metavar="KEY",
        help="What to follow: time_ns (unprofiled), duration_ns (under the profiler) or any key of docs/metrics.md.",
    ),
]


def history(
    metric: MetricOption = "time_ns",
    stage: StageOption = None,
    rev: Annotated[
        str | None,
        typer.Option(
            "--rev",
            metavar="REV",
            help="The range A..B, or the commit in which the line of first parents ends. Default: HEAD.",
            show_default=False,
        ),
    ] = None,
    size: SizeOption = None,
    device: DeviceOption = None,
    since: SinceOption = None,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:  # fmt: skip
    """Follow a time or a counter over commits; say where it changed.

    Commits stand in the order of git, along first parents, with their newest complete run; without git, or where git
    does not know the commits of the runs, runs stand in the order of time. Commits that failed are named, edited trees
    are marked and not judged, and across another driver, ncu or setting nothing is compared.

    Where a level may have changed is found by segmentation; the verdict and its p are those of ncu-lab diff on the
    commits to either side. Counters that repeat exactly are judged from commit to commit.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.model import RunFilter
    from ncu_lab.render.history import FLAT_COLUMNS, history_document, history_markdown, history_rows, print_history
    from ncu_lab.render.terminal import Terminal, emit, emit_document
    from ncu_lab.workflows.history import HistoryRequest
    from ncu_lab.workflows.history import history as follow

    folder, where = store_to_read(store, example), store_words(store, example)
    wanted = RunFilter(
        stages=tuple(stage or ()),
        device=device,
        problem=None if size is None else problem_from(size),
        since=None if since is None else moment_from(since),
    )
    with progress_reporter() as report:
        found = follow(HistoryRequest(metric, wanted, rev), folder, Path.cwd(), where, report)
    for notice in found.notices:
        warn(notice.message)
    if format is Format.JSON:
        emit_document(history_document(found), sys.stdout)
    elif format is Format.CSV:
        emit(history_rows(found), FLAT_COLUMNS, format.value, sys.stdout)
    elif format is Format.MARKDOWN:
        sys.stdout.write(Terminal(sys.stdout).spell(history_markdown(found)))
    else:
        print_history(found, Terminal(sys.stdout), where)
