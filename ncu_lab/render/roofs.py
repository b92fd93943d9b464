"""Rooflines in words and JSON: roofs, points, and peaks measured or stated beside them."""

from __future__ import annotations

from collections.abc import Sequence

from ncu_lab.model import Json, MeasuredPeak, Roof, Roofline, RooflinePoint
from ncu_lab.render import numbers

SHORT_NAMES = {"l1": "L1", "shared": "shared", "l2": "L2", "dram": "DRAM"}


def short_name(level: str) -> str:
    """Name a level or a precision in a few letters: ``L1``, ``FP16``."""
    return SHORT_NAMES.get(level) or level.upper().replace("_", " ")


def nearest(points: Sequence[RooflinePoint]) -> RooflinePoint | None:
    """Return the point of a launch that comes nearest to the roof above it: what limits it, if any roof does."""
    return max(points, key=lambda point: point.share_of_roof, default=None)


def share_of_bandwidth(point: RooflinePoint, roofs: Sequence[Roof]) -> float | None:
    """Return the bytes a second of a point's level over that level's bandwidth (0 to 1); None without its roof."""
    roof = next((roof for roof in roofs if roof.level == point.level), None)
    return None if roof is None else point.flop_per_s / point.intensity / roof.per_second


def headline(points: Sequence[RooflinePoint], roofs: Sequence[Roof]) -> str:
    """Write where a launch stands: ``10.9 TFLOP/s, 25 % of the L1 / shared roof, 16 % of peak``."""
    first = points[0]
    shares = {point.level: share for point in points if (share := share_of_bandwidth(point, roofs)) is not None}
    most = max(shares, key=lambda level: shares[level])
    named = next(roof.label for roof in roofs if roof.level == most)
    peak = next(roof.per_second for roof in roofs if roof.level == first.precision)
    kind = "" if first.precision == "fp32" else f"{short_name(first.precision)} "
    return (
        f"{numbers.flop_rate(first.flop_per_s)}, {numbers.share(shares[most])} of the {named} roof, "
        f"{numbers.share(first.flop_per_s / peak)} of {kind}peak"
    )


def levels(points: Sequence[RooflinePoint], roofs: Sequence[Roof]) -> str:
    """Write the share of every roof that a launch reaches: ``L1 25 %   shared 20 %   L2 4.1 %   FP32 16 %``."""
    found = [(short_name(point.level), share_of_bandwidth(point, roofs)) for point in points]
    own = points[0].precision
    peaks = [roof for roof in roofs if roof.level == own or roof.level.startswith(f"{own}_")]
    found += [(short_name(roof.level), points[0].flop_per_s / roof.per_second) for roof in peaks]
    return "   ".join(f"{name} {numbers.share(share)}" for name, share in found)


def roof_document(roof: Roof) -> Json:
    """Write one roof."""
    return {
        "level": roof.level,
        "label": roof.label,
        "per_second": roof.per_second,
        "unit": roof.unit,
        "kind": roof.kind,
    }


def point_document(point: RooflinePoint) -> Json:
    """Write one point, without its stage."""
    return {
        "level": point.level,
        "intensity": point.intensity,
        "flop_per_s": point.flop_per_s,
        "share_of_roof": point.share_of_roof,
        "precision": point.precision,
        "bound": point.bound,
    }


def roofline_document(chart: Roofline) -> Json:
    """Write one chart."""
    return {
        "family": chart.family,
        "roofs": [roof_document(roof) for roof in chart.roofs],
        "points": [{"stage": point.stage, **point_document(point)} for point in chart.points],
    }


def peak_words(measured: Sequence[MeasuredPeak]) -> str:
    """Write the measured peaks that matter most: ``DRAM 4.21 TB/s · FP32 62.1 TFLOP/s``; empty without any."""
    best = {level: max((one for one in measured if one.level == level), key=lambda one: one.per_second, default=None)
            for level in ("dram", "fp32")}  # fmt: skip
    rates = {"memory": numbers.byte_rate, "compute": numbers.flop_rate}
    told = (f"{short_name(level)} {rates[one.kind](one.per_second)}" for level, one in best.items() if one)
    return " · ".join(told)


def peak_documents(measured: Sequence[MeasuredPeak], datasheet: Sequence[Roof]) -> Json:
    """Write peaks that were measured on the GPU beside those of its datasheet; either list may be empty."""
    return {
        "measured": [
            {
                "key": peak.key,
                "level": peak.level,
                "label": peak.label,
                "per_second": peak.per_second,
                "unit": peak.unit,
                "samples": list(peak.samples),
                "work": peak.work,
                "sm_clock_hz": peak.sm_clock_hz,
            }
            for peak in measured
        ],
        "datasheet": [roof_document(roof) for roof in datasheet],
    }
