"""``ncu-lab profile``: the main job, for stages of the ladder or for any program."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.messages import warn
from ncu_lab.cli.options import (
    AllOption,
    Format,
    FormatOption,
    MOption,
    NOption,
    SizeOption,
    StageOption,
    StoreOption,
    chosen_stages,
    problem_from,
    refuse_beside,
    resolve_store,
    stages_here,
    store_words,
)
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.collect.command import Collection
    from ncu_lab.model import Run
    from ncu_lab.workflows.profiling import ProfileRequest, ProgramRequest

_STAGES_OR_PROGRAM = "Stages come without a COMMAND, a program without --stage, --all and sizes."


class ClockControl(StrEnum):
    """What ncu does to the clocks."""

    NONE = "none"
    BASE = "base"


class CacheControl(StrEnum):
    """What ncu does to the caches before each pass."""

    ALL = "all"
    NONE = "none"


CommandArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[-- COMMAND…]", help="Any program instead of stages.", show_default=False)
]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="What to call the run of a program.", show_default=False)
]
KOrKernelOption = Annotated[
    str | None,
    typer.Option(
        "-k",
        metavar="K|REGEX",
        help="With stages: columns of A and rows of B. With a program: as --kernel.",
        show_default=False,
    ),
]
KernelOption = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        metavar="REGEX",
        help="Of a program, profile kernels whose function name matches; with template arguments (<) in it, whose "
        "full name does.",
        show_default=False,
    ),
]
NvtxOption = Annotated[
    str | None,
    typer.Option(
        "--nvtx",
        metavar="RANGE",
        help="Of a program, profile kernels inside this NVTX range: a name, or an expression of ncu's.",
        show_default=False,
    ),
]
SectionOption = Annotated[
    list[str] | None,
    typer.Option(
        "--section",
        metavar="SECTION",
        help="Collect this section instead of the targeted ones; repeatable.",
        show_default=False,
    ),
]
SetOption = Annotated[
    str | None,
    typer.Option("--set", metavar="SET", help="Collect this set of sections (full) instead.", show_default=False),
]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metrics",
        metavar="NAMES",
        help="Collect these metrics too, by ncu's names, with commas between.",
        show_default=False,
    ),
]
SamplesOption = Annotated[int, typer.Option("--samples", metavar="N", help="Unprofiled timings of each stage.")]
ProcessesOption = Annotated[
    int, typer.Option("--processes", metavar="N", help="Take the timings in so many processes: ten see 1 % surely.")
]
LaunchesOption = Annotated[
    int | None,
    typer.Option(
        "--launches",
        metavar="N",
        help="Profiled launches: of each stage (1), or of a program (all).",
        show_default=False,
    ),
]
ClockOption = Annotated[
    ClockControl, typer.Option("--clock-control", help="Leave the clocks alone, or let ncu lock them to base.")
]
CacheOption = Annotated[
    CacheControl, typer.Option("--cache-control", help="Flush the caches before every pass, or leave them.")
]
ReferenceOption = Annotated[
    bool, typer.Option("--reference/--no-reference", help="Profile the cuBLAS references of the stages too.")
]
KeepOption = Annotated[bool, typer.Option("--keep-report/--drop-report", help="Keep ncu's raw report in the run.")]
TimeoutOption = Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="Time ncu may take.")]
RevOption = Annotated[
    str | None,
    typer.Option(
        "--rev",
        metavar="A..B",
        help="Profile the stages as these commits have them: a range (what B has and A has not, along first parents), "
        "or one revision. Each is checked out and built aside; your files stay untouched.",
        show_default=False,
    ),
]
AgainOption = Annotated[bool, typer.Option("--again", help="With --rev, profile commits that are in the store too.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print ncu's command line and do nothing.")]


def profile(
    command: CommandArgument = None,
    stage: StageOption = None,
    all_stages: AllOption = False,
    size: SizeOption = None,
    m: MOption = None,
    n: NOption = None,
    k: KOrKernelOption = None,
    name: NameOption = None,
    kernel: KernelOption = None,
    nvtx: NvtxOption = None,
    section: SectionOption = None,
    section_set: SetOption = None,
    metrics: MetricsOption = None,
    samples: SamplesOption = 10,
    processes: ProcessesOption = 1,
    launches: LaunchesOption = None,
    clock_control: ClockOption = ClockControl.NONE,
    cache_control: CacheOption = CacheControl.ALL,
    reference: ReferenceOption = True,
    rev: RevOption = None,
    again: AgainOption = False,
    keep_report: KeepOption = True,
    timeout: TimeoutOption = 1800.0,
    dry_run: DryRunOption = False,
    store: StoreOption = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Profile stages of the ladder, or any program.

    Stages are built, checked against float64 and timed first; what came of it is stored and summed up.

    ncu-lab profile --stage 2d --size 2048

    ncu-lab profile --all --size 4096

    ncu-lab profile --name step -k gemm --nvtx step -- python train.py

    ncu-lab profile --stage 2d --rev main~10..main
    """
    from ncu_lab.collect.command import Selection
    from ncu_lab.workflows.profiling import ProfileRequest, ProgramRequest, Settings, plan

    collection = _collection(section, section_set, metrics, clock_control, cache_control)
    settings = Settings(collection, keep_report, timeout, ("ncu-lab", *sys.argv[1:]))
    request: ProfileRequest | ProgramRequest
    if command or name is not None:
        given = {"--stage": stage, "--all": all_stages, "--size": size, "-m": m, "-n": n, "--rev": rev}
        refuse_beside("a program", given, _STAGES_OR_PROGRAM)
        target = tuple(command or ())
        selection = Selection(kernel or k, nvtx, launches)
        request = ProgramRequest(name or Path(target[0]).name, target, selection, settings)
    else:
        refuse_beside("stages", {"--kernel": kernel, "--nvtx": nvtx}, _STAGES_OR_PROGRAM)
        stages = _stages(stage, all_stages, rev)
        problem = problem_from(size, m, n, _size_k(k))
        launched = 1 if launches is None else launches
        request = ProfileRequest(stages, problem, samples, launched, reference, settings, processes)
        if rev is not None:
            refuse_beside("--rev", {"--dry-run": dry_run})
            from ncu_lab.cli.profile_commits import profile_and_print
            from ncu_lab.workflows.profiling_commits import CommitsRequest

            asked = CommitsRequest(rev, request, again)
            profile_and_print(asked, resolve_store(store, example=False), store_words(store), format)
            return
    if dry_run:
        print(shlex.join(plan(request)))
        return
    folder = resolve_store(store, example=False)
    _show(_run(request, folder), folder, store_words(store), format)


