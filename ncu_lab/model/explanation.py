"""What is said of a launch or a ladder in plain words, as data: at most one statement on each topic, five in all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ncu_lab.model.access import Culprit
from ncu_lab.model.attribution import Attribution, Chain, Contribution
from ncu_lab.model.expectations import Finding
from ncu_lab.model.roofline import RooflinePoint
from ncu_lab.model.stages import Dtype
from ncu_lab.model.theory import BlockDemand, NextBlock
from ncu_lab.model.verdicts import Verdict

Topic = Literal["bound", "expected", "change", "room", "next"]
TOPICS: tuple[Topic, ...] = ("bound", "expected", "change", "room", "next")
"""What limits it; what was expected and missed; what changed from its predecessor and why; what there is to gain at
most; what to try next. In the order in which they are told."""

Technique = Literal[
    "more blocks",
    "whole waves",
    "more work a launch",
    "tiles for fragments",
    "fewer atomics",
    "coalescing",
    "padding",
    "tiles",
    "a column a thread",
    "a tile a thread",
    "wide accesses",
    "overlapped copies",
    "conflict-free loads",
    "fragments ahead",
    "warpgroups",
    "FMA alone",
    "fewer bytes",
    "more warps",
    "more loads",
]
"""What can be done about a bottleneck; :mod:`ncu_lab.analyze.advising` has the evidence that asks for each."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to try next.

    Attributes:
        technique: What.
        key: The quantity that asks for it: a key of the catalogue, or one of :class:`~ncu_lab.model.Evidence`,
            ``over_ideal`` (sectors or wavefronts over their ideal).
        figure: Its value.
        stage: The stage of the ladder that does it; None for a program that is none of it, or where no stage does.
        at_most: Share of the duration that it can save at most (0 to 1); None where no bound is known.
        culprit: The line that is most to blame; None where it is not known, or no line is.
        of: What the figure is compared with: SMs beside blocks, say.
    """

    technique: Technique
    key: str
    figure: float
    stage: str | None = None
    at_most: float | None = None
    culprit: Culprit | None = None
    of: float | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """What there is to gain at most, with the work and the bytes as they are.

    Attributes:
        roof: The point that comes nearest to the roof above it; None without any.
        demand: What a block takes now; None unless one more would help and can be had.
        next_block: What it would take for one more block an SM; None likewise.
    """

    roof: RooflinePoint | None = None
    demand: BlockDemand | None = None
    next_block: NextBlock | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is said of one launch; a topic without data is None or empty.

    Attributes:
        verdict: What bounds it.
        findings: What became of everything that is expected of its stage.
        predecessor: The stage that it is compared with.
        change: Why its duration differs from the predecessor's.
        contributions: What of that counts most, the largest first.
        room: What there is to gain.
        advice: What to try next.
    """

    verdict: Verdict | None = None
    findings: tuple[Finding, ...] = ()
    predecessor: str | None = None
    change: Attribution | None = None
    contributions: tuple[Contribution, ...] = ()
    room: Room | None = None
    advice: Advice | None = None


@dataclass(frozen=True, slots=True)
class LadderExplanation:
    """What is said of a ladder: of its fastest stage, of what was expected, and of the climb.

    Attributes:
        stage: The fastest stage of C = A·B, in FP32 where there is one; None where none has a time.
        dtype: Type of its A and B.
        verdict: What bounds it.
        findings: What became of all that is expected, stage by stage.
        furthest: The stage and the missed expectation that is furthest from its bounds, as a ratio.
        chain: The longest row of steps.
        time_ns: Time of the fastest stage.
        reference: What it is compared with; None where that was not measured by the same source.
        reference_ns: Its time; None likewise.
        share: The reference's time over that of the fastest stage, sample by sample; None likewise.
        room: What there is to gain.
        advice: What to try next.
    """

    stage: str | None = None
    dtype: Dtype = "fp32"
    verdict: Verdict | None = None
    findings: tuple[Finding, ...] = ()
    furthest: tuple[str, Finding] | None = None
    chain: Chain | None = None
    time_ns: float | None = None
    reference: str | None = None
    reference_ns: float | None = None
    share: float | None = None
    room: Room | None = None
    advice: Advice | None = None
