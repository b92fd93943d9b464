"""``ncu-lab export``: runs as documents and tables, for people and programs that have no ncu-lab."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.ladder import EXAMPLE_SIZE
from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import ExampleOption, RawOption, StageOption, StoreOption, store_to_read, store_words
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import Run
    from ncu_lab.model.exhibit import Exhibit

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Write runs as HTML page, Markdown, CSV, Parquet or JSON.",
)

STDOUT = "-"


class RunTable(StrEnum):
    """The tables of a run, as the store names them."""

    LAUNCHES = "launches"
    METRICS = "metrics"
    INSTANCES = "instances"
    RULES = "rules"
    TIMINGS = "timings"


RunsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN",
        help="Runs, the beginnings of their ids, @last, commits, stages, or .ncu-rep or CSV files. Default: @last; "
        f"with --example its ladder of {EXAMPLE_SIZE}.",
        show_default=False,
    ),
]
LaunchOption = Annotated[
    list[int] | None,
    typer.Option("--launch", metavar="N", help="Only this launch of each run; repeatable.", show_default=False),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
FileOption = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is stdout.", show_default=False)
]
TextOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Where to write. Default: -, which is stdout.", show_default=False
    ),
]
FolderOption = Annotated[
    Path,
    typer.Option(
        "--output", "-o", metavar="DIR", show_default=False,
        help="The folder to write into; of several runs each gets a folder of its own in it.",
    ),
]  # fmt: skip
TableOption = Annotated[
    list[RunTable] | None,
    typer.Option("--table", help="Only this table; repeatable. Default: all five.", show_default=False),
]


@app.command("html")
def html(
    output: FileOption,
    runs: RunsArgument = None,
    stage: StageOption = None,
    launch: LaunchOption = None,
    force: ForceOption = False,
    store: StoreOption = None,
    example: ExampleOption = False,
) -> None:
    """Write one self-contained page: figures and tables of the dashboard, in any browser, without a network.

    The ladder of each run, and its kernels one by one; of two runs first how the second compares with the first.

    A page shows 40 launches of a run in full at most, the longest; --launch and --stage choose others.
    """
    from ncu_lab.render.page.document import page

    _check_output(output, force)
    exhibit = _gathered(runs, stage, launch, store, example)
    _write_text(page(exhibit), output, force)


@app.command("markdown")
def markdown(
    runs: RunsArgument = None,
    output: TextOption = Path(STDOUT),
    stage: StageOption = None,
    launch: LaunchOption = None,
    force: ForceOption = False,
    store: StoreOption = None,
    example: ExampleOption = False,
) -> None:
    """Write what fits into a comment on a pull request: the ladder and what bounds each stage; of two runs the diff.

    Whole sections are left out where it would be longer than the 65 536 characters that GitHub takes; it says which.
    """
    from ncu_lab.render.exhibit_markdown import exhibit_markdown

    _check_output(output, force)
    exhibit = _gathered(runs, stage, launch, store, example, in_full=False)
    _write_text(exhibit_markdown(exhibit), output, force)


@app.command("csv")
def csv(
    output: FolderOption,
    runs: RunsArgument = None,
    table: TableOption = None,
    stage: StageOption = None,
    launch: LaunchOption = None,
    force: ForceOption = False,
    store: StoreOption = None,
    example: ExampleOption = False,
) -> None:
    """Write the tables of runs as CSV: launches, metrics, instances, rules, timings.

    With -o - and one --table, that of one run is written to stdout. Timings are of whole stages.
    """
    from ncu_lab.render.run_tables import table_csv

    if str(output) == STDOUT:
        if table is None or len(table) != 1 or len(runs or ()) > 1:
            raise UsageError("stdout holds one table of one run", "Name it: --table metrics; or write all: -o DIR.")
        _write_stdout(table_csv(getattr(_found(runs, stage, launch, store, example)[0], table[0].value)))
        return
    found = _found(runs, stage, launch, store, example)
    _write_tables({run.meta.id: _csv(run, table) for run in found}, output, force)


@app.command("parquet")
def parquet(
    output: FolderOption,
    runs: RunsArgument = None,
    table: TableOption = None,
    stage: StageOption = None,
    launch: LaunchOption = None,
    force: ForceOption = False,
    store: StoreOption = None,
    example: ExampleOption = False,
) -> None:
    """Write the tables of runs as Parquet, each as the store has it: launches, metrics, instances, rules, timings."""
    if str(output) == STDOUT:
        raise UsageError("Parquet is no text for stdout", "Name a folder: -o DIR.")
    found = _found(runs, stage, launch, store, example)
    _write_tables({run.meta.id: _parquet(run, table) for run in found}, output, force)


@app.command("json")
def json(
    runs: RunsArgument = None,
    output: TextOption = Path(STDOUT),
    stage: StageOption = None,
    launch: LaunchOption = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="The shape of ncu-lab ladder, of these runs alone; else that of show.")
    ] = False,
    raw: RawOption = False,
    force: ForceOption = False,
    store: StoreOption = None,
    example: ExampleOption = False,
) -> None:
    """Write one run in the shape of ncu-lab show --format json, or the ladder of runs in that of ncu-lab ladder."""
    from ncu_lab.render.documents import ladder_document, show_document
    from ncu_lab.render.tables import json_text
    from ncu_lab.workflows.climbing import ladder_of, view

    if len(runs or ()) > 1 and not ladder:
        raise UsageError("a document of this shape is of one run", "Name one; --ladder takes several.")
    if raw and ladder:
        raise UsageError("--raw and --ladder exclude each other", "The ladder has no raw metrics; give one.")
    _check_output(output, force)
    found = _found(runs, stage, launch, store, example)
    if ladder:
        document = ladder_document(ladder_of(found))
    else:
        seen = view(found[0])
        document = show_document(seen, list(seen.summaries), raw=raw)
    _write_text(json_text(document), output, force)


def _check_output(output: Path, force: bool) -> None:
    from ncu_lab.workflows.writing import check_writable

    if str(output) != STDOUT:
        check_writable([output], force=force)


def _gathered(
    runs: Sequence[str] | None,
    stage: Sequence[str] | None,
    launch: Sequence[int] | None,
    store: Path | None,
    example: bool,
    *,
    in_full: bool = True,
) -> Exhibit:
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.exporting import Chosen, gather, notices_of

    folder, where = store_to_read(store, example), store_words(store, example)
    chosen = Chosen(tuple(stage or ()), tuple(launch or ()))
    with progress_reporter() as report:
        exhibit = gather(
            runs or (),
            folder,
            where,
            chosen,
            size=EXAMPLE_SIZE if example else None,
            in_full=in_full,
            report=report,
        )
    for notice in notices_of(exhibit):
        warn(notice.message)
    return exhibit


def _found(
    runs: Sequence[str] | None,
    stage: Sequence[str] | None,
    launch: Sequence[int] | None,
    store: Path | None,
    example: bool,
) -> list[Run]:
    from ncu_lab.workflows.exporting import Chosen, find_runs, limit

    folder, where = store_to_read(store, example), store_words(store, example)
    found = find_runs(runs or (), folder, where, size=EXAMPLE_SIZE if example else None)
    for notice in dict.fromkeys(notice for one in found for notice in one.passed_over):
        warn(notice.message)
    chosen = Chosen(tuple(stage or ()), tuple(launch or ()))
    return [limit(one, chosen) for one in found]


def _csv(run: Run, tables: Sequence[RunTable] | None) -> dict[str, bytes]:
    from ncu_lab.render.run_tables import table_csv

    return {f"{name.value}.csv": table_csv(getattr(run, name.value)) for name in tables or RunTable}


def _parquet(run: Run, tables: Sequence[RunTable] | None) -> dict[str, bytes]:
    from ncu_lab.workflows.exporting import parquet_table

    return {f"{name.value}.parquet": parquet_table(run, name.value) for name in tables or RunTable}


def _write_tables(tables: Mapping[str, Mapping[str, bytes]], folder: Path, force: bool) -> None:
    """Write the tables of runs, by the id of the run and the name of the file; several runs into a folder each."""
    from ncu_lab.workflows.writing import make_folder, write_files

    several = len(tables) > 1
    places = {run: folder / run if several else folder for run in tables}
    for place in (folder, *places.values()):
        make_folder(place)
    files = {places[run] / name: content for run, own in tables.items() for name, content in own.items()}
    write_files(files, force=force)
    for file, content in files.items():
        _say(file, len(content))


def _write_text(text: str, output: Path, force: bool) -> None:
    from ncu_lab.workflows.writing import write_files

    content = text.encode("utf-8", "backslashreplace")
    if str(output) == STDOUT:
        _write_stdout(content)
        return
    write_files({output: content}, force=force)
    _say(output, len(content))


def _write_stdout(content: bytes) -> None:
    """Write to stdout; on a screen, names must not steer it."""
    from ncu_lab.render.visible import visible

    if sys.stdout.isatty():
        content = visible(content.decode("utf-8")).encode("utf-8")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)


def _say(file: Path, size: int) -> None:
    from ncu_lab.render.numbers import plain_spaces, si

    complain(f"wrote {file}, {plain_spaces(si(size, 'B', least=0))}")
