"""The report and its CSV exports hold the same values, to the last printed digit: every metric of every launch."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from ncu_lab.metrics import DETAILS_LABELS
from ncu_lab.model import ParsedReport

Golden = Callable[[str], Path]
Parsed = Callable[[str], ParsedReport]

# Powers of ten from ncu's scaled units to its base units, written down independently of the reader's rules.
SCALES = {
    "Kbyte": 3, "Mbyte": 6, "Gbyte": 9, "Tbyte": 12, "Kbyte/s": 3, "Mbyte/s": 6, "Gbyte/s": 9, "Tbyte/s": 12,
    "us": 3, "ms": 6, "Mhz": 6, "Ghz": 9, "Kbyte/block": 3, "Kbyte/cycle": 3, "%/Kbyte": 3, "sector/us": 6,
    "sector/ns": 9,
}  # fmt: skip

UNTRACED = ("L2 Compression Ratio", "L2 Compression Success Rate")
"""Labels of the details page of which it is not known what metric they show (both are 0 in all golden files)."""

UNIT_DIFFERS = {
    "derived__memory_l2_theoretical_sectors_global_excessive", "idc__requests.sum",
    "sass__inst_executed_register_spilling_mem_local", "sass__inst_executed_register_spilling_mem_shared",
}  # fmt: skip
"""Metrics that ncu 2025.3.1 prints with another unit than ncu-report gives; neither is scaled. Beside these, the
two differ over whether derived FLOP counts are `inst` or `thread`."""

NOTHING = ("", "nan", "no data")


def values(report: ParsedReport) -> dict[tuple[int, str], tuple[float, str | None]]:
    frame = report.metrics
    keys = zip(frame["launch"], frame["metric"], strict=True)
    return dict(zip(keys, zip(frame["value"], frame["text"], strict=True), strict=True))


def half_a_digit(cell: str, unit: str) -> float:
    """Half of the last printed digit, in base units."""
    decimals = len(cell.partition(".")[2])
    return 0.5 * 10.0 ** (SCALES.get(unit, 0) - decimals)


def agree(cell: str, unit: str, value: float, text: str | None) -> bool:
    if cell in NOTHING:
        return math.isnan(value) and text is None
    if text is not None:
        return cell == text
    if not re.fullmatch(r"-?[\d,]+(\.\d+)?", cell):
        return False
    printed = float(cell.replace(",", "")) * 10.0 ** SCALES.get(unit, 0)
    return abs(printed - value) <= half_a_digit(cell, unit) * 1.001 + abs(value) * 1e-12


def labelled(row: dict[str, str]) -> str:
    return DETAILS_LABELS[row["Section Name"]][row["Metric Name"]]


def cells_of(path: Path) -> list[tuple[int, str, str, str]]:
    """Launch, metric, unit and printed value of every cell, read with nothing but the csv module."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    if "Metric Name" in rows[0]:
        ids = list(dict.fromkeys(row["ID"] for row in rows))
        return [
            (ids.index(row["ID"]), labelled(row), row["Metric Unit"], row["Metric Value"])
            for row in rows
            if row["Metric Name"] and row["Metric Name"] not in UNTRACED
        ]
    units, results = rows[0], rows[1:]
    identity = {"ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size"}
    identity |= {"Grid Size", "Device", "CC"} | {name for name in units if "Domain:" in name}
    return [
        (launch, name, units[name], row[name])
        for launch, row in enumerate(results)
        for name in units
        if name not in identity
    ]


# The third report (6 MB) is compared where NCU_LAB_GOLDEN names a folder that has it.
REPORTS = ["ladder-full", "cupy-nvtx", *(["ladder-targeted"] if os.environ.get("NCU_LAB_GOLDEN") else [])]
PAIRS = [
    ("ladder-full", "raw", 26_724), ("ladder-full", "raw.base", 26_724),
    ("ladder-full", "details", 1_020), ("ladder-full", "details.base", 1_020),
    ("cupy-nvtx", "raw", 1_845), ("cupy-nvtx", "details", 42),
    ("ladder-targeted", "raw", 15_825), ("ladder-targeted", "raw.base", 15_825),
    ("ladder-targeted", "details", 945), ("ladder-targeted", "details.base", 945),
]  # fmt: skip


NAMES = sorted({name for name, _, _ in PAIRS if name in REPORTS})


