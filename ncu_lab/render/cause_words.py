"""A change of time in one sentence: by how much, since when, because of what, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping

from ncu_lab.model import Json
from ncu_lab.model.cause import Cause
from ncu_lab.model.comparison import Comparison, Pair, TimeChange
from ncu_lab.render import numbers
from ncu_lab.render.change_words import p_words, pair_name, verdict_words
from ncu_lab.render.wording import reason_name

_MOST_REASONS = 2
_COUNTED: Mapping[str, str] = {
    "instructions_issued": "instructions",
    "shared_bytes": "shared-memory wavefronts",
    "shared_load_bank_conflicts": "bank conflicts of shared loads",
    "shared_store_bank_conflicts": "bank conflicts of shared stores",
    "global_load_sectors_per_request": "sectors per global load",
    "global_store_sectors_per_request": "sectors per global store",
    "local_spill_requests": "spill requests",
}
_AMOUNTS: Mapping[str, str] = {
    "dram_bytes": "DRAM traffic",
    "l2_bytes": "L2 traffic",
    "elapsed_to_active": "imbalance between SMs",
    "theoretical_occupancy_pct": "theoretical occupancy",
    "achieved_occupancy_pct": "achieved occupancy",
    "sm_clock_hz": "clock",
}


def change_sentence(comparison: Comparison, pair: Pair) -> str:
    """``gram is 1.18× slower since fb5c188, because of 22.6 % more shared-memory wavefronts; p = 1e-5``.

    Empty where the time did not change, or that is not known.
    """
    if pair.duration is None or pair.duration.verdict not in ("faster", "slower"):
        return ""
    a, b = pair.chosen_a, pair.chosen_b
    if a is not None and b is not None and a.stage and b.stage and a.stage != b.stage:
        return time_sentence(b.stage, pair.duration, pair.cause, f"than {a.stage}")
    return time_sentence(pair_name(pair), pair.duration, pair.cause, _since(comparison, pair))


def _since(comparison: Comparison, pair: Pair) -> str:
    """Name the commit that did it where B follows A directly; else what B is compared with."""
    a, b = pair.run_a, pair.run_b
    if a is None or b is None or not a.git.commit or a.git.commit == b.git.commit:
        return "than in A"
    if comparison.is_next and b.git.commit and not (a.git.dirty or b.git.dirty):
        return f"since {b.git.commit[:7]}"
    return f"than at {a.git.commit[:7]}" + (" (edited)" if a.git.dirty else "")


def time_sentence(name: str, change: TimeChange, cause: Cause | None, since: str) -> str:
    """Write the sentence of a time that changed.

    Args:
        name: The kernel.
        change: How its time changed.
        cause: Why, as far as it is known.
        since: ``since fb5c188``, ``than 1d``.
    """
    chance = f"; {p_words(change.p)}" if change.p is not None else ""
    return f"{name} is {verdict_words(change)} {since}, {cause_words(cause)}{chance}"


def cause_words(cause: Cause | None) -> str:
    """``because of 22.6 % more shared-memory wavefronts``; says so where no counter explains it."""
    if cause is None:
        return "and no attribution tells why"
    if cause.key is None:
        return f"because of {_factor_words(cause)}, which no counter explains"
    return f"because of {_counter_words(cause.key, cause.a or 0.0, cause.b or 0.0)}"


def _factor_words(cause: Cause) -> str:
    """``waits (mio throttle, barrier)``."""
    if cause.factor != "stalls/warps":
        return {"imbalance": _AMOUNTS["elapsed_to_active"], "clock": "the clock"}.get(cause.factor, cause.factor)
    reasons = ", ".join(reason_name(one) for one in cause.reasons[:_MOST_REASONS])
    return f"waits ({reasons})" if reasons else "waits and warps in flight"


def _counter_words(key: str, before: float, after: float) -> str:
    """``22.6 % more shared-memory wavefronts``, ``6.62× the spill requests``, ``3.1 % lower clock``."""
    name = _COUNTED.get(key) or _AMOUNTS[key]
    more, less = ("more", "fewer") if key in _COUNTED else ("more", "less")
    if key.endswith("_pct") or key == "sm_clock_hz":
        more, less = "higher", "lower"
    if not before:
        return f"{numbers.count(after)} {name} where there were none"
    if after / before >= 2.0:
        return f"{numbers.ratio(after / before)} the {name}"
    percent = 100.0 * (after / before - 1.0)
    return f"{numbers.percent(abs(percent), table=True)} {more if percent > 0.0 else less} {name}"


def cause_document(cause: Cause | None) -> Json | None:
    """Write a cause for programs; None where it is not known."""
    if cause is None:
        return None
    return {
        "factor": cause.factor,
        "share": cause.share,
        "reasons": list(cause.reasons),
        "key": cause.key,
        "a": cause.a,
        "b": cause.b,
    }
