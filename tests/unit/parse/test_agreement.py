"""The report and its CSV exports hold the same values, to the last printed digit: every metric of every launch."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from printed import SCALES, cells_of, compare, compare_source, values

from ncu_lab.metrics import STALL_ORDER, stall_reason
from ncu_lab.model import ParsedReport

Golden = Callable[[str], Path]
Parsed = Callable[[str], ParsedReport]

UNTRACED = ("L2 Compression Ratio", "L2 Compression Success Rate")
"""Labels of the details page of which it is not known what metric they show (both are 0 in all golden files)."""

UNIT_DIFFERS = {
    "derived__memory_l2_theoretical_sectors_global_excessive", "idc__requests.sum",
    "sass__inst_executed_register_spilling_mem_local", "sass__inst_executed_register_spilling_mem_shared",
}  # fmt: skip
"""Metrics that ncu 2025.3.1 prints with another unit than ncu-report gives; neither is scaled. Beside these, the
two differ over whether derived FLOP counts are `inst` or `thread`."""

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
    found = compare(values(parsed(f"{name}.ncu-rep")), cells_of(golden(f"{name}.{page}.csv")))
    with capsys.disabled():
        print(f"\n{name} {page}: {found.words}", end=" ")
    assert found.wrong == []
    assert found.compared == count


@pytest.mark.parametrize(("name", "page"), [(name, page) for name, page, _ in PAIRS])
def test_export_read_gives_the_printed_values_in_base_units(
    name: str, page: str, golden: Golden, parsed: Parsed
) -> None:
    read = values(parsed(f"{name}.{page}.csv"))
    cells = cells_of(golden(f"{name}.{page}.csv"))
    untraced = {(launch, metric) for launch, metric in read if metric.endswith(UNTRACED)}
    assert {(cell.launch, cell.metric) for cell in cells} == set(read) - untraced
    assert compare(read, cells).wrong == []


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
    assert len(both) == len(export) == 282_833
    numbers = both[both["text"].isna()]
    last_digit = numbers["metric"].map(lambda name: 0.01 * 10.0 ** SCALES.get(units[name], 0))
    assert ((numbers["value"] - numbers["value_printed"]).abs() <= last_digit * 0.501).all()


@pytest.mark.parametrize("page", ["source", "source.cuda-sass"])
def test_source_page_agrees(page: str, parsed: Parsed, capsys: pytest.CaptureFixture[str]) -> None:
    report, export = parsed("ladder-full.ncu-rep"), parsed(f"ladder-full.{page}.csv")
    found = compare_source(report, export)
    with capsys.disabled():
        print(f"\nladder-full {page}: {found.words}", end=" ")
    assert found.wrong == []
    # The sampler counts fewer instructions than there are; every instance of the report is on the page.
    assert found.compared > 150_000
    assert export.launches["function"].tolist() == report.launches["function"].tolist()


def test_source_page_tells_the_lines_that_the_report_tells(parsed: Parsed) -> None:
    keys = ["launch", "correlation"]
    frames = [parsed(f"ladder-full.{kind}").instances for kind in ("ncu-rep", "source.cuda-sass.csv")]
    report, export = (
        frame[frame["kind"] == "pc"].drop_duplicates(keys).set_index(keys)[["file", "line"]].astype({"file": object})
        for frame in frames
    )
    both = report.join(export, how="inner", suffixes=("", "_export"))
    assert len(both) == len(report)
    assert (both["file"] == both["file_export"]).all()
    assert (both["line"] == both["line_export"]).all()


def test_session_page_agrees(parsed: Parsed) -> None:
    report, export = parsed("ladder-full.ncu-rep"), parsed("ladder-full.session.csv")
    assert export.session == report.session
    assert export.environment == report.environment
    assert export.device is not None
    assert report.device is not None
    assert (export.device.name, export.device.sm_count) == (report.device.name, report.device.sm_count)
    assert export.device.attributes.items() <= report.device.attributes.items()


def test_details_all_holds_what_details_holds(parsed: Parsed) -> None:
    plain, whole = values(parsed("ladder-full.details.csv")), values(parsed("ladder-full.details.all.csv"))
    assert repr({key: whole.get(key) for key in plain}) == repr(plain)  # NaN equals nothing
    report = values(parsed("ladder-full.ncu-rep"))
    body = [(key, value) for key, (value, text) in whole.items() if "__" in key[1] and text is None]
    body = [(key, value) for key, value in body if key in report or not math.isnan(value)]  # ncu could not collect some
    wrong = [(key, value, report.get(key)) for key, value in body if not near(value, report.get(key))]
    assert wrong == []
    assert len(body) > 5_000
    stalls = {name for (launch, name), _ in body if launch == 0 and stall_reason(name)}
    assert {stall_reason(name) for name in stalls} >= set(STALL_ORDER)
    codes = [notice.code for notice in parsed("ladder-full.details.all.csv").notices]
    assert codes == ["csv_noise"]  # a table of GPUs and their NUMA nodes in every launch


def near(value: float, reported: tuple[float, str | None] | None) -> bool:
    return reported is not None and (
        value == pytest.approx(reported[0], rel=0.006, abs=0.006, nan_ok=True) or reported[1] is not None
    )
