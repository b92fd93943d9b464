"""Hot spots: what was sampled and counted in each line of source, and in each instruction, of one launch."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ncu_lab.analyze.instructions import instruction_table
from ncu_lab.metrics import ACCESS_SECTIONS, in_stacking_order, sampled_stall
from ncu_lab.metrics.names import (
    EXECUTIONS,
    GLOBAL_SECTORS,
    GLOBAL_SECTORS_IDEAL,
    LIVE_REGISTERS,
    LOCAL_SECTORS,
    SAMPLES,
    SHARED_WAVEFRONTS,
    SHARED_WAVEFRONTS_IDEAL,
)
from ncu_lab.model import HotSpots, Spot

if TYPE_CHECKING:
    import pandas as pd

_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,16}\b")
"""What may be an address of the code, and is no offset or constant bank."""

_SUMMED: Mapping[str, str] = {
    SAMPLES: "samples",
    EXECUTIONS: "executed",
    GLOBAL_SECTORS: "global_sectors",
    GLOBAL_SECTORS_IDEAL: "global_sectors_ideal",
    SHARED_WAVEFRONTS: "shared_wavefronts",
    SHARED_WAVEFRONTS_IDEAL: "shared_wavefronts_ideal",
    LOCAL_SECTORS: "local_sectors",
}
"""Metric of an instruction -> the figure of a spot; a line's figure is the sum over its instructions."""


def find_hot_spots(instances: pd.DataFrame, launch: int, samples: float | None = None) -> HotSpots:
    """Read what was sampled and counted in the code of one launch.

    Args:
        instances: A table of ``INSTANCE_COLUMNS``.
        launch: Row of the launches table.
        samples: Samples of the launch by the report's own total; their sum when it is None.

    Returns:
        The spots; none when nothing was counted per instruction. Samples of its lines sum to those of its instructions,
        as every instruction is of one line.
    """
    table = instruction_table(instances[instances["launch"] == launch], _is_wanted)
    if table.empty:
        return HotSpots(launch, (), (), samples, missing=(ACCESS_SECTIONS["instructions"],))
    start, end = int(table["address"].iloc[0]), int(table["address"].iloc[-1])
    sampled = SAMPLES in table or any(sampled_stall(name) for name in table.columns)
    instructions = tuple(_instruction(row, start, end, sampled=sampled) for row in table.to_dict("records"))
    by_line: dict[tuple[str | None, int | None], list[Spot]] = {}
    for spot in instructions:
        by_line.setdefault((spot.file, spot.line), []).append(spot)
    lines = sorted(by_line, key=lambda place: (place[0] is None, place[0] or "", place[1] or 0))
    if samples is None and sampled:
        samples = math.fsum(spot.samples or 0.0 for spot in instructions)
    return HotSpots(
        launch=launch,
        lines=tuple(_line(by_line[place]) for place in lines),
        instructions=instructions,
        samples=samples,
        excess_sectors=math.fsum(spot.excess_sectors for spot in instructions),
        excess_wavefronts=math.fsum(spot.excess_wavefronts for spot in instructions),
        missing=() if sampled else (ACCESS_SECTIONS["instructions"],),
    )


def _is_wanted(name: str) -> bool:
    return name in _SUMMED or name == LIVE_REGISTERS or sampled_stall(name) is not None


def _instruction(row: Mapping[Hashable, object], start: int, end: int, *, sampled: bool) -> Spot:
    """Make the spot of one instruction; where samples were taken at all, one without any was met by none."""
    numbers = {name: value for name, value in row.items() if isinstance(value, float) and not math.isnan(value)}
    stalls: dict[bool, dict[str, float]] = {False: {}, True: {}}
    for name, value in numbers.items():
        reason = sampled_stall(str(name))
        if reason is not None and value:
            stalls[reason[1]][reason[0]] = value
    figures: dict[str, Any] = {figure: numbers.get(metric) for metric, figure in _SUMMED.items()}
    if sampled and figures["samples"] is None:
        figures["samples"] = math.fsum(stalls[False].values())
    file, line, sass = row["file"], row["line"], row["sass"]
    return Spot(
        file=file if isinstance(file, str) else None,
        line=line if isinstance(line, int) else None,
        offset=int(str(row["address"])) - start,
        sass=_relative(sass, start, end) if isinstance(sass, str) else None,
        stalls=in_stacking_order(stalls[False]),
        stalls_not_issued=in_stacking_order(stalls[True]),
        live_registers=numbers.get(LIVE_REGISTERS),
        **figures,
    )


def _relative(sass: str, start: int, end: int) -> str:
    """Write addresses of the code itself, where branches lead, from its start, as offsets are: ``BRA 0x1a0``."""

    def offset(found: re.Match[str]) -> str:
        place = int(found[0], 16)
        return hex(place - start) if start <= place <= end else found[0]

    return _ADDRESS.sub(offset, sass)


def _line(spots: Sequence[Spot]) -> Spot:
    """Sum the instructions of one line; of what none of them has, the line has none."""
    figures: dict[str, Any] = {figure: _sum([getattr(spot, figure) for spot in spots]) for figure in _SUMMED.values()}
    alive = [spot.live_registers for spot in spots if spot.live_registers is not None]
    return Spot(
        file=spots[0].file,
        line=spots[0].line,
        instructions=len(spots),
        stalls=_sum_by_reason([spot.stalls for spot in spots]),
        stalls_not_issued=_sum_by_reason([spot.stalls_not_issued for spot in spots]),
        live_registers=max(alive, default=None),
        **figures,
    )


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


def _sum_by_reason(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    reasons = dict.fromkeys(reason for part in parts for reason in part)
    return in_stacking_order({reason: math.fsum(part.get(reason, 0.0) for part in parts) for reason in reasons})
