"""The values behind the figures of one launch, as tables: what is read, and the number itself for CSV."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ncu_lab.metrics import OVER_IDEAL
from ncu_lab.model import Access, AccessUse, Inspection, LaunchSummary, OccupancyPicture, Spot
from ncu_lab.render import numbers
from ncu_lab.render.figures.launch_stalls import by_size
from ncu_lab.render.figures.launch_units import SIDE_TITLES
from ncu_lab.render.figures.memory_chart import PLACE_NAMES, amount_text, link_name
from ncu_lab.render.figures.occupancy_curves import AXES, current, demand_text, warps_at
from ncu_lab.render.palette import stall_label
from ncu_lab.render.visible import visible


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows, and its value in full precision where it is a number."""

    text: str
    value: float | None = None


Row = Sequence[Cell | str]
Table = tuple[list[str], list[Row]]


def units_table(found: Inspection) -> Table:
    """Return every unit of both sides."""
    rows: list[Row] = [
        [use.label, SIDE_TITLES[use.side], Cell(numbers.percent(use.pct, table=True), use.pct), use.metric]
        for use in found.units
    ]
    return ["Unit", "Side", "Of its peak", "Metric"], rows


def links_table(found: Inspection) -> Table:
    """Return every link of the memory: amount, rate, share of its own peak."""
    duration = found.view.summaries[0].value("duration_ns")
    rows: list[Row] = [
        [
            link_name(link),
            Cell(amount_text(link), link.amount),
            amount_text(link, duration) if duration else numbers.MISSING,
            Cell(numbers.percent(link.pct, table=True), link.pct),
            link.metric,
        ]
        for link in found.traffic.links
    ]
    rates = found.traffic.hit_pct
    rows += [
        [f"{PLACE_NAMES[place]}, hit rate", Cell(numbers.percent(rate, table=True), rate), "", "", ""]
        for place, rate in rates.items()
    ]
    return ["Link", "Amount", "Per second", "Of its peak", "Metric"], rows


def stalls_table(summary: LaunchSummary, spot: Spot | None) -> Table:
    """Return every stall reason, beside it the shares of a chosen line."""
    total = sum(spot.stalls.values()) if spot else 0.0
    rows: list[Row] = []
    for reason, share, cycles in by_size(summary):
        own = spot.stalls.get(reason, 0.0) / total if spot and total else None
        row: list[Cell | str] = [stall_label(reason), Cell(numbers.significant(cycles), cycles)]
        row.append(Cell(numbers.share(share, table=True), share))
        if spot:
            row.append(Cell(numbers.share(own, table=True), own))
        rows.append(row)
    header = ["Reason", "Cycles per instruction", "Share"]
    return ([*header, "Of the chosen code"] if spot else header), rows


def curves_table(picture: OccupancyPicture) -> Table:
    """Return the steps of each curve: the largest demand of each number of warps, and the launch's own."""
    rows: list[Row] = []
    for curve in picture.curves:
        now = current(picture, curve.varies)
        if now is not None:
            warps = warps_at(curve, now)
            rows.append([f"{AXES[curve.varies]}, this launch", demand_text(curve.varies, now), _warps(warps)])
        for at, (x, warps) in enumerate(zip(curve.x, curve.warps, strict=True)):
            if at + 1 == len(curve.x) or curve.warps[at + 1] != warps:
                rows.append([f"{AXES[curve.varies]}, up to", demand_text(curve.varies, x), _warps(warps)])
    return ["Varies", "Demand", "Warps / SM"], rows


def _warps(warps: int | None) -> Cell:
    return Cell(numbers.integer(warps), warps)


@dataclass(frozen=True, slots=True)
class AccessRow:
    """One kind of access to one memory: its cells by :data:`ACCESS_HEADER`, and where most of what is too much is from.

    ``over`` says that it takes more than its ideal allows; ``place`` is empty where it does not, or nothing tells.
    """

    name: str
    place: str
    over: bool
    cells: tuple[Cell, ...]


ACCESS_HEADER = ("Access", "Requests", "Moved", "÷ ideal", "Per request", "Hit rate", "Of its peak")

_KIND_TITLES = {"ld": "load", "st": "store", "atom": "atomic", "red": "reduction", "tma": "TMA"}


def access_rows(found: Inspection) -> list[AccessRow]:
    """Return every kind of access that the launch made."""
    access = found.view.accesses.get(found.view.summaries[0].launch)
    uses = {(use.space, use.kind): use for use in found.traffic.uses}
    return [_access_row(one, uses.get((one.space, one.kind))) for one in (access.accesses if access else ())]


def _access_row(one: Access, use: AccessUse | None) -> AccessRow:
    over = one.over_ideal is not None and one.over_ideal > OVER_IDEAL
    worst = max(one.culprits, key=lambda culprit: culprit.excess, default=None)
    hit, peak = (use.hit_pct, use.peak_pct) if use else (None, None)
    moved = f"{numbers.count(one.amount)} {one.unit}s" if one.amount is not None else numbers.MISSING
    return AccessRow(
        f"{one.space.capitalize()} {_KIND_TITLES.get(one.kind, one.kind)}",
        visible(worst.place.rpartition("/")[2]) if worst is not None and worst.excess and over else "",
        over,
        (
            Cell(numbers.count(one.requests), one.requests),
            Cell(moved, one.amount),
            Cell(numbers.ratio(one.over_ideal), one.over_ideal),
            Cell(numbers.significant(one.per_request), one.per_request),
            Cell(numbers.percent(hit, table=True), hit),
            Cell(numbers.percent(peak, table=True), peak),
        ),
    )


def between_units_table(found: Inspection) -> Table:
    """Return what went between the units of the memory, in bytes; no rows where that was not counted."""
    duration = found.view.summaries[0].value("duration_ns")
    rows: list[Row] = [
        [
            link_name(link),
            Cell(amount_text(link), link.amount),
            amount_text(link, duration) if duration else numbers.MISSING,
            Cell(numbers.percent(link.pct, table=True), link.pct),
        ]
        for link in found.traffic.links
        if link.unit == "byte" and link.amount is not None
    ]
    return ["Between units", "Moved", "Per second", "Of its peak"], rows
