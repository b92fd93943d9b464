"""``ncu-lab gate``."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.options import ExampleOption, StageOption, StoreOption, refuse_beside, store_to_read, store_words
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


GatedArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="B",
        help="What is gated: a run, a commit or a file, as in diff. Default: the newest run of HEAD.",
        show_default=False,
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="A",
        help="What it is compared with, likewise. Default: the commit where HEAD left the default branch.",
        show_default=False,
    ),
]
BaselineOption = Annotated[
    Path | None,
    typer.Option("--baseline", metavar="FILE", help="Compare with what --save-baseline wrote.", show_default=False),
]
SaveBaselineOption = Annotated[
    Path | None,
    typer.Option(
        "--save-baseline",
        metavar="FILE",
        help="Write B to a file for later gates, instead of judging it.",
        show_default=False,
    ),
]
StaticOption = Annotated[
    bool,
    typer.Option(
        "--static", help="Compile a commit and the working tree, and gate what the compiler says: needs no GPU."
    ),
]
ArchOption = Annotated[
    list[str] | None,
    typer.Option(
        "--arch",
        metavar="ARCH",
        help="With --static: what to compile for, as sm_90; repeatable. Default: the GPU here, else sm_90.",
        show_default=False,
    ),
]
PolicyOption = Annotated[
    Path | None,
    typer.Option(
        "--policy",
        metavar="FILE",
        help="Read the policy from this file. Default: the nearest ncu-lab.toml.",
        show_default=False,
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Compare even what is not comparable; every output says so.")
]
GateFormatOption = Annotated[GateFormat, typer.Option("--format", help="How to print what it says.")]


def gate(
    b: GatedArgument = None,
    against: AgainstOption = None,
    baseline: BaselineOption = None,
    save_baseline: SaveBaselineOption = None,
    static: StaticOption = False,
    stage: StageOption = None,
    arch: ArchOption = None,
    policy: PolicyOption = None,
    force: ForceOption = False,
    store: StoreOption = None,
    example: ExampleOption = False,
    format: GateFormatOption = GateFormat.TABLE,
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
        refuse_beside("--static", {"B": b, "--baseline": baseline, "--save-baseline": save_baseline, "--force": force})
        refuse_beside("--static", {"--store": store, "--example": example})
        result = _static(chosen, against, stage, arch)
        return _tell(result, format, "")
    from ncu_lab.cli.progress import index_with_progress

    refuse_beside("stored runs (add --static)", {"--arch": arch})
    if against is not None and baseline is not None:
        raise UsageError("--against and --baseline exclude each other", "Each says what to compare with; give one.")
    folder, where = store_to_read(store, example), store_words(store, example)
    index_with_progress(folder)
    if save_baseline is not None:
        refuse_beside(
            "--save-baseline", {"--against": against, "--baseline": baseline, "--stage": stage, "--force": force}
        )
        _save(b, folder, where, save_baseline)
        return int(Exit.OK)
    result, explain = _runs(b, against, baseline, folder, chosen, where, stage or (), force)
    return _tell(result, format, explain)


def _policy(file: Path | None) -> Policy:
    from ncu_lab.workflows.policy_file import find_policy, read_policy

    return find_policy(Path.cwd()) if file is None else read_policy(file)


def _static(policy: Policy, against: str | None, stages: list[str] | None, arches: list[str] | None) -> GateResult:
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.workflows.static_gating import gate_static

    with progress_reporter(stages or ()) as report:
        return gate_static(Path.cwd(), policy, against=against, stages=stages or (), arches=arches or (), report=report)


def _runs(
    b: str | None,
    against: str | None,
    baseline: Path | None,
    store: Path,
    policy: Policy,
    where: str,
    stages: Sequence[str],
    force: bool,
) -> tuple[GateResult, str]:
    """Return what the gate says, and the command that explains it."""
    from ncu_lab.workflows.baselines import baseline_side
    from ncu_lab.workflows.gating import Reference, gate_runs, gated_side, merge_base

    after = Reference(b) if b else gated_side(Path.cwd(), store)
    if baseline is not None:
        with baseline_side(baseline, store, where) as unpacked:
            return gate_runs(unpacked, after, store, policy, where, stages=stages, force=force, here=Path.cwd()), ""
    before = Reference(against) if against else merge_base(Path.cwd())
    result = gate_runs(before, after, store, policy, where, stages=stages, force=force, here=Path.cwd())
    failing = {one.change.stage for one in result.failing}
    only = f" --stage {min(failing, key=str)}" if len(failing) == 1 and None not in failing else ""
    return result, f"ncu-lab diff {shlex.quote(before.text)} {shlex.quote(after.text)}{only}{where}"


def _save(b: str | None, store: Path, where: str, file: Path) -> None:
    from ncu_lab.workflows.baselines import save_baseline
    from ncu_lab.workflows.gating import Reference, gated_side

    metas = save_baseline(Reference(b) if b else gated_side(Path.cwd(), store), store, file, where)
    for meta in metas:
        complain(f"stored   {meta.id} in {file}")


def _tell(result: GateResult, format: GateFormat, explain: str) -> int:
    """Print what the gate says and return the exit code."""
    from ncu_lab.render.gate import FLAT_COLUMNS, caveats, gate_document, print_gate, row
    from ncu_lab.render.gate_markdown import gate_markdown
    from ncu_lab.render.gate_reports import gate_annotations, gate_junit
    from ncu_lab.render.terminal import Terminal, emit, emit_document

    if format is GateFormat.JSON:
        emit_document(gate_document(result), sys.stdout)
    elif format is GateFormat.CSV:
        for words in caveats(result):
            warn(words)
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
