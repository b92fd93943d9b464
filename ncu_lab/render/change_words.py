"""Words for what changed: verdicts and their signs, times, counters, lines, and why something is not comparable."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from ncu_lab.metrics import METRICS
from ncu_lab.model import LaunchSummary
from ncu_lab.model.comparison import (
    Comparability,
    Difference,
    MetricChange,
    MetricVerdict,
    MovedLine,
    Pair,
    QuantityClass,
    TimeChange,
    TimeVerdict,
)
from ncu_lab.render import numbers
from ncu_lab.render.numbers import MISSING, THIN
from ncu_lab.render.wording import extent

LEAST_P = 1e-300
"""The least probability that is written as a number: below it floats end, and a p of 0 would be a certainty."""
MOST_PERCENT = 1000.0
"""Above it a change is written as a factor."""

SIGNS: Mapping[TimeVerdict | MetricVerdict, str] = {
    "faster": "▼", "slower": "▲", "same": "=", "inconclusive": "?", "not_comparable": "⊘",
    "better": "✓", "worse": "✗", "changed": "≠", "missing": MISSING,
}  # fmt: skip

CLASS_NAMES: Mapping[QuantityClass, str] = {
    "time": "times",
    "profiled_time": "profiled durations",
    "noisy": "counters that vary",
    "exact": "exact counters",
    "static": "what the compiler decides",
}

_NAMES: Mapping[str, str] = {
    "registers_per_thread": "registers",
    "instructions_issued": "instructions",
    "shared_load_bank_conflicts": "load conflicts",
    "shared_store_bank_conflicts": "store conflicts",
    "shared_memory_per_block": "shared memory (with driver's)",
    "local_spill_requests": "spill requests",
    "sm_clock_hz": "SM clock",
    "build:instructions": "machine code",
    "build:registers": "registers (compiler)",
    "build:shared_bytes": "shared memory (compiler)",
    "build:spill_store_bytes": "spill stores",
    "build:spill_load_bytes": "spill loads",
    "build:stack_bytes": "stack",
}

_FIRST = (
    "registers_per_thread", "local_spill_requests", "shared_memory_per_block", "instructions_issued",
    "shared_load_bank_conflicts", "shared_store_bank_conflicts", "global_load_sectors_per_request",
    "global_store_sectors_per_request",
)  # fmt: skip
"""Counters that are told before others."""

_CAPITALS = {
    "sm": "SM",
    "l1": "L1",
    "l2": "L2",
    "dram": "DRAM",
    "fp32": "FP32",
    "fp64": "FP64",
    "fma": "FMA",
    "flop": "FLOP",
}

_FAR_APART = 50.0
"""Durations of a larger ratio are not written to one digit: of the smaller one too little would be left."""

_SMALL = 0.1
"""A smaller change of time is written in percent, a larger one as a factor."""


def pair_name(pair: Pair) -> str:
    """Name what is compared: a stage, or a kernel with its launch; two names where they differ."""
    a = pair.chosen_a or next(iter(pair.launches_a), None)
    b = pair.chosen_b or next(iter(pair.launches_b), None)
    if a is None or b is None:
        return _launch_name(a or b)
    before, after = _launch_name(a), _launch_name(b)
    name = before if before == after else f"{before} → {after}"
    return name if a.stage and b.stage else f"{name} (launch {a.launch} → {b.launch})"


def _launch_name(launch: LaunchSummary | None) -> str:
    """``2d``, or ``saxpy<<<4096, 256>>>`` for a launch of no stage."""
    if launch is None:
        return MISSING
    return launch.stage or f"{launch.function}<<<{extent(launch.grid)}, {extent(launch.block)}>>>"


def pairing_words(pair: Pair) -> str:
    """Say what a kernel became and how sure that is; empty for one that is plainly the same."""
    if pair.status == "matched" and pair.confidence in (1.0, None):
        return ""
    if not pair.is_on_both_sides:
        return pair.status
    names = [list(dict.fromkeys(one.function for one in side)) for side in (pair.launches_a, pair.launches_b)]
    became = " → ".join(" + ".join(side) for side in names) if names[0] != names[1] else "same name"
    how = {
        "shape": "another launch shape",
        "path": "elsewhere in the program",
        "template": "another instance of the template",
        "similarity": "by its likeness",
        "stage": "by its stage",
    }.get(pair.matched_by or "", "")
    return f"{pair.status}: {became}, {how}, confidence {pair.confidence:.2f}"


def time_words(change: TimeChange | None) -> str:
    """``▼ 1.66× faster   769 → 464 µs (−304 µs, −39.6 % ± 0.3)``."""
    if change is None:
        return MISSING
    sign = SIGNS[change.verdict]
    if change.a_ns is None or change.b_ns is None:
        return f"{sign} {change.reason}"
    scale = max(change.a_ns, change.b_ns)
    both = _both_words(change.a_ns, change.b_ns)
    if change.delta_ns is None:
        return f"{sign} not comparable   {both}"
    if _is_about_zero(change):
        changed = f"≈{THIN}0{THIN}%{share_words(change).partition(f'{THIN}%')[2]}"
    else:
        changed = f"{numbers.duration_change(change.delta_ns, scale)}, {share_words(change)}"
    return f"{sign} {verdict_words(change)}   {both} ({changed})"


def _is_about_zero(change: TimeChange) -> bool:
    """Whether the difference of the medians and the estimate of the ratio point to different sides, as nothing does."""
    if change.ratio is None or change.low is None or change.high is None or change.delta_ns is None:
        return False
    return change.low <= 1.0 <= change.high and change.delta_ns * (change.ratio - 1.0) < 0.0


def _both_words(a_ns: float, b_ns: float) -> str:
    """Write two durations in one unit and to one digit; each in its own where they are far apart."""
    scale = max(a_ns, b_ns)
    if scale > _FAR_APART * min(a_ns, b_ns):
        return f"{numbers.duration(a_ns)} → {numbers.duration(b_ns)}"
    unit = numbers.duration(scale).rpartition(THIN)[2]
    before, after = (numbers.duration_change(one, scale).removeprefix("+") for one in (a_ns, b_ns))
    return f"{before.removesuffix(THIN + unit)} → {after}"


def verdict_words(change: TimeChange) -> str:
    """``1.66× faster``, ``3.1 % slower``; the bare verdict where it is neither."""
    if change.verdict not in ("faster", "slower") or change.ratio is None:
        return change.verdict
    if abs(change.ratio - 1.0) < _SMALL:
        return f"{numbers.percent(abs(change.ratio - 1.0) * 100.0, table=True)} {change.verdict}"
    factor = change.ratio if change.verdict == "slower" else 1.0 / change.ratio
    return f"{numbers.ratio(factor)} {change.verdict}"


def share_words(change: TimeChange) -> str:
    """``−39.6 % ± 0.3``, the estimate with half its interval; a factor where it is large."""
    ratio = change.ratio
    if ratio is None:
        return numbers.signed(numbers.percent(change.delta_pct, table=True))
    percent = (ratio - 1.0) * 100.0
    if percent > MOST_PERCENT:
        return f"×{numbers.significant(ratio)}"
    words = numbers.signed(numbers.percent(percent, table=True))
    if change.low is None or change.high is None or change.low == change.high:
        return words
    half = (change.high - change.low) * 50.0
    return f"{words} ± {numbers.percent(half, digits=1 if half < 10 else 2).removesuffix(THIN + '%')}"


def evidence_words(change: TimeChange | None) -> str:
    """Say what a verdict rests on: ``p = 1e-5, n = 20 + 20``."""
    if change is None or change.a_ns is None or change.b_ns is None:
        return ""
    if change.verdict == "not_comparable":
        return f"because of {change.reason}"
    words = [p_words(change.p)] if change.p is not None else []
    words.append(f"n = {change.n_a} + {change.n_b}")
    if max(change.processes_a, change.processes_b) > 1:
        words.append(f"of {change.processes_a} + {change.processes_b} processes")
    if change.source == "profiler":
        words.append("under the profiler")
    if change.reason:
        words.append(change.reason)
    return ", ".join(words) + (f"; {power_words(change)}" if change.power else "")


def power_words(change: TimeChange) -> str:
    """``samples that scatter by 0.40 % show a slowdown of 1.0 % in about 38 of 100 such pairs, 100 a side in 99``."""
    power = change.power
    if power is None:
        return ""
    scatter, slowdown = (numbers.percent(100.0 * share, digits=2) for share in (power.scatter, power.slowdown))
    seen = math.floor(100.0 * power.seen)
    words = f"samples that scatter by {scatter} show a slowdown of {slowdown} in about {seen} of 100 such comparisons"
    return f"{words}, {power.needed} a side in 99" if power.needed else f"{words}: profile --processes 10"


def p_words(p: float) -> str:
    """``p = 0.0079``, ``p = 1e-5``; a probability too small for a float is not 0."""
    if p < LEAST_P:
        return f"p < {LEAST_P:.0e}"
    return "p = " + (f"{p:.0e}".replace("e-0", "e-") if p < 0.001 else f"{p:.2g}")


def metric_name(key: str) -> str:
    """Name a counter for people; its key without underscores where it has no shorter name."""
    words = key.removeprefix("build:").removesuffix("_pct").split("_")
    return _NAMES.get(key) or " ".join(_CAPITALS.get(word, word) for word in words)


def metric_words(change: MetricChange) -> str:
    """``✓ registers 130 → 107``, or in percent where both are large: ``✓ instructions −5.0 %``."""
    name = f"{SIGNS[change.verdict]} {metric_name(change.key)}"
    before, after = value_words(change.key, change.a, change.unit), value_words(change.key, change.b, change.unit)
    if change.delta_pct is not None and abs(change.delta_pct) < 10.0 and abs(change.a or 0.0) >= 1e4:
        return f"{name} {numbers.signed(numbers.percent(change.delta_pct, table=True))}"
    return f"{name} {before} → {after}" + (", missing" if change.is_no_number else "")


def value_words(key: str, value: float | None, unit: str) -> str:
    """Write the value of a counter with its unit where that is not told by its name."""
    if unit == "%":
        return numbers.percent(value)
    if unit.startswith("byte"):
        return numbers.byte_count(value)
    if unit in ("hz", "FLOP/s"):
        return numbers.si(value, "Hz" if unit == "hz" else unit, least=0)
    whole = key in METRICS and "/" in unit and not unit.startswith("register")
    return numbers.significant(value) if whole or unit == "" else numbers.count(value)


def told_metrics(pair: Pair) -> tuple[list[MetricChange], list[MetricChange]]:
    """Return what of the counters is worth a line: exact ones that changed, noisy ones that got better or worse.

    What the compiler says is left out where the report says the same.
    """
    counted = {one.key for one in pair.metrics}
    repeated = {"build:registers": "registers_per_thread", "build:shared_bytes": "shared_memory_per_block"}
    changed = [
        one
        for one in pair.metrics
        if (one.verdict in ("better", "worse", "changed") or one.is_no_number) and repeated.get(one.key) not in counted
    ]
    exact = sorted((one for one in changed if one.kind == "exact"), key=_rank)
    return exact, [one for one in changed if one.kind == "noisy" and one.verdict != "changed"]


def _rank(change: MetricChange) -> int:
    return _FIRST.index(change.key) if change.key in _FIRST else len(_FIRST)


def line_words(line: MovedLine) -> str:
    """``kernels/gemm/04_2d.cu:61 samples 38 % → 12 %``."""
    number = line.line_b if line.line_b is not None else line.line_a
    moved = f" (was {line.line_a})" if line.line_a and line.line_b and line.line_a != line.line_b else ""
    gone = " (gone)" if line.line_b is None else " (new)" if line.line_a is None else moved
    return f"{line.file}:{number}{gone} samples {numbers.share(line.share_a)} → {numbers.share(line.share_b)}"


def comparable_words(pairs: Sequence[Pair], *, forced: bool) -> str:
    """``comparable ✓``, or what is not, and because of what."""
    told = [pair.comparability for pair in pairs if pair.is_on_both_sides]
    reasons = list(dict.fromkeys(one for comparability in told for one in comparability.reasons))
    if not reasons:
        return "comparable ✓" if told else "nothing to compare"
    alike: dict[tuple[QuantityClass, ...], list[str]] = {}
    for one in reasons:
        alike.setdefault(one.forbids, []).append(one.words)
    because = "; ".join(_forbidding("; ".join(words), forbids) for forbids, words in alike.items())
    return f"compared by force, although not comparable: {because}" if forced else f"not comparable ⊘: {because}"


def reason_words(reason: Difference) -> str:
    """``another driver (580.1 and 590.2) forbids times, profiled durations``."""
    return _forbidding(reason.words, reason.forbids)


def _forbidding(words: str, forbids: Sequence[QuantityClass]) -> str:
    what = "everything" if len(forbids) == len(CLASS_NAMES) else ", ".join(CLASS_NAMES[one] for one in forbids)
    return f"{words} forbids {what}"


def caution_words(comparabilities: Iterable[Comparability]) -> list[str]:
    """Say what differs without forbidding anything, and what is not known."""
    told = list(comparabilities)
    differences = dict.fromkeys(one for each in told for one in each.differences if not one.forbids)
    words = [one.words for one in differences if one.code != "edited_tree"]
    words += [_edited_words(one) for one in differences if one.code == "edited_tree"]
    unknown = dict.fromkeys(what for each in told for what in each.unknown)
    return words + ([f"only one side tells its {', '.join(unknown)}"] if unknown else [])


def _edited_words(difference: Difference) -> str:
    edited = [letter for letter, state in (("A", difference.a), ("B", difference.b)) if state == "edited"]
    return f"{' and '.join(edited)} of an edited tree"
