"""What is said of a launch and of a ladder: at most five sentences, each with its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ncu_lab.model import (
    Advice,
    Chain,
    Contribution,
    Explanation,
    Json,
    LadderExplanation,
    Problem,
    RooflinePoint,
    Room,
    Technique,
    Topic,
)
from ncu_lab.render import numbers
from ncu_lab.render.attribution import NET
from ncu_lab.render.expectations import expectation_words, findings_words, tally_words, value_words
from ncu_lab.render.roofs import SHORT_NAMES, short_name
from ncu_lab.render.verdict import verdict_words
from ncu_lab.render.wording import DTYPES, reason_name

REASONS_NAMED = 2
"""Stall reasons named beside the net of stalls and warps: those that changed most."""

NEAR_FULL = 0.95
"""A roof that is reached so far leaves no speed-up worth a number."""

LEAST_LOG2 = 0.1
"""A factor of a whole chain that changed the time by less (7 %) is not told."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: what it is about, its words, and the stage that it advises."""

    topic: Topic
    words: str
    stage: str | None = None


def launch_sentences(explanation: Explanation) -> list[Sentence]:
    """Say what is known of a launch, in the order of ``TOPICS``; a topic without data has no sentence."""
    told: list[tuple[Topic, str]] = [
        ("bound", verdict_words(explanation.verdict) if explanation.verdict else ""),
        ("expected", findings_words(explanation.findings)),
        ("change", _change(explanation)),
        ("room", _room(explanation.room)),
    ]
    return [*(Sentence(topic, words) for topic, words in told if words), *_next(explanation.advice)]


def ladder_sentences(explanation: LadderExplanation | None) -> list[Sentence]:
    """Say what is known of a ladder: its fastest stage, what was missed, the climb, the room, the next step."""
    if explanation is None:
        return []
    told: list[tuple[Topic, str]] = [
        ("bound", _fastest(explanation)),
        ("expected", _furthest(explanation)),
        ("change", _climb(explanation.chain)),
        ("room", _ladder_room(explanation)),
    ]
    return [*(Sentence(topic, words) for topic, words in told if words), *_next(explanation.advice)]


def sentences_document(sentences: list[Sentence]) -> list[Json]:
    """Return sentences for JSON."""
    return [
        {"topic": one.topic, "text": numbers.plain_spaces(one.words), "stage": one.stage} for one in sentences
    ]  # fmt: skip


def profile_command(stage: str, problem: Problem | None, where: str) -> str:
    """Write the command that profiles a stage on the problem that others were; ``where`` names the store."""
    if problem is None:
        size = ""
    elif problem.m == problem.n == problem.k:
        size = f" --size {problem.m}"
    else:
        size = f" -m {problem.m} -n {problem.n} -k {problem.k}"
    return f"ncu-lab profile --stage {stage}{size}{where}"


# --- What changed ----------------------------------------------------------------------------------------------


def _change(explanation: Explanation) -> str:
    """Say what made the time differ from the predecessor's: ``Since 1d, 8.47 → 4.55 ms: −2.24 ms by …``."""
    change = explanation.change
    if change is None:
        return ""
    scale = max(change.a_ns, change.b_ns)
    parts = [contribution_words(one, scale) for one in explanation.contributions]
    why = ", ".join(parts) if parts else "nothing changed it by half a percent"
    return f"Since {explanation.predecessor}, {_from_to(change.a_ns, change.b_ns)}: {why}."


def _from_to(a_ns: float, b_ns: float) -> str:
    """Write two durations, the unit once where it is the same."""
    before, after = numbers.duration(a_ns), numbers.duration(b_ns)
    number, _, unit = before.rpartition(numbers.THIN)
    return f"{number if after.endswith(numbers.THIN + unit) else before} → {after}"


