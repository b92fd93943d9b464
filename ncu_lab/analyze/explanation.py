"""What is said of a launch and of a ladder in plain words, put together from all other analyses: the facts alone.

``ncu_lab.render.explanation`` has the words. Nothing is said of what was not collected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ncu_lab.analyze.advising import Case, advise
from ncu_lab.analyze.attribution import largest_contributions
from ncu_lab.analyze.occupancy import next_block, occupancy
from ncu_lab.analyze.roofline import family_of
from ncu_lab.analyze.verdict import AT_PEAK
from ncu_lab.model import (
    ARCHITECTURES,
    Attribution,
    BlockDemand,
    Device,
    Explanation,
    Finding,
    Ladder,
    LadderExplanation,
    LadderRow,
    LaunchAccess,
    LaunchSummary,
    MeasuredPeak,
    NextBlock,
    RooflinePoint,
    Room,
    RunView,
    Stage,
    Verdict,
)

_HELPED_BY_WARPS = ("latency", "shared", "memory")
"""Bounds of launches that more warps in flight may help; issue slots that are full they do not."""


def explain_launch(
    summary: LaunchSummary,
    verdict: Verdict,
    *,
    access: LaunchAccess,
    points: Sequence[RooflinePoint],
    row: LadderRow | None,
    device: Device | None,
    stages: Mapping[str, Stage],
    measured: Sequence[MeasuredPeak] = (),
    functions: Mapping[str, str] | None = None,
) -> Explanation:
    """Put together what is said of one launch.

    Args:
        summary: The launch.
        verdict: What bounds it.
        access: Its memory accesses.
        points: Where it stands in the roofline.
        row: Its row of the ladder, where it is the main kernel of a stage.
        device: The GPU.
        stages: The registry.
        measured: What the GPU was measured to reach when the run was made.
        functions: Stage -> the function that is its main kernel at this problem (:func:`main_functions`).
    """
    room = _room(summary, verdict, points, device, measured)
    own = row is not None and row.summary is not None and row.summary.launch == summary.launch
    change = row.attribution if row is not None and own and isinstance(row.attribution, Attribution) else None
    reference = row is not None and row.stage.is_reference
    case = Case(summary, verdict, access, room.next_block, _capability(device), functions or {})
    staged = summary.stage is not None and summary.stage in stages
    main = summary.role == "main"
    return Explanation(
        verdict=verdict,
        findings=row.findings if row is not None else (),
        predecessor=row.stage.predecessor if row is not None and change else None,
        change=change,
        contributions=largest_contributions(change) if change else (),
        room=None if reference else room,
        advice=advise(case, stages[summary.stage] if staged and summary.stage else None, stages) if main else None,
    )


def explain_run(view: RunView, stages: Mapping[str, Stage]) -> dict[int, Explanation]:
    """Put together what is said of every launch of a run: launch -> explanation.

    Args:
        view: The run, with everything else that is known of it.
        stages: The registry.
    """
    functions = main_functions(view.summaries)
    return {
        summary.launch: explain_launch(
            summary,
            view.verdicts[summary.launch],
            access=view.accesses.get(summary.launch, LaunchAccess()),
            points=view.points.get(summary.launch, ()),
            row=view.rows.get(summary.stage or "") if summary.role == "main" else None,
            device=view.run.meta.device,
            stages=stages,
            measured=view.run.meta.peaks,
            functions=functions,
        )
        for summary in view.summaries
    }


def main_functions(summaries: Iterable[LaunchSummary]) -> dict[str, str]:
    """Return stage -> the function that is its main kernel, of launches of one problem."""
    return {one.stage: one.function for one in summaries if one.stage and one.role == "main"}


def explain_ladder(ladder: Ladder, explained: Mapping[str, Explanation]) -> LadderExplanation:
    """Put together what is said of a ladder.

    Args:
        ladder: The ladder.
        explained: Stage -> what is said of its main kernel; at least of the fastest stage (:func:`fastest`).
    """
    every = [(one.stage.id, finding) for one in (*ladder.rows, *ladder.references) for finding in one.findings]
    whole = LadderExplanation(
        findings=tuple(finding for _, finding in every),
        furthest=_furthest(every),
        chain=ladder.chain if ladder.chain and len(ladder.chain.stages) > 1 else None,
    )
    row = fastest(ladder)
    if row is None:
        return whole
    own = explained.get(row.stage.id, Explanation(verdict=row.verdict))
    reference = next((one for one in ladder.references if one.stage.id == row.stage.reference), None)
    comparable = reference is not None and reference.time_source == row.time_source and row.share_of_reference
    return replace(
        whole,
        stage=row.stage.id,
        dtype=row.stage.dtype,
        verdict=own.verdict,
        time_ns=row.median_ns,
        reference=reference.stage.id if reference and comparable else None,
        reference_ns=reference.median_ns if reference and comparable else None,
        share=row.share_of_reference if comparable else None,
        room=own.room,
        advice=own.advice,
    )


def fastest(ladder: Ladder) -> LadderRow | None:
    """Return the fastest stage of C = A·B in FP32, else of any type; None where none has a time.

    Where some have unprofiled times, of those.
    """
    timed = [row for row in ladder.rows if row.median_ns and row.stage.operation == "ab"]
    single = [row for row in timed if row.stage.dtype == "fp32"] or timed
    best = [row for row in single if row.time_source == "timings"] or single
    return min(best, key=lambda row: row.median_ns or math.inf, default=None)


def _furthest(findings: Sequence[tuple[str, Finding]]) -> tuple[str, Finding] | None:
    """Return the missed expectation whose value is the largest factor away from the bound that it misses."""
    missed = {one: distance for one in findings if (distance := _distance(one[1])) is not None}
    return max(missed, key=lambda one: missed[one], default=None)


def _distance(finding: Finding) -> float | None:
    """Return |ln(measured / bound)|; None where it was not missed, or either is not above 0."""
    value, one = finding.measured, finding.expectation
    if finding.status != "missed" or value is None:
        return None
    bound = one.low if one.low is not None and value < one.low else one.high
    return abs(math.log(value / bound)) if bound and bound > 0 and value > 0 else None


def _room(
    summary: LaunchSummary,
    verdict: Verdict,
    points: Sequence[RooflinePoint],
    device: Device | None,
    measured: Sequence[MeasuredPeak],
) -> Room:
    below = [_below_measured(point, measured) for point in points]
    nearest = max(below, key=lambda point: point.share_of_roof, default=None)
    full = nearest is not None and nearest.share_of_roof * 100.0 >= AT_PEAK
    found = None if full else _next_block(summary, verdict, device)
    return Room(nearest, *found) if found else Room(nearest)


def _below_measured(point: RooflinePoint, measured: Sequence[MeasuredPeak]) -> RooflinePoint:
    """Return a point below what its tensor instruction was measured to reach, where that is less than its roof.

    A measured peak that the launch itself exceeds says nothing: it was taken at a lower clock.
    """
    own = (peak for peak in measured if peak.kind == "compute" and peak.level == point.bound)
    reached = max((peak.per_second for peak in own if family_of(peak.level) == "tensor"), default=0.0)
    share = point.flop_per_s / reached if reached else 0.0
    return replace(point, share_of_roof=share) if point.share_of_roof < share <= 1.0 else point


def _next_block(
    summary: LaunchSummary, verdict: Verdict, device: Device | None
) -> tuple[BlockDemand, NextBlock] | None:
    """Return what a block takes and what one more an SM would; None unless that would help and is sure.

    It helps where warps may be what lacks, and there are blocks to fill the place: more than one wave. It is sure where
    the calculator finds as many blocks as the report says there fit.
    """
    capability = device.compute_capability if device else None
    architecture = ARCHITECTURES.get(capability) if capability else None
    registers, shared = summary.value("registers_per_thread"), summary.value("shared_memory_per_block")
    if architecture is None or registers is None or shared is None or not summary.occupancy_limits:
        return None
    if verdict.bound not in _HELPED_BY_WARPS or (summary.value("waves_per_sm") or 0.0) <= 1.0:
        return None
    own = max(0, int(shared) - architecture.reserved_shared)
    demand = BlockDemand(math.prod(summary.block), int(registers), own)
    if occupancy(architecture, demand).blocks != min(summary.occupancy_limits.values()):
        return None
    one_more = next_block(architecture, demand)
    return None if one_more.prevented_by else (demand, one_more)


def _capability(device: Device | None) -> int | None:
    if device is None or device.compute_capability is None:
        return None
    major, minor = device.compute_capability
    return 10 * major + minor
