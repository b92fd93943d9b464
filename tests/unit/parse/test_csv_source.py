import math
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from ncu_lab.errors import InputError
from ncu_lab.metrics import source_metric
from ncu_lab.parse.csv_page import read_csv

Written = Callable[[str], Path]

KERNEL = '"Kernel Name","void f<(int)4>(int)",\n'
HEADER = '"Address","Source","# Samples","Instructions Executed","Address Space","stall_lg","stall_lg (Not Issued)"\n'
FIRST = '"0x7f00","      LDG.E R1, [R2]","7","1,024","Global,Shared","3","2"\n'
SECOND = '"0x7f10","@!P0  EXIT","0","512","-","0","0"\n'
BLOCK = KERNEL + HEADER + FIRST + SECOND
OTHER = BLOCK.replace('"7"', '"9"')


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(content: str) -> Path:
        path = tmp_path / "x.csv"
        path.write_text(content, encoding="utf-8")
        return path

    return write


def rows(path: Path) -> dict[tuple[int, str, int], tuple[float, object, object, object, object]]:
    frame = read_csv(path).instances
    return {
        (row.launch, row.metric, row.correlation): (row.value, row.text, row.sass, row.file, row.line)
        for row in frame.astype(object).itertuples()
    }


def test_instructions_of_a_launch(written: Written) -> None:
    path = written(BLOCK.replace("1,024", "1,024.5"))
    read = rows(path)
    assert read[0, "smsp__pcsamp_sample_count", 0x7F00][0] == 7.0
    assert read[0, "inst_executed", 0x7F00][0] == 1024.5
    assert read[0, "inst_executed", 0x7F10][2] == "@!P0  EXIT"
    assert read[0, "smsp__pcsamp_warps_issue_stalled_lg_throttle", 0x7F00][0] == 3.0
    assert read[0, "smsp__pcsamp_warps_issue_stalled_lg_throttle_not_issued", 0x7F00][0] == 2.0
    value, text, sass, file, line = read[0, "memory_type", 0x7F00]
    assert math.isnan(value)
    assert (text, sass, str(file), str(line)) == ("Global,Shared", "LDG.E R1, [R2]", "nan", "<NA>")
    assert (0, "memory_type", 0x7F10) not in read  # "-" is no value
    report = read_csv(path)
    assert report.launches["kernel"].tolist() == ["void f<(int)4>(int)"]
    assert report.launches["function"].tolist() == ["f"]
    assert set(report.instances["kind"]) == {"pc"}
    assert report.metrics.empty


def test_repeated_launches_are_kept_apart(written: Written) -> None:
    report = read_csv(written((BLOCK + OTHER + BLOCK).replace("1,024", "1024")))
    assert report.launches["execution"].tolist() == [0, 1, 2]
    samples = report.instances[report.instances["metric"] == "smsp__pcsamp_sample_count"]
    assert samples["value"].tolist() == [7.0, 0.0, 9.0, 0.0, 7.0, 0.0]


def test_blocks_that_all_stand_twice_are_one_launch_each(written: Written) -> None:
    report = read_csv(written((BLOCK + BLOCK + OTHER + OTHER).replace("1,024", "1024")))
    assert len(report.launches) == 2
    assert "csv_doubled" in [notice.code for notice in report.notices]
    report = read_csv(written((BLOCK + BLOCK + OTHER).replace("1,024", "1024")))
    assert len(report.launches) == 3


@pytest.mark.parametrize("kept", [1, 1.4, 1.8, 2.3, 2.9, 3.8])
def test_blocks_that_all_stand_twice_do_so_where_the_page_is_cut(kept: float, written: Written) -> None:
    whole = (BLOCK + BLOCK + OTHER + OTHER).replace("1,024", "1024")
    report = read_csv(written(whole[: int(len(whole) * kept / 4)]))
    assert len(report.launches) == (2 if kept > 2 else 1)