def contribution_words(one: Contribution, scale_ns: float) -> str:
    """``−2.22 ms by instructions (−30 %)``; ``scale_ns`` is a duration whose unit and digits it takes."""
    name = NET if one.factor == "stalls/warps" else one.factor
    change = numbers.signed(numbers.percent(one.change * 100.0))
    reasons = ", ".join(reason_name(reason) for reason in one.reasons[:REASONS_NAMED])
    detail = f"{change}: {reasons}" if reasons else change
    return f"{numbers.duration_change(one.ns, scale_ns)} by {name} ({detail})"


def _climb(chain: Chain | None) -> str:
    """Say what a whole row of steps gained, and by which factors: these multiply."""
    if chain is None:
        return ""
    net = chain.log2["stalls"] + chain.log2["warps"]
    factors = {NET: net, **{name: chain.log2[name] for name in ("instructions", "imbalance", "clock")}}
    large = sorted((one for one in factors.items() if abs(one[1]) >= LEAST_LOG2), key=lambda one: -abs(one[1]))
    total = chain.total_log2
    words = f"{numbers.ratio(2.0 ** abs(total))} {'shorter' if total < 0 else 'longer'}"
    parts = ", ".join(f"{name} {_factor(log2)}" for name, log2 in large)
    return f"From {chain.stages[0]} to {chain.stages[-1]} {words}" + (f": {parts}." if parts else ".")


def _factor(log2: float) -> str:
    return f"{'÷' if log2 < 0 else '×'} {numbers.significant(2.0 ** abs(log2))}"


# --- What there is to gain -------------------------------------------------------------------------------------


def _room(room: Room | None) -> str:
    if room is None:
        return ""
    parts = [part for part in (_roof(room.roof), _block(room)) if part]
    return f"To gain: {'; '.join(parts)}." if parts else ""


def _roof(point: RooflinePoint | None) -> str:
    """Say how far the roof is, and what has to stay for that: fewer bytes lift a launch past the roof of a memory."""
    if point is None or not point.share_of_roof:
        return ""
    name = short_name(point.bound or point.level)
    memory = point.bound in SHORT_NAMES
    if point.share_of_roof < NEAR_FULL:
        unless = ", unless fewer bytes pass it" if memory else ""
        return f"at most {numbers.ratio(1.0 / point.share_of_roof)} faster under the {name} roof{unless}"
    less = "bytes through it" if memory else "operations"
    return f"the {name} roof is reached to {numbers.share(point.share_of_roof)}, so only fewer {less} can help"


def _block(room: Room) -> str:
    """Say what one more block an SM asks for, beside what a block takes now."""
    one_more, now = room.next_block, room.demand
    if one_more is None or now is None:
        return ""
    asked = []
    if one_more.registers is not None:
        asked.append(f"{one_more.registers} registers a thread (now {now.registers})")
    if one_more.shared_bytes is not None:
        own = numbers.byte_count(now.shared_bytes)
        asked.append(f"{numbers.byte_count(one_more.shared_bytes)} of shared memory a block (now {own})")
    return f"{' and '.join(asked)} leave room for a {_ordinal(one_more.blocks)} block an SM" if asked else ""


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


# --- The ladder ------------------------------------------------------------------------------------------------


def _fastest(explanation: LadderExplanation) -> str:
    if explanation.verdict is None:
        return ""
    words = verdict_words(explanation.verdict)
    return f"Fastest in {DTYPES[explanation.dtype]} is {explanation.stage}, {words[0].lower()}{words[1:]}"


def _furthest(explanation: LadderExplanation) -> str:
    """Count expectations, and name the missed one that is furthest from what was expected."""
    if not explanation.findings:
        return ""
    words = tally_words(explanation.findings)
    if explanation.furthest is None:
        return f"{words}."
    stage, finding = explanation.furthest
    value = value_words(finding.expectation, finding.measured)
    return f"{words}, the furthest by {stage}: {expectation_words(finding.expectation)} ({value})."


def _ladder_room(explanation: LadderExplanation) -> str:
    roof = _roof(explanation.room.roof) if explanation.room else ""
    if explanation.share is None or explanation.reference_ns is None:
        return f"To gain: {roof}." if roof else ""
    times = f"{numbers.duration(explanation.time_ns)} against {numbers.duration(explanation.reference_ns)}"
    speed = f"{numbers.share(explanation.share)} of the speed of {explanation.reference} ({times})"
    return f"{explanation.stage} has {speed}" + (f"; to gain: {roof}." if roof else ".")


