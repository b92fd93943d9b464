"""``ncu-lab check``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ncu_lab.advice import as_called
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
from ncu_lab.errors import CheckFailedError

if TYPE_CHECKING:
    from ncu_lab.model import CheckCase, Problem


def check(
    stage: StageOption = None,
    all: AllOption = False,
    size: SizeOption = None,
    m: MOption = None,
    n: NOption = None,
    k: KOption = None,
    quick: Annotated[bool, typer.Option("--quick", help="The problem and fourteen small cases only.")] = False,
    repeat: Annotated[
        int | None,
        typer.Option(
            "--repeat",
            metavar="N",
            help="Launch the problem N times: all results must agree to the bit. Else two small cases are, 20 times.",
            show_default=False,
        ),
    ] = None,
    sanitize: Annotated[
        bool,
        typer.Option(
            "--sanitize",
            help="Run compute-sanitizer's four tools over small problems too, and repeat the problem 20 times.",
        ),
    ] = False,
    format: FormatOption = Format.TABLE,
) -> None:
    """Compare stages with float64 results at many shapes.

    Exit code 1 when a result is wrong, or a tool of compute-sanitizer finds something.
    Each stage meets the problem asked for, then edge shapes, other alpha and beta, longer rows, unaligned bases and
    repetitions that must agree to the bit.

    ncu-lab check --all --sanitize
    """
    ids, problem = asked_for(stage, all, size, m, n, k)
    if sanitize:
        _prove(ids, problem, quick, repeat, format)
    else:
        _check(ids, problem, quick, repeat, format)


def _prove(ids: list[str], problem: Problem, quick: bool, repeat: int | None, format: Format) -> None:
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.gpu.criteria import REPETITIONS
    from ncu_lab.render.proof import failures, proof_columns, proof_row
    from ncu_lab.render.summary import flat_columns
    from ncu_lab.render.terminal import Terminal, emit
    from ncu_lab.workflows.proving import prove_stages

    with progress_reporter(ids) as report:
        proofs = prove_stages(ids, problem, quick=quick, repeat=repeat or REPETITIONS, report=report)
    rows = [proof_row(proof) for proof in proofs]
    emit(
        rows,
        list(proof_columns()) if format is not Format.CSV else flat_columns(rows),
        format.value,
        sys.stdout,
        name="proofs",
    )
    failed = [proof for proof in proofs if not proof.passed]
    terminal = Terminal(sys.stdout)
    if format is Format.TABLE:
        for proof in failed:
            for words in failures(proof):
                terminal.paragraph(words)
    if failed:
        named = ", ".join(proof.stage for proof in failed)
        raise CheckFailedError(f"{len(failed)} of {len(proofs)} stages failed their proof: {named}")
    if format is Format.TABLE:
        proven = f"Stage {ids[0]} is" if len(proofs) == 1 else f"All {len(proofs)} stages are"
        terminal.line(f"\n{proven} proven: right at every shape, bit-equal, and clean under compute-sanitizer.")


def _check(ids: list[str], problem: Problem, quick: bool, repeat: int | None, format: Format) -> None:
    from ncu_lab.cli.progress import progress_reporter
    from ncu_lab.render.terminal import Terminal, emit
    from ncu_lab.workflows.checking import check_stages

    with progress_reporter(ids) as report:
        cases = check_stages(ids, problem, quick=quick, repeat=repeat, report=report)
    wrong = [case for case in cases if not case.passed]
    shown = wrong if format is Format.TABLE and wrong else cases
    rows = _summaries(cases) if format is Format.TABLE and not wrong else [_row(case) for case in shown]
    columns = _summary_columns() if format is Format.TABLE and not wrong else _columns()
    emit(rows, columns, format.value, sys.stdout, name="cases")
    if wrong:
        stages = list(dict.fromkeys(case.stage for case in wrong))
        raise CheckFailedError(
            f"{len(wrong)} of {len(cases)} cases are wrong, in {', '.join(stages)}",
            f"ncu-lab check --sanitize --stage {stages[0]} tells a stray access or a race from a wrong index.",
        )
    if format is Format.TABLE:
        then = as_called(f"ncu-lab bench --stage {cases[-1].stage}")
        Terminal(sys.stdout).line(f"\nAll {len(cases)} cases are right. Next: {then}")


def _row(case: CheckCase) -> dict[str, Any]:
    return {
        "stage": case.stage,
        "variant": case.variant,
        "case": case.case,
        "m": case.problem.m,
        "n": case.problem.n,
        "k": case.problem.k,
        "alpha": case.problem.alpha,
        "beta": case.problem.beta,
        "max_rel_error": case.max_rel_error,
        "norm_error": case.norm_error,
        "limit": case.limit,
        "passed": case.passed,
        "repetitions": case.repetitions,
        "detail": case.detail or None,
    }


def _columns() -> list[Any]:
    from ncu_lab.render.tables import Column

    return [
        Column("stage", "stage", align="left"),
        Column("variant", "path", align="left", priority=3),
        Column("case", "case", align="left", priority=2, least=10),
        Column("m", "m×n×k", lambda row: f"{row['m']}×{row['n']}×{row['k']}", "left"),
        Column("max_rel_error", "error", lambda row: f"{row['max_rel_error']:.1e}"),
        Column("limit", "limit", lambda row: f"{row['limit']:.1e}", priority=4),
        Column("norm_error", "norm error", lambda row: f"{row['norm_error']:.1e}", priority=6),
        Column("passed", "", lambda row: "✓" if row["passed"] else "✗", "left", style=_verdict_style),
        Column("detail", "what", align="left", priority=1, least=24),
    ]


def _summaries(cases: list[CheckCase]) -> list[dict[str, Any]]:
    """One row a stage: the case nearest its limit, and how many took which path."""
    rows = []
    for stage in dict.fromkeys(case.stage for case in cases):
        own = [case for case in cases if case.stage == stage]
        worst = max(own, key=lambda case: case.max_rel_error / case.limit)
        rows.append(
            {
                **_row(worst),
                "cases": len(own),
                "fast": sum(case.variant != "guarded" for case in own),
                "guarded": sum(case.variant == "guarded" for case in own),
            }
        )
    return rows


def _summary_columns() -> list[Any]:
    from ncu_lab.render.tables import Column

    return [
        Column("stage", "stage", align="left"),
        Column("cases", "cases"),
        Column("fast", "fast", priority=4),
        Column("guarded", "guarded", priority=3),
        Column("max_rel_error", "max error", lambda row: f"{row['max_rel_error']:.1e}"),
        Column("limit", "limit", lambda row: f"{row['limit']:.1e}"),
        Column("m", "worst at", lambda row: f"{row['m']}×{row['n']}×{row['k']}", "left", priority=2),
        Column("passed", "", lambda row: "✓", "left", style=_verdict_style),
    ]


def _verdict_style(row: Any) -> str:
    return "green" if row["passed"] else "red"