def _stages(named: list[str] | None, every: bool, rev: str | None) -> tuple[str, ...]:
    """Return the stages asked for; with ``--rev`` unchecked, since each commit has its own, and none for all."""
    if rev is None or bool(named) == every:
        return tuple(chosen_stages(named, every, stages_here() if every else ()))
    return tuple(dict.fromkeys(named or ()))


def _collection(
    sections: list[str] | None,
    section_set: str | None,
    metrics: list[str] | None,
    clock_control: ClockControl,
    cache_control: CacheControl,
) -> Collection:
    from ncu_lab.collect.command import Collection

    names = [name.strip() for text in metrics or () for name in text.split(",")]
    wanted = tuple(name for name in names if name)
    return Collection(tuple(sections or ()), section_set, wanted, clock_control.value, cache_control.value)


def _size_k(k: str | None) -> int | None:
    """Read ``-k`` as the size it is for stages.

    Raises:
        UsageError: When it is no integer: it then was meant for a program.
    """
    if k is None:
        return None
    try:
        return int(k)
    except ValueError:
        raise UsageError(
            f"-k {k} is no size", "A kernel filter needs a program: ncu-lab profile --name NAME -k REGEX -- COMMAND"
        ) from None


def _run(request: ProfileRequest | ProgramRequest, store: Path) -> Run:
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.profiling import ProfileRequest, ProgramRequest, profile_program, profile_stages

    with progress_reporter(request.stages if isinstance(request, ProfileRequest) else (request.name,)) as report:
        if isinstance(request, ProgramRequest):
            run = profile_program(request, store, report)
        else:
            run = profile_stages(request, store, report)
    for notice in run.meta.warnings:
        warn(notice.message)
    print(file=sys.stderr)  # sets the summary apart, and is no part of it
    return run


def _show(run: Run, store: Path, where: str, format: Format) -> None:
    """Print the run as ``show`` does: one stage in full, several as the ladder they make; ``where`` names the store."""
    from ncu_lab.cli.show import write_view
    from ncu_lab.render.terminal import Terminal
    from ncu_lab.workflows.climbing import view

    seen, terminal = view(run), Terminal(sys.stdout)
    kernels = [stage for stage, row in seen.rows.items() if not row.stage.is_reference] or list(seen.rows)
    if format is not Format.TABLE or not kernels:
        write_view(seen, list(seen.summaries), format)
        return
    if len(kernels) == 1:
        chosen = [one for one in seen.summaries if one.stage == kernels[0] and one.role == "main"]
        write_view(seen, chosen, format, selected=True, where_to_write=where)
        terminal.line()
        terminal.command(f"ncu-lab ladder{where}", lead="Next: ")
        terminal.command(f"ncu-lab dashboard{where}", lead="      ")
        return
    from ncu_lab.render.ladder import print_ladder
    from ncu_lab.store import Store
    from ncu_lab.workflows.climbing import ladder

    rungs = ladder(store, problem=run.meta.problem, runs=[f"run:{run.meta.id}"])
    print_ladder(rungs, terminal, where, Store(store).short_id)
