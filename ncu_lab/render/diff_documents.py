"""``diff`` for programs: its JSON document, and its flat rows for CSV."""

from __future__ import annotations

from dataclasses import asdict

from ncu_lab.model import Attribution, Json
from ncu_lab.model.comparison import (
    ComparedSide,
    Comparison,
    Difference,
    MetricChange,
    MovedLine,
    Pair,
    TimeChange,
)
from ncu_lab.render.attribution import attribution_document, lacking_document, part_rows
from ncu_lab.render.cause_words import cause_document, change_sentence
from ncu_lab.render.documents import notices_document, run_document
from ncu_lab.render.tables import Column, Row

FLAT_COLUMNS = tuple(
    Column(key, key)
    for key in (
        "status", "confidence", "run_a", "run_b", "stage_a", "stage_b", "kernel_a", "kernel_b", "launch_a", "launch_b",
        "what", "key", "a", "b", "delta", "delta_pct", "unit", "class", "verdict", "reason", "p", "low_pct", "high_pct",
        "n_a", "n_b", "ns", "log2",
    )
)  # fmt: skip
"""``what`` is ``time``, ``metric``, ``part`` of the attribution (``ns`` and ``log2`` are what it did), or ``line``."""


def comparison_document(comparison: Comparison) -> Json:
    """Build the document of ``diff``. Counters that are equal on both sides are counted, not listed."""
    return {
        "a": _side(comparison.a),
        "b": _side(comparison.b),
        "comparable": not comparison.reasons,
        "forced": comparison.forced,
        "reasons": [_difference(one) for one in comparison.reasons],
        "differences": [_difference(one) for one in comparison.differences],
        "pairs": [{**_pair(pair), "sentence": change_sentence(comparison, pair) or None} for pair in comparison.pairs],
        "failed": [
            {"side": side, **asdict(one)}
            for side, failed in (("a", comparison.failed_a), ("b", comparison.failed_b))
            for one in failed
        ],
        "warnings": notices_document(comparison.warnings),
    }


def _side(side: ComparedSide) -> Json:
    return {
        **run_document(side.meta),
        "reference": side.reference,
        "stage": side.stage,
        "runs": list(dict.fromkeys(meta.id for meta in side.runs)),
    }


def _difference(one: Difference) -> Json:
    return {
        "code": one.code,
        "what": one.what,
        "a": one.a,
        "b": one.b,
        "not_comparable": list(one.forbids),
        "message": one.words,
    }


def _pair(pair: Pair) -> Json:
    listed = [one for one in pair.metrics if not _is_equal(one)]
    comparability = pair.comparability
    return {
        "status": pair.status,
        "confidence": pair.confidence,
        "matched_by": pair.matched_by,
        "run_a": pair.run_a.id if pair.run_a else None,
        "run_b": pair.run_b.id if pair.run_b else None,
        "problem": asdict(pair.run_b.problem) if pair.run_b and pair.run_b.problem else None,
        "stage_a": pair.launches_a[0].stage if pair.launches_a else None,
        "stage_b": pair.launches_b[0].stage if pair.launches_b else None,
        "kernels_a": list(dict.fromkeys(one.kernel for one in pair.launches_a)),
        "kernels_b": list(dict.fromkeys(one.kernel for one in pair.launches_b)),
        "launches_a": [one.launch for one in pair.launches_a],
        "launches_b": [one.launch for one in pair.launches_b],
        "comparable": comparability.is_comparable,
        "unknown": list(comparability.unknown),
        "same_code": pair.same_code,
        "duration": _duration(pair.duration),
        "metrics": [_metric(one) for one in listed],
        "metrics_equal": len(pair.metrics) - len(listed),
        "attribution": attribution_document(pair.attribution),
        "attribution_lacks": lacking_document(pair.attribution),
        "cause": cause_document(pair.cause),
        "lines": [_line(one) for one in pair.lines],
    }


def _is_equal(one: MetricChange) -> bool:
    return one.verdict == "same" and one.a == one.b


def _duration(change: TimeChange | None) -> Json | None:
    if change is None:
        return None
    return {
        "a_ns": change.a_ns,
        "b_ns": change.b_ns,
        "delta_ns": change.delta_ns,
        "delta_pct": change.delta_pct,
        "ratio": change.ratio,
        "low_pct": _percent(change.low),
        "high_pct": _percent(change.high),
        "n_a": change.n_a,
        "n_b": change.n_b,
        "processes_a": change.processes_a,
        "processes_b": change.processes_b,
        "p": change.p,
        "source": change.source,
        "method": change.method,
        "verdict": change.verdict,
        "reason": change.reason,
        "power": asdict(change.power) if change.power else None,
    }


def _percent(ratio: float | None) -> float | None:
    """Return a ratio B / A as a change in percent."""
    return None if ratio is None else (ratio - 1.0) * 100.0


def _metric(one: MetricChange) -> Json:
    return {
        "key": one.key,
        "a": one.a,
        "b": one.b,
        "delta": one.delta,
        "delta_pct": one.delta_pct,
        "unit": one.unit,
        "class": one.kind,
        "better": one.better,
        "verdict": one.verdict,
        "reason": one.reason,
        "n_a": one.n_a,
        "n_b": one.n_b,
        "p": one.p,
        "low_pct": _percent(one.low),
        "high_pct": _percent(one.high),
    }


def _line(line: MovedLine) -> Json:
    return {
        "file": line.file,
        "line_a": line.line_a,
        "line_b": line.line_b,
        "text": line.text,
        "share_a": line.share_a,
        "share_b": line.share_b,
        "delta": line.delta,
    }


def comparison_rows(comparison: Comparison) -> list[Row]:
    """Return flat rows: of each pair its time, its counters, the parts of its attribution, the lines that moved."""
    rows: list[Row] = []
    for pair in comparison.pairs:
        a, b = pair.chosen_a, pair.chosen_b
        whole = {
            "status": pair.status,
            "confidence": pair.confidence,
            "run_a": pair.run_a.id if pair.run_a else None,
            "run_b": pair.run_b.id if pair.run_b else None,
            **{f"{key}_{side}": getattr(one, key) if one else None
               for key in ("stage", "kernel", "launch") for side, one in (("a", a), ("b", b))},
        }  # fmt: skip
        rows += [{**whole, **row} for row in _pair_rows(pair)] or [whole]
    return rows


def _pair_rows(pair: Pair) -> list[Row]:
    rows: list[Row] = []
    if pair.duration:
        time = _duration(pair.duration) or {}
        renamed = {"a": time["a_ns"], "b": time["b_ns"], "delta": time["delta_ns"]}
        rows.append({"what": "time", "key": time["source"], "unit": "ns", **time, **renamed})
    rows += [{"what": "metric", **_metric(one)} for one in pair.metrics if not _is_equal(one)]
    if isinstance(pair.attribution, Attribution):
        parts = part_rows(pair.attribution)
        for part in parts if any(one["ns"] or one["log2"] for one in parts) else []:  # of a launch and itself none
            values = {"key": part["factor"], "a": part.get("value_a"), "b": part.get("value_b")}
            rows.append({"what": "part", **values, "ns": part["ns"], "log2": part["log2"]})
    for line in pair.lines:
        number = line.line_b if line.line_b is not None else line.line_a
        shares = {"a": line.share_a, "b": line.share_b, "delta": line.delta, "unit": "share of samples"}
        rows.append({"what": "line", "key": f"{line.file}:{number}", **shares})
    return rows
