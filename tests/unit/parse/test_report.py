from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_blocks import of_processes, without_code, write_repeated

from ncu_lab import metrics
from ncu_lab.errors import InputError
from ncu_lab.model import INSTANCE_COLUMNS, LAUNCH_COLUMNS, METRIC_COLUMNS, RULE_COLUMNS, ParsedReport
from ncu_lab.parse.instances import InstanceColumns
from ncu_lab.parse.report import read_report
from ncu_lab.parse.results import plain_message

Golden = Callable[[str], Path]
Parsed = Callable[[str], ParsedReport]


@pytest.fixture(scope="session")
def full(parsed: Parsed) -> ParsedReport:
    return parsed("ladder-full.ncu-rep")


@pytest.fixture(scope="session")
def cupy(parsed: Parsed) -> ParsedReport:
    return parsed("cupy-nvtx.ncu-rep")


def test_tables_have_the_columns_of_the_model(full: ParsedReport) -> None:
    tables = {
        "launches": LAUNCH_COLUMNS,
        "metrics": METRIC_COLUMNS,
        "instances": INSTANCE_COLUMNS,
        "rules": RULE_COLUMNS,
    }
    for name, columns in tables.items():
        frame = getattr(full, name)
        assert {column: str(kind) for column, kind in frame.dtypes.items()} == dict(columns), name
    assert [len(getattr(full, name)) for name in tables] == [12, 26_916, 282_833, 174]


def test_a_launch_is_identified(full: ParsedReport) -> None:
    first = full.launches.iloc[0].to_dict()
    assert first == {
        "launch": 0,
        "stage": None,
        "kernel": "sgemm_naive(int, int, int, float, const float *, const float *, float, float *)",
        "function": "sgemm_naive",
        "mangled": "_Z11sgemm_naiveiiifPKfS0_fPf",
        "grid_x": 16, "grid_y": 16, "grid_z": 1,
        "block_x": 32, "block_y": 32, "block_z": 1,
        "stream": "7", "context": "1", "process": "ladder (1023)", "device": "0",
        "nvtx": [], "workload": "kernel", "execution": 0, "role": "main",
    }  # fmt: skip


def test_nvtx_ranges_and_executions(cupy: ParsedReport) -> None:
    assert cupy.launches["nvtx"].tolist() == [["ncu-lab:saxpy"]] * 3
    assert cupy.launches["execution"].tolist() == [0, 1, 2]
    # The range is another tool's: only "ncu-lab/<stage>" names a stage.
    assert cupy.launches["stage"].tolist() == [None] * 3


def test_values_are_in_base_units(full: ParsedReport) -> None:
    first = full.metrics[full.metrics["launch"] == 0].set_index("metric")
    duration, throughput = first.loc["gpu__time_duration.sum"], first.loc["dram__bytes_read.sum.per_second"]
    assert (duration["unit"], throughput["unit"]) == ("ns", "byte/s")
    read = metrics.read_all(first["value"].get)
    assert read["duration_ns"].value == pytest.approx(557e3, rel=0.01)  # 556.6 us in the exports
    assert read["registers_per_thread"].value == 32
    # 2 * 512^3 operations, within what ncu-facts tells of counters against shapes
    assert read["flop"].value == pytest.approx(2 * 512**3, rel=0.007)


def test_missing_is_nan_and_words_are_text(full: ParsedReport) -> None:
    first = full.metrics[full.metrics["launch"] == 0].set_index("metric")
    only_instances = first.loc["LTS.TriageCompute.lts__throughput.avg.pct_of_peak_sustained_elapsed"]
    assert np.isnan(only_instances["value"])
    assert only_instances["text"] is None
    name = first.loc["device__attribute_display_name"]
    assert np.isnan(name["value"])
    assert name["text"] == "NVIDIA H200"


def test_instances_know_their_instruction_and_line(full: ParsedReport) -> None:
    frame = full.instances
    executed = frame[(frame["launch"] == 0) & (frame["metric"] == "inst_executed")]
    assert set(executed["kind"]) == {"pc"}
    assert len(executed) == 206
    first = executed.iloc[0]
    assert (first["sass"], first["file"], first["line"]) == ("LDC R1, c[0x0][0x28]", "/tmp/lab/ladder.cu", 15)
    assert executed["correlation"].is_monotonic_increasing
    assert executed["sass"].notna().all()
    total = full.metrics[(full.metrics["launch"] == 0) & (full.metrics["metric"] == "inst_executed")]["value"].item()
    assert executed["value"].sum() == total


