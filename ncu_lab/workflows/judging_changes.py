"""One quantity of one kernel in two runs, judged by the comparison that ``diff`` is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ncu_lab.analyze.comparability import compare_fingerprints, fingerprint
from ncu_lab.analyze.compare import TimeEvidence, compare_times
from ncu_lab.analyze.timings import counted_samples, timing_samples
from ncu_lab.errors import InputError
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import TIME_KEY, Run
from ncu_lab.model.cause import Cause
from ncu_lab.model.comparison import TimeChange
from ncu_lab.model.history import Change, HistoryPoint
from ncu_lab.model.noise import NoiseTable
from ncu_lab.store import Store
from ncu_lab.workflows.comparing import compare

_CHANGED = frozenset({"faster", "slower", "better", "worse", "changed"})


@dataclass(frozen=True, slots=True)
class Judgement:
    """What ``diff`` says of one quantity, and why a time changed as far as it is known."""

    change: Change
    cause: Cause | None = None


def is_change(change: Change) -> bool:
    """Whether a verdict names a change."""
    return change.verdict in _CHANGED


def judge(store: Path, a: HistoryPoint, b: HistoryPoint, key: str, noise: NoiseTable) -> Judgement:
    """Return what ``diff`` says of one quantity of one kernel in two runs.

    The duration under the profiler is judged as times are: by the unprofiled samples where both have enough.

    Raises:
        InputError: When a run cannot be read, or the two do not tell the quantity.
    """
    stage = b.kernel.stage
    if stage and a.kernel.kernel is None and b.kernel.kernel is None:
        return Judgement(_judge_timed(store, a.meta.id, b.meta.id, stage, noise))
    # By path: a reference that is looked up would list the store each time.
    before, after = (f"file:{store / one.meta.id}" for one in (a, b))
    found = compare(before, after, store, stages=(stage,) if stage else (), noise=noise)
    for pair in found.pairs:
        launch = pair.chosen_b
        same = launch is not None and (launch.kernel, launch.grid) == (b.kernel.kernel, b.kernel.grid)
        is_time = key in (TIME_KEY, "duration_ns")
        change = pair.duration if is_time else pair.metric(key)
        if (same or stage) and change is not None:
            return Judgement(change, pair.cause if is_time else None)
    raise InputError(f"{a.meta.id} and {b.meta.id} do not both tell {key} of {stage or b.kernel.function}")


def _judge_timed(store: Path, a: str, b: str, stage: str, noise: NoiseTable) -> TimeChange:
    """Judge the time of a stage that was timed and not profiled, as references are."""
    run_a, run_b = (Store(store).read(one) for one in (a, b))
    registered = load_stages().get(stage)
    reference = registered.reference if registered else None

    def evidence(run: Run) -> TimeEvidence:
        samples = counted_samples(timing_samples(run.timings), stage, reference)
        return TimeEvidence(tuple(samples), kernel=stage, is_stage=True)

    print_a, print_b = fingerprint(run_a), fingerprint(run_b)
    comparability = compare_fingerprints(print_a, print_b)
    return compare_times(evidence(run_a), evidence(run_b), comparability, noise, print_b.device)
