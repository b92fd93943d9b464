"""What stages were expected to show, for people: one row an expectation, and one line for a whole ladder or launch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ncu_lab.model import ORIGINS, Expectation, Finding, Json, Ladder, LadderRow, LaunchSummary, RunView
from ncu_lab.model.expectations import BUILD, SASS, STALL
from ncu_lab.render import numbers
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import BAD, GOOD, MUTED, STRONG, Terminal, note_dropped, sign
from ncu_lab.render.wording import context_words, problem_words, reason_name

_QUANTITIES: Mapping[str, str] = {
    "global_load_sectors_per_request": "sectors/load",
    "global_store_sectors_per_request": "sectors/store",
    "shared_load_wavefronts_over_ideal": "shared loads/ideal",
    "shared_store_wavefronts_over_ideal": "shared stores/ideal",
    "shared_load_wavefronts_per_request": "wavefronts/shared load",
    "shared_store_wavefronts_per_request": "wavefronts/shared store",
    "shared_load_wavefronts_per_fma": "shared wavefronts/FMA",
    "intensity_l2": "FLOP/B of L2",
    "intensity_l1": "FLOP/B of L1",
    "intensity_dram": "FLOP/B of DRAM",
    "fp32_peak_pct": "of FP32 peak",
    "fma_pipe_pct": "FMA pipe",
    "tensor_pipe_pct": "tensor pipe",
    "theoretical_occupancy_pct": "occupancy possible",
    "achieved_occupancy_pct": "occupancy achieved",
    "pct_of_reference": "of reference",
    "gflops": "FLOP/s",
    "build:spill_store_bytes": "spilled bytes",
    "build:shared_bytes": "shared memory",
}
"""Short names of quantities; of the others the key itself tells."""

_MORE_DIGITS = (4, 5, 6)
"""Significant digits to try where a value and its limit print alike; what six do not tell apart is rounding."""

_STATUS: Mapping[str, tuple[bool | None, str, str]] = {
    "met": (True, "met", GOOD),
    "missed": (False, "missed", BAD),
    "not_collected": (None, "not collected", MUTED),
}


def quantity_words(key: str) -> str:
    """Name a quantity in a few words: ``sectors/load``, ``lg throttle``, ``LDS.128 in SASS``."""
    if key in _QUANTITIES:
        return _QUANTITIES[key]
    if key.startswith(STALL):
        return reason_name(key.removeprefix(STALL))
    if key.startswith(SASS):
        return f"{key.removeprefix(SASS)} in SASS"
    return key.removeprefix(BUILD).removesuffix("_pct").replace("_", " ")


def expectation_words(one: Expectation) -> str:
    """Write what is expected: ``sectors/load 16.5 ± 3 %``, ``shared stores/ideal ≤ 0.1× smem-conflict``."""
    against = f" {one.against}" if one.against else ""
    return f"{quantity_words(one.key)} {bounds_words(one)}{against}"


def bounds_words(one: Expectation) -> str:
    """Write the bounds with the digits they were declared with."""
    if one.near is not None:
        tolerance = f" ± {100 * (one.within or 0):g} %" if one.within else ""
        return ("" if tolerance else "= ") + _declared(one, one.near) + tolerance
    if one.low is not None and one.high is not None:
        return f"{_declared(one, one.low)} to {_declared(one, one.high)}"
    return f"≤ {_declared(one, one.high)}" if one.high is not None else f"≥ {_declared(one, one.low)}"


def _declared(one: Expectation, value: float | None) -> str:
    assert value is not None
    if one.unit == "share":
        return f"{100 * value:g} %"
    unit = {"×": "×", "%": " %"}.get(one.unit, " B" if one.unit.startswith("byte") else "")
    return f"{value:.10g}{unit}"


def value_words(one: Expectation, value: float | None) -> str:
    """Write a value in the unit of an expectation, with as many digits as tell it from a limit that it is not."""
    limits = [limit for limit in (one.low, one.high) if limit is not None and limit != value]
    for digits in (None, *_MORE_DIGITS):
        if not any(_alike(one.unit, value, limit, digits) for limit in limits):
            return _in_unit(one.unit, value, digits)
    return _in_unit(one.unit, value)


def _alike(unit: str, value: float | None, limit: float, digits: int | None) -> bool:
    """Whether a value reads as its limit: in the same words, or by digits alone (16.0, where whole counts are 16)."""
    same_digits = numbers.significant(value, digits or 3) == numbers.significant(limit, digits or 3)
    return same_digits or _in_unit(unit, value, digits) == _in_unit(unit, limit, digits)


def _in_unit(unit: str, value: float | None, digits: int | None = None) -> str:
    """Write a value in a unit, with some significant digits instead of the usual ones."""
    if unit == "share":
        return numbers.percent(None if value is None else 100.0 * value, digits=digits)
    if unit == "%":
        return numbers.percent(value, digits=digits or 3)
    if unit == "×":
        return numbers.ratio(value, digits or 3)
    if unit.startswith("byte"):
        return numbers.MISSING if value is None else f"{numbers.integer(value)} B"
    return numbers.count(value, digits or 3)


def finding_rows(rows: Iterable[LadderRow]) -> list[Row]:
    """Return every expectation of some stages as a flat row of full precision."""
    return [{"stage": row.stage.id, **_row(finding)} for row in rows for finding in row.findings]


def _row(finding: Finding) -> Row:
    one = finding.expectation
    return {
        "key": one.key,
        "against": one.against,
        "low": one.low,
        "high": one.high,
        "min_size": one.min_size,
        "unit": one.unit,
        "measured": finding.measured,
        "margin": finding.margin,
        "status": finding.status,
        "lacks": finding.lacks or None,
        "source": one.source,
        "derivation": one.derivation,
        "finding": finding,
    }


def finding_columns() -> list[Column]:
    """Return the columns people see."""
    return [
        Column("stage", "stage", align="left"),
        Column("key", "expected", lambda row: expectation_words(row["finding"].expectation), align="left"),
        Column("measured", "measured", _measured, style=lambda row: _STATUS[row["status"]][2]),
        Column("status", "status", lambda row: _STATUS[row["status"]][1], align="left", priority=2),
        Column("source", "from", align="left", priority=1),
        Column("derivation", "arithmetic", align="left", priority=3),
    ]


def flat_finding_columns() -> list[Column]:
    """Return one column for every field of :func:`finding_rows`, for CSV."""
    keys = ("stage", "key", "against", "low", "high", "min_size", "unit", "measured", "margin", "status", "lacks")
    return [Column(key, key) for key in (*keys, "source", "derivation")]


def _measured(row: Row) -> str:
    # A sign's place stays empty where nothing was measured, so that the numbers stay aligned.
    good = _STATUS[row["status"]][0]
    return f"{value_words(row['finding'].expectation, row['measured'])} {' ' if good is None else sign(good)}"


def tally_words(findings: Sequence[Finding]) -> str:
    """Count: ``18 of 24 expectations met, 4 missed, 2 not collected``; what is 0 is left out after the first."""
    counts = {status: sum(one.status == status for one in findings) for status in _STATUS}
    words = [f"{counts['met']} of {len(findings)} expectations met"]
    words += [f"{counts[status]} {_STATUS[status][1]}" for status in ("missed", "not_collected") if counts[status]]
    return ", ".join(words)


def findings_words(findings: Sequence[Finding]) -> str:
    """Say what was expected of a stage and missed; empty where nothing is expected."""
    if not findings:
        return ""
    met = sum(one.status == "met" for one in findings)
    missed = [
        f"{expectation_words(one.expectation)} ({value_words(one.expectation, one.measured)})"
        for one in findings
        if one.status == "missed"
    ]
    unknown = len(findings) - met - len(missed)
    words = f"Against theory: {met} of {len(findings)} expectations met"
    words += f"; {unknown} not collected" if unknown else ""
    return words + (f"; missed: {', '.join(missed)}." if missed else ".")


def row_of(view: RunView, summary: LaunchSummary) -> LadderRow | None:
    """Return the row of the ladder that a launch belongs to: of the main kernel of a stage, which expectations mean."""
    return view.rows.get(summary.stage or "") if summary.role == "main" else None


def print_expectations(ladder: Ladder, terminal: Terminal) -> None:
    """Print what every stage was expected to show, what it shows, and what would tell what was not collected."""
    rows = (*ladder.rows, *ladder.references)
    findings = [finding for row in rows for finding in row.findings]
    terminal.paragraph(
        " · ".join([problem_words(ladder.problem), *context_words(ladder.device, ladder.environment)]), STRONG
    )
    if not findings:
        terminal.paragraph("Nothing is expected of these stages: kernels/stages.toml declares it.")
        return
    note_dropped(terminal, terminal.table(finding_rows(rows), finding_columns()))
    origins = [f"{origin}: {words}" for origin, words in ORIGINS.items()]
    terminal.paragraph("; ".join(origins) + ".", MUTED)
    for words in (*lacking(rows), *built_words(rows)):
        terminal.paragraph(words, MUTED)
    terminal.paragraph(f"{tally_words(findings)}. Why some are missed on an H200: docs/expectations.md")


def lacking(rows: Iterable[LadderRow]) -> list[str]:
    """Say what would tell what was not collected, and of how many expectations: one line for each way."""
    stages: dict[str, list[str]] = {}
    for row in rows:
        for finding in row.findings:
            if finding.status == "not_collected":
                stages.setdefault(finding.lacks, []).append(row.stage.id)
    return [f"{len(of)} not collected, need {lacks}: {', '.join(dict.fromkeys(of))}" for lacks, of in stages.items()]


def built_words(rows: Iterable[LadderRow]) -> list[str]:
    """Say which kernel the compiler's figures are of, where a stage launched another one for this problem."""
    stages: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        judged = any(one.expectation.key.startswith(BUILD) and one.measured is not None for one in row.findings)
        ran = row.summary.function if row.summary else ""
        if judged and ran and row.stage.entry not in ("", ran):
            stages.setdefault((row.stage.entry, ran), []).append(row.stage.id)
    return [
        f"Registers and spills by the compiler are of {entry}, not of {ran}, which ran here: {', '.join(of)}"
        for (entry, ran), of in stages.items()
    ]


def findings_document(row: LadderRow | None) -> list[Json]:
    """Return the expectations of one stage as JSON has them: the shape is stable and only grows."""
    return [] if row is None else [_json(finding) for finding in row.findings]


def _json(finding: Finding) -> Json:
    one = finding.expectation
    return {
        "key": one.key,
        "expected": {
            "relation": one.relation,
            "low": one.low,
            "high": one.high,
            "near": one.near,
            "within": one.within,
            "against": one.against,
            "min_size": one.min_size,
            "text": bounds_words(one),
        },
        "measured": finding.measured,
        "unit": one.unit,
        "margin": finding.margin,
        "status": finding.status,
        "lacks": finding.lacks or None,
        "source": one.source,
        "derivation": one.derivation,
    }
