import csv
import io
import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncu_lab.errors import InputError
from ncu_lab.parse.csv_page import read_csv

Written = Callable[..., Path]

RAW = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","dram__bytes_read.sum","gpu__time_duration.sum","launch__func_cache_config"\n'
    '"","","","","","","","","","","","Mbyte","us",""\n'
    '"0","7","a.out","127.0.0.1","void f<int>(int)","1","7","(32, 2, 1)","(16, 1, 4)","0","9.0","1,234.50","2.5",'
    '"PreferNone"\n'
    '"1","7","a.out","127.0.0.1","g(float)","1","7","(8, 1, 1)","(1, 1, 1)","0","9.0","(!) nan","n/a","-"\n'
)
DETAILS = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device",'
    '"CC","Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description",'
    '"Estimated Speedup Type","Estimated Speedup"\n'
)
IDENTITY = '"0","7","a.out","127.0.0.1","f","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0",'


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(content: str, encoding: str = "utf-8") -> Path:
        path = tmp_path / "x.csv"
        path.write_bytes(content.encode(encoding))
        return path

    return write


def cells(path: Path) -> dict[tuple[int, str], tuple[float, str | None, str]]:
    frame = read_csv(path).metrics
    return {(row.launch, row.metric): (row.value, row.text, row.unit) for row in frame.itertuples()}


def test_raw_page_in_base_units(written: Written) -> None:
    read = cells(written(RAW))
    assert read[0, "dram__bytes_read.sum"] == (1234.5e6, None, "byte")
    assert read[0, "gpu__time_duration.sum"] == (2500.0, None, "ns")
    value, text, unit = read[0, "launch__func_cache_config"]
    assert (math.isnan(value), text, unit) == (True, "PreferNone", "")
    for metric in ("dram__bytes_read.sum", "gpu__time_duration.sum", "launch__func_cache_config"):
        value, text, _ = read[1, metric]
        assert math.isnan(value), metric
        assert text is None


def test_launches_of_a_raw_page(written: Written) -> None:
    first = read_csv(written(RAW)).launches.iloc[0].to_dict()
    assert (first["kernel"], first["function"], first["mangled"]) == ("void f<int>(int)", "f", None)
    assert [first[f"block_{axis}"] for axis in "xyz"] == [32, 2, 1]
    assert [first[f"grid_{axis}"] for axis in "xyz"] == [16, 1, 4]
    assert (first["process"], first["context"], first["stream"], first["device"]) == ("a.out (7)", "1", "7", "0")


def test_columns_are_found_by_name_not_by_place(written: Written) -> None:
    rows = list(csv.reader(io.StringIO(RAW)))
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([row[:1] + row[:0:-1] for row in rows])
    frames = read_csv(written(RAW)), read_csv(written(out.getvalue()))
    keys = ["launch", "metric"]
    left, right = (frame.metrics.sort_values(keys).reset_index(drop=True) for frame in frames)
    assert left.equals(right)
    assert frames[0].launches.equals(frames[1].launches)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_encodings_line_ends_and_delimiters(encoding: str, ending: str, delimiter: str, written: Written) -> None:
    text = RAW.replace('","', f'"{delimiter}"').replace("\n", ending)
    assert cells(written(text, encoding))[0, "dram__bytes_read.sum"][0] == 1234.5e6


def test_a_european_export(written: Written) -> None:
    text = RAW.replace('"1,234.50"', '"1.234,50"').replace('"2.5"', '"27.595.520"')
    read = cells(written(text))
    assert read[0, "dram__bytes_read.sum"][0] == 1234.5e6
    assert read[0, "gpu__time_duration.sum"][0] == 27595520e3


