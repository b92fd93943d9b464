"""The catalogue's readings of accesses: what each access width needs, from the counters per instruction.

A ratio such as 16.5 sectors per request says nothing until it stands beside its ideal, and the ideal depends on the
access width, which only the instruction (``LDG.E.128``) tells. :mod:`ncu_lab.analyze.judging` judges every kind.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ncu_lab.analyze.opcodes import access_bytes, opcode
from ncu_lab.metrics import METRICS, Reading
from ncu_lab.metrics.names import EXECUTIONS, SHARED_WAVEFRONTS, SHARED_WAVEFRONTS_IDEAL

if TYPE_CHECKING:
    import pandas as pd

# What the hardware counts as global loads and stores: cp.async (LDGSTS) and generic accesses among them.
_GLOBAL = {
    "LDG": "global_load_sectors_ideal",
    "LDGSTS": "global_load_sectors_ideal",
    "LD": "global_load_sectors_ideal",
    "STG": "global_store_sectors_ideal",
    "ST": "global_store_sectors_ideal",
}
_SHARED = {
    "LDS": "shared_load_wavefronts_over_ideal",
    "LDSM": "shared_load_wavefronts_over_ideal",
    "STS": "shared_store_wavefronts_over_ideal",
    "STSM": "shared_store_wavefronts_over_ideal",
}


def access_readings(instances: pd.DataFrame) -> dict[int, dict[str, Reading]]:
    """Read the ideals of global accesses and the bank conflicts of shared ones, per launch.

    Full coalescing of a warp's 32 lanes takes ``32 lanes * bytes / 32 bytes`` sectors, so a plain load needs 4, a
    ``.64`` 8 and a ``.128`` 16; a kernel's ideal is the mean over its instructions, weighted by their executions.
    The hardware counts cp.async among its global loads, so it is here too (stage double-buffered on an H200: 163 840
    requests = 32 768 LDG + 131 072 LDGSTS); TMA is counted apart.
    Shared wavefronts over ideal is the sum of the wavefronts over the sum of NVIDIA's ideal ones, without what cp.async
    and TMA write, as in the hardware's own loads and stores.

    Args:
        instances: A table of ``INSTANCE_COLUMNS``.

    Returns:
        Launch -> catalogue key -> reading. A launch without counters per instruction, or without such accesses, is
        absent or lacks the key.
    """
    sums: dict[int, dict[str, list[float]]] = {}
    for launch, key, share, weight in _shares(instances):
        total = sums.setdefault(launch, {}).setdefault(key, [0.0, 0.0])
        total[0] += share
        total[1] += weight
    return {
        launch: {key: _reading(key, above / below) for key, (above, below) in found.items() if below}
        for launch, found in sums.items()
    }


def _reading(key: str, value: float) -> Reading:
    metric = METRICS[key]
    sources = f"{SHARED_WAVEFRONTS} / {SHARED_WAVEFRONTS_IDEAL}"
    text = sources if key in _SHARED.values() else metric.expression.format(EXECUTIONS)
    return Reading(key, value, metric.unit, text)


def _shares(instances: pd.DataFrame) -> Iterator[tuple[int, str, float, float]]:
    """Yield launch, key, part of the numerator and part of the denominator, for every memory instruction."""
    names = [EXECUTIONS, SHARED_WAVEFRONTS, SHARED_WAVEFRONTS_IDEAL]
    wanted = instances[instances["metric"].isin(names) & instances["sass"].notna()]
    totals = wanted.groupby(["launch", "metric", "sass"], observed=True)["value"].sum().reset_index()
    for row in totals.to_dict("records"):
        launch, metric, value, name = int(row["launch"]), row["metric"], float(row["value"]), opcode(row["sass"])
        if metric == EXECUTIONS and name in _GLOBAL:
            yield launch, _GLOBAL[name], value * access_bytes(row["sass"]), value
        elif metric == SHARED_WAVEFRONTS and name in _SHARED:
            yield launch, _SHARED[name], value, 0.0
        elif metric == SHARED_WAVEFRONTS_IDEAL and name in _SHARED:
            yield launch, _SHARED[name], 0.0, value
