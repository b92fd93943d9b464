"""Memory accesses in a few lines: sectors and conflicts against their ideal, and the time that hangs on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from ncu_lab.metrics import Reading, Space
from ncu_lab.model import Access, Culprit, Json, LaunchAccess, LaunchSummary, Stake
from ncu_lab.render import numbers
from ncu_lab.render.terminal import BAD, GOOD, MUTED, sign
from ncu_lab.render.wording import collected_by, not_collected, within_ideal

Part = str | tuple[str, str]
Lines = list[tuple[str, list[Part]]]

LINE_WIDTH = 60
"""Columns that the parts of a line may take beside its label."""

PLACE_WIDTH = 38
"""Columns that the name of a line may take; of a longer one the end is shown."""

LEAST_AT_STAKE = 0.01
"""Share of the duration (0 to 1) below which accesses within their limits are not worth a line."""

_GAP = "   "
_KINDS: Mapping[str, str] = {"ld": "loads", "st": "stores", "atom": "atomics", "red": "reductions", "tma": "TMA"}
_LABELS: Mapping[Space, str] = {"global": "sectors cost", "shared": "conflicts cost"}


def access_lines(summary: LaunchSummary, found: LaunchAccess | None) -> Lines:
    """Return the lines that tell of a launch's accesses, label and parts; the time at stake where it matters.

    A line without a label goes on with the one before.
    """
    found = found or LaunchAccess()
    lines = [*packed("global sectors", _sectors(summary, found)), *_at_stake("global", found)]
    lines += [*packed("bank conflicts", _conflicts(summary, found)), *_at_stake("shared", found)]
    if local := [one for one in found.of("local") if one.amount]:
        told = "   ".join(f"{_KINDS[one.kind]} {numbers.count(one.amount)} sectors" for one in local)
        lines.append(("local memory", [told]))
    return lines


def packed(label: str, items: Sequence[list[Part]]) -> Lines:
    """Put items side by side, in as many lines as they need."""
    lines: Lines = [(label, [])]
    width = 0
    for item in items:
        own = sum(len(part if isinstance(part, str) else part[0]) for part in item)
        if width and width + len(_GAP) + own > LINE_WIDTH:
            lines.append(("", []))
            width = 0
        parts = lines[-1][1]
        parts += [_GAP, *item] if width else item
        width += own + (len(_GAP) if width else 0)
    return lines


def access_document(found: LaunchAccess | None) -> Json:
    """Write accesses and what is at stake, in full precision; all lines responsible, the largest excess first."""
    found = found or LaunchAccess()
    return {
        "access": [_access_document(one) for one in found.accesses],
        "at_stake": [_stake_document(one) for one in found.stakes.values()],
    }


def _access_document(access: Access) -> Json:
    document = asdict(access)
    culprits = document.pop("culprits")
    ratios = {name: getattr(access, name) for name in ("unit", "per_request", "ideal_per_request", "over_ideal")}
    return {**document, **ratios, "lines": culprits}


def _stake_document(stake: Stake) -> Json:
    bounds = {name: getattr(stake, name) for name in ("upper_bound_ns", "upper_bound_share")}
    return {**asdict(stake), **bounds}


def _sectors(summary: LaunchSummary, found: LaunchAccess) -> list[list[Part]]:
    items: list[list[Part]] = []
    for access in found.of("global"):
        if access.kind == "tma":
            items.append([f"TMA {numbers.count(access.requests)} requests, counted apart"])
        elif access.per_request is not None:
            told = f"{_kind(access)} {numbers.significant(access.per_request)}"
            items.append(_of_ideal(told, access.per_request, access.ideal_per_request))
    readings = {words: summary.readings[f"global_{kind}_sectors_per_request"] for words, kind in _READ.items()}
    for words, reading in readings.items() if not found.of("global") else ():
        if reading.value is not None:
            ideal = summary.value(f"global_{_READ[words]}_sectors_ideal")
            items.append(_of_ideal(f"{words} {numbers.significant(reading.value)}", reading.value, ideal))
    return _with_missing(items, _unsaid(readings, found.of("global"))) or [["none by plain loads or stores"]]


_READ: Mapping[str, str] = {"loads": "load", "stores": "store"}
_SHORT: Mapping[str, str] = {"loads": "ld", "stores": "st"}


def _of_ideal(told: str, value: float, ideal: float | None) -> list[Part]:
    if ideal is None:
        return [told]
    return [f"{told} of {numbers.count(ideal)} ideal ", _sign(within_ideal(value, ideal))]


def _conflicts(summary: LaunchSummary, found: LaunchAccess) -> list[list[Part]]:
    shared = [(_kind(one), one.over_ideal) for one in found.of("shared") if one.over_ideal is not None]
    readings = {words: summary.readings[f"shared_{kind}_wavefronts_over_ideal"] for words, kind in _READ.items()}
    told = shared or [(words, reading.value) for words, reading in readings.items() if reading.value is not None]
    items: list[list[Part]] = [
        [f"{words} {numbers.ratio(ratio)} ", _sign(within_ideal(ratio, 1.0))] for words, ratio in told
    ]
    return _with_missing(items, _unsaid(readings, found.of("shared"))) or [["no shared memory"]]


def _unsaid(readings: Mapping[str, Reading], judged: Sequence[Access]) -> dict[str, Reading]:
    """Leave out readings of what was judged from other counters; the instructions tell of all accesses there are."""
    if any(one.counted_by == "instructions" and one.kind != "tma" for one in judged):
        return {}
    told = {one.kind for one in judged if one.per_request is not None}
    return {words: reading for words, reading in readings.items() if _SHORT[words] not in told}


def _kind(access: Access) -> str:
    """Name a kind of access; loads that nobody counts apart from cp.async say so."""
    name = _KINDS.get(access.kind, access.kind)
    return f"{name} + cp.async" if access.kind == "ld" and "LDGSTS" in access.covers else name


def _at_stake(space: Space, found: LaunchAccess) -> Lines:
    """Say how much time the excess may cost at most, where any access is over its limit or the time is worth it."""
    stake = found.stakes.get(space)
    over = any(within_ideal(one.over_ideal, 1.0) is False for one in found.of(space))
    if stake is None or not (over or (stake.upper_bound_share or 0.0) >= LEAST_AT_STAKE):
        return []
    if stake.upper_bound_ns is None:
        return [(_LABELS[space], [(collected_by(*stake.missing), MUTED)])]
    bound, whole = numbers.duration(stake.upper_bound_ns), numbers.duration(stake.duration_ns)
    waits = "" if stake.stall_share is None else f"; waits for it {numbers.share(stake.stall_share)}"
    lines: Lines = [(_LABELS[space], [f"at most {bound} of {whole} at stake{waits}"])]
    worst = found.worst(space)
    return [*lines, *_culprit(worst)] if worst is not None else lines


def _culprit(culprit: Culprit) -> Lines:
    ratio = "" if culprit.over_ideal is None else f" {numbers.ratio(culprit.over_ideal)}"
    place = culprit.place
    if len(place) > PLACE_WIDTH:
        place = "…" + place[1 - PLACE_WIDTH :]
    if culprit.file is None:
        return [("mostly by", [f"{place}{ratio}"])]
    by = f"{culprit.opcode}{ratio}"
    told = f"{place}, {by}"
    return [("mostly by", [told])] if len(told) <= LINE_WIDTH else [("mostly by", [f"{place},"]), ("", [by])]


def _with_missing(items: list[list[Part]], readings: Mapping[str, Reading]) -> list[list[Part]]:
    """Add how to collect those of some readings that were not: words -> reading. ncu 2020 has loads without stores."""
    missing = {words: not_collected(reading) for words, reading in readings.items() if reading.missing}
    told: list[list[Part]] = [[(f"{words} {how}" if items else how, MUTED)] for words, how in missing.items()]
    return [*items, *(told if items else told[:1])]


def _sign(good: bool | None) -> tuple[str, str]:
    return sign(good), "" if good is None else GOOD if good else BAD
