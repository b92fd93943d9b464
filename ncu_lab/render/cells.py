"""Cells that tables of launches and of stages share: they read a row that holds the catalogue's keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ncu_lab.model import LaunchSummary
from ncu_lab.render import numbers
from ncu_lab.render.numbers import MISSING
from ncu_lab.render.tables import Column, Row
from ncu_lab.render.terminal import BAD, GOOD, sign
from ncu_lab.render.wording import reason_name, top_stalls, within_ideal

CONFLICT_KEYS = ("shared_load_wavefronts_over_ideal", "shared_store_wavefronts_over_ideal")


def catalogue_values(summary: LaunchSummary | None) -> dict[str, Any]:
    """Return what these cells read: every catalogue key, and where the warps waited most."""
    if summary is None:
        return {}
    stalls = top_stalls(summary, 1)
    return {
        "waits_mostly": stalls[0][0] if stalls else None,
        "waits_mostly_share": stalls[0][1] if stalls else None,
        **{key: reading.value for key, reading in summary.readings.items()},
    }


def waits(row: Row) -> str:
    """``lg throttle 92 %``."""
    reason = row.get("waits_mostly")
    return (
        MISSING if reason is None else f"{reason_name(reason, short=True)} {numbers.share(row['waits_mostly_share'])}"
    )


def load_sectors(row: Row) -> str:
    """Sectors per global load request, with ✗ above the limit over the ideal of its width: ``16.5 ✗``."""
    value = row.get("global_load_sectors_per_request")
    return _judged(numbers.significant(value), _loads_good(row))


def conflicts(row: Row) -> str:
    """Shared wavefronts over ideal, the worse of loads and stores: ``1.67× ✗``."""
    value = _worst_conflicts(row)
    return _judged(numbers.ratio(value), within_ideal(value, 1.0))


def percent_of(key: str) -> Callable[[Row], str]:
    """Return the cell of a percentage key."""
    return lambda row: numbers.percent(row.get(key))


def load_sectors_column(priority: int) -> Column:
    """The column of :func:`load_sectors`."""
    key = "global_load_sectors_per_request"
    return Column(key, "sect/req", load_sectors, priority=priority, style=lambda row: _style(_loads_good(row)))


def conflicts_column(priority: int) -> Column:
    """The column of :func:`conflicts`."""

    def style(row: Row) -> str:
        return _style(within_ideal(_worst_conflicts(row), 1.0))

    return Column(CONFLICT_KEYS[0], "confl.", conflicts, priority=priority, style=style)


def waits_column(priority: int) -> Column:
    """The column of :func:`waits`."""
    return Column("waits_mostly", "waits mostly", waits, align="left", priority=priority)


def _loads_good(row: Row) -> bool | None:
    return within_ideal(row.get("global_load_sectors_per_request"), row.get("global_load_sectors_ideal"))


def _worst_conflicts(row: Row) -> float | None:
    return max((value for key in CONFLICT_KEYS if (value := row.get(key)) is not None), default=None)


def _judged(text: str, good: bool | None) -> str:
    # A sign's place stays empty where nothing can be judged, so that the numbers stay aligned.
    return text if text == MISSING else f"{text} {' ' if good is None else sign(good)}"


def _style(good: bool | None) -> str:
    return "" if good is None else GOOD if good else BAD
