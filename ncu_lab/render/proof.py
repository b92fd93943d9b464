"""``check --sanitize`` for people and programs: a row a stage, and what failed in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ncu_lab.model import CheckCase
from ncu_lab.model.proof import SANITIZER_TOOLS, StageProof
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import sign


def proof_row(proof: StageProof) -> dict[str, Any]:
    """Return what a stage's proof came to; each tool's ``passed`` under its name, None where it was not run."""
    cases = proof.cases
    worst = max(cases, key=lambda one: _closeness(one), default=None)
    row: dict[str, Any] = {
        "stage": proof.stage,
        "passed": proof.passed,
        "cases": len(cases),
        "wrong": sum(not one.passed for one in cases),
        "max_rel_error": worst.max_rel_error if worst else None,
        "limit": worst.limit if worst else None,
        "repeats": proof.repetitions or None,
        "seconds": proof.seconds,
    }
    for tool in SANITIZER_TOOLS:
        found = next((one for one in proof.findings if one.tool == tool), None)
        row[tool] = None if found is None else found.passed
        row[f"{tool}_errors"] = None if found is None else found.errors
    row["failures"] = list(failures(proof)) or None
    return row


def _closeness(case: CheckCase) -> float:
    """How near a case is to its limit; NaN, which fails, is the farthest beyond."""
    ratio = case.max_rel_error / case.limit
    return float("inf") if ratio != ratio else ratio


def failures(proof: StageProof) -> Iterator[str]:
    """Yield in words what failed of a stage: its program, its wrong cases (the first three), its tools."""
    if proof.failure:
        yield f"{proof.stage}: {proof.failure}"
    wrong = [one for one in proof.cases if not one.passed]
    for case in wrong[:3]:
        yield f"{proof.stage}: {case.problem.label} {case.case}: {case.detail or 'beyond the limit'}"
    if len(wrong) > 3:
        yield f"{proof.stage}: {len(wrong) - 3} more cases are wrong"
    for found in proof.findings:
        if not found.passed:
            yield f"{proof.stage}: {found.tool}: {found.detail or f'{found.errors} errors'}"


def proof_columns() -> Sequence[Column]:
    """Return the columns of a row a stage."""
    return [
        Column("stage", "stage", align="left"),
        Column("cases", "cases", _cases),
        Column("max_rel_error", "max error", lambda row: _error(row["max_rel_error"]), priority=2),
        Column("limit", "limit", lambda row: _error(row["limit"]), priority=3),
        Column("repeats", "bit-equal", lambda row: f"{row['repeats']}×" if row["repeats"] else MISSING, priority=1),
        *(Column(tool, tool, _verdict(tool), "left") for tool in SANITIZER_TOOLS),
        Column("passed", "", lambda row: sign(row["passed"]), "left", style=_style),
    ]


def _cases(row: Row) -> str:
    return f"{row['wrong']} of {row['cases']} ✗" if row["wrong"] else str(row["cases"] or MISSING)


def _error(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1e}"


def _verdict(tool: str) -> Any:
    def words(row: Row) -> str:
        errors = row[f"{tool}_errors"]
        return sign(row[tool]) + (f" {errors}" if errors else "")

    return words


def _style(row: Row) -> str:
    return "green" if row["passed"] else "red"
