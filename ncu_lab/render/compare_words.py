"""The sentences of the Compare page: what became of a kernel, why, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ncu_lab.model import Attribution, Contribution, RooflinePoint, RunMeta
from ncu_lab.model.comparison import (
    QUANTITY_CLASSES,
    Comparability,
    Difference,
    MetricChange,
    MovedLine,
    Pair,
)
from ncu_lab.render import numbers
from ncu_lab.render.attribution import NET, waterfall
from ncu_lab.render.change_words import (
    CLASS_NAMES,
    caution_words,
    evidence_words,
    pair_name,
    pairing_words,
    time_words,
)
from ncu_lab.render.explanation import contribution_words
from ncu_lab.render.figures.dumbbell import WaitChange, WaitScale, change_text
from ncu_lab.render.figures.roofline import BYTES_ARE, Level
from ncu_lab.render.headlines import count_word
from ncu_lab.render.wording import reason_name

Chip = tuple[str, str]
"""How it is coloured (``better``, ``unsure``, ``worse`` or nothing), and its words."""

_SAME: Sequence[tuple[str, str]] = (
    ("other_device", "GPU"),
    ("other_problem", "problem"),
    ("other_driver", "driver"),
    ("other_ncu", "ncu"),
    ("other_clock_control", "clock control"),
)
"""What matters most for a comparison: code of its difference, and what to call it."""

_UNKNOWN: Mapping[str, str] = {"version of ncu": "ncu"}


def comparability_chips(pair: Pair) -> list[Chip]:
    """Return what agrees and what does not: ``✓ same GPU``, ``⊘ another driver (580 and 590)``, ``? …`` not told.

    What neither side tells has no chip.
    """
    comparability, told = pair.comparability, _told(pair.run_b)
    differing = {one.code: one for one in comparability.differences}
    unknown = {_UNKNOWN.get(one, one) for one in comparability.unknown}
    chips: list[Chip] = []
    for code, name in _SAME:
        if code in differing:
            chips.append(_difference_chip(differing.pop(code)))
        elif name in unknown:
            chips.append(("unsure", f"? {name} told by one side only"))
        elif name in told:
            chips.append(("better", f"✓ same {name}"))
    chips += [_difference_chip(one) for one in differing.values() if one.forbids]
    return chips


def _told(meta: RunMeta | None) -> set[str]:
    """Return what a run tells of what a comparison hangs on."""
    if meta is None:
        return set()
    environment = meta.environment
    values = (meta.device, meta.problem, environment.driver, environment.ncu, environment.clock_control)
    return {name for (_, name), value in zip(_SAME, values, strict=True) if value is not None}


def _difference_chip(one: Difference) -> Chip:
    return ("worse", f"⊘ {one.words}") if one.forbids else ("unsure", f"! {one.words}")


def forbidden_words(comparability: Comparability) -> list[str]:
    """Say of each quantity that is not comparable why: ``times are not comparable: another driver (…)``."""
    return [
        f"{CLASS_NAMES[one].capitalize()}: not comparable, because of {against}."
        for one in QUANTITY_CLASSES
        if (against := comparability.against(one)) is not None
    ]


def cautions(comparability: Comparability) -> str:
    """Say what differs and forbids nothing; empty where there is nothing."""
    words = caution_words([comparability])
    return f"To be known: {'; '.join(words)}." if words else ""


def banner_head(pair: Pair) -> str:
    """``1d → 2d: ▼ 1.85× faster, 8.38 → 4.53 ms (−3.86 ms, −46.0 % ± 0.1)``."""
    if not pair.is_on_both_sides:
        only = "A" if pair.status == "removed" else "B"
        return f"{pair_name(pair)}: only in {only}"
    return f"{pair_name(pair)}: {time_words(pair.duration).replace('   ', ', ')}"


def banner_words(pair: Pair, contributions: Sequence[Contribution], *, itself: bool) -> list[str]:
    """Say why a time changed, how sure that is, and how the kernels were paired.

    Args:
        pair: What is compared.
        contributions: What changed the duration most, the largest first.
        itself: Whether a launch is compared with itself.
    """
    if not pair.is_on_both_sides:
        return [f"There is nothing to compare it with: it was {pair.status}."]
    if itself:
        return ["A and B are the same launches: everything is equal by definition."]
    words = []
    if isinstance(pair.attribution, Attribution):
        scale = max(pair.attribution.a_ns, pair.attribution.b_ns)
        parts = ", ".join(contribution_words(one, scale) for one in contributions)
        words.append(f"Under the profiler: {parts or 'nothing changed it by half a percent'}.")
    sure = evidence_words(pair.duration)
    paired = pairing_words(pair)
    same = "The machine code is the same." if pair.same_code else ""
    told = f"{sure[0].upper()}{sure[1:]}." if sure.startswith("because") else f"{sure}." if sure else ""
    return [*words, *(one for one in (told, f"{paired[:1].upper()}{paired[1:]}." if paired else "", same) if one)]


def waterfall_headline(attribution: Attribution) -> str:
    """Say what moved the duration most: ``stalls ÷ warps saves 1.69 ms; instructions save 2.22 ms``."""
    rows = [
        row for row in waterfall(attribution) if row.factor == "net" or not (row.bracket or row.factor == "smaller")
    ]
    known = [row for row in rows if row.factor != "residual" and abs(row.ns) >= 0.005 * attribution.a_ns]
    ordered = sorted(known, key=lambda row: -abs(row.ns))[:2]
    if not ordered:
        return "No factor changed the duration by half a percent"
    scale = max(attribution.a_ns, attribution.b_ns)
    parts = []
    for row in ordered:
        name = "Waits against warps in flight" if row.label == NET else row.label.capitalize()
        size = numbers.duration_change(abs(row.ns), scale).removeprefix("+")
        many = row.factor != "clock" and row.factor != "imbalance"
        verb = ("save" if many else "saves") if row.ns < 0 else ("cost" if many else "costs")
        parts.append(f"{name} {verb} {size}")
    return "; ".join([parts[0], *(f"{part[0].lower()}{part[1:]}" for part in parts[1:])])


def waits_headline(changes: Sequence[WaitChange], scale: WaitScale) -> str:
    """Say which waits grew and which shrank most."""
    known = [(one, one.delta) for one in changes if one.delta is not None and one.reason != "selected"]
    grown = max(known, key=lambda one: one[1], default=None)
    shrunk = min(known, key=lambda one: one[1], default=None)
    unit = "points" if scale == "share" else "cycles"
    parts = []
    for found, verb, sign in ((shrunk, "shrank", -1.0), (grown, "grew", 1.0)):
        if found is not None and found[1] * sign >= (0.005 if scale == "share" else 0.05):
            size = change_text(abs(found[1]), scale).removeprefix("+")
            parts.append(f"{reason_name(found[0].reason)} {verb} by {size} {unit}")
    if not parts:
        return "What the warps wait for hardly changed"
    words = "; ".join(parts)
    return words[0].upper() + words[1:]


def waits_note(changes: Sequence[WaitChange], drawn: int, scale: WaitScale) -> str:
    """Say what the marks mean, the totals, and how many reasons are left to the table."""
    words = "○ A   ● B."
    if scale == "cycles":
        totals = [sum(value for value in side if value is not None) for side in _sides(changes)]
        words += f" Total {' → '.join(numbers.significant(one) for one in totals)}; selected is the issue itself."
    left = len(changes) - drawn
    return words + (f" {count_word(left).capitalize()} smaller in the table." if left else "")


def _sides(changes: Sequence[WaitChange]) -> tuple[list[float | None], list[float | None]]:
    return [one.a for one in changes], [one.b for one in changes]


def roofline_headline(a: RooflinePoint, b: RooflinePoint) -> str:
    """``From 49 % to 90 % of the roof above it``."""
    return f"From {numbers.share(a.share_of_roof)} to {numbers.share(b.share_of_roof)} of the roof above it"


def roofline_note(a: RooflinePoint, b: RooflinePoint) -> str:
    """Write the intensities: ``FLOP per byte 8.00 → 16.0. ○ A   ● B.``."""
    return f"FLOP per byte {numbers.significant(a.intensity)} → {numbers.significant(b.intensity)}. ○ A   ● B."


def roofline_foot(level: Level) -> str:
    """Say what the bytes of a level are, and whose the roofs."""
    return f"Bytes = {BYTES_ARE[level]}. FLOP and bytes by hardware counters; roofs are those of launch B's own clock."


def metrics_headline(metrics: Sequence[MetricChange]) -> str:
    """Count what got better, worse, or changed."""
    counts = [
        (sum(one.verdict == verdict for one in metrics), word)
        for verdict, word in (("better", "better"), ("worse", "worse"), ("changed", "changed"))
    ]
    told = [f"{count_word(count)} {word}" for count, word in counts if count]
    against = sum(one.verdict == "not_comparable" for one in metrics)
    told += [f"{count_word(against)} not comparable"] if against else []
    return f"Metric by metric: {', '.join(told) if told else 'nothing changed'}"


def lines_headline(lines: Sequence[MovedLine]) -> str:
    """Name the line that moved farthest."""
    if not lines:
        return "Source lines whose samples moved"
    first = lines[0]
    place = f"{first.file.rpartition('/')[2]}:{first.line_b if first.line_b is not None else first.line_a}"
    return f"{place} went from {numbers.share(first.share_a)} to {numbers.share(first.share_b)} of the samples"
