"""``ncu-lab gate``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.options import ExampleOption, StageOption, StoreOption
from ncu_lab.errors import Exit, UsageError

if TYPE_CHECKING:
    from ncu_lab.model.gating import GateResult
    from ncu_lab.model.policy import Policy


class GateFormat(StrEnum):
    """How a gate prints what it says."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"
    CSV = "csv"
    JUNIT = "junit"
    GITHUB = "github"


def gate(
    b: Annotated[
        str | None,
        typer.Argument(
            metavar="[B]",
            help="What is gated: a run, a commit or a file, as in diff. Default: the newest run of HEAD.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            "--against",
            metavar="A",
            help="What it is compared with, likewise. Default: the commit where HEAD left the default branch.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="FILE", help="Compare with what --save-baseline wrote.", show_default=False),
    ] = None,
    save_baseline: Annotated[
        Path | None,
        typer.Option(
            "--save-baseline",
            metavar="FILE",
            help="Write B to a file for later gates, instead of judging it.",
            show_default=False,
        ),
    ] = None,
    static: Annotated[
        bool,
        typer.Option(
            "--static", help="Compile a commit and the working tree, and gate what the compiler says: needs no GPU."
        ),
    ] = False,
    stage: StageOption = None,
    arch: Annotated[
        list[str] | None,
        typer.Option(
            "--arch",
            metavar="ARCH",
            help="With --static: what to compile for, as sm_90; repeatable. Default: the GPU here, else sm_90.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            help="Read the policy from this file. Default: the nearest ncu-lab.toml.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare even what is not comparable; every output says so.")
    ] = False,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: Annotated[GateFormat, typer.Option("--format", help="How to print what it says.")] = GateFormat.TABLE,
) -> int:
    """Fail where a change makes a kernel worse than a policy allows.

    The exit code is 1 only for a violation that is real: an exact counter beyond its limit and its repeatability, a
    duration whose whole 99% interval is beyond its limit with p < 0.01. What is inconclusive or missing is told, and
    fails only where the policy in ncu-lab.toml says so.

    ncu-lab gate --static --against main

    ncu-lab gate --against main --format github
    """
    chosen = _policy(policy)
    if static:
        _refuse("--static", {"B": b, "--baseline": baseline, "--save-baseline": save_baseline, "--force": force})
        _refuse("--static", {"--store": store, "--example": example})
        result = _static(chosen, against, stage, arch)
        return _tell(result, format, "")
    _refuse("stored runs (add --static)", {"--arch": arch})
    raise UsageError("gate of stored runs is not there yet")


def _refuse(what: str, options: dict[str, object]) -> None:
    """Refuse options that mean nothing here, rather than ignore them.

    Raises:
        UsageError: Names the first of them.
    """
    for option, value in options.items():
        if value not in (None, False, []):
            raise UsageError(f"{option} does not go with {what}")


def _policy(file: Path | None) -> Policy:
    from ncu_lab.workflows.policy_file import find_policy, read_policy

    return find_policy(Path.cwd()) if file is None else read_policy(file)


def _static(policy: Policy, against: str | None, stages: list[str] | None, arches: list[str] | None) -> GateResult:
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.static_gating import gate_static

    with progress_reporter(stages or ()) as report:
        return gate_static(Path.cwd(), policy, against=against, stages=stages or (), arches=arches or (), report=report)


def _tell(result: GateResult, format: GateFormat, explain: str) -> int:
    """Print what the gate says and return the exit code."""
    from ncu_lab.render.gate import FLAT_COLUMNS, gate_document, print_gate, row
    from ncu_lab.render.gate_markdown import gate_markdown
    from ncu_lab.render.gate_reports import gate_annotations, gate_junit
    from ncu_lab.render.terminal import Terminal, emit, emit_document

    if format is GateFormat.JSON:
        emit_document(gate_document(result), sys.stdout)
    elif format is GateFormat.CSV:
        emit([row(one) for one in result.judged], FLAT_COLUMNS, format.value, sys.stdout)
    elif format is GateFormat.MARKDOWN:
        sys.stdout.write(Terminal(sys.stdout).spell(gate_markdown(result)))
    elif format is GateFormat.JUNIT:
        sys.stdout.write(gate_junit(result))
    elif format is GateFormat.GITHUB:
        sys.stdout.write(Terminal(sys.stdout).spell(gate_annotations(result)))
    else:
        print_gate(result, Terminal(sys.stdout), explain)
    return int(Exit.OK if result.passed else Exit.FAILED_CHECK)