def test_details_rows_and_rules(written: Written) -> None:
    text = (
        DETAILS
        + IDENTITY + '"GPU Speed Of Light Throughput","Memory Throughput","%","56.98",\n'
        + IDENTITY + '"Memory Workload Analysis","Memory Throughput","Gbyte/s","139.05",\n'
        + IDENTITY + '"Command line profiler metrics","sm__cycles_active.avg","cycle","1,024",\n'
        + IDENTITY + '"My Section","My Metric","inst","3",\n'
        + IDENTITY + '"Occupancy","","","","Rule1","OPT","It says ""no"", twice,\nover two lines.","local","12.5"\n'
        + IDENTITY + '"Occupancy","","","","Rule2","INF","fine","",""\n'
    )  # fmt: skip
    report = read_csv(written(text))
    read = {row.metric: (row.value, row.unit) for row in report.metrics.itertuples()}
    assert read == {
        "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": (56.98, "%"),
        "dram__bytes.sum.per_second": (pytest.approx(139.05e9), "byte/s"),
        "sm__cycles_active.avg": (1024.0, "cycle"),
        "My Section/My Metric": (3.0, "inst"),
    }
    first, second = report.rules.to_dict("records")
    assert first == {
        "launch": 0, "section": "Occupancy", "rule": "Rule1", "kind": "optimization",
        "message": 'It says "no", twice,\nover two lines.', "speedup_pct": 12.5, "speedup_scope": "local",
    }  # fmt: skip
    assert (second["kind"], second["speedup_scope"]) == ("ok", None)
    assert math.isnan(second["speedup_pct"])


def test_body_items_keep_their_own_name(written: Written) -> None:
    header = DETAILS.replace('"Section Name",', '"Section Name","Body Item Label",')
    text = header + IDENTITY + '"GPU Speed Of Light Throughput","Chart","Duration","us","5",\n'
    assert list(cells(written(text))) == [(0, "GPU Speed Of Light Throughput/Chart/Duration")]


def test_nvtx_ranges(written: Written) -> None:
    column = "thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg"
    tail = ":none:none:none:none:none:none"
    cell = f'7  ""<default domain>:step:1{tail}"" ""<default domain>:ncu-lab/2d{tail}"" ""lib:inner{tail}"" '
    text = RAW.replace('"Kernel Name"', f'"{column}","Kernel Name"').replace('"","","",', '"","","","",', 1)
    text = text.replace('"127.0.0.1",', f'"127.0.0.1","{cell}",')
    launches = read_csv(written(text)).launches
    assert launches["nvtx"].tolist()[0] == ["step:1", "ncu-lab/2d", "lib@inner"]
    assert launches["stage"].tolist() == ["2d", "2d"]


NOISE = st.lists(
    st.sampled_from(
        [
            "==PROF== Connected to process 12",
            '==PROF== Profiling "f": 0%....50%....100% - 3 passes',
            "",
            "loss, 0.5",
            'say "hello',
            "1. f",
            "1, 2",
            "==WARNING== x",
            "\tAvailable Kernels:",
        ]
    ),
    max_size=3,
)


@given(before=NOISE, between=NOISE, after=NOISE)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)  # shared machines stall
def test_noise_changes_nothing(before: list[str], between: list[str], after: list[str], written: Written) -> None:
    clean = cells(written(RAW))
    header, units, *rows = RAW.splitlines()
    noisy = read_csv(written("\n".join([*before, header, units, *between, *rows, *after])))
    read = {(row.launch, row.metric): (row.value, row.text, row.unit) for row in noisy.metrics.itertuples()}
    assert repr(read) == repr(clean)
    count = sum(bool(line.strip()) for line in (*before, *between, *after))
    assert [notice.code for notice in noisy.notices] == ["csv_noise"] * bool(count)