def test_rows_damaged_in_one_of_two_blocks_are_read_from_the_other(written: Written) -> None:
    block = BLOCK.replace("1,024", "1024")
    damaged = block.replace('"0x7f00"', '0.5"0x7f00"')
    report = read_csv(written(damaged + block + OTHER.replace("1,024", "1024") * 2))
    samples = report.instances[report.instances["metric"] == "smsp__pcsamp_sample_count"]
    assert samples.sort_values(["launch", "correlation"])["value"].tolist() == [7.0, 0.0, 9.0, 0.0]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(delimiter: str, written: Written) -> None:
    text = (BLOCK + OTHER).replace("1,024", "1024").replace("(int)", "(int, float)")
    other = text.replace('","', f'"{delimiter}"').replace('",\n', f'"{delimiter}\n')
    pd.testing.assert_frame_equal(read_csv(written(other)).instances, read_csv(written(text)).instances)
    assert read_csv(written(other)).launches["kernel"].tolist() == ["void f<(int, float)4>(int, float)"] * 2


def test_the_order_of_columns_does_not_matter(written: Written) -> None:
    turned = '"Source","# Samples","Address"\n"  EXIT","7","0x7f00"\n'
    [(key, value)] = rows(written(KERNEL + turned)).items()
    assert key == (0, "smsp__pcsamp_sample_count", 0x7F00)
    assert (value[0], value[2]) == (7.0, "EXIT")


def test_lines_of_code(written: Written) -> None:
    head = '"Line No","Source","Address","Source","# Samples"\n'
    text = (
        '"File Path","/a/kernel.cu"\n"Function Name","f(int)"\n' + head
        + '"3","x = "quoted" + y, z","-","-","5"\n'  # ncu leaves the quotes of code as they are
        + '"","","0x7f00","  FADD R1","5"\n"","","0x7f00","  FADD R1","5"\n"","","...","...","-"\n'
        + '"8","g(x);","-","-","1"\n"","","0x7f10","  EXIT","1"\n"","","0x7f00","  FADD R1","5"\n'
        + '"File Path","/a/inlined.cuh"\n"Function Name","f(int)"\n' + head
        + '"40","return x;","-","-","1"\n"","","0x7f10","  EXIT","1"\n"","","0x7f20","  NOP","0"\n'
        + '"File Path","/a/kernel.cu"\n"Function Name","f(int)"\n' + head
        + '"3","x","-","-","5"\n"","","0x7f00","  FADD R1","6"\n'
    )  # fmt: skip
    report = read_csv(written(text))
    assert report.launches["kernel"].tolist() == ["f(int)", "f(int)"]
    places = [(row.launch, row.correlation, row.file, row.line, row.value) for row in report.instances.itertuples()]
    assert places == [
        (0, 0x7F00, "/a/kernel.cu", 8, 5.0),
        (0, 0x7F10, "/a/kernel.cu", 8, 1.0),
        (0, 0x7F20, "/a/inlined.cuh", 40, 0.0),
        (1, 0x7F00, "/a/kernel.cu", 3, 6.0),
    ]


def test_noise_and_cut_rows_are_told(written: Written) -> None:
    report = read_csv(written("==PROF== x\n" + (BLOCK + "loss 0.5\n" + OTHER)[:-20].replace("1,024", "1024")))
    told = {notice.code: notice.message for notice in report.notices}
    assert told["csv_noise"].startswith("2 lines")
    assert told["csv_cut_row"].startswith("1 row is")
    assert report.instances[report.instances["launch"] == 1]["correlation"].unique().tolist() == [0x7F00]


def test_lines_of_code_alone_are_refused(written: Written) -> None:
    text = '"File Path","a.cu"\n"Function Name","f"\n"Line No","Source","# Samples"\n"1","int x;","0"\n'
    with pytest.raises(InputError) as caught:
        read_csv(written(text))
    assert "without counters" in caught.value.message
    assert "cuda,sass" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("stall_wait", "smsp__pcsamp_warps_issue_stalled_wait"),
        ("stall_sleeping (Not Issued)", "smsp__pcsamp_warps_issue_stalled_sleeping_not_issued"),
        ("stall_sleep", "smsp__pcsamp_warps_issue_stalled_sleeping"),
        ("stall_long_sb", "smsp__pcsamp_warps_issue_stalled_long_scoreboard"),
        ("L1 Wavefronts Shared Ideal", "memory_l1_wavefronts_shared_ideal"),
        ("Live Registers", "Source/Live Registers"),
    ],
)
def test_names_of_columns(column: str, metric: str) -> None:
    assert source_metric(column) == metric
