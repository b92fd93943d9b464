"""Two runs beside each other, and why what they have in common takes longer or shorter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ncu_lab.analyze.attribution import attribute
from ncu_lab.analyze.pairing import pair, pair_launches
from ncu_lab.analyze.summary import counters, summarize
from ncu_lab.errors import UsageError
from ncu_lab.model import ComparedSide, Comparison, Notice, Pair, Run, RunMeta
from ncu_lab.workflows.reading import Found, find_run

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
    launch_a: int | None = None,
    launch_b: int | None = None,
) -> Comparison:
    """Compare two runs.

    Args:
        a: Reference of the run to compare with (see ``workflows.reading.find_run``).
        b: Reference of the run that is compared.
        store: The folder of runs.
        where: The options that name the store (`` --example``), for commands that are told to be typed.
        stages: Only these stages; by default all. Where both references name a stage, those two are compared; where
            one does, the other run's launches of it.
        launch_a: The launch of A to compare, whatever it is called; by default all are paired.
        launch_b: Likewise of B; where only one of the two is given, the other run must leave no choice.

    Raises:
        InputError: When a reference means nothing, or its run cannot be read.
        UsageError: When a stage or launch asked for is not there.
    """
    sides = [_Side(find_run(reference, store, where)) for reference in (a, b)]
    for side, other, launch, option in zip(sides, reversed(sides), (launch_a, launch_b), _OPTIONS, strict=True):
        side.choose(launch, other.stage, option)
    if (launch_a is None) != (launch_b is None):
        for side, option in zip(sides, _OPTIONS, strict=True):
            side.demand_one(option)
    _keep_stages(sides, stages)
    pairs = _paired(*sides, chosen=launch_a is not None or launch_b is not None)
    side_a, side_b = sides
    return Comparison(
        a=ComparedSide(side_a.run.meta, side_a.stage),
        b=ComparedSide(side_b.run.meta, side_b.stage),
        pairs=tuple(_attributed(pairs, side_a.run, side_b.run)),
        differences=tuple(_differences(side_a.run.meta, side_b.run.meta)),
        warnings=tuple(dict.fromkeys(notice for side in sides for notice in side.passed_over)),
    )


class _Side:
    """One of the two runs, and those of its launches that are compared."""

    def __init__(self, found: Found) -> None:
        self.run = found.run
        self.stage = found.stage
        self.passed_over = found.passed_over
        self.all = summarize(found.run)
        self.launches = self.all

    def choose(self, launch: int | None, stage_of_other: str | None, option: str) -> None:
        """Keep one launch, or those of the stage that the user named for this run, else for the other.

        Raises:
            UsageError: When that launch, or any of that stage, is not there.
        """
        if launch is not None:
            self.launches = [one for one in self.all if one.launch == launch]
            if not self.launches:
                raise UsageError(f"{self.run.meta.id} has no launch {launch} ({option})", self._there())
        elif self.stage or stage_of_other:
            self.launches = [one for one in self.all if one.stage == (self.stage or stage_of_other)]
            if self.stage and not self.launches:
                raise UsageError(f'{self.run.meta.id} has no profiled stage "{self.stage}"', self._there())

    def demand_one(self, option: str) -> None:
        """Make sure that it is known which launch is meant.

        Raises:
            UsageError: When there are several, or none.
        """
        if len(self.launches) != 1:
            raise UsageError(f"which launch of {self.run.meta.id} is meant?", f"Name it: {option} N. {self._there()}")

    def _there(self) -> str:
        numbers = [one.launch for one in self.all]
        stages = ", ".join(dict.fromkeys(one.stage for one in self.all if one.stage))
        if not numbers:
            return "It has no launches."
        return f"It has launches {min(numbers)} to {max(numbers)}" + (f", of {stages}." if stages else ".")


def _keep_stages(sides: Sequence[_Side], stages: Sequence[str]) -> None:
    """Keep only launches of the stages asked for.

    Raises:
        UsageError: When neither run has one of them.
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


def _paired(a: _Side, b: _Side, *, chosen: bool) -> list[Pair]:
    """Pair the launches of two sides; what the user set against each other is a pair whatever its name."""
    if chosen or (a.stage and b.stage):
        return [pair(a.launches, b.launches, "choice")]
    pairs = pair_launches(a.launches, b.launches)
    if len(a.launches) == len(b.launches) == 1 and pairs[0].status != "matched":
        return [pair(a.launches, b.launches, "choice")]
    return pairs


def _attributed(pairs: Sequence[Pair], a: Run, b: Run) -> Iterator[Pair]:
    values_a, values_b = counters(a.metrics), counters(b.metrics)
    for one in pairs:
        if one.status != "matched" or one.chosen_a is None or one.chosen_b is None:
            yield one
            continue
        launch_a, launch_b = one.chosen_a.launch, one.chosen_b.launch
        why = attribute(launch_a, values_a.get(launch_a, {}), launch_b, values_b.get(launch_b, {}))
        yield replace(one, attribution=why)


def _differences(a: RunMeta, b: RunMeta) -> Iterator[Notice]:
    """Tell what differs beside the kernels; what one side does not tell is not known to differ."""
    device_a, device_b = a.device, b.device
    env_a, env_b = a.environment, b.environment
    compared = (
        ("other_device", "GPU", device_a and device_a.name, device_b and device_b.name),
        ("other_problem", "problem", a.problem and a.problem.label, b.problem and b.problem.label),
        ("other_driver", "driver", env_a.driver, env_b.driver),
        ("other_ncu", "version of ncu", env_a.ncu, env_b.ncu),
        ("other_clock_control", "clock control", env_a.clock_control, env_b.clock_control),
    )
    for code, what, before, after in compared:
        if before is not None and after is not None and before != after:
            yield Notice(code, f"another {what}: {before} and {after}; the change is not of the kernels alone")
