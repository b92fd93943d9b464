"""``ncu-lab import``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import StoreOption, resolve_store

KeepOption = Annotated[
    bool, typer.Option("--keep-report/--drop-report", help="Keep the raw report beside the tables, or not.")
]


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A .ncu-rep, .ncu-repz, or CSV export (raw, details, source or session page).",
            readable=False,  # checked where it is read, in our words
        ),
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="What to call the run.", show_default=False)
    ] = None,
    keep_report: KeepOption = True,
    store: StoreOption = None,
) -> None:
    """Store a report or a CSV export made elsewhere.

    Prints the id of the new run; warnings about the file go to stderr.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.importing import import_file

    with progress_reporter() as report:
        run = import_file(file, resolve_store(store, example=False), name, keep_report, report)
    for notice in run.meta.warnings:
        warn(notice.message)
    print(run.meta.id)
