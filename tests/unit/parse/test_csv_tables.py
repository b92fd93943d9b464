"""Tables among anything else: any noise, any order of columns, with columns missing."""

from __future__ import annotations

import csv
import io
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncu_lab.parse.csv_tables import Tables, find_tables

HEADER = [
    "ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size",
    "Device", "CC", "Section Name", "Metric Name", "Metric Unit", "Metric Value",
]  # fmt: skip
ROWS = [
    [str(launch), "7", "a.out", "127.0.0.1", 'void f<"x">(int, float)', "1", "7", "(32, 1, 1)", "(4, 1, 1)", "0",
     "9.0", "Command line profiler metrics", metric, "ns", f"{launch},{value:03}.5"]
    for launch in (1, 2, 10)
    for metric, value in (("gpu__time_duration.sum", 5), ("sm__cycles_active.avg", 71))
]  # fmt: skip

NOISE = st.one_of(
    st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=40).filter(
        lambda text: '"' not in text[:1]
    ),
    st.sampled_from(
        [
            "==PROF== Connected to process 12 (/usr/bin/python3)",
            '==PROF== Profiling "f": 0%....50%....100% - 3 passes',
            "==WARNING== No kernels were profiled.",
            "==ERROR== x",
            "  1. f(int, float)",
            '3, "saxpy", loss 0,5',
            "1,2,3,4,5,6,7,8,9,10,11,12,13,14",
            'say "hello',
            '"',
            '"quoted words","and more"',
            '"GPU ID","GPU Name"',
            '"0","NVIDIA H200"',
        ]
    ),
)


def written(header: list[str], rows: list[list[str]], delimiter: str = ",") -> list[str]:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([header, *rows])
    return out.getvalue().splitlines()


def as_dicts(found: Tables) -> list[dict[str, str]]:
    return [{name: table.cell(row, name) for name in table.header} for table in found.tables for row in table.rows]


EXPECTED = [dict(zip(HEADER, row, strict=True)) for row in ROWS]


@given(st.data())
@settings(deadline=None)  # shared machines stall
def test_noise_anywhere_changes_nothing(data: st.DataObject) -> None:
    lines: list[str] = []
    for line in written(HEADER, ROWS):
        lines += data.draw(st.lists(NOISE, max_size=2))
        lines.append(line)
    lines += data.draw(st.lists(NOISE, max_size=2))
    assert as_dicts(find_tables(lines)) == EXPECTED


@given(st.permutations(HEADER), st.sampled_from([",", ";", "\t"]))
@settings(deadline=None)  # shared machines stall
def test_columns_are_found_by_name(order: list[str], delimiter: str) -> None:
    rows = [[row[HEADER.index(name)] for name in order] for row in ROWS]
    found = find_tables(written(order, rows, delimiter))
    assert as_dicts(found) == [{name: one[name] for name in order} for one in EXPECTED]
    assert (found.noise, found.cut) == (0, [])


@given(st.sets(st.sampled_from([name for name in HEADER if name not in ("ID", "Kernel Name")])))
@settings(deadline=None)  # shared machines stall
def test_missing_columns_are_empty_cells(missing: set[str]) -> None:
    kept = [name for name in HEADER if name not in missing]
    rows = [[row[HEADER.index(name)] for name in kept] for row in ROWS]
    found = find_tables(written(kept, rows))
    table = found.tables[0]
    read = [{name: table.cell(row, name) for name in HEADER} for row in table.rows]
    assert read == [{name: "" if name in missing else cell for name, cell in one.items()} for one in EXPECTED]


@given(st.integers(1, 400))
def test_a_cut_anywhere_costs_the_last_row_only_and_is_told(cut: int) -> None:
    text = "\n".join(written(HEADER, ROWS))
    head = len("\n".join(written(HEADER, ROWS[:-2]))) + 1
    kept = text[: max(len(text) - cut, head)]
    found = find_tables(kept.split("\n"))
    whole = as_dicts(found)
    assert whole == EXPECTED[: len(whole)]
    partial = kept.split("\n")[-1] not in ("", *written(HEADER, ROWS))
    assert len(whole) + partial == kept.rstrip("\n").count("\n")
    assert len(found.cut) + found.noise == partial


def test_a_cut_row_does_not_take_the_next_with_it() -> None:
    lines = written(HEADER, ROWS)
    lines[2] = lines[2][:40]
    found = find_tables(lines)
    assert as_dicts(found) == [EXPECTED[0], *EXPECTED[2:]]
    assert found.cut == [3]


def test_old_exports_have_twelve_columns() -> None:
    header = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream",
              "Section Name", "Metric Name", "Metric Unit", "Metric Value"]  # fmt: skip
    row = ["0", "9", "a.out", "127.0.0.1", "f", "2020-Mar-03 10:11:12", "1", "7", "S", "Duration", "usecond", "2.5"]
    found = find_tables(written(header, [row]))
    assert as_dicts(found) == [dict(zip(header, row, strict=True))]
    assert found.tables[0].is_details


@pytest.mark.parametrize("seed", range(3))
def test_a_long_file_of_unbalanced_quotes_takes_no_time(seed: int) -> None:
    words = random.Random(seed)
    lines = [*written(HEADER, ROWS), *('"' * words.randrange(1, 4) + "x" for _ in range(5_000))]
    assert as_dicts(find_tables(lines)) == EXPECTED