@given(text=st.text(max_size=300))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)  # shared machines stall
def test_any_text_is_refused_kindly(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(InputError):
        read_csv(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty (0 bytes)"),
        ("a,b\n1,2\n", "no header with the columns ID and Kernel Name"),
        ('"Kernel Name","f"\n"Address","Source","# Samples"\n', "a source page without counters"),
        ('"File Path","a.cu"\n"Line No","Source","# Samples"\n"1","int x;","0"\n', "without counters"),
        ('"1","int x;"\n"Line No","Source"\n', "without counters"),
        ('"Process ID","Kernel Name","Invocations","Metric Name","Minimum"\n"1","f","3","x","0"\n', "sums launches up"),
        ("==PROF== x\n==ERROR== The application returned an error code (11).\n", "returned an error code (11)"),
        (RAW.splitlines()[0], "a header but no results"),
    ],
)  # fmt: skip
def test_other_files_are_told_apart(text: str, says: str, written: Written) -> None:
    with pytest.raises(InputError) as caught:
        read_csv(written(text))
    assert says in caught.value.message


def test_an_ambiguous_number_format_is_refused(written: Written) -> None:
    text = RAW.replace('"1,234.50"', '"13,485"').replace('"2.5"', '"7"')
    with pytest.raises(InputError, match=r'"13,485" \(dram__bytes_read.sum\) may be a thousand or a fraction'):
        read_csv(written(text))


def test_binary_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"ab\xff\x00")
    with pytest.raises(InputError, match="byte 2 is not utf-8"):
        read_csv(path)


def test_an_old_export_of_twelve_columns(written: Written) -> None:
    header = (
        '"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","Section Name",'
        '"Metric Name","Metric Unit","Metric Value"\n'
    )
    row = (
        '"{}","7","a.out","h","f(int)","2020-Mar-03 10:11:{}","1","7","GPU Speed Of Light","Duration","usecond","2.5"\n'
    )
    report = read_csv(written("==PROF== x\n" + header + row.format(0, 12) + row.format(0, 13) + row.format(1, 14)))
    assert report.launches["execution"].tolist() == [0, 1, 2]  # told apart by their time, though two have one ID
    assert [(value, unit) for value, unit in report.metrics[["value", "unit"]].to_numpy()] == [(2500.0, "ns")] * 3
    assert report.device is None


def test_sizes_come_from_metrics_where_there_are_no_columns(written: Written) -> None:
    names = [f"launch__{what}_dim_{axis}" for what in ("grid", "block") for axis in "xyz"]
    head = '"ID","Kernel Name",' + ",".join(f'"{name}"' for name in names) + "\n"
    report = read_csv(written(head + '"",""' + ',""' * 6 + '\n"0","f","16","2","1","128","1","1"\n'))
    launch = report.launches.iloc[0]
    assert [launch[f"grid_{axis}"] for axis in "xyz"] == [16, 2, 1]
    assert [launch[f"block_{axis}"] for axis in "xyz"] == [128, 1, 1]


def test_what_ncu_said_went_wrong_is_kept_beside_the_launches(written: Written) -> None:
    report = read_csv(written(RAW + "==ERROR== The application returned an error code (11).\n"))
    assert len(report.launches) == 2
    told = {notice.code: notice.message for notice in report.notices}
    assert "error code (11)" in told["ncu_error"]


def test_values_without_a_row_of_units_are_told(written: Written) -> None:
    header, _, *rows = RAW.splitlines()
    report = read_csv(written("\n".join([header, *rows])))
    assert [notice.code for notice in report.notices] == ["csv_no_units"]
    assert report.metrics["value"].tolist()[0] == 1234.5


@pytest.mark.parametrize(
    "cell", ["(" * 50_000 + ")", " " * 200_000 + ")", "1" * 200_000, "_" * 200_000, "x(" + "1; " * 60_000]
)
def test_hostile_cells_take_no_time(cell: str, written: Written) -> None:
    text = (
        DETAILS
        + IDENTITY.replace("(1, 1, 1)", cell)
        + f'"{cell}","{cell}","","{cell}","{cell}","","{cell}","","{cell}"\n'
    )
    assert len(read_csv(written(text)).launches) == 1
