"""``ncu-lab diff``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

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


def diff(
    a: Annotated[
        str | None,
        typer.Argument(
            metavar="A",
            help="From what: a run, the beginning of its id, @last~1, a commit, a stage, or a .ncu-rep or CSV file.",
            show_default=False,
        ),
    ] = None,
    b: Annotated[
        str | None,
        typer.Argument(
            metavar="B",
            help="To what, likewise. With neither: from the last run but one to the last.",
            show_default=False,
        ),
    ] = None,
    stage: StageOption = None,
    launch_a: Annotated[
        int | None, typer.Option("--launch-a", metavar="N", help="Only this launch of A.", show_default=False)
    ] = None,
    launch_b: Annotated[
        int | None, typer.Option("--launch-b", metavar="N", help="Only this launch of B.", show_default=False)
    ] = None,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            "--pair",
            metavar="A=B",
            help="Kernels that belong together: stages, names or numbers of launches. Repeatable.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Compare even what is not comparable; it is said so.")] = False,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Compare two runs or commits: what changed, how sure, and why.

    A and B are runs, commits, files or stages. A commit means its newest complete run of each stage.

    A time is slower when p < 0.01 and the 99 % interval of its ratio lies above +0.5 %, faster in the mirror, the same
    when the interval lies within both, else inconclusive. What other GPUs, drivers, problems or settings forbid to
    compare is named and left out, unless --force. The change of a launch's duration under the profiler is split, to the
    nanosecond, into instructions, each stall reason, warps in flight, imbalance and clock.

    Launches are paired by stage or NVTX range, else by kernel, then launch shape, then likeness. Two stages, as in
    diff 1d 2d, are compared with each other. The exit code is 0 whatever the comparison finds.
    """
    from ncu_lab.cli.progress import index_with_progress
    from ncu_lab.render.diff import comparison_markdown, print_comparison
    from ncu_lab.render.diff_documents import FLAT_COLUMNS, comparison_document, comparison_rows
    from ncu_lab.render.terminal import Terminal, emit, emit_document
    from ncu_lab.workflows.comparing import LAST_TWO, compare
    from ncu_lab.workflows.succession import placed_in_git

    if (a is None) != (b is None):
        raise UsageError("one run is named, and two are compared", f"ncu-lab diff {a} @last compares it with the last.")
    folder, where = store_to_read(store, example), store_words(store, example)
    index_with_progress(folder)
    before, after = (a, b) if a is not None and b is not None else LAST_TWO
    found = compare(
        before,
        after,
        folder,
        where,
        stages=stage or (),
        launch_a=launch_a,
        launch_b=launch_b,
        by_hand=pair or (),
        force=force,
    )
    found = placed_in_git(found, Path.cwd())
    for notice in found.warnings:
        warn(notice.message)
    if format is Format.JSON:
        emit_document(comparison_document(found), sys.stdout)
    elif format is Format.CSV:
        emit(comparison_rows(found), FLAT_COLUMNS, format.value, sys.stdout)
    elif format is Format.MARKDOWN:
        sys.stdout.write(Terminal(sys.stdout).spell(comparison_markdown(found)))
    else:
        print_comparison(found, Terminal(sys.stdout), in_full=bool(stage), where=where)
