"""``ncu-lab bench``."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ncu_lab.advice import as_called
from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import (
    AllOption,
    Format,
    FormatOption,
    KOption,
    MOption,
    NOption,
    SizeOption,
    StageOption,
    StoreOption,
    asked_for,
    resolve_store,
)
from ncu_lab.errors import UsageError

DEFAULT_SAMPLES = 10


def bench(
    stage: StageOption = None,
    all: AllOption = False,
    size: SizeOption = None,
    m: MOption = None,
    n: NOption = None,
    k: KOption = None,
    samples: Annotated[
        int,
        typer.Option("--samples", metavar="N", help="Samples of each stage, interleaved with its reference and alone."),
    ] = DEFAULT_SAMPLES,
    processes: Annotated[
        int,
        typer.Option("--processes", metavar="N", help="Time all of it in so many processes; the lowest ratio counts."),
    ] = 1,
    fastest_reference: Annotated[
        bool,
        typer.Option(
            "--fastest-reference",
            help="In FP32 measure against the fastest way of the library: cuBLAS in pedantic and in default math and "
            "up to eight algorithms of cublasLt, as many as it offers, none of them TF32.",
        ),
    ] = False,
    no_cutlass: Annotated[
        bool,
        typer.Option("--no-cutlass", help="Leave out CUTLASS, which is timed beside cuBLAS where it is installed."),
    ] = False,
    save: Annotated[bool, typer.Option("--save", help="Keep every sample in the store, for ncu-lab shapes.")] = False,
    store: StoreOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Time stages, unprofiled, beside their references.

    Shows median, spread, FLOP/s, percent of the reference and of the device's peak, by CUDA events.
    Caches are flushed before each sample. A stage and its reference take turns, then each runs alone; the percentage
    is the smaller of the two, with its 99 % interval. Results are not checked here: ncu-lab check does that.

    End clock and power are NVML's right after each sample, not those during it: the clock rises again as soon as the
    load is gone, the power is a mean over a second. The clock of a kernel is what ncu-lab profile counts.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.render.roofs import peak_documents, peak_words
    from ncu_lab.render.terminal import Terminal, emit
    from ncu_lab.store import Store
    from ncu_lab.workflows.benching import save_bench, summarise, time_stages

    if store is not None and not save:
        raise UsageError("--store is where --save keeps the samples", "Add --save, or leave --store out.")
    ids, problem = asked_for(stage, all, size, m, n, k)
    folder = resolve_store(store, example=False)
    if save:
        Store(folder).check_writable()  # before minutes are spent
    with progress_reporter(ids) as report:
        timed = time_stages(
            ids,
            problem,
            samples,
            processes=processes,
            fastest_reference=fastest_reference,
            cutlass=not no_cutlass,
            report=report,
        )
    if save:
        complain(f"stored   {save_bench(timed, folder, ('ncu-lab', *sys.argv[1:]))}")
    for notice in timed.notices:
        warn(notice.message)
    rows = summarise(timed)
    if format is Format.TABLE:
        Terminal(sys.stdout).line(
            f"{timed.device.name} · {problem.label} · medians of {samples} interleaved + {samples} alone"
            f"{f', lowest of {processes} processes' if processes > 1 else ''}"
        )
    document = {
        "device": timed.device.name,
        "problem": {"m": problem.m, "n": problem.n, "k": problem.k},
        "peaks": peak_documents(timed.peaks, ()),
        "trials": [asdict(trial) for trial in timed.trials],
    }
    emit(rows, _columns(), format.value, sys.stdout, name="stages", document=document)
    if format is Format.TABLE:
        if timed.peaks:
            Terminal(sys.stdout).paragraph(f"measured peaks of this GPU: {peak_words(timed.peaks)}")
        Terminal(sys.stdout).line(as_called(f"\nNext: ncu-lab profile --stage {ids[-1]}"))


def _columns() -> list[Any]:
    from ncu_lab.render.numbers import duration_spread, flop_rate, percent
    from ncu_lab.render.shapes import CLOCK_TITLE
    from ncu_lab.render.tables import Column

    return [
        Column("stage", "stage", align="left"),
        Column("median_ns", "time", lambda row: duration_spread(row["median_ns"], row["spread_ns"])),
        Column("samples", "n", priority=5),
        Column("flop_per_s", "rate", lambda row: flop_rate(row["flop_per_s"])),
        Column("pct_of_reference", "of reference", lambda row: percent(row["pct_of_reference"], table=True)),
        Column("pct_of_reference_low", "99 % interval", _interval, priority=2),
        Column("reference", "reference", align="left", priority=3),
        Column("reference_way", "fastest way of it", align="left", priority=7, least=16),
        Column("pct_of_peak", "of peak", lambda row: percent(row["pct_of_peak"], table=True), priority=1),
        Column("sm_clock_hz", CLOCK_TITLE, _clock, priority=4),
        Column("power_w", "power", _power, priority=6),
    ]


def _interval(row: Any) -> str:
    from ncu_lab.render.numbers import MISSING

    low, high = row["pct_of_reference_low"], row["pct_of_reference_high"]
    return MISSING if low is None or high is None else f"{low:.1f} – {high:.1f} %"


def _clock(row: Any) -> str:
    from ncu_lab.render.numbers import frequency

    return frequency(row["sm_clock_hz"])


def _power(row: Any) -> str:
    from ncu_lab.render.numbers import si

    return si(row["power_w"], "W", least=0)
