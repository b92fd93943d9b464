"""Every kind of memory access of a launch, judged: sectors and wavefronts against what they need, and who is to blame.

Sectors and requests of global and local memory are the hardware's where the report has them; what they need is told by
the instructions. Wavefronts of shared memory are those of the instructions where the report has them: the hardware's
own count of conflicts holds wavefronts lost to arbitration, and shows 1.1 for a tile that has no conflict at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ncu_lab.analyze.instructions import instruction_table
from ncu_lab.analyze.opcodes import access_bytes, access_kinds, full_opcode, opcode, opcodes_of
from ncu_lab.analyze.stake import ATOMICS, stake
from ncu_lab.metrics import ACCESS_SECTIONS, Lookup, Space
from ncu_lab.metrics.accesses import HARDWARE, OPCODE_EXECUTIONS, TMA_REQUESTS, total
from ncu_lab.metrics.names import (
    EXECUTIONS,
    GLOBAL_SECTORS,
    GLOBAL_SECTORS_IDEAL,
    GLOBAL_TAGS,
    LOCAL_SECTORS,
    SHARED_WAVEFRONTS,
    SHARED_WAVEFRONTS_IDEAL,
)
from ncu_lab.model import Access, Culprit, LaunchAccess, LaunchSummary

if TYPE_CHECKING:
    import pandas as pd

Kind = tuple[Space, str]

_AMOUNTS: Mapping[Space, str] = {"global": GLOBAL_SECTORS, "local": LOCAL_SECTORS, "shared": SHARED_WAVEFRONTS}
_NEEDS: Mapping[Space, str] = {"global": GLOBAL_SECTORS_IDEAL, "shared": SHARED_WAVEFRONTS_IDEAL}
_COUNTED = frozenset({EXECUTIONS, GLOBAL_TAGS, *_AMOUNTS.values(), *_NEEDS.values()})
_ORDER: tuple[Kind, ...] = (
    *((space, kind) for space in ("global", "local") for kind in ("ld", "cp.async", "st", "atom", "red", "tma")),
    *(("shared", kind) for kind in ("ld", "ldmatrix", "wgmma", "cp.async", "st", "stmatrix", "atom", "other")),
)  # fmt: skip
_BY_WIDTH = ("ld", "st", "cp.async")
"""Kinds whose ideal is full coalescing; atomics on one address need a single sector, and TMA moves whole tiles."""

_SECTORS_PER_TAG = 4
"""A line of L1, which one lookup finds, is 128 bytes."""


@dataclass
class _Tally:
    """What the instructions tell of one kind of access."""

    requests: float = 0.0
    amount: float | None = None
    needed: float | None = None
    lane_bytes: float = 0.0
    excess: float = 0.0
    excess_tags: float = 0.0
    opcodes: dict[str, None] = field(default_factory=dict)
    lines: dict[tuple[str | None, int | None, str], list[float]] = field(default_factory=dict)

    @property
    def width(self) -> float | None:
        """Bytes a lane, on average over the requests; as many sectors a request are full coalescing."""
        return self.lane_bytes / self.requests if self.requests else None


def judge_accesses(
    instances: pd.DataFrame, summaries: Sequence[LaunchSummary], values: Mapping[int, Mapping[str, float]]
) -> dict[int, LaunchAccess]:
    """Judge the accesses of launches.

    Args:
        instances: A table of ``INSTANCE_COLUMNS``.
        summaries: The launches.
        values: Launch -> Nsight Compute name -> value.

    Returns:
        Launch -> its accesses; all launches are there.
    """
    by_instruction = _tallies(instances)
    by_opcode = _opcode_widths(instances)
    result = {}
    for summary in summaries:
        tallies = by_instruction.get(summary.launch, {})
        widths = by_opcode.get(summary.launch, {})
        lookup = values.get(summary.launch, {}).get
        found = [*_by_sectors(lookup, tallies, widths), *_tma(lookup, tallies), *_by_wavefronts(lookup, tallies)]
        used = _with_shares(access for access in found if access.requests or access.amount)
        spaces: tuple[Space, ...] = ("global", "shared")
        stakes = {
            space: stake(
                space, _excess(space, used), _excess_tags(used, tallies), summary, lookup,
                atomics=any(access.space == space and access.kind in ATOMICS and access.excess for access in used),
            )
            for space in spaces
            if any(access.space == space and access.kind != "tma" for access in used)
        }  # fmt: skip
        result[summary.launch] = LaunchAccess(tuple(sorted(used, key=_rank)), stakes)
    return result


def _rank(access: Access) -> int:
    return _ORDER.index((access.space, access.kind))


def _excess(space: Space, accesses: Sequence[Access]) -> float | None:
    """Sum what one memory's accesses take too much; None when any of them does not tell."""
    parts = [one.excess for one in accesses if one.space == space and one.kind != "tma"]
    return None if None in parts else math.fsum(part for part in parts if part is not None)


