"""``ncu-lab ladder``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import ExampleOption, Format, FormatOption, StoreOption, store_to_read, store_words
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import Ladder

EXAMPLE_SIZE = 4096


def ladder(
    size: Annotated[
        int | None,
        typer.Option(
            "--size",
            metavar="N",
            help=f"M = N = K of the runs to use. Default: that of the newest run; {EXAMPLE_SIZE} with --example.",
            show_default=False,
        ),
    ] = None,
    expectations: Annotated[
        bool, typer.Option("--expectations", help="Show what each stage was expected to show, and what it does.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Show what others published of such stages beside one's own.")
    ] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="Show what bought each step: instructions, stalls, warps, clock.")
    ] = False,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Show the ladder stage by stage, and what each bought.

    Time, share of the reference, what warps wait for, memory accesses, registers.

    Each stage comes from the newest run of the problem on one device; without --size, of the newest run's problem.
    """
    from ncu_lab.cli.options import refuse_below_one
    from ncu_lab.cli.progress import index_with_progress
    from ncu_lab.render.documents import ladder_document
    from ncu_lab.render.terminal import emit_document
    from ncu_lab.workflows.climbing import ladder as build

    refuse_below_one(size)
    if sum((expectations, published, steps)) > 1:
        raise UsageError(
            "--expectations, --published and --steps are tables of their own", "Ask for one; --format json holds all."
        )
    folder, where = store_to_read(store, example, only_runs=True), store_words(store, example)
    index_with_progress(folder)
    found = build(folder, size=EXAMPLE_SIZE if example and size is None else size)
    for notice in found.warnings:
        warn(notice.message)
    if format is Format.JSON:
        emit_document(ladder_document(found), sys.stdout)
    elif expectations:
        _write_expectations(found, format)
    elif published:
        _write_published(found, format)
    elif steps:
        _write_steps(found, format, where)
    else:
        _write_ladder(found, format, folder, where, "" if size is None else f" --size {size}")


def _write_ladder(found: Ladder, format: Format, folder: Path, where: str, which: str) -> None:
    from ncu_lab.render.ladder import ladder_columns, ladder_rows, print_ladder
    from ncu_lab.render.summary import flat_columns
    from ncu_lab.render.terminal import Terminal, emit
    from ncu_lab.store import Store

    if format is Format.TABLE:
        print_ladder(found, Terminal(sys.stdout), where, Store(folder).short_id, which)
    else:
        rows = [row for row in ladder_rows(found) if row]
        columns = ladder_columns() if format is Format.MARKDOWN else flat_columns(rows)
        emit(rows, columns, format.value, sys.stdout)


def _write_expectations(found: Ladder, format: Format) -> None:
    from ncu_lab.render.expectations import finding_columns, finding_rows, flat_finding_columns, print_expectations
    from ncu_lab.render.terminal import Terminal, emit

    if format is Format.TABLE:
        print_expectations(found, Terminal(sys.stdout))
    else:
        columns = finding_columns() if format is Format.MARKDOWN else flat_finding_columns()
        emit(finding_rows((*found.rows, *found.references)), columns, format.value, sys.stdout)


def _write_published(found: Ladder, format: Format) -> None:
    from ncu_lab.render.published import print_published, published_columns, published_rows
    from ncu_lab.render.summary import flat_columns
    from ncu_lab.render.terminal import Terminal, emit

    if format is Format.TABLE:
        print_published(found, Terminal(sys.stdout))
    else:
        rows = published_rows(found)
        columns = published_columns(found, rows) if format is Format.MARKDOWN else flat_columns(rows)
        emit(rows, columns, format.value, sys.stdout)


def _write_steps(found: Ladder, format: Format, where: str) -> None:
    from ncu_lab.render.steps import all_step_rows, flat_step_columns, print_steps, step_columns
    from ncu_lab.render.terminal import Terminal, emit

    if format is Format.TABLE:
        print_steps(found, Terminal(sys.stdout), where)
    else:
        columns = step_columns() if format is Format.MARKDOWN else flat_step_columns()
        emit(all_step_rows(found), columns, format.value, sys.stdout)
