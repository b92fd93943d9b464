"""``ncu-lab build``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ncu_lab.advice import as_called
from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import AllOption, Format, FormatOption, StageOption
from ncu_lab.errors import UsageError

if TYPE_CHECKING:
    from ncu_lab.model import StageBuild

_MIX_SHOWN = 4


def build(
    stage: StageOption = None,
    all: AllOption = False,
    arch: Annotated[
        list[str] | None,
        typer.Option(
            "--arch",
            metavar="ARCH",
            help="GPU architecture, as sm_90; repeatable. Default: that of the GPU here, else sm_90.",
        ),
    ] = None,
    format: FormatOption = Format.TABLE,
) -> None:
    """Compile stages; show what the compiler made of them.

    Registers, spills, shared memory, barriers and, where a disassembler is installed, the instruction mix.
    Needs nvcc, but no GPU. What was built before comes from the cache.
    """
    from ncu_lab.cli.options import chosen_stages
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.gpu.compile import default_arch
    from ncu_lab.render.terminal import emit
    from ncu_lab.workflows.building import build_stages, kernel_ids

    builds: list[StageBuild] = []
    targets = list(dict.fromkeys(arch or [default_arch()]))
    wanted = {target: _buildable(chosen_stages(stage, all, kernel_ids(target)), target) for target in targets}
    left_out = [one for target in targets for one in _left_out(target)] if all else []
    with progress_reporter(stage or kernel_ids()) as report:
        for target, ids in wanted.items():
            builds += build_stages(ids, target, report=report)
    rows = [_row(made) for made in builds]
    if format is Format.TABLE:
        rows = [{**row, "sass": None} for row in rows]
    emit(rows, _columns(), format.value, sys.stdout, name="builds", document={"left_out": left_out})
    _tell_left_out(left_out)
    _tell(builds, format)


def _buildable(ids: list[str], arch: str) -> list[str]:
    """Leave out library references, and say so.

    Raises:
        UsageError: When nothing is left, or there was nothing: no stage runs on ``arch``.
    """
    from ncu_lab.gpu.registry import load_stages

    stages = load_stages()
    if not ids:
        least = min((stage for stage in stages.values() if not stage.arch_suffix), key=lambda stage: stage.min_cc)
        raise UsageError(f"no stage runs on {arch}: each needs {least.needs} or newer")
    references = [id for id in ids if not stages[id].is_compiled]
    if references == ids:
        are = "is a library reference" if len(ids) == 1 else "are library references"
        raise UsageError(
            f"{', '.join(ids)} {are}: there is nothing to build", f"ncu-lab bench --stage {ids[0]} times it."
        )
    if references:
        complain(f"note: not built, as the library brings them: {', '.join(references)}")
    return [id for id in ids if id not in references]


def _left_out(arch: str) -> list[dict[str, str]]:
    """Return the kernel stages that ``--all`` does not build for an architecture, each with what it needs."""
    from ncu_lab.gpu.registry import load_stages
    from ncu_lab.workflows.building import kernel_ids

    stages, built = load_stages(), kernel_ids(arch)
    return [{"stage": id, "arch": arch, "needs": stages[id].needs} for id in kernel_ids() if id not in built]


def _tell_left_out(left_out: list[dict[str, str]]) -> None:
    """Say in a line for each architecture which stages it cannot run, by what they need."""
    by_arch: dict[str, dict[str, list[str]]] = {}
    for one in left_out:
        by_arch.setdefault(one["arch"], {}).setdefault(one["needs"], []).append(one["stage"])
    for arch, by_need in by_arch.items():
        parts = [f"{', '.join(ids)} ({'need' if len(ids) > 1 else 'needs'} {needs})" for needs, ids in by_need.items()]
        complain(f"note: left out for {arch}: {', '.join(parts)}")


def _tell(builds: list[StageBuild], format: Format) -> None:
    """Say what is missing or was warned of, and what to type next."""
    from ncu_lab.render.terminal import Terminal

    for made in builds:
        for warning in made.warnings:
            warn(f"{made.stage} {made.variant}: {warning}")
    if builds and builds[0].sass_mix is None:
        from ncu_lab.gpu.sass import install_hint

        complain(f"note: no disassembler, so no instruction mix. {install_hint()}")
    if format is Format.TABLE and builds:
        Terminal(sys.stdout).line(as_called(f"\nNext: ncu-lab check --stage {builds[-1].stage}"))


def _row(made: StageBuild) -> dict[str, Any]:
    return {
        "stage": made.stage,
        "variant": made.variant,
        "arch": made.arch,
        "registers": made.registers,
        "spill_store_bytes": made.spill_store_bytes,
        "spill_load_bytes": made.spill_load_bytes,
        "shared_bytes": made.shared_bytes,
        "stack_bytes": made.stack_bytes,
        "barriers": made.barriers,
        "sass_mix": None if made.sass_mix is None else dict(made.sass_mix),
        "sass_hash": made.sass_hash,
        "cached": made.cached,
        "seconds": made.seconds,
        "nvcc": made.nvcc,
        "flags": list(made.flags),
        "warnings": list(made.warnings),
        "cubin": str(made.cubin),
    }


def _columns() -> list[Any]:
    from ncu_lab.render.numbers import byte_count
    from ncu_lab.render.tables import Column

    def spills(row: Any) -> str:
        return byte_count(row["spill_store_bytes"] + row["spill_load_bytes"])

    def alarm(row: Any) -> str:
        return "red" if row["spill_store_bytes"] + row["spill_load_bytes"] else ""

    return [
        Column("stage", "stage", align="left"),
        Column("variant", "variant", align="left", priority=1),
        Column("arch", "arch", align="left", priority=5),
        Column("registers", "registers"),
        Column("spill_store_bytes", "spills", spills, style=alarm),
        Column("shared_bytes", "shared", lambda row: byte_count(row["shared_bytes"])),
        Column("stack_bytes", "stack", lambda row: byte_count(row["stack_bytes"]), priority=3),
        Column("barriers", "barriers", priority=4),
        Column("sass_mix", "SASS mix", _short_mix, "left", priority=2, least=16),
    ]


def _short_mix(row: Any) -> str:
    """The most frequent instructions and their counts: ``FFMA 576 · LDS.128 32 · …``."""
    if row["sass_mix"] is None:
        return "–"
    most = list(row["sass_mix"].items())[:_MIX_SHOWN]
    return " · ".join(f"{opcode} {count}" for opcode, count in most)