def _excess_tags(accesses: Sequence[Access], tallies: Mapping[Kind, _Tally]) -> float | None:
    """Sum lookups beyond those needed; where the instructions do not tell, each sector may have taken its own."""
    tags = 0.0
    for access in accesses:
        if access.space != "global" or not access.excess:
            continue
        tally = tallies.get((access.space, access.kind))
        if tally is not None and tally.amount is not None:
            tags += tally.excess_tags
        else:
            tags += max(access.excess, (access.amount or 0.0) - (access.requests or 0.0))
    return tags


def _with_shares(accesses: Iterable[Access]) -> list[Access]:
    found = list(accesses)
    totals: dict[Space, float] = defaultdict(float)
    for access in found:
        totals[access.space] += access.amount or 0.0
    return [
        replace(one, excess_share=one.excess / totals[one.space])
        if one.excess is not None and totals[one.space] else one
        for one in found
    ]  # fmt: skip


def _by_sectors(lookup: Lookup, tallies: Mapping[Kind, _Tally], widths: Mapping[Kind, float]) -> Iterator[Access]:
    """Judge global and local accesses: the hardware's sectors against the instructions' needs."""
    asynchronous: Kind = ("global", "cp.async")
    apart = total(HARDWARE[asynchronous].amount, lookup) is not None
    for space, kind in HARDWARE:
        if space == "shared":
            continue
        counters, tally = HARDWARE[space, kind], tallies.get((space, kind))
        requests, amount = total(counters.requests, lookup), total(counters.amount, lookup)
        names = opcodes_of(space, kind)
        if (space, kind) == ("global", "ld") and requests is not None and amount is not None:
            if apart:
                requests -= total(HARDWARE[asynchronous].requests, lookup) or 0.0
                amount -= total(HARDWARE[asynchronous].amount, lookup) or 0.0
            elif tallies:
                requests, amount = _less(requests, amount, tallies.get(asynchronous))
            else:
                names = (*names, *opcodes_of(*asynchronous))
        if requests is not None and amount is not None:
            yield _judged(space, kind, names, requests, amount, tally, widths, by_hardware=True)
        elif tally is not None and tally.amount is not None:
            yield _judged(space, kind, tuple(tally.opcodes), tally.requests, tally.amount, tally, widths)


def _less(requests: float, amount: float, part: _Tally | None) -> tuple[float, float]:
    """Take a part that the hardware counts with another kind away from it."""
    return (requests, amount) if part is None else (requests - part.requests, amount - (part.amount or 0.0))


def _judged(
    space: Space,
    kind: str,
    names: Sequence[str],
    requests: float,
    amount: float,
    tally: _Tally | None,
    widths: Mapping[Kind, float],
    *,
    by_hardware: bool = False,
) -> Access:
    counted = tally if tally is not None and tally.amount is not None else None
    ideal = _ideal(space, kind, requests, counted, widths)
    # The hardware sends a sector for each lane of an atomic, though all meet on one address: instructions tell of one.
    if counted is not None and counted.needed is not None and kind not in ATOMICS:
        excess: float | None = counted.excess
    else:
        excess = None if ideal is None else max(0.0, amount - ideal)
    return Access(
        space=space,
        kind=kind,
        covers=", ".join(names),
        counted_by="hardware" if by_hardware else "instructions",
        requests=requests,
        amount=amount,
        ideal=ideal,
        excess=excess,
        culprits=_culprits(counted),
        missing=(ACCESS_SECTIONS["instructions"],) if ideal is None or excess is None else (),
    )


def _ideal(
    space: Space, kind: str, requests: float, counted: _Tally | None, widths: Mapping[Kind, float]
) -> float | None:
    """Return the sectors at full coalescing: 32 lanes of so many bytes in sectors of 32 bytes."""
    if kind not in _BY_WIDTH:
        return counted.needed if counted else None
    if space == "local":  # the hardware splits a wide access into several requests
        return counted.lane_bytes if counted else None
    width = (counted.width if counted else None) or widths.get((space, kind))
    return None if width is None else requests * width


def _tma(lookup: Lookup, tallies: Mapping[Kind, _Tally]) -> Iterator[Access]:
    """Tell of bulk copies that there are some: they have no ideal to miss."""
    tally = tallies.get(("global", "tma"))
    requests = total(TMA_REQUESTS, lookup)
    if requests or tally is not None:
        by_hardware = bool(requests)
        number = requests if requests else tally.requests if tally else None
        covers = f"{', '.join(tally.opcodes) if tally else 'TMA'}: whole tiles, always whole sectors"
        yield Access("global", "tma", covers, "hardware" if by_hardware else "instructions", number, None, None)


