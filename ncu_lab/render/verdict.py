"""A verdict in plain words: what bounds a launch, then the figures that say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ncu_lab.metrics import METRICS
from ncu_lab.model import Bound, Evidence, Json, Verdict
from ncu_lab.render import numbers
from ncu_lab.render.wording import reason_name

_LEADS: Mapping[Bound, str] = {
    "compute": "Bound by compute",
    "memory": "Bound by memory",
    "shared": "Bound by shared memory",
    "balanced": "Bound by compute and memory alike",
    "latency": "Bound by latency",
    "launch": "Bound by its launch",
    "tail": "Bound by its tail",
    "unknown": "What bounds it is unknown",
}

_UNITS: Mapping[str, str] = {
    "tensor_pipe_pct": "the tensor pipe",
    "fma_pipe_pct": "the FMA pipe",
    "issue_slots_pct": "issue slots",
    "compute_throughput_pct": "the busiest arithmetic pipe",
    "sm_throughput_pct": "the SM's busiest unit",
    "dram_throughput_pct": "DRAM",
    "l2_throughput_pct": "L2",
    "l1_throughput_pct": "L1",
    "memory_throughput_pct": "the busiest part of memory",
}

_ABSENT: Mapping[str, str] = {
    "sm_throughput_pct": "how busy compute was",
    "memory_throughput_pct": "how busy memory was",
    "shared_bytes": "how much of it is shared memory",
    "waves_per_sm": "waves",
    "elapsed_to_active": "idle time",
    "achieved_occupancy_pct": "occupancy",
    "warp_cycles_per_instruction": "waits",
}


def verdict_words(verdict: Verdict, *, sections: bool = True) -> str:
    """Say a verdict in one sentence: ``Bound by latency: no unit is above 41 % of its peak (L1); …``.

    Args:
        verdict: The verdict.
        sections: Whether the sections that collect what is missing are named; not where another place does.
    """
    return f"{_LEADS[verdict.bound]}: {'; '.join(_reasons(verdict, sections=sections))}."


def sections_of_missing(verdict: Verdict) -> list[str]:
    """Return the sections that collect what a verdict lacks, each once."""
    return list(dict.fromkeys(one.subject or METRICS[one.key].section for one in verdict.missing))


def _reasons(verdict: Verdict, *, sections: bool = True) -> list[str]:
    """Say each figure of the evidence; what was not collected stands last, except where nothing else is known."""
    told = [_SENTENCES[one.fact](one, verdict) for one in verdict.because if one.fact != "missing"]
    missing = _missing_words(verdict, sections=sections)
    return [*missing, *told] if verdict.bound == "unknown" else [*told, *missing]


def verdict_document(verdict: Verdict | None) -> Json | None:
    """Return a verdict for JSON: the bound, the reasons in words, and the same as figures; None without one."""
    if verdict is None:
        return None
    return {
        "bound": verdict.bound,
        "because": [numbers.plain_spaces(words) for words in _reasons(verdict)],
        "evidence": [_figure(one) for one in verdict.because],
    }


def _figure(one: Evidence) -> Json:
    return {
        "fact": one.fact,
        "key": one.key,
        "value": one.value,
        "unit": one.unit,
        "threshold": one.threshold,
        "subject": one.subject,
    }


def _busy(one: Evidence, verdict: Verdict) -> str:
    verb = "are" if one.key == "issue_slots_pct" else "is"
    return f"{_UNITS[one.key]} {verb} at {numbers.percent(one.value)} of {'their' if verb == 'are' else 'its'} peak"


def _far(one: Evidence, verdict: Verdict) -> str:
    """Say the busiest unit where none is near its peak; beside one that is, how busy the other side was."""
    unit, pct = _UNITS[one.key], numbers.percent(one.value)
    if any(other.fact == "busy" for other in verdict.because):
        return f"{unit} at {pct}"
    if verdict.bound == "unknown":  # the other side may be above
        return f"{unit} at {pct} of its peak"
    return f"no unit is above {pct} of its peak ({unit.removeprefix('the ')})"


def _shared_part(one: Evidence, verdict: Verdict) -> str:
    return f"{numbers.share(one.value)} of what it moves is shared memory"


def _blocks(one: Evidence, verdict: Verdict) -> str:
    return f"{numbers.integer(one.value)} block{'' if one.value == 1 else 's'} for {one.subject} SMs"


def _waves(one: Evidence, verdict: Verdict) -> str:
    if one.value is not None and one.value < 1:
        return f"the grid fills {numbers.share(one.value)} of what the GPU holds at once"
    return f"{numbers.significant(one.value)} waves"


def _partial_wave(one: Evidence, verdict: Verdict) -> str:
    return f"the last wave leaves {numbers.share(one.value)} of all places for blocks empty"


def _idle(one: Evidence, verdict: Verdict) -> str:
    return f"an SM is idle for {numbers.share(one.value)} of the time"


def _short(one: Evidence, verdict: Verdict) -> str:
    return f"it takes {numbers.duration(one.value)}"


def _wait(one: Evidence, verdict: Verdict) -> str:
    reason = "for a fixed latency" if one.subject == "wait" else reason_name(one.subject or "")
    return f"the longest wait is {reason} ({numbers.share(one.value)} of warp time)"


def _occupancy(one: Evidence, verdict: Verdict) -> str:
    words = f"{numbers.percent(one.value, digits=3)} of the warps an SM holds were there"
    return f"{words}, limited by {_listed(one.subject.split(', '))}" if one.subject else words


def _missing_words(verdict: Verdict, *, sections: bool) -> list[str]:
    """Name what was not collected, section by section where these are named."""
    if not sections:
        absent = list(dict.fromkeys(_ABSENT[one.key] for one in verdict.missing))
        return [f"not collected: {_listed(absent)}"] if absent else []
    by_section: dict[str, list[str]] = {}
    for one in verdict.missing:
        by_section.setdefault(one.subject or METRICS[one.key].section, []).append(_ABSENT[one.key])
    return [f"not collected: {_listed(absent)} (--section {section})" for section, absent in by_section.items()]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


_SENTENCES: Mapping[str, Callable[[Evidence, Verdict], str]] = {
    "busy": _busy,
    "far": _far,
    "shared_part": _shared_part,
    "blocks": _blocks,
    "waves": _waves,
    "partial_wave": _partial_wave,
    "idle": _idle,
    "short": _short,
    "wait": _wait,
    "occupancy": _occupancy,
}
