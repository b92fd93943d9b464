"""``ncu-lab shapes``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import ExampleOption, Format, FormatOption, StoreOption, store_to_read


def shapes(
    stage: Annotated[
        list[str] | None,
        typer.Option("--stage", metavar="ID", help="Only this stage; repeatable.", show_default=False),
    ] = None,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Show stages at many shapes against the library.

    A stage that wins at one size only is seen. Each shape's newest saved bench counts (ncu-lab bench --save), on the
    GPU of the newest of all. The ratio to the library is the lowest of the processes, alone or interleaved, with its
    99 % interval; end clock and power are NVML's right after a sample, not those during it. CUTLASS, where it was
    measured, is compared with cuBLAS likewise. Where shapes are of several commits, a line below says which.

    ncu-lab shapes --example --stage sgemm-hopper
    """
    from ncu_lab.render.shapes import by_shape, commits_words, flat_shape_columns, shape_columns
    from ncu_lab.render.terminal import MUTED, STRONG, Terminal, emit
    from ncu_lab.workflows.batching import NoBenchesError, batch_of_shapes

    try:
        found = batch_of_shapes(store_to_read(store, example), stage or ())
    except NoBenchesError as error:
        for notice in error.notices:
            warn(notice.message)
        raise
    for notice in found.notices:
        warn(notice.message)
    rows, columns = list(found.rows), shape_columns()
    if format is Format.MARKDOWN:
        rows, columns = by_shape(rows)
    elif format is Format.CSV:
        columns = flat_shape_columns()
    elif format is Format.TABLE:
        drivers = "".join(f" · driver {driver}" for driver in found.drivers)
        Terminal(sys.stdout).paragraph(f"{found.device}{drivers} · ratio: 1 is the library's speed", STRONG)
    document = {"device": found.device, "drivers": list(found.drivers)}
    emit(rows, columns, format.value, sys.stdout, name="shapes", document=document)
    if (commits := commits_words(found.rows)) and format in (Format.TABLE, Format.MARKDOWN):
        words = Terminal(sys.stdout)
        if format is Format.TABLE:
            words.paragraph(commits, MUTED)
        else:
            sys.stdout.write(f"\n{words.spell(commits)}\n")