def _by_wavefronts(lookup: Lookup, tallies: Mapping[Kind, _Tally]) -> Iterator[Access]:
    """Judge shared accesses: by instruction where these are counted, else by the hardware's conflicts."""
    counted = {kind: one for kind, one in tallies.items() if kind[0] == "shared" and one.amount is not None}
    for (space, kind), tally in counted.items():
        yield Access(
            space, kind, ", ".join(tally.opcodes), "instructions", tally.requests, tally.amount, tally.needed,
            excess=tally.excess, culprits=_culprits(tally),
        )  # fmt: skip
    if counted:
        return
    for (space, kind), counters in HARDWARE.items():
        amount = total(counters.amount, lookup)
        if space != "shared" or amount is None:
            continue
        conflicts = None if counters.conflicts is None else counters.conflicts.read(lookup)[0]
        requests = total(counters.requests, lookup)
        names = [*opcodes_of(space, kind), *opcodes_of(space, {"ld": "ldmatrix", "st": "stmatrix"}.get(kind, ""))]
        # Conflicts and wavefronts come from different replays; a difference below 0 is noise.
        ideal = None if conflicts is None else max(0.0, amount - conflicts)
        missing = (ACCESS_SECTIONS["hardware"],) if conflicts is None else ()
        yield Access(space, kind, ", ".join(names), "hardware", requests, amount, ideal, conflicts, missing=missing)


def _culprits(tally: _Tally | None) -> tuple[Culprit, ...]:
    if tally is None:
        return ()
    found = [
        Culprit(file, line, name, amount - needed, amount / needed if needed else None)
        for (file, line, name), (amount, needed) in tally.lines.items()
        if amount > needed
    ]
    return tuple(sorted(found, key=lambda one: (-one.excess, one.place)))


def _tallies(instances: pd.DataFrame) -> dict[int, dict[Kind, _Tally]]:
    """Sum the counters per instruction by launch and kind of access."""
    rows = instruction_table(instances, lambda name: name in _COUNTED)
    result: dict[int, dict[Kind, _Tally]] = {}
    if rows.empty:
        return result
    text = rows["sass"].notna()
    names = {one: opcode(one) for one in rows.loc[text, "sass"].unique()}
    is_access = rows["sass"].isin([one for one, code in names.items() if access_kinds(code)])
    wavefronts = rows[SHARED_WAVEFRONTS].notna() if SHARED_WAVEFRONTS in rows else False
    for row in rows[text & (is_access | wavefronts)].to_dict("records"):
        kinds = list(access_kinds(names[row["sass"]]))
        if not kinds:
            kinds = [("shared", "other")]
        for kind in kinds:
            _count(result.setdefault(int(row["launch"]), {}), kind, row)
    return result


def _count(tallies: dict[Kind, _Tally], kind: Kind, row: Mapping[Hashable, object]) -> None:
    space = kind[0]
    executed, amount = _number(row, EXECUTIONS), _number(row, _AMOUNTS[space])
    if kind == ("global", "tma"):
        amount = None
    elif amount is None or (not amount and space == "global"):
        return  # not counted, or predicated off for every lane
    if not executed:
        return
    sass = str(row["sass"])
    tally = tallies.setdefault(kind, _Tally())
    tally.requests += executed
    tally.lane_bytes += executed * access_bytes(sass)
    tally.opcodes[opcode(sass)] = None
    if amount is None:
        return
    tally.amount = (tally.amount or 0.0) + amount
    needed = _number(row, _NEEDS.get(space, ""))
    if needed is None:
        return
    tally.needed = (tally.needed or 0.0) + needed
    excess = max(0.0, amount - needed)
    tally.excess += excess
    if excess and (tags := _number(row, GLOBAL_TAGS)) is not None:
        tally.excess_tags += max(0.0, tags - max(executed, needed / _SECTORS_PER_TAG))
    file, line = row["file"], row["line"]
    place = (file if isinstance(file, str) else None, int(line) if isinstance(line, int) else None, full_opcode(sass))
    sums = tally.lines.setdefault(place, [0.0, 0.0])
    sums[0] += amount
    sums[1] += needed


def _number(row: Mapping[Hashable, object], name: str) -> float | None:
    value = row.get(name)
    return value if isinstance(value, float) and not math.isnan(value) else None


def _opcode_widths(instances: pd.DataFrame) -> dict[int, dict[Kind, float]]:
    """Return launch -> kind -> mean bytes a lane, by how often each opcode ran: without SourceCounters."""
    rows = instances[(instances["metric"] == OPCODE_EXECUTIONS) & instances["label"].notna()]
    sums: dict[int, dict[Kind, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0.0, 0.0]))
    for launch, label, value in zip(rows["launch"], rows["label"], rows["value"], strict=True):
        for kind in access_kinds(opcode(label)):
            total_of = sums[int(launch)][kind]
            total_of[0] += value * access_bytes(label)
            total_of[1] += value
    return {
        launch: {kind: lane_bytes / runs for kind, (lane_bytes, runs) in kinds.items() if runs}
        for launch, kinds in sums.items()
    }
