"""Where a series of values changes its level.

Candidates come from seeded binary segmentation for a change in mean (Kovács et al., Seeded binary segmentation,
Biometrika 110, 2023), by the library changeforest: maintained, small, with wheels for every Python we support and no
further dependency (ruptures would bring scipy). It works on logarithms in units of the deviation by which an unchanged
kernel repeats from process to process, so that a gain in squared error is a chi-square of one degree for each split. A
split must gain 4 ln n: the largest of many chi-squares grows with 2 ln n, and seeded segmentation looks at about 2 n
splits more (twice the penalty of Schwarz). Candidates are candidates: each is then judged by the very comparison of
``diff``, which alone decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ncu_lab.analyze.metric_changes import compare_metric
from ncu_lab.metrics import Metric
from ncu_lab.model.noise import Repeatability

_LEAST_GAIN = 10.0
"""Of a short series: 4 ln n would let pass what three deviations do."""

_COPIES = 2
"""The library never leaves a single value behind a split, and the newest commit is the one that matters most: each run
is given twice, with a deviation to match, so that every gain is what it was."""


def candidates(
    values: Sequence[float], samples: Sequence[int], repeats: Repeatability, metric: Metric | None = None
) -> list[int]:
    """Return the places (from 1) where a level may begin that differs from the one before.

    Args:
        values: One a run, oldest first.
        samples: Samples that each is the median of.
        repeats: How well the quantity repeats.
        metric: What it is; None for unprofiled times. Of one that is exact each step beyond what it repeats by is a
            candidate: there is no noise that would have to be averaged away.
    """
    if metric is not None and metric.kind == "exact":
        steps = [compare_metric(metric, [a], [b], repeats).verdict for a, b in pairwise(values)]
        return [i for i, verdict in enumerate(steps, start=1) if verdict != "same"]
    if len(values) < 2:
        return []
    if min(values) <= 0.0:
        return _by_mean(values, max(_deviation_about_zero(values, repeats), math.ulp(1.0)))
    logs = [math.log(value) for value in values]
    middle = sorted(values)[len(values) // 2]
    fewest = max(1, min(samples))
    deviation = math.hypot(repeats.processes, repeats.spread(middle) / math.sqrt(fewest))
    return _by_mean(logs, max(deviation, math.ulp(1.0)))


def _deviation_about_zero(values: Sequence[float], repeats: Repeatability) -> float:
    """Return the deviation of a quantity that is zero somewhere, in its own unit."""
    largest = max(abs(value) for value in values)
    return math.hypot(repeats.launches * largest, repeats.processes * largest, repeats.absolute)


def _by_mean(values: Sequence[float], deviation: float) -> list[int]:
    """Split where the mean changes.

    Args:
        values: At least two.
        deviation: Standard deviation of each about the mean of its level.
    """
    import numpy as np
    from changeforest import Control, changeforest

    count = len(values)
    control = Control(
        minimal_gain_to_split=max(_LEAST_GAIN, 4.0 * math.log(count)),
        minimal_relative_segment_length=1.0 / (_COPIES * count),
    )
    scaled = np.repeat(np.asarray(values, dtype=np.float64), _COPIES) / (deviation * math.sqrt(_COPIES))
    found = changeforest((scaled - scaled.mean()).reshape(-1, 1), "change_in_mean", "sbs", control)
    return sorted(int(place) // _COPIES for place in found.split_points())