# --- What to try next ------------------------------------------------------------------------------------------


def _next(advice: Advice | None) -> list[Sentence]:
    if advice is None:
        return []
    what, why = _TECHNIQUES[advice.technique]
    shown = f", as {advice.stage} does" if advice.stage else ""
    return [Sentence("next", f"Next: {what}{shown} ({why(advice)}).", advice.stage)]


def _over_ideal(unit: str) -> Callable[[Advice], str]:
    def words(advice: Advice) -> str:
        told = f"{numbers.ratio(advice.figure)} the {unit} needed"
        if advice.culprit is not None:
            told += f", most at {advice.culprit.place}"
        return told + ("" if advice.at_most is None else f", at most {numbers.share(advice.at_most)} of the time")

    return words


def _percent(what: str) -> Callable[[Advice], str]:
    return lambda advice: f"{what} at {numbers.percent(advice.figure)}"


def _waits(what: str) -> Callable[[Advice], str]:
    return lambda advice: f"{numbers.share(advice.figure)} of warp time waits for {what}"


def _wavefronts(advice: Advice) -> str:
    return f"{numbers.significant(advice.figure)} shared wavefronts per FMA"


def _grid(advice: Advice) -> str:
    if advice.key == "blocks":
        return f"{numbers.integer(advice.figure)} block{'' if advice.figure == 1 else 's'} for {advice.of:g} SMs"
    return f"the grid fills {numbers.share(advice.figure)} of what the GPU holds at once"


_TECHNIQUES: Mapping[Technique, tuple[str, Callable[[Advice], str]]] = {
    "more blocks": ("more, smaller blocks, or each sum shared out among several", _grid),
    "more work a launch": (
        "more work a launch, fused or batched",
        lambda advice: f"it takes {numbers.duration(advice.figure)}",
    ),
    "whole waves": (
        "whole waves or a persistent grid",
        lambda advice: f"an SM is idle for {numbers.share(advice.figure)} of the time",
    ),
    "tiles for fragments": (
        "tiles in shared memory, so that a fragment serves several products",
        _percent("the tensor pipe"),
    ),
    "fewer atomics": ("sums within a warp or a block before one atomic", _over_ideal("sectors")),
    "coalescing": ("neighbouring lanes on neighbouring addresses", _over_ideal("sectors")),
    "padding": ("rows of the tile padded or swizzled", _over_ideal("wavefronts")),
    "tiles": ("tiles in shared memory, fetched once a block and not once a thread", _percent("L1")),
    "a column a thread": ("several outputs a thread, which share what it loads", _wavefronts),
    "a tile a thread": ("a tile of outputs a thread, as an outer product in registers", _wavefronts),
    "wide accesses": ("16 bytes a lane instead of 4", _waits("global memory")),
    "overlapped copies": ("the next tile fetched while this one is computed", _waits("it")),
    "conflict-free loads": ("lanes that read neighbouring pieces of the tile", _over_ideal("wavefronts")),
    "fragments ahead": ("fragments loaded by ldmatrix a step ahead of mma.sync", _percent("the tensor pipe")),
    "warpgroups": ("wgmma from tiles that TMA brings", _percent("by mma.sync the tensor pipe is")),
    "FMA alone": (
        "fewer instructions beside FMA",
        lambda advice: f"issue slots at {numbers.percent(advice.of)}, the FMA pipe at {numbers.percent(advice.figure)}",
    ),
    "fewer bytes": ("fewer bytes, by fused passes or smaller types", _percent("DRAM")),
    "more warps": (
        "one more block an SM",
        lambda advice: f"{numbers.percent(advice.figure, digits=3)} of the warps an SM holds were there",
    ),
    "more loads": ("more loads in flight, by several elements a thread", _waits("global memory")),
}
"""Technique -> what to do, and the figure that asks for it."""