@pytest.mark.parametrize(("name", "page", "count"), [pair for pair in PAIRS if pair[0] in REPORTS])
def test_report_agrees_with_what_ncu_printed(
    name: str, page: str, count: int, golden: Golden, parsed: Parsed, capsys: pytest.CaptureFixture[str]
) -> None:
    report = values(parsed(f"{name}.ncu-rep"))
    cells = cells_of(golden(f"{name}.{page}.csv"))
    wrong = [
        (launch, metric, cell, unit, report.get((launch, metric)))
        for launch, metric, unit, cell in cells
        if (launch, metric) not in report or not agree(cell, unit, *report[launch, metric])
    ]
    with capsys.disabled():
        print(f"\n{name} {page}: {len(cells) - len(wrong)} of {len(cells)} values agree", end=" ")
    assert wrong == []
    assert len(cells) == count


@pytest.mark.parametrize(("name", "page"), [(name, page) for name, page, _ in PAIRS])
def test_export_read_gives_the_printed_values_in_base_units(
    name: str, page: str, golden: Golden, parsed: Parsed
) -> None:
    read = values(parsed(f"{name}.{page}.csv"))
    cells = cells_of(golden(f"{name}.{page}.csv"))
    untraced = {(launch, metric) for launch, metric in read if metric.endswith(UNTRACED)}
    assert {(launch, metric) for launch, metric, _, _ in cells} == set(read) - untraced
    wrong = [
        (launch, metric, cell, unit, read[launch, metric])
        for launch, metric, unit, cell in cells
        if not agree(cell, unit, *read[launch, metric])
    ]
    assert wrong == []


@pytest.mark.parametrize("name", NAMES)
def test_units_agree_in_base_units(name: str, parsed: Parsed) -> None:
    def units(report: ParsedReport) -> pd.Series:
        return report.metrics.drop_duplicates("metric").set_index("metric")["unit"]

    report, raw, details = (units(parsed(f"{name}.{kind}")) for kind in ("ncu-rep", "raw.csv", "details.csv"))
    for export in (raw, details):
        both = pd.concat([report.rename("report"), export.rename("export")], axis=1, join="inner")
        differ = both[both["report"] != both["export"]]
        flop = differ.index.str.contains("_sass_thread_inst_executed_op_")
        assert set(differ.index[~flop]) <= UNIT_DIFFERS
        assert {*differ["report"][flop], *differ["export"][flop]} <= {"inst", "thread"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("page", ["raw", "details"])
def test_launches_agree(name: str, page: str, parsed: Parsed) -> None:
    report, export = parsed(f"{name}.ncu-rep").launches, parsed(f"{name}.{page}.csv").launches
    same = [column for column in report.columns if column not in ("kernel", "function", "mangled")]
    pd.testing.assert_frame_equal(report[same], export[same])
    # ncu simplifies demangled names when it prints them; what remains is the function.
    assert export["function"].tolist() == report["function"].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_rules_agree(name: str, parsed: Parsed) -> None:
    report, export = parsed(f"{name}.ncu-rep").rules, parsed(f"{name}.details.csv").rules
    spoken = report[report["kind"] != "none"].reset_index(drop=True)
    columns = ["launch", "section", "rule", "kind", "message", "speedup_scope"]
    keys = ["launch", "section", "rule", "message"]
    left, right = (frame.sort_values(keys).reset_index(drop=True) for frame in (spoken, export))
    pd.testing.assert_frame_equal(left[columns], right[columns])
    assert left["speedup_pct"].isna().equals(right["speedup_pct"].isna())
    assert not ((left["speedup_pct"] - right["speedup_pct"]).abs() > 0.005 * 1.001).any()


def test_instances_agree(golden: Golden, parsed: Parsed) -> None:
    report, export = parsed("ladder-full.ncu-rep").instances, parsed("ladder-full.raw.instances.csv").instances
    with golden("ladder-full.raw.instances.csv").open(newline="") as file:
        units = next(csv.DictReader(file))
    keys = ["launch", "metric", "correlation"]
    # The export only numbers the instances.
    numbered = report.assign(correlation=report.groupby(keys[:2], observed=True).cumcount()).astype({"metric": object})
    both = numbered.merge(export[[*keys, "value"]], on=keys, suffixes=("", "_printed"))
    assert len(both) == len(export) == 282_785
    numbers = both[both["text"].isna()]
    last_digit = numbers["metric"].map(lambda name: 0.01 * 10.0 ** SCALES.get(units[name], 0))
    assert ((numbers["value"] - numbers["value_printed"]).abs() <= last_digit * 0.501).all()
