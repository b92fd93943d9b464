"""Golden exports as other machines save them: the same tables come out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from printed import IDENTITY

from ncu_lab.errors import InputError
from ncu_lab.model import ParsedReport
from ncu_lab.parse.csv_page import read_csv

Golden = Callable[[str], Path]
Parsed = Callable[[str], ParsedReport]

NUMBER = re.compile(r"-?\d{1,3}(,\d{3})*(\.\d+)?|-?\d+(\.\d+)?")
SWAPPED = str.maketrans(",.", ".,")
TELLING = IDENTITY | {"Section Name", "Metric Name", "Metric Unit", "Rule Name", "Rule Type", "Rule Description"}


def rewritten(text: str, delimiter: str = ",", *, european: bool = False, quoting: int = csv.QUOTE_ALL) -> str:
    """Write a raw or details page anew; where European, with points between thousands and a decimal comma."""
    rows = list(csv.reader(io.StringIO(text)))
    header = rows[0]
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n")  # type: ignore[arg-type]  # typeshed wants a literal
    writer.writerow(header)
    for row in rows[1:]:
        named = zip(header, row, strict=False)  # rows of metrics are shorter than those of rules
        numbers = [european and name not in TELLING and bool(NUMBER.fullmatch(cell)) for name, cell in named]
        writer.writerow([cell.translate(SWAPPED) if swap else cell for cell, swap in zip(row, numbers, strict=True)])
    return out.getvalue()


VARIANTS: dict[str, Callable[[str], bytes]] = {
    "CRLF": lambda text: text.replace("\n", "\r\n").encode(),
    "CR": lambda text: text.replace("\n", "\r").encode(),
    "UTF-8 with a byte order mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16 LE, as PowerShell writes": lambda text: ("\ufeff" + text.replace("\n", "\r\n")).encode("utf-16-le"),
    "UTF-16 BE": lambda text: ("\ufeff" + text).encode("utf-16-be"),
    "UTF-16 without a mark": lambda text: text.encode("utf-16-le"),
    "semicolons": lambda text: rewritten(text, ";").encode(),
    "tabs": lambda text: rewritten(text, "\t").encode(),
    "quoted only where needed": lambda text: rewritten(text, quoting=csv.QUOTE_MINIMAL).encode(),
    "European": lambda text: rewritten(text, european=True).encode(),
    "European spreadsheet": lambda text: (
        "\ufeff" + rewritten(text, ";", european=True, quoting=csv.QUOTE_MINIMAL).replace("\n", "\r\n")
    ).encode(),
}


@pytest.mark.parametrize("name", ["cupy-nvtx.raw.csv", "ladder-full.details.csv"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_tables_come_out(name: str, variant: str, golden: Golden, parsed: Parsed, tmp_path: Path) -> None:
    path = tmp_path / "variant.csv"
    path.write_bytes(VARIANTS[variant](golden(name).read_text()))
    read, expected = read_csv(path), parsed(name)
    for table in ("launches", "metrics", "instances", "rules"):
        pd.testing.assert_frame_equal(getattr(read, table), getattr(expected, table))
    assert read.notices == expected.notices
    assert read.device == expected.device


@pytest.mark.parametrize("page", ["source", "source.cuda-sass", "session"])
@pytest.mark.parametrize("variant", ["CRLF", "UTF-8 with a byte order mark", "UTF-16 LE, as PowerShell writes"])
def test_other_pages_in_other_encodings(
    page: str, variant: str, golden: Golden, parsed: Parsed, tmp_path: Path
) -> None:
    path = tmp_path / "variant.csv"
    path.write_bytes(VARIANTS[variant](golden(f"ladder-full.{page}.csv").read_text()))
    read, expected = read_csv(path), parsed(f"ladder-full.{page}.csv")
    assert read.instances.equals(expected.instances)
    assert (read.device, read.session) == (expected.device, expected.session)


def test_bytes_of_another_encoding_cost_their_letters_only(golden: Golden, parsed: Parsed, tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_bytes("Größe: 3 µs\n".encode("latin-1") + golden("cupy-nvtx.raw.csv").read_bytes())
    read = read_csv(path)
    assert read.metrics.equals(parsed("cupy-nvtx.raw.csv").metrics)
    assert [notice.code for notice in read.notices] == ["csv_encoding", "csv_noise"]


@pytest.mark.parametrize("name", ["cupy-nvtx.raw.csv", "ladder-full.details.csv"])
def test_a_cut_export_says_what_is_lost(name: str, golden: Golden, parsed: Parsed, tmp_path: Path) -> None:
    path = tmp_path / "cut.csv"
    data = golden(name).read_bytes()
    path.write_bytes(data[:-30])
    read = read_csv(path)
    assert [notice.code for notice in read.notices] == ["csv_cut_row"]
    last = data.rstrip().count(b"\n") + 1
    assert f"(line {last})" in read.notices[0].message
    assert len(read.metrics) + len(read.rules) < len(parsed(name).metrics) + len(parsed(name).rules)


def test_exports_one_after_the_other_are_not_merged(golden: Golden, parsed: Parsed, tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    text = golden("cupy-nvtx.raw.csv").read_text()
    path.write_text(text + text + golden("cupy-nvtx.details.csv").read_text())
    read = read_csv(path)
    assert read.launches["launch"].tolist() == list(range(9))
    assert [notice.code for notice in read.notices] == ["csv_several_tables"]
    once = parsed("cupy-nvtx.raw.csv").metrics
    for copy in range(2):
        part = read.metrics[read.metrics["launch"].isin(range(3 * copy, 3 * copy + 3))].reset_index(drop=True)
        assert part.assign(launch=part["launch"] - 3 * copy).equals(once)


def test_a_european_export_without_a_telling_number_is_refused(golden: Golden, tmp_path: Path) -> None:
    path = tmp_path / "ambiguous.csv"
    header, units, row = list(csv.reader(io.StringIO(golden("cupy-nvtx.raw.csv").read_text())))[:3]
    kept = [index for index, name in enumerate(header) if name in IDENTITY or name == "gpu__time_duration.sum"]
    out = io.StringIO()
    rows = [[one[index] for index in kept] for one in (header, units, row)]
    rows[2][-1] = "13.485"
    csv.writer(out).writerows(rows)
    path.write_text(out.getvalue())
    with pytest.raises(InputError, match=r'"13\.485" \(gpu__time_duration\.sum\) may be a thousand or a fraction'):
        read_csv(path)