def test_instances_by_index_time_and_name(full: ParsedReport) -> None:
    frame = full.instances[full.instances["launch"] == 0]

    def instances(metric: str) -> Any:
        return frame[frame["metric"] == metric]

    occupancy = instances("launch__occupancy_per_block_size")
    assert set(occupancy["kind"]) == {"index"}
    assert occupancy["correlation"].tolist()[:3] == [1, 16, 32]
    assert occupancy["sass"].isna().all()
    assert occupancy["line"].isna().all()
    line = instances("TPC.TriageCompute.sm__cycles_active.avg")
    assert set(line["kind"]) == {"time"}
    assert len(line) == 548
    opcodes = instances("sass__inst_executed_per_opcode")
    assert set(opcodes["kind"]) == {"name"}
    assert opcodes["label"].tolist()[0] == "LDG"
    assert opcodes["correlation"].tolist() == list(range(18))
    words = instances("launch__func_cache_config")
    assert words["text"].tolist() == ["CachePreferNone"]
    assert words["value"].isna().all()


def test_device_and_environment(full: ParsedReport) -> None:
    device = full.device
    assert device is not None
    assert (device.name, device.compute_capability, device.sm_count) == ("NVIDIA H200", (9, 0), 132)
    assert (device.memory_bytes, device.l2_bytes, device.max_sm_clock_hz) == (150109880320, 62914560, 1.98e9)
    assert device.attributes["max_warps_per_multiprocessor"] == 64
    environment = full.environment
    assert (environment.ncu, environment.cuda, environment.driver) == ("2025.3.1", "13.0", None)
    assert (environment.clock_control, environment.cache_control, environment.sections) == (
        "none",
        "all",
        ("set:full",),
    )


def test_a_cut_report_gives_what_is_whole_and_says_so(golden: Golden, tmp_path: Path) -> None:
    whole = golden("cupy-nvtx.ncu-rep").read_bytes()
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(whole[:-10])
    report = read_report(cut)
    assert len(report.launches) == 2
    assert (report.metrics.groupby("launch").size() == 625).all()
    (notice,) = report.notices
    assert notice.code == "damaged"
    assert notice.message.startswith(f"2 of 3 results; the last block is cut at byte {len(whole) - 10} (it begins at ")


def test_trailing_bytes_lose_nothing(golden: Golden, tmp_path: Path) -> None:
    longer = tmp_path / "longer.ncu-rep"
    longer.write_bytes(golden("cupy-nvtx.ncu-rep").read_bytes() + b"abc")
    report = read_report(longer)
    assert len(report.launches) == 3
    assert len(report.metrics) == 3 * 625
    assert [notice.code for notice in report.notices] == ["damaged"]


def test_nothing_readable_is_an_error(golden: Golden, tmp_path: Path) -> None:
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(golden("cupy-nvtx.ncu-rep").read_bytes()[:20_000])
    with pytest.raises(InputError, match=r"cut\.ncu-rep: no results; the last block is cut at byte 20000 "):
        read_report(cut)


def test_a_report_without_results_is_an_error(tmp_path: Path) -> None:
    empty = tmp_path / "none.ncu-rep"
    empty.write_bytes(b"NVR\0\x02\0\0\0\x08\x07")
    with pytest.raises(InputError, match="holds no results"):
        read_report(empty)


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        ("no link", "no link"),
        ("See @section:SchedulerStats:Scheduler Statistics@ now", "See Scheduler Statistics now"),
        ("the @url:Guide:https://docs.nvidia.com/x#y@ tells", "the Guide (https://docs.nvidia.com/x#y) tells"),
        ("at @source:/tmp/a.cu:12:line 12@", "at line 12"),
        ("at @sass:0x10:LDG@", "at LDG"),
        ("mail a@b.c and d@e.f", "mail a@b.c and d@e.f"),
    ],
)
def test_links_in_messages(message: str, plain: str) -> None:
    assert plain_message(message) == plain


