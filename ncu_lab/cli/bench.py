"""``ncu-lab bench``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from ncu_lab.advice import as_called
from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import (
    AllOption,
    Format,
    FormatOption,
    KOption,
    MOption,
    NOption,
    SizeOption,
    StageOption,
    asked_for,
)

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
    format: FormatOption = Format.TABLE,
) -> None:
    """Time stages, unprofiled, beside their references.

    Shows median, spread, FLOP/s, percent of the reference and of the device's peak, by CUDA events.
    Caches are flushed before each sample. A stage and its reference take turns, then each runs alone; the percentage
    is the smaller of the two. Results are not checked here: ncu-lab check does that.
    """
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.render.roofs import peak_documents, peak_words
    from ncu_lab.render.terminal import Terminal, emit
    from ncu_lab.workflows.benching import summarise, time_stages

    ids, problem = asked_for(stage, all, size, m, n, k)
    with progress_reporter(ids) as report:
        timed = time_stages(ids, problem, samples, report=report)
    for notice in timed.notices:
        warn(notice.message)
    rows = summarise(timed)
    if format is Format.TABLE:
        Terminal(sys.stdout).line(
            f"{timed.device.name} · {problem.label} · medians of {samples} interleaved + {samples} alone"
        )
    document = {
        "device": timed.device.name,
        "problem": {"m": problem.m, "n": problem.n, "k": problem.k},
        "peaks": peak_documents(timed.peaks, ()),
    }
    emit(rows, _columns(), format.value, sys.stdout, name="stages", document=document)
    if format is Format.TABLE:
        if timed.peaks:
            Terminal(sys.stdout).paragraph(f"measured peaks of this GPU: {peak_words(timed.peaks)}")
        Terminal(sys.stdout).line(as_called(f"\nNext: ncu-lab profile --stage {ids[-1]}"))


def _columns() -> list[Any]:
    from ncu_lab.render.numbers import duration_spread, flop_rate, percent
    from ncu_lab.render.tables import Column

    return [
        Column("stage", "stage", align="left"),
        Column("median_ns", "time", lambda row: duration_spread(row["median_ns"], row["spread_ns"])),
        Column("samples", "n", priority=5),
        Column("flop_per_s", "rate", lambda row: flop_rate(row["flop_per_s"])),
        Column("pct_of_reference", "of reference", lambda row: percent(row["pct_of_reference"], table=True)),
        Column("reference", "reference", align="left", priority=3),
        Column("pct_of_peak", "of peak", lambda row: percent(row["pct_of_peak"], table=True), priority=1),
        Column("sm_clock_hz", "SM clock", _clock, priority=4),
        Column("power_w", "power", _power, priority=6),
    ]


def _clock(row: Any) -> str:
    from ncu_lab.render.numbers import frequency

    return frequency(row["sm_clock_hz"])


def _power(row: Any) -> str:
    from ncu_lab.render.numbers import si

    return si(row["power_w"], "W", least=0)
