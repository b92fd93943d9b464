"""Reports cut anywhere: what is whole is read, what is lost is told with its place; against an independent walk."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab_command import ncu_lab
from report_blocks import RESULTS, SOURCES, Block, number, sized, take_apart

from ncu_lab.errors import InputError
from ncu_lab.parse.report import read_report

Golden = Callable[[str], Path]
NAMES = ("cupy-nvtx.ncu-rep", "ladder-full.ncu-rep")
PLACES = ("in the file header", "between blocks", "in a block's size", "in a block's header", "in a payload")


class Whole:
    """A golden report, and where its blocks begin and end."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        report = take_apart(data)
        self.head = len(report.head)
        self.blocks: list[tuple[int, int, Block]] = []
        at = self.head
        for block in report.blocks:
            end = at + len(block.packed())
            self.blocks.append((at, end, block))
            at = end
        assert at == len(data)

    def cut(self, place: str, draw: Callable[[st.SearchStrategy[int]], int]) -> int:
        """Choose a byte to cut at."""
        if place == "in the file header":
            return draw(st.integers(1, self.head - 1))
        start, end, block = self.blocks[draw(st.integers(0, len(self.blocks) - 1))]
        if place == "between blocks":
            return start
        if place == "in a block's size":
            return draw(st.integers(start + 1, start + 3))
        payload = end - len(block.payload)
        if place == "in a block's header" or not block.payload:
            return draw(st.integers(start + 4, payload - 1))
        return draw(st.integers(payload, end - 1))

    def complete(self, cut: int) -> int:
        return sum(block.has_results for _, end, block in self.blocks if end <= cut)


@pytest.fixture(scope="session")
def whole(golden: Golden) -> Callable[[str], Whole]:
    known: dict[str, Whole] = {}

    def of(name: str) -> Whole:
        if name not in known:
            known[name] = Whole(golden(name).read_bytes())
        return known[name]

    return of


@pytest.mark.parametrize("place", PLACES)
@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cut_loses_nothing_that_is_whole(
    place: str, data: st.DataObject, whole: Callable[[str], Whole], tmp_path: Path
) -> None:
    report = whole("cupy-nvtx.ncu-rep")
    cut = report.cut(place, data.draw)
    _check(report, cut, tmp_path / "cut.ncu-rep")


@pytest.mark.parametrize("back", [1, 10, 1_000_000])
def test_a_large_report_cut(back: int, whole: Callable[[str], Whole], tmp_path: Path) -> None:
    report = whole("ladder-full.ncu-rep")
    _check(report, len(report.data) - back, tmp_path / "cut.ncu-rep")


def _check(report: Whole, cut: int, path: Path) -> None:
    path.write_bytes(report.data[:cut])
    complete = report.complete(cut)
    between = cut == report.head or cut in {end for _, end, _ in report.blocks}
    if not complete:
        with pytest.raises(InputError) as caught:
            read_report(path)
        assert between or f"byte {cut}" in caught.value.message or "does not start with" in caught.value.message
        return
    parsed = read_report(path)
    assert len(parsed.launches) == parsed.metrics["launch"].nunique() == complete
    if between:
        # Only code without a result shows that something is missing.
        last = next(block for _, end, block in report.blocks if end == cut)
        assert [one.code for one in parsed.notices] == (["ends_in_code"] if last.number(SOURCES) else [])
        return
    (notice,) = parsed.notices
    announced = complete + any(
        block.has_results for start, end, block in report.blocks if end - len(block.payload) <= cut < end
    )
    assert notice.code == "damaged"
    assert notice.message.startswith(f"{complete} of {announced} results; the last block is cut at byte {cut} ") or (
        announced == 1 and notice.message.startswith("1 of 1 result; ")
    )


def test_show_prints_what_is_readable_and_what_is_not(golden: Golden, tmp_path: Path) -> None:
    data = golden("cupy-nvtx.ncu-rep").read_bytes()
    (tmp_path / "cut.ncu-rep").write_bytes(data[:-10])
    done = ncu_lab(tmp_path, "show", "cut.ncu-rep")
    assert done.returncode == 0
    assert done.stderr == (
        "warning: 2 of 3 results; the last block is cut at byte 226747 (it begins at 165689 and should end at 226757; "
        "blocks after it, if any, are lost too).\n"
    )
    assert "2 launches" in done.stdout


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: b"", "is empty (0 bytes)"),
        (lambda data: b"PVR\0" + data[4:], "neither a report nor text"),
        (lambda data: data[:7], "ends inside its file header (byte 7)"),
        (lambda data: data[:10], "bad.ncu-rep holds no results: it is cut after its header"),
        (lambda data: b"some text\n", "bad.ncu-rep is neither a report nor a CSV export of ncu"),
        (lambda data: data[:5000], "no results; the last block is cut at byte 5000"),
        (lambda data: data[:4] + sized(b"\x08\x06") + data[10:], "it has container version 6, and only 7 is known"),
    ],
)
def test_show_refuses_what_holds_nothing(
    change: Callable[[bytes], bytes], says: str, golden: Golden, tmp_path: Path
) -> None:
    (tmp_path / "bad.ncu-rep").write_bytes(change(golden("cupy-nvtx.ncu-rep").read_bytes()))
    done = ncu_lab(tmp_path, "show", "bad.ncu-rep")
    assert (done.returncode, done.stdout) == (3, "")
    assert says in " ".join(done.stderr.split())


def test_a_newer_container_is_read_with_a_warning(golden: Golden, tmp_path: Path) -> None:
    data = golden("cupy-nvtx.ncu-rep").read_bytes()
    path = tmp_path / "newer.ncu-rep"
    path.write_bytes(data[:4] + sized(b"\x08\x08") + data[10:])
    parsed = read_report(path)
    assert len(parsed.launches) == 3
    assert [notice.code for notice in parsed.notices] == ["unknown_version"]


def test_a_block_with_fewer_results_than_it_announces_never_meets_the_reader(golden: Golden, tmp_path: Path) -> None:
    report = take_apart(golden("cupy-nvtx.ncu-rep").read_bytes())
    last = report.blocks[-1].with_field(number(RESULTS, 2))
    path = tmp_path / "fewer.ncu-rep"
    path.write_bytes(replace(report, blocks=(*report.blocks[:-1], last)).packed())
    parsed = read_report(path)
    assert len(parsed.launches) == 2
    assert [notice.message for notice in parsed.notices] == [
        "2 of 4 results; the block at byte 165689 is garbled (it announces 2 entries and holds 1); it and what follows "
        "cannot be read."
    ]


def test_a_garbled_result_is_told_by_its_number(golden: Golden, tmp_path: Path) -> None:
    report = take_apart(golden("cupy-nvtx.ncu-rep").read_bytes())
    last = report.blocks[-1]
    noise = replace(last, payload=last.payload[:4] + b"\xff" * (len(last.payload) - 4))
    path = tmp_path / "noise.ncu-rep"
    path.write_bytes(replace(report, blocks=(*report.blocks[:-1], noise)).packed())
    parsed = read_report(path)
    assert parsed.metrics["launch"].unique().tolist() == [0, 1]
    assert [notice.message for notice in parsed.notices] == ["result 2 of the report has no values."]