class _Words:
    """Stands for the reader's metric: numbers, with correlations."""

    ValueKind_STRING = 2

    def __init__(self, numbers: list[int], correlations: list[int] | None = None) -> None:
        self._numbers, self._correlations = numbers, correlations

    def kind(self, _: int) -> int:
        return 6

    def as_double(self, row: int) -> float:
        return float(self._numbers[row])

    def as_uint64(self, row: int) -> int:
        return self._numbers[row]

    def has_correlation_ids(self) -> bool:
        return self._correlations is not None

    def correlation_ids(self) -> "_Words":
        return _Words(self._correlations or [])


SINCE_START = [1_348_398_789_088, 1_348_398_796_768]


class _Code:
    """Stands for the reader's result: code at every address, or none at all, and no source."""

    def __init__(self, sass: str) -> None:
        self._sass = sass

    def sass_by_pc(self, _: int) -> str:
        return self._sass

    def source_info(self, _: int) -> None:
        return None


@pytest.mark.parametrize("sass", [" NOP", ""])
@pytest.mark.parametrize(
    ("name", "correlations", "kind"),
    [
        ("inst_executed", [0x7FE0_0000_0000, 0x7FE0_0000_0010], "pc"),
        ("inst_executed", [47_256_920_320], "pc"),  # the least address in any report known
        ("launch__occupancy_per_block_size", [0, 512, 1024], "index"),  # although there is code at these addresses
        ("launch__func_cache_config", [0], "index"),
        ("launch__func_cache_config", None, "index"),
        ("any", [0, 1_796_000_027_079_693_056], "time"),  # since 1970
        ("any", [1_796_000_027_079_693_056], "time"),
        # Since the machine started (a Tesla T4): only the name tells.
        ("SM.TriageA.sm__cycles_active.avg", SINCE_START, "time"),
        ("TriageA.l1tex__t_sector_hit_rate_realtime.pct", SINCE_START, "time"),
        ("pmsampling:sm__cycles_active.avg", SINCE_START, "time"),
        ("profiler__timestamp_workload_start_0", SINCE_START[:1], "time"),
    ],
)
def test_what_instances_are_correlated_with(name: str, correlations: list[int] | None, kind: str, sass: str) -> None:
    columns = InstanceColumns()
    columns.start(0, _Code(sass))
    rows = len(correlations) if correlations else 2
    columns.add(name, _Words(list(range(rows)), correlations), rows, 2.0)
    frame = columns.table()
    assert frame["kind"].tolist() == [kind] * rows
    assert frame["correlation"].tolist() == (correlations or [0, 1])
    assert frame["value"].tolist() == [2.0 * row for row in range(rows)]
    assert frame["sass"].notna().all() == (kind == "pc" and bool(sass))


def test_a_report_without_code_keeps_its_addresses(golden: Golden, tmp_path: Path) -> None:
    path = tmp_path / "without-code.ncu-rep"
    path.write_bytes(without_code(golden("ladder-full.ncu-rep").read_bytes()))
    bare, whole = read_report(path).instances, read_report(golden("ladder-full.ncu-rep")).instances
    assert bare["kind"].value_counts().to_dict() == whole["kind"].value_counts().to_dict()
    assert bare["sass"].isna().all()
    for column in ("launch", "metric", "kind", "correlation"):
        assert bare[column].tolist() == whole[column].tolist(), column


def test_results_of_two_processes_in_turns(golden: Golden, tmp_path: Path) -> None:
    path = tmp_path / "two.ncu-rep"
    path.write_bytes(of_processes(golden("cupy-nvtx.ncu-rep").read_bytes(), [11, 22]))
    launches = read_report(path).launches
    assert launches["process"].tolist() == ["python3.12 (11)", "python3.12 (22)", "python3.12 (11)"]
    # The same kernel at the same size: told apart by process and execution.
    assert launches["execution"].tolist() == [0, 0, 1]


def test_a_repeated_launch_stays_as_many(golden: Golden, tmp_path: Path) -> None:
    path = write_repeated(golden("cupy-nvtx.ncu-rep"), tmp_path / "many.ncu-rep", 40, metrics=60)
    report = read_report(path)
    assert report.launches["execution"].tolist() == list(range(40))
    assert report.metrics.groupby("launch").size().tolist() == [60] * 40
    assert not report.notices
