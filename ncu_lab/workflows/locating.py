"""Where in its code each launch of a run spends its time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ncu_lab.analyze.hotspots import find_hot_spots
from ncu_lab.analyze.summary import counters
from ncu_lab.metrics.names import SAMPLES
from ncu_lab.model import HotSpots, Run
from ncu_lab.workflows.sources import source_texts


def hot_spots(run: Run, launches: Iterable[int]) -> dict[int, HotSpots]:
    """Find the hot spots of some launches of a run, with the text of their source.

    Returns:
        Launch -> its spots, in the order asked for.
    """
    values = counters(run.metrics)
    found = {launch: find_hot_spots(run.instances, launch, values.get(launch, {}).get(SAMPLES)) for launch in launches}
    files = dict.fromkeys(spot.file for spots in found.values() for spot in spots.lines if spot.file)
    texts = source_texts(run, files)
    return {
        launch: replace(spots, sources={spot.file: texts[spot.file] for spot in spots.lines if spot.file in texts})
        for launch, spots in found.items()
    }
