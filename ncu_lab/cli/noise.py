"""``ncu-lab noise``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import (
    AllOption,
    Format,
    FormatOption,
    MOption,
    NOption,
    SizeOption,
    StageOption,
    StoreOption,
    asked_for,
    resolve_store,
    store_to_read,
)
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model.noise_record import NoiseRecord
    from ncu_lab.workflows.measuring_noise import MeasuredNoise

KOption = Annotated[
    int | None, typer.Option("-k", metavar="N", help="Columns of A and rows of B; default --size.", show_default=False)
]


ProcessesOption = Annotated[int, typer.Option("--processes", metavar="N", help="How often the build is profiled.")]
LaunchesOption = Annotated[
    int, typer.Option("--launches", metavar="N", help="Profiled launches of each stage in each process.")
]
SamplesOption = Annotated[
    int, typer.Option("--samples", metavar="N", help="Unprofiled timings of each stage in each process.")
]
FromOption = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="DIR",
        help="Measure nothing: take the runs of one build in this folder, each as a process.",
        show_default=False,
    ),
]
KeepRunsOption = Annotated[
    Path | None,
    typer.Option("--keep-runs", metavar="DIR", help="Keep the runs in this folder of runs.", show_default=False),
]


def noise(
    stage: StageOption = None,
    all: AllOption = False,
    processes: ProcessesOption = 10,
    launches: LaunchesOption = 3,
    samples: SamplesOption = 10,
    size: SizeOption = None,
    m: MOption = None,
    n: NOption = None,
    k: KOption = None,
    recorded: FromOption = None,
    keep_runs: KeepRunsOption = None,
    store: StoreOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Measure how well each quantity repeats when nothing changed.

    The same build is profiled several times (A/A), each time in processes of its own, since two commits are always
    measured by two. What it varies by is kept in the store for each model of GPU; diff and gate go by it, and by
    documented defaults for what was not measured.

    Without stages it shows what is known.

    ncu-lab noise --stage 2d --stage wmma --processes 10
    """
    from ncu_lab.workflows.measuring_noise import measure_noise, noise_of_runs

    folder = resolve_store(store, example=False)
    if recorded is not None:
        if stage or all:
            raise UsageError("--from does not go with stages", "It takes the runs of the folder as they are.")
        _tell(noise_of_runs(recorded, folder), format)
        return
    if not stage and not all:
        _show(store_to_read(store, example=False), format)
        return
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.profiling import ProfileRequest, Settings

    stages, problem = asked_for(stage, all, size, m, n, k)
    settings = Settings(keep_report=False, command=("ncu-lab", *sys.argv[1:]))
    request = ProfileRequest(tuple(stages), problem, samples, launches, references=False, settings=settings)
    with progress_reporter(stages) as report:
        measured = measure_noise(request, processes, folder, keep=keep_runs, report=report)
    _tell(measured, format)


def _tell(measured: MeasuredNoise, format: Format) -> None:
    _print(measured.record, format)
    complain(f"stored   {measured.file}")


def _show(folder: Path, format: Format) -> None:
    """Print the newest record of each model of GPU, else the defaults."""
    from ncu_lab.store.noise_files import read_noise

    records, notices = read_noise(folder)
    for notice in notices:
        warn(notice.message)
    newest = max(records, key=lambda one: one.created, default=None)
    if newest is None:
        complain("note: nothing was measured in this store; these are the defaults. ncu-lab noise --stage 2d measures.")
    others = {one.device for one in records} - {newest.device if newest else ""}
    if others:
        complain(f"note: there are records of {', '.join(sorted(others))} too")
    _print(newest, format)


def _print(record: NoiseRecord | None, format: Format) -> None:
    from ncu_lab.render.noise import NOISE_COLUMNS, noise_document, noise_rows, noise_title
    from ncu_lab.render.terminal import STRONG, Terminal, emit

    quantities = record.quantities if record else {}
    if format is Format.TABLE and record is not None:
        Terminal(sys.stdout).paragraph(noise_title(record), STRONG)
    emit(
        noise_rows(quantities),
        NOISE_COLUMNS,
        format.value,
        sys.stdout,
        name="quantities",
        document=noise_document(record),
    )
