"""``ncu-lab tune``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.advice import as_called
from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import (
    ExampleOption,
    Format,
    FormatOption,
    KOption,
    MOption,
    NOption,
    SizeOption,
    StoreOption,
    problem_from,
    resolve_store,
    store_to_read,
    store_words,
)
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import TuningRecord

DEFAULT_BUDGET = 128
_SHOWN = 12
"""Tiles that the table of a finished search shows; the other formats have all."""


def tune(
    stage: Annotated[
        str | None, typer.Option("--stage", metavar="ID", help="The stage whose tile is searched.", show_default=False)
    ] = None,
    size: SizeOption = None,
    m: MOption = None,
    n: NOption = None,
    k: KOption = None,
    budget: Annotated[
        int,
        typer.Option("--budget", metavar="N", help="Tiles to try at most; of more, a random choice, always the same."),
    ] = DEFAULT_BUDGET,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew where an interrupted search of the same could go on.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the tiles and why others are rejected; run nothing.")
    ] = False,
    compile: Annotated[
        bool, typer.Option("--compile", help="With --dry-run: compile the tiles too. Needs nvcc, but no GPU.")
    ] = False,
    arch: Annotated[
        str | None,
        typer.Option(
            "--arch",
            metavar="ARCH",
            help="With --dry-run: the GPU architecture, as sm_90. Default: that of the GPU here, else sm_90.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Search the fastest tile sizes of a stage on this GPU.

    Tiles that cannot work are rejected before compiling; each that compiles is checked before it is timed. Then all
    are timed in turns, and rung by rung the faster half goes on with twice the samples; the default tile takes part in
    each. The best is checked at every shape and stored with the whole search, for this GPU and shapes like this one:
    stage autotuned is built with it. An interrupted search goes on where it stopped.

    Without a stage it lists the searches that are stored; with --example, those that the bundled runs were built with.

    ncu-lab tune --stage autotuned --size 4096
    """
    if (compile or arch) and not dry_run:
        raise UsageError("--compile and --arch belong to --dry-run", "A search compiles for the GPU that is here.")
    if example and stage is not None:
        raise UsageError("--example lists the bundled searches, and runs none", "Leave out --stage or --example.")
    if stage is None:
        if dry_run:
            raise UsageError("no stage was named", "ncu-lab tune --stage autotuned --dry-run lists its tiles.")
        _list(store_to_read(store, example), format)
        return
    folder, problem = resolve_store(store, example), problem_from(size, m, n, k)
    from ncu_lab.cli.progress import progress_reporter

    if dry_run:
        from ncu_lab.gpu.compile import default_arch
        from ncu_lab.workflows.tuning import preview

        with progress_reporter([stage]) as report:
            record = preview(stage, problem, arch or default_arch(), budget=budget, compiled=compile, report=report)
        sizes = {"--size": size, "-m": m, "-n": n, "-k": k, "--budget": None if budget == DEFAULT_BUDGET else budget}
        asked = "".join(f" {option} {value}" for option, value in sizes.items() if value is not None)
        further = "" if compile else f" --dry-run --compile{f' --arch {arch}' if arch else ''}"
        _show_preview(record, format, compiled=compile, then=f"--stage {stage}{asked}{store_words(store)}{further}")
        return
    from ncu_lab.workflows.tuning import tune as search

    with progress_reporter([stage]) as report:
        tuned = search(stage, problem, folder, budget=budget, fresh=fresh, report=report)
    _show(tuned.record, tuned.file, format)


def _show(record: TuningRecord, file: Path, format: Format) -> None:
    from ncu_lab.render.terminal import MUTED, STRONG, Terminal, emit
    from ncu_lab.render.tuning import (
        best_words,
        candidate_rows,
        rung_words,
        tile_columns,
        tuning_document,
        tuning_title,
    )

    terminal, rows = Terminal(sys.stdout), candidate_rows(record)
    shown = rows[:_SHOWN] if format is Format.TABLE else rows
    if format is Format.TABLE:
        terminal.paragraph(tuning_title(record), STRONG)
        terminal.paragraph(rung_words(record))
    columns = tile_columns(record.candidates[0].tile, timed=True)
    emit(shown, columns, format.value, sys.stdout, name="candidates", document=tuning_document(record, file))
    complain(f"stored   {file}")
    if format is Format.TABLE:
        if len(rows) > len(shown):
            terminal.line((f"… and {len(rows) - len(shown)} more tiles; all: --format csv", MUTED))
        terminal.paragraph(best_words(record))
        then = (
            f"ncu-lab profile --stage {record.stage} -m {record.problem.m} -n {record.problem.n} -k {record.problem.k}"
        )
        terminal.line(as_called(f"\nNext: {then}"))


def _show_preview(record: TuningRecord, format: Format, *, compiled: bool, then: str) -> None:
    from ncu_lab.render.terminal import STRONG, Terminal, emit
    from ncu_lab.render.tuning import candidate_rows, rejections, tile_columns, tuning_document, tuning_title

    terminal, rows = Terminal(sys.stdout), candidate_rows(record)
    columns = tile_columns(record.candidates[0].tile, timed=False)
    if format is Format.TABLE:
        terminal.paragraph(tuning_title(record), STRONG)
        rows = [row for row in rows if row["outcome"] != "rejected"]
        if not compiled:
            columns = [one for one in columns if one.key in ("label", "outcome")]
    emit(rows, columns, format.value, sys.stdout, name="candidates", document=tuning_document(record, None))
    if format is Format.TABLE:
        if reasons := rejections(record):
            terminal.line("\nrejected before compiling:")
            for reason in reasons:
                terminal.paragraph(reason, indent=2)
        terminal.line(as_called(f"\nNext: ncu-lab tune {then}"))


def _list(folder: Path, format: Format) -> None:
    from ncu_lab.render.terminal import emit
    from ncu_lab.render.tuning import SEARCH_COLUMNS, search_rows
    from ncu_lab.store.tuning_files import read_tuning

    found, notices = read_tuning(folder)
    for notice in notices:
        warn(notice.message)
    if not found:
        complain(
            as_called(
                "note: no search is stored here. ncu-lab tune --stage autotuned --size 4096 makes one, and "
                "ncu-lab tune --example lists bundled ones."
            )
        )
        if format is Format.TABLE:
            return
    emit(search_rows(found), SEARCH_COLUMNS, format.value, sys.stdout, name="searches")
