"""Exports of graphs, ranges, processes, NVTX ranges, other locales, against their reports: see tests/data/exports."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pandas as pd
import pytest
from printed import cells_of, compare, compare_source, in_order_of, values

from ncu_lab.errors import InputError
from ncu_lab.model import ParsedReport
from ncu_lab.parse.files import read_any

EXPORTS = Path(__file__).parents[2] / "data" / "exports"


def read(name: str) -> ParsedReport:
    return read_any(EXPORTS / f"{name}.gz")


@pytest.mark.parametrize(
    ("name", "page", "least"),
    [
        ("metrics", "raw", 1_048),
        ("metrics", "details", 16),
        ("graph", "raw", 1_064),
        ("range", "raw", 1_076),
        ("nvtx", "raw", 1_665),
        ("nvtx", "details", 100),
    ],
)
def test_report_agrees_with_what_ncu_printed(name: str, page: str, least: int, tmp_path: Path) -> None:
    export = tmp_path / "export.csv"
    export.write_bytes(gzip.decompress((EXPORTS / f"{name}.{page}.csv.gz").read_bytes()))
    report = read(f"{name}.ncu-rep")
    cells = list(in_order_of(report, export, cells_of(export)))
    for parsed in (report, read_any(export)):
        found = compare(values(parsed), cells)
        assert found.wrong == []
        assert found.compared >= least


@pytest.mark.parametrize("page", ["raw", "details"])
def test_a_german_locale_tells_the_same(page: str) -> None:
    # In one raw page averages are printed as 5466.500000, other numbers as 1.980.000 and 1.221,05.
    english, german = (values(read(f"metrics.{page}{locale}.csv")) for locale in ("", ".german"))
    assert repr(german) == repr(english)


@pytest.mark.parametrize("name", ["graph.raw.csv", "range.raw.csv", "nvtx.raw.csv", "nvtx.details.csv"])
def test_launches_agree(name: str) -> None:
    report, export = read(f"{name.partition('.')[0]}.ncu-rep").launches, read(name).launches
    # A range has no kernel, so no stream; its size is that of its first kernel.
    columns = ["launch", "grid_x", "block_x", "context", "process", "device", "nvtx", "workload", "execution"]
    pd.testing.assert_frame_equal(report[columns], export[columns])


def test_ranges_and_graphs_are_told() -> None:
    assert read("graph.raw.csv").launches["workload"].tolist() == ["graph", "graph"]
    assert read("range.raw.csv").launches["workload"].tolist() == ["range", "range"]
    assert read("range.raw.csv").launches["stream"].tolist() == [None, None]


def test_names_of_nvtx_ranges_may_hold_anything() -> None:
    nested = ["step", "batch", 'lab@inner, "quoted"; 1']
    for name in ("nvtx.raw.csv", "nvtx.details.csv"):
        report = read(name)
        assert report.launches["nvtx"].tolist() == [["step"], nested, nested]
        assert report.notices == ()
    assert len(read("nvtx.details.csv").rules) == 12


def test_launches_of_several_processes_are_kept_apart() -> None:
    launches = read("processes.raw.csv").launches
    assert launches.groupby("process").size().tolist() == [1, 4, 4]
    saxpy = launches[launches["function"] == "saxpy"]
    assert saxpy["execution"].tolist() == [0, 1, 2, 0, 1, 2]
    assert saxpy["stream"].tolist() == ["7", "7", "13"] * 2


def test_instances_with_what_they_belong_to() -> None:
    report, export = read("source.ncu-rep").instances, read("source.raw.instance-details.csv").instances
    keys = ["launch", "metric", "kind", "correlation"]
    plain = [frame.astype({"metric": object, "kind": object, "label": object}) for frame in (report, export)]
    both = plain[0].merge(plain[1], on=keys, suffixes=("", "_printed"))
    assert len(both) == len(export) == len(report)
    assert both["label"].fillna("").tolist() == both["label_printed"].fillna("").tolist()
    assert set(export["kind"]) >= {"pc", "index"}


@pytest.mark.parametrize("page", ["sass", "cuda-sass"])
def test_repeated_launches_on_the_source_page(page: str) -> None:
    report, export = read("source.ncu-rep"), read(f"source.source.{page}.csv")
    assert export.launches["function"].tolist() == ["saxpy", "saxpy", "saxpy", "block_sums"]
    found = compare_source(report, export)
    assert found.wrong == []
    assert found.compared > 4_000


def test_a_very_long_name() -> None:
    kernels = read("long-name.raw.csv").launches
    assert kernels["kernel"].str.len().min() > 2_000
    assert kernels["function"].tolist() == ["long_named", "long_named"]


@pytest.mark.parametrize(("name", "launches"), [("live-raw.out", 4), ("live-crash.out", 2), ("live-processes.out", 9)])
def test_a_table_amid_the_output_of_a_program(name: str, launches: int) -> None:
    report = read(name)
    assert len(report.launches) == launches
    told = {notice.code: notice.message for notice in report.notices}
    assert re.match(r"\d+ lines", told["csv_noise"])
    assert ("ncu_error" in told) == (name == "live-crash.out")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("metrics.details.summary.csv", "sums launches up"),
        ("source.source.ptx.csv", "source page without counters"),
        ("graph.source.cuda-sass.csv", "source page without counters"),
        ("live-nothing.out", "No kernels were profiled"),
    ],
)
def test_what_holds_no_launches_is_refused_with_the_reason(name: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        read(name)
    assert says in caught.value.message
