"""Readings of many runs put in order: one line of points and gaps for every kernel, problem and model of GPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ncu_lab.analyze.comparability import compare_fingerprints, fingerprint_of
from ncu_lab.model import Problem, RunMeta, SeriesPoint, Stage
from ncu_lab.model.commits import CommitInfo
from ncu_lab.model.comparison import QuantityClass
from ncu_lab.model.history import HistoryBreak, HistoryGap, HistoryPoint, KernelHistory

Row = HistoryPoint | HistoryGap
_Kernel = tuple[str, str | None, Problem | None, str | None, object]
"""Name, stage, problem, model of GPU; of a foreign program what else makes it one kernel."""


@dataclass
class _Line:
    points: list[SeriesPoint] = field(default_factory=list)
    gaps: list[HistoryGap] = field(default_factory=list)


def arrange(
    points: Sequence[SeriesPoint], gaps: Sequence[HistoryGap], commits: Sequence[CommitInfo] | None
) -> list[KernelHistory]:
    """Put readings in order.

    Args:
        points: Of any runs, the oldest run first.
        gaps: Runs that tell nothing; one counts where its commit and stage have no reading.
        commits: The line of commits, oldest first, by which to order; runs of others are left out. None orders by
            time: then every run is a row.

    Returns:
        One for each kernel, in the order in which they first appear.
    """
    lines: dict[_Kernel, _Line] = {}
    seen: set[tuple[str, _Kernel]] = set()
    for one in points:
        kernel = _kernel(one)
        # Of a stage with several kernels, or one launched in several shapes, the first speaks for it.
        if one.kernel.role != "main" or (one.meta.id, kernel) in seen:
            continue
        seen.add((one.meta.id, kernel))
        lines.setdefault(kernel, _Line()).points.append(one)
    for kernel, line in lines.items():
        line.gaps = [gap for gap in gaps if _is_of(gap.meta, kernel)]
    place = None if commits is None else {one.hash: number for number, one in enumerate(commits)}
    found = []
    for (name, stage, problem, device, _), line in lines.items():
        missing: tuple[CommitInfo, ...] = ()
        edited: tuple[CommitInfo, ...] = ()
        if commits is None or place is None:
            rows = _by_time(line)
        else:
            rows, missing, edited = _by_commit(line, commits, place)
        if any(isinstance(row, HistoryPoint) for row in rows):
            found.append(KernelHistory(name, stage, problem, device, tuple(rows), (), (), missing, edited))
    return found


def _kernel(one: SeriesPoint) -> _Kernel:
    kernel, meta = one.kernel, one.meta
    device = meta.device.name if meta.device else None
    if kernel.stage is not None:
        return kernel.stage, kernel.stage, meta.problem, device, None
    return kernel.function or "", None, meta.problem, device, (kernel.kernel, kernel.nvtx, kernel.grid, kernel.block)


def _is_of(meta: RunMeta, kernel: _Kernel) -> bool:
    _, stage, problem, device, _ = kernel
    return stage in meta.stages and meta.problem == problem and (meta.device is None or meta.device.name == device)


def _by_time(line: _Line) -> list[Row]:
    rows: list[Row] = [HistoryPoint(one.meta, one.kernel, one.estimate) for one in line.points]
    rows += line.gaps
    return sorted(rows, key=lambda row: (row.meta.created, row.meta.id))


def _by_commit(
    line: _Line, commits: Sequence[CommitInfo], place: Mapping[str, int]
) -> tuple[list[Row], tuple[CommitInfo, ...], tuple[CommitInfo, ...]]:
    """Return a row for each commit, another for its edited tree; commits between without any, and with only that."""
    clean: dict[int, list[SeriesPoint]] = {}
    dirty: dict[int, list[SeriesPoint]] = {}
    for one in line.points:
        if (number := place.get(one.meta.git.commit or "")) is not None:
            (dirty if one.meta.git.dirty else clean).setdefault(number, []).append(one)
    broken = {
        number: gap
        for gap in line.gaps
        if (number := place.get(gap.meta.git.commit or "")) is not None
        and not gap.meta.git.dirty
        and number not in clean
    }
    rows: list[Row] = []
    numbers = sorted({*clean, *dirty, *broken})
    for number in numbers:
        if number in clean:
            rows.append(_chosen(clean[number], commits[number]))
        elif number in broken:
            rows.append(replace(broken[number], commit=commits[number]))
        if number in dirty:
            rows.append(_chosen(dirty[number], commits[number]))
    between = range(numbers[0], numbers[-1]) if numbers else range(0)
    missing = tuple(commits[number] for number in between if number not in numbers)
    return rows, missing, tuple(commits[number] for number in sorted(dirty.keys() - clean.keys() - broken.keys()))


def _chosen(points: Sequence[SeriesPoint], commit: CommitInfo) -> HistoryPoint:
    """Return what the newest complete run tells: the one that ``diff`` takes."""
    complete = [one for one in points if one.meta.status == "complete"]
    one = max(complete or points, key=lambda one: (one.meta.created, one.meta.id))
    return HistoryPoint(one.meta, one.kernel, one.estimate, commit, len(points))


def judged_points(history: KernelHistory) -> list[HistoryPoint]:
    """Return the points that are of their commit; where history goes by time an edited tree is one like any."""
    return [one for one in history.points if one.commit is None or not one.is_dirty]


def with_breaks(history: KernelHistory, quantity: QuantityClass, stages: Mapping[str, Stage]) -> KernelHistory:
    """Find the neighbours that are not comparable in a class of quantities."""
    breaks = []
    for before, after in pairwise(judged_points(history)):
        # Most neighbours were made alike, and a fingerprint takes longer than to see that.
        if _are_alike(before.meta, after.meta):
            continue
        prints = (fingerprint_of(one.meta, stages) for one in (before, after))
        comparability = compare_fingerprints(*prints, stage_a=history.stage, stage_b=history.stage)
        if why := comparability.against(quantity):
            breaks.append(HistoryBreak(before, after, why))
    return replace(history, breaks=tuple(breaks))


def _are_alike(a: RunMeta, b: RunMeta) -> bool:
    return a.device == b.device and a.environment == b.environment and a.problem == b.problem


def segments(history: KernelHistory) -> Iterator[list[HistoryPoint]]:
    """Yield the judged points between breaks."""
    first_of = {one.after.meta.id for one in history.breaks}
    part: list[HistoryPoint] = []
    for one in judged_points(history):
        if one.meta.id in first_of and part:
            yield part
            part = []
        part.append(one)
    if part:
        yield part


def typical(points: Iterable[HistoryPoint]) -> HistoryPoint:
    """Return the point of median value; of two the lower."""
    ordered = sorted(points, key=lambda one: one.estimate.value)
    return ordered[(len(ordered) - 1) // 2]
