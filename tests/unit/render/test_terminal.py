import io
import json
import math

import numpy as np
import pytest

from ncu_lab.errors import UsageError
from ncu_lab.render import numbers
from ncu_lab.render.terminal import Column, Terminal, emit, sign


class Encoded(io.StringIO):
    """A pipe with an encoding of its own."""

    def __init__(self, encoding):
        super().__init__()
        self._encoding = encoding

    @property
    def encoding(self):
        return self._encoding


COLUMNS = [
    Column("stage", "stage", align="left"),
    Column("ns", "time", lambda row: numbers.duration(row["ns"])),
    Column("note", "note", align="left", priority=2),
    Column("regs", "regs", lambda row: numbers.count(row["regs"]), priority=1),
]
ROWS = [
    {"stage": "naive", "ns": 35_300_000.0, "note": "walks rows", "regs": np.int64(32)},
    {"stage": "2d", "ns": math.nan, "note": None, "regs": None},
]


@pytest.fixture(autouse=True)
def _no_surroundings(monkeypatch):
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)


def written(format, width=None, monkeypatch=None, encoding="utf-8"):
    stream = Encoded(encoding)
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    emit(ROWS, COLUMNS, format, stream)
    return stream.getvalue()


def test_a_table_aligns_numbers_right_and_shows_what_is_missing():
    assert written("table") == (
        "stage     time  note        regs\nnaive  35.3 ms  walks rows    32\n2d           –  –              –\n"
    )


def test_a_command_too_wide_goes_on_in_lines_that_a_shell_joins(monkeypatch):
    stream = io.StringIO()
    terminal = Terminal(stream, 40)
    terminal.command("ncu-lab show @last --store 'a folder/of runs' --raw", lead="Next: ")
    assert stream.getvalue().splitlines() == [
        "Next: ncu-lab show @last --store \\",
        "        'a folder/of runs' --raw",
    ]
    monkeypatch.setenv("NCU_LAB_PROGRAM", "./lab")
    stream.truncate(0)
    terminal.command("ncu-lab runs")
    assert stream.getvalue().strip("\0") == "./lab runs\n"


def test_columns_give_way_by_priority_and_it_is_said(monkeypatch):
    text = written("table", 22, monkeypatch)
    assert text.splitlines()[:3] == ["stage     time  regs", "naive  35.3 ms    32", "2d           –     –"]
    assert "no room for: note" in text.replace("\n", " ")
    assert written("table", 15, monkeypatch).splitlines()[1] == "naive  35.3 ms"


def test_long_words_are_cut_before_a_column_goes(monkeypatch):
    stream = Encoded("utf-8")
    columns = [Column("kernel", "kernel", align="left", least=8), Column("ns", "ns", priority=1)]
    Terminal(stream, 16).table([{"kernel": "a_very_long_name", "ns": 12}], columns)
    assert stream.getvalue().splitlines() == ["kernel        ns", "a_very_long…  12"]


def test_pipes_have_80_columns_and_no_colour():
    stream = Encoded("utf-8")
    terminal = Terminal(stream)
    terminal.line(("red", "red"), " plain")
    assert terminal.width == 80
    assert stream.getvalue() == "red plain\n"


class Screen(Encoded):
    def isatty(self):
        return True


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_is_off_where_it_is_unwelcome(monkeypatch, name, value):
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = Screen("utf-8")
    Terminal(coloured).line(("red", "red"))
    assert "\x1b[31m" in coloured.getvalue()
    monkeypatch.setenv(name, value)
    plain = Screen("utf-8")
    Terminal(plain).line(("red", "red"))
    assert plain.getvalue() == "red\n"


def test_signs_fall_back_to_ascii():
    stream = Encoded("ascii")
    Terminal(stream).line(f"4.85 {sign(False)} 4 {sign(True)} {sign(None)} 2048³ {numbers.duration(1500.0)}")
    assert stream.getvalue() == "4.85 bad 4 ok - 2048^3 1.50 us\n"
    assert written("table", encoding="ascii").splitlines()[2] == "2d           -  -              -"


def test_json_is_full_precision_null_for_missing_and_has_a_schema():
    document = json.loads(written("json"))
    assert list(document) == ["schema", "rows"]
    assert document["schema"] == 1
    assert document["rows"][0] == {"stage": "naive", "ns": 35_300_000.0, "note": "walks rows", "regs": 32}
    assert document["rows"][1]["ns"] is None


def test_csv_has_keys_and_empty_fields():
    assert written("csv") == "stage,ns,note,regs\nnaive,35300000.0,walks rows,32\n2d,,,\n"


def test_markdown_shows_every_column():
    assert written("markdown") == (
        "| stage | time | note | regs |\n| --- | ---: | --- | ---: |\n"
        "| naive | 35.3 ms | walks rows | 32 |\n| 2d | – | – | – |\n"
    )


def test_markdown_escapes_pipes():
    stream = Encoded("utf-8")
    emit([{"stage": "a|b"}], COLUMNS[:1], "markdown", stream)
    assert "a\\|b" in stream.getvalue()


def test_an_unknown_format_is_refused():
    with pytest.raises(UsageError, match="yaml"):
        emit(ROWS, COLUMNS, "yaml", io.StringIO())
