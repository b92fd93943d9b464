"""``gate`` for people and programs: what fails, what got better, what cannot be told."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from ncu_lab.model import Json
from ncu_lab.model.gating import Change, GateResult, Judged, Outcome
from ncu_lab.model.policy import Direction, Limit
from ncu_lab.render import numbers
from ncu_lab.render.cause_words import cause_document
from ncu_lab.render.change_words import p_words
from ncu_lab.render.documents import notices_document
from ncu_lab.render.numbers import MISSING, THIN
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import BAD, GOOD, MUTED, STRONG, Terminal

FAILS = "✗"
SIGNS: Mapping[Outcome, str] = {"improvement": "✓", "inconclusive": "?", "missing": MISSING}
_STYLES: Mapping[Outcome, str] = {"improvement": GOOD, "inconclusive": "", "missing": MUTED}
_REPORTED: tuple[Outcome, ...] = ("inconclusive", "missing", "improvement")
_NOT_ALLOWED: Mapping[Direction, str] = {"lower": "increase", "higher": "decrease", "either": "change"}
_SIGN: Mapping[Direction, str] = {"lower": "+", "higher": numbers.MINUS, "either": "±"}

FLAT_COLUMNS = tuple(
    Column(key, key)
    for key in (
        "outcome", "fails", "kernel", "stage", "key", "unit", "a", "b", "delta_pct", "low_pct", "high_pct", "p", "n_a",
        "n_b", "limit", "limit_unit", "why", "sentence", "file", "line",
    )
)  # fmt: skip


def print_gate(result: GateResult, terminal: Terminal, explain: str = "") -> None:
    """Print what a gate says: what fails first, and the verdict last.

    Args:
        result: What to print.
        terminal: Where.
        explain: The command that explains it; none by default.
    """
    terminal.paragraph(title(result), STRONG)
    for words in caveats(result):
        terminal.paragraph(words, MUTED)
    _print_told(merged(result.failing), FAILS, BAD, terminal)
    for outcome in _REPORTED:
        _print_told(merged(result.reported(outcome)), SIGNS[outcome], _STYLES[outcome], terminal)
    terminal.paragraph(verdict(result), BAD if not result.passed else GOOD)
    if explain and result.judged:
        terminal.command(explain, lead="Explain: ")


def _print_told(lines: Sequence[Told], sign: str, style: str, terminal: Terminal) -> None:
    for told in lines:
        first, *others = textwrap.wrap(told.line, max(40, terminal.width - 2), subsequent_indent="    ")
        terminal.line((f"{sign} ", style), first)
        for more in others:
            terminal.line(more)


def title(result: GateResult) -> str:
    """Name what is gated, against what, and by which policy."""
    return f"{result.b} against {result.a} · {result.policy or 'default policy'}"


def caveats(result: GateResult) -> list[str]:
    """Say what weakens a result, and what only one side has."""
    told = [f"forced although not comparable: {words}" for words in result.forced]
    told += [notice.message for notice in result.notices]
    told += [
        f"{side}, so not gated: {', '.join(kernels)}"
        for side, kernels in (("new", result.added), ("gone", result.removed))
        if kernels
    ]
    return told


class Told:
    """Judged quantities that are told in one line: the same of several kernels, where there is no number to tell."""

    def __init__(self, members: Sequence[Judged]) -> None:
        names = list(dict.fromkeys(one.change.kernel for one in members))
        self.kernels = ", ".join(names) if len(names) < 4 else f"{len(names)} kernels"
        keys = list(dict.fromkeys(one.change.key for one in members))
        first = members[0]
        if len(members) == 1:
            self.words = line_words(first)
            self.line = whole_line(first)
            return
        self.words = f"{', '.join(keys) if len(keys) < 4 else f'{len(keys)} quantities'}: {first.why}"
        self.line = f"{self.kernels}  {self.words}"


def merged(judged: Iterable[Judged]) -> list[Told]:
    """Join what is missing for one reason; every other quantity has its own line."""
    groups: dict[object, list[Judged]] = {}
    for one in judged:
        same: object = (one.why, one.fails) if one.outcome == "missing" else id(one)
        groups.setdefault(same, []).append(one)
    return [Told(members) for members in groups.values()]


def whole_line(one: Judged, between: str = "  ") -> str:
    """Write one quantity with its kernel; of a time that changed first what happened and why, in one sentence."""
    change = one.change
    if not change.sentence or one.outcome not in ("violation", "improvement"):
        return f"{change.kernel}{between}{line_words(one)}"
    limit = f", {limit_words(one)}" if one.outcome == "violation" else ""
    return f"{change.sentence} ({change.key} {change_words(change)}{limit})"


def line_words(one: Judged) -> str:
    """Write one quantity: ``duration_ns  +3.1 % ± 0.3 (limit +0.5 %)   p = 2e-4``."""
    change = one.change
    if one.outcome == "missing" or one.limit is None:
        return f"{change.key}: {one.why}"
    words = f"{change.key}  {change_words(change)}"
    if one.outcome == "violation":
        words += f" ({limit_words(one)})"
    if one.outcome == "inconclusive":
        return f"{words}: inconclusive, {one.why}{_samples_words(change)}" + "".join(
            f"; {more}" for more in (change.detail, change.hint) if more
        )
    return words + "".join(f"   {note}" for note in notes(change))


def change_words(change: Change) -> str:
    """Write a change: relative with half its interval where it has one, else both values."""
    if change.interval is None:
        return f"{value_words(change.a, change.unit)} → {value_words(change.b, change.unit)}"
    return f"{percent_words(delta(change))} ± {half_words(change.interval)}"


def half_words(interval: tuple[float, float]) -> str:
    """Write half the width of an interval in percent, without the sign: ``0.3``."""
    low, high = interval
    return numbers.percent(50.0 * (high - low), table=True).partition(THIN)[0]


def notes(change: Change) -> list[str]:
    """Write what stands beside a change: its p, unless the sentence has it, and what it consists of."""
    told = [] if change.p is None or change.sentence else [p_words(change.p)]
    return told + [words for words in (change.detail, change.sentence) if words]


def limit_words(one: Judged) -> str:
    """``limit +0.5 %``, ``limit: no increase``, ``limit ±8``."""
    if one.limit is None:
        return ""
    if one.limit.value == 0:
        return f"limit: no {_NOT_ALLOWED[one.better]}"
    return f"limit {_SIGN[one.better]}{_amount(one.limit, one.change.unit)}"


def _amount(limit: Limit, unit: str) -> str:
    return numbers.percent(100.0 * limit.value) if limit.relative else value_words(limit.value, unit)


def _samples_words(change: Change) -> str:
    if change.interval is None or change.p is None:
        return ""
    return f", {change.n_a} + {change.n_b} samples"


def value_words(value: float | None, unit: str) -> str:
    """Write a value for people: durations and bytes with their unit, all else as a bare count."""
    if unit == "ns":
        return numbers.duration(value)
    base = unit.partition("/")[0]
    if base == "byte":
        return numbers.byte_count(value)
    if unit == "%":
        return numbers.percent(value, table=True)
    return numbers.count(value)


def delta(change: Change) -> float | None:
    """Return B/A - 1 in percent: the middle of the interval where there is one."""
    if change.estimate is not None:
        return 100.0 * change.estimate
    if change.a is None or change.b is None or not change.a:
        return None
    return 100.0 * (change.b - change.a) / abs(change.a)


def percent_words(value: float | None) -> str:
    """``+3.1 %``."""
    return numbers.signed(numbers.percent(value, table=True))


def verdict(result: GateResult) -> str:
    """Write the last line: passed or failed, and the counts of all."""
    failing = result.failing
    words_of: Mapping[Outcome, str] = {"improvement": "better", "inconclusive": "inconclusive", "missing": "missing"}
    counts = [f", {len(found)} {words}" for outcome, words in words_of.items() if (found := result.reported(outcome))]
    more = "".join(counts)
    if failing:
        kernels = {one.change.kernel for one in failing}
        return f"Failed: {_plural(len(failing), 'violation')} in {_plural(len(kernels), 'kernel')}{more}."
    kernels = {one.change.kernel for one in result.judged}
    if not result.judged:
        return "Passed: there was nothing to gate."
    within = len(result.judged) - len(result.of("inconclusive")) - len(result.of("missing"))
    return f"Passed: {_plural(within, 'quantity')} of {_plural(len(kernels), 'kernel')} within limits{more}."


def _plural(count: int, word: str) -> str:
    if count == 1:
        return f"1 {word}"
    return f"{count} {word.removesuffix('y') + 'ies' if word.endswith('y') else word + 's'}"


def gate_document(result: GateResult) -> Json:
    """Build the document of ``gate``."""
    return {
        "passed": result.passed,
        "a": result.a,
        "b": result.b,
        "policy": result.policy or None,
        "judged": len(result.judged),
        "violations": [row(one) for one in result.failing],
        "improvements": [row(one) for one in result.of("improvement")],
        "inconclusive": [row(one) for one in result.of("inconclusive")],
        "missing": [row(one) for one in result.of("missing")],
        "added": list(result.added),
        "removed": list(result.removed),
        "forced": list(result.forced),
        "warnings": notices_document(result.notices),
    }


def row(one: Judged) -> Row:
    """Return one quantity with all that is known of it, at full precision."""
    change, limit = one.change, one.limit
    low, high = change.interval or (None, None)
    return {
        "outcome": one.outcome,
        "fails": one.fails,
        "kernel": change.kernel,
        "stage": change.stage,
        "key": change.key,
        "unit": change.unit,
        "a": change.a,
        "b": change.b,
        "delta_pct": delta(change),
        "low_pct": None if low is None else 100.0 * low,
        "high_pct": None if high is None else 100.0 * high,
        "p": change.p,
        "n_a": change.n_a,
        "n_b": change.n_b,
        "limit": None if limit is None else 100.0 * limit.value if limit.relative else limit.value,
        "limit_unit": None if limit is None else "%" if limit.relative else change.unit,
        "why": one.why,
        "sentence": change.sentence or None,
        "cause": cause_document(change.cause),
        "file": change.place.file if change.place else None,
        "line": change.place.line if change.place else None,
    }
