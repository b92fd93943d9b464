"""Two sides beside each other: what is paired, whether it is really faster, and why."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from ncu_lab.analyze.attribution import attribute
from ncu_lab.analyze.cause import find_cause
from ncu_lab.analyze.code_of_launches import code_of
from ncu_lab.analyze.comparability import compare_fingerprints, fingerprint, with_shapes
from ncu_lab.analyze.compare import TimeEvidence, call_durations, compare_times
from ncu_lab.analyze.metric_changes import compare_builds, compare_counters
from ncu_lab.analyze.moved_lines import moved_lines
from ncu_lab.analyze.pairing import Code, pair, pair_kernels
from ncu_lab.analyze.summary import counters
from ncu_lab.analyze.timings import counted_samples, timing_samples
from ncu_lab.errors import UsageError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import HotSpots, LaunchSummary, Run, Stage, StageBuild, TimingSample
from ncu_lab.model.comparison import (
    Comparability,
    ComparedSide,
    Comparison,
    Fingerprint,
    MetricChange,
    MovedLine,
    Pair,
    PairStatus,
)
from ncu_lab.model.noise import NoiseTable
from ncu_lab.workflows.failed_stages import failed_stages
from ncu_lab.workflows.locating import hot_spots
from ncu_lab.workflows.measuring_noise import read_noise_table
from ncu_lab.workflows.sides import Shelf, Side, StoreShelf, find_sides

_TARGET = re.compile(r"L\d+:")
_OPTIONS = ("--launch-a", "--launch-b")

LAST_TWO = ("@last~1", "@last")
"""What is compared unless the user names two."""


def compare(
    a: str,
    b: str,
    store: Path,
    where: str = "",
    *,
    stages: Sequence[str] = (),
    stage_a: str | None = None,
    stage_b: str | None = None,
    launch_a: int | None = None,
    launch_b: int | None = None,
    by_hand: Sequence[str] = (),
    force: bool = False,
    noise: NoiseTable | None = None,
    shelf: Shelf | None = None,
    lines: bool = True,
) -> Comparison:
    """Compare two runs, or the runs of two revisions.

    Args:
        a: Reference of what to compare with (see ``workflows.reading.find_run``).
        b: Reference of what is compared.
        store: The folder of runs.
        where: The options that name the store (`` --example``), for commands that are told to be typed.
        stages: Only these stages; by default all. Where both references name a stage, those two are compared; where
            one does, the other run's launches of it.
        stage_a: The stage that is meant of A, as if its reference named it.
        stage_b: Likewise of B.
        launch_a: The launch of A to compare, whatever it is called; by default all are paired.
        launch_b: Likewise of B; where only one of the two is given, the other run must leave no choice.
        by_hand: What belongs together by the user's word: ``A=B``, each a stage, a kernel or the number of a launch.
        force: Whether to compare what is not comparable.
        noise: How well quantities repeat; by default what the store has measured of it.
        shelf: Where references are looked up; by default in the store, and as paths.
        lines: Whether to find the lines of source that moved, which takes longest; :func:`find_lines` does of one pair.

    Raises:
        InputError: When a reference means nothing, or its run cannot be read.
        UsageError: When a stage, a kernel or a launch asked for is not there.
    """
    contexts = find_sides(a, b, shelf or StoreShelf(store, where))
    for side_a, side_b in contexts:
        side_a.stage, side_b.stage = stage_a or side_a.stage, stage_b or side_b.stage
        _choose(side_a, side_b, launch_a, launch_b)
    _keep_stages([side for sides in contexts for side in sides], stages)
    measured, unread = (noise, []) if noise is not None else read_noise_table(store)
    judge = _Judge(load_stages(), force, measured, lines)
    pairs: list[Pair] = []
    for side_a, side_b in contexts:
        chosen = launch_a is not None or launch_b is not None
        found = _paired(side_a, side_b, by_hand, chosen=chosen)
        asked = chosen or bool(by_hand) or bool(side_a.stage and side_b.stage)
        pairs += judge.pairs(found, side_a, side_b, asked=asked)
    notices = [notice for sides in contexts for side in sides for notice in side.notices]
    found_a, found_b = (_compared(name, sides) for name, sides in zip((a, b), zip(*contexts, strict=True), strict=True))
    return Comparison(
        a=found_a,
        b=found_b,
        pairs=tuple(pairs),
        forced=force,
        warnings=tuple(dict.fromkeys([*notices, *unread])),
        failed_a=failed_stages(found_a, store, _stages(pairs, "added")),
        failed_b=failed_stages(found_b, store, _stages(pairs, "removed")),
    )


def _stages(pairs: Iterable[Pair], status: PairStatus) -> list[str]:
    chosen = [one.chosen_a or one.chosen_b for one in pairs if one.status == status]
    return list(dict.fromkeys(one.stage for one in chosen if one is not None and one.stage))


def _compared(reference: str, sides: Sequence[Side]) -> ComparedSide:
    return ComparedSide(tuple(run.meta for side in sides for run in side.runs), sides[0].stage, reference)


def _choose(a: Side, b: Side, launch_a: int | None, launch_b: int | None) -> None:
    """Keep the launches that the user named, or those of the stage that either reference names.

    Raises:
        UsageError: When they are not there, or it is not known which is meant.
    """
    sides = (a, b)
    for side, other, launch, option in zip(sides, (b, a), (launch_a, launch_b), _OPTIONS, strict=True):
        stage = side.stage or other.stage
        if launch is not None:
            side.launches = [one for one in side.all if one.launch == launch]
            if not side.launches:
                raise UsageError(f"{side.name} has no launch {launch} ({option})", _there(side))
        elif stage:
            side.launches = [one for one in side.all if one.stage == stage]
            if side.stage and not side.launches:
                raise UsageError(f'{side.name} has no profiled stage "{side.stage}"', _there(side))
    if (launch_a is None) != (launch_b is None):
        for side, option in zip(sides, _OPTIONS, strict=True):
            if len(side.launches) != 1:
                raise UsageError(f"which launch of {side.name} is meant?", f"Name it: {option} N. {_there(side)}")


def _there(side: Side) -> str:
    numbers = [one.launch for one in side.all]
    stages = ", ".join(dict.fromkeys(one.stage for one in side.all if one.stage))
    if not numbers:
        return "It has no launches."
    return f"It has launches {min(numbers)} to {max(numbers)}" + (f", of {stages}." if stages else ".")


def _keep_stages(sides: Sequence[Side], stages: Sequence[str]) -> None:
    """Keep only launches of the stages asked for.

    Raises:
        UsageError: When no run has one of them.
    """
    if not stages:
        return
    known = list(dict.fromkeys(one.stage for side in sides for one in side.all if one.stage))
    for stage in stages:
        if stage not in known:
            there = f"They have {', '.join(known)}." if known else "Their launches belong to no stage."
            raise UsageError(f'neither run has a profiled stage "{stage}"', there)
    for side in sides:
        side.launches = [one for one in side.launches if one.stage in stages]


def _paired(a: Side, b: Side, by_hand: Sequence[str], *, chosen: bool) -> list[Pair]:
    """Pair the launches of two sides; what the user set against each other is a pair whatever its name."""
    if chosen or (a.stage and b.stage):
        return [pair(a.launches, b.launches, "choice")]
    pairs = pair_kernels(
        a.launches,
        b.launches,
        code_a=partial(_code, a),
        code_b=partial(_code, b),
        by_hand=[_named(words, a, b) for words in by_hand],
    )
    if len(a.launches) == len(b.launches) == 1 and not pairs[0].is_on_both_sides:
        return [pair(a.launches, b.launches, "choice")]
    return pairs


def _code(side: Side, launch: LaunchSummary) -> Code | None:
    return code_of(side.run_of(launch), launch)


def _named(words: str, a: Side, b: Side) -> tuple[set[int], set[int]]:
    """Return the places of the launches that ``A=B`` names; names of kernels may hold an ``=`` themselves.

    Raises:
        UsageError: When it is no such pair, or a name is not there.
    """
    ends = [place for place, character in enumerate(words) if character == "="]
    if not ends:
        raise UsageError(f"--pair {words} names no two kernels", "Write A=B: stages, kernels or numbers of launches.")
    found = [(_places(words[:end], a), _places(words[end + 1 :], b)) for end in ends]
    best = next((one for one in found if one[0] and one[1]), None)
    if best is not None:
        return best
    missing = [(words[: ends[0]], a, "A"), (words[ends[0] + 1 :], b, "B")]
    name, side, letter = missing[1] if found[0][0] else missing[0]
    near = difflib.get_close_matches(name, _names(side), n=1, cutoff=0.4)
    meant = f"Did you mean {near[0]}?" if near else f"It has {', '.join(_names(side)) or 'no launches'}."
    raise UsageError(f'{letter} has no stage or kernel "{name}" (--pair {words})', meant)


def _names(side: Side) -> list[str]:
    return list(dict.fromkeys(one.stage or one.function for one in side.launches))


def _places(name: str, side: Side) -> set[int]:
    """Return the places of the launches of a name: a stage, a kernel, an NVTX range, else the number of one."""
    name = name.strip()
    found = {
        place
        for place, one in enumerate(side.launches)
        if name in (one.stage, one.function, one.kernel) or name in one.nvtx
    }
    return found or {place for place, one in enumerate(side.launches) if name == str(one.launch)}


@dataclass
class _Judge:
    """Judges pairs; what is read of a run is read once."""

    stages: Mapping[str, Stage]
    force: bool
    noise: NoiseTable
    lines: bool = True
    _fingerprints: dict[int, Fingerprint] = field(default_factory=dict)
    _counters: dict[int, dict[int, dict[str, float]]] = field(default_factory=dict)
    _samples: dict[int, list[TimingSample]] = field(default_factory=dict)

    def pairs(self, pairs: Sequence[Pair], a: Side, b: Side, *, asked: bool) -> list[Pair]:
        """Judge the pairs of two sides; the user may have asked for those by choice, whatever their launches are."""
        judged = [self._judged(one, a, b, asked=asked and one.matched_by == "choice") for one in pairs]
        if not self.lines:
            return judged
        alike = [one for one in judged if _has_lines(one)]
        spots_a = _spots((a.run_of(one.chosen_a), one.chosen_a) for one in alike if one.chosen_a)
        spots_b = _spots((b.run_of(one.chosen_b), one.chosen_b) for one in alike if one.chosen_b)
        return [
            replace(one, lines=moved_lines(spots_a[id(one.chosen_a)], spots_b[id(one.chosen_b)]))
            if id(one.chosen_a) in spots_a and id(one.chosen_b) in spots_b
            else one
            for one in judged
        ]

    def _judged(self, one: Pair, a: Side, b: Side, *, asked: bool) -> Pair:
        run_a = a.run_of(one.launches_a[0]) if one.launches_a else None
        run_b = b.run_of(one.launches_b[0]) if one.launches_b else None
        told = replace(one, run_a=run_a.meta if run_a else None, run_b=run_b.meta if run_b else None)
        if run_a is None or run_b is None:
            return told
        stage_a, stage_b = one.launches_a[0].stage, one.launches_b[0].stage
        print_a, print_b = self._fingerprint(run_a), self._fingerprint(run_b)
        comparability = compare_fingerprints(print_a, print_b, stage_a=stage_a, stage_b=stage_b, force=self.force)
        if one.chosen_a and one.chosen_b and not asked:
            comparability = with_shapes(comparability, one.chosen_a, one.chosen_b, print_a, print_b)
        times_a = self._times(run_a, stage_a, one.launches_a)
        times_b = self._times(run_b, stage_b, one.launches_b)
        build_a, build_b = _build(run_a, stage_a), _build(run_b, stage_b)
        compiled = compare_builds(build_a, build_b, comparability) if build_a and build_b else ()
        told = replace(
            told,
            comparability=comparability,
            duration=compare_times(times_a, times_b, comparability, self.noise, print_b.device),
            metrics=(*self._counted(one, comparability, print_b.device), *compiled),
            same_code=_has_same_code(build_a, build_b),
        )
        if one.chosen_a is None or one.chosen_b is None or comparability.against("profiled_time") is not None:
            return told
        launch_a, launch_b = one.chosen_a.launch, one.chosen_b.launch
        values_a, values_b = self._values(run_a).get(launch_a, {}), self._values(run_b).get(launch_b, {})
        attribution = attribute(launch_a, values_a, launch_b, values_b)
        cause = find_cause(attribution, told.metrics, told.duration) if told.duration else None
        return replace(told, attribution=attribution, cause=cause)

    def _counted(self, one: Pair, comparability: Comparability, device: str | None) -> tuple[MetricChange, ...]:
        samples_a = _samples_of(one.chosen_a, one.launches_a)
        samples_b = _samples_of(one.chosen_b, one.launches_b)
        return compare_counters(samples_a, samples_b, comparability, self.noise, device)

    def _fingerprint(self, run: Run) -> Fingerprint:
        if id(run) not in self._fingerprints:
            self._fingerprints[id(run)] = fingerprint(run, self.stages)
        return self._fingerprints[id(run)]

    def _values(self, run: Run) -> dict[int, dict[str, float]]:
        if id(run) not in self._counters:
            self._counters[id(run)] = counters(run.metrics)
        return self._counters[id(run)]

    def _times(self, run: Run, stage: str | None, launches: Sequence[LaunchSummary]) -> TimeEvidence:
        if id(run) not in self._samples:
            self._samples[id(run)] = timing_samples(run.timings)
        registered = self.stages.get(stage or "")
        reference = registered.reference if registered else None
        samples = counted_samples(self._samples[id(run)], stage, reference) if stage else []
        kernel = stage or launches[0].function
        return TimeEvidence(tuple(samples), call_durations(launches), kernel, is_stage=stage is not None)


def find_lines(one: Pair, run_a: Run, run_b: Run) -> tuple[MovedLine, ...]:
    """Return the lines of source of a pair whose share of the samples moved; none where that cannot be told.

    Args:
        one: The pair.
        run_a: The run of its launches of A.
        run_b: Likewise of B.
    """
    if not _has_lines(one) or one.chosen_a is None or one.chosen_b is None:
        return ()
    spots = [
        hot_spots(run, [chosen.launch])[chosen.launch] for run, chosen in ((run_a, one.chosen_a), (run_b, one.chosen_b))
    ]
    return moved_lines(*spots)


def _has_lines(one: Pair) -> bool:
    if one.chosen_a is None or one.chosen_b is None or one.comparability.against("noisy") is not None:
        return False
    return not is_itself(one)


def is_itself(one: Pair) -> bool:
    """Whether a launch is compared with itself."""
    same_run = one.run_a is not None and one.run_b is not None and one.run_a.id == one.run_b.id
    return same_run and one.launches_a == one.launches_b


def _samples_of(chosen: LaunchSummary | None, launches: Sequence[LaunchSummary]) -> list[LaunchSummary]:
    """Return the launches that are samples of the one that speaks for all: of its kernel and shape."""
    if chosen is None:
        return []
    key = (chosen.kernel, chosen.grid, chosen.block)
    return [one for one in launches if (one.kernel, one.grid, one.block) == key]


def _spots(chosen: Iterable[tuple[Run, LaunchSummary]]) -> dict[int, HotSpots]:
    """Find the hot spots of launches of several runs, each run read once: identity of the launch -> its spots."""
    by_run: dict[int, tuple[Run, list[LaunchSummary]]] = {}
    for run, launch in chosen:
        by_run.setdefault(id(run), (run, []))[1].append(launch)
    found: dict[int, HotSpots] = {}
    for run, launches in by_run.values():
        spots = hot_spots(run, [one.launch for one in launches])
        found.update({id(one): spots[one.launch] for one in launches})
    return found


def _build(run: Run, stage: str | None) -> StageBuild | None:
    return next((one for one in run.builds if one.stage == stage and one.variant == "fast"), None)


def _has_same_code(a: StageBuild | None, b: StageBuild | None) -> bool | None:
    """Whether the instructions are the same; under another name they are. None where they are not known."""
    if a is None or b is None or a.sass_hash is None or b.sass_hash is None:
        return None
    return a.sass_hash == b.sass_hash or (
        a.sass is not None and b.sass is not None and _unnamed(a.sass) == _unnamed(b.sass)
    )


def _unnamed(sass: str) -> list[str]:
    """Return machine code without the lines that name functions; targets of branches (``L0:``) stay."""
    return [line for line in sass.splitlines() if not line.endswith(":") or _TARGET.fullmatch(line)]
