import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncu_lab.cli.messages import complain, warn
from ncu_lab.cli.progress import progress_reporter
from ncu_lab.model import ProgressEvent
from ncu_lab.render.numbers import unbroken
from ncu_lab.render.tables import Column, json_text, markdown_table
from ncu_lab.render.terminal import Terminal, emit
from ncu_lab.render.visible import isolated, visible

HOSTILE = "sgemm\x1b[2J\x1b]0;owned\x07<b>\x9b31m\u202egnp.exe\udc80"
SHOWN = r"sgemm\x1b[2J\x1b]0;owned\x07<b>\x9b31m\u202egnp.exe\udc80"


def test_what_steers_a_terminal_is_shown() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("a\tb\nc é 矩阵 µs → <T>") == "a\tb\nc é 矩阵 µs → <T>"


@given(st.text(st.characters()))
def test_nothing_that_steers_is_left(text: str) -> None:
    left = {unicodedata.category(character) for character in visible(text)} - {"Cf"}
    assert not left & {"Cs", "Zl", "Zp"}
    assert all(character in "\t\n" for character in visible(text) if unicodedata.category(character) == "Cc")


def test_tables_and_lines_show_it() -> None:
    stream = io.StringIO()
    terminal = Terminal(stream, 200)
    terminal.line(HOSTILE)
    terminal.paragraph(HOSTILE)
    columns = [Column("kernel", "kernel")]
    terminal.table([{"kernel": HOSTILE}], columns)
    emit([{"kernel": HOSTILE}], columns, "markdown", stream)
    assert stream.getvalue().count(SHOWN) == 3
    assert SHOWN.replace("[", r"\[").replace("<", r"\<") in stream.getvalue()  # in Markdown no markup either
    assert "\x1b" not in stream.getvalue()


def test_cells_of_a_markdown_table_are_words_unless_their_column_says_markup() -> None:
    """Each name renders as itself: by CommonMark a backslash before a mark, by GFM before a pipe, takes its meaning."""
    names = {
        "a|b": r"a\|b",
        "<img src=x>": r"\<img src=x>",
        "fix `x` in [a](b)": r"fix \`x\` in \[a](b)",
        "*no*\n| new | row": r"\*no\* \| new \| row",
        "_x_ a_b": r"\_x\_ a_b",
        "~~gone~~ @last~1": r"\~\~gone\~\~ @last~1",
        "&lt; R&D": r"\&lt; R&D",
        "back\\slash": r"back\\slash",
    }
    table = markdown_table([{"subject": name} for name in names], [Column("subject", "subject", align="left")])
    assert table.splitlines()[2:] == [f"| {text} |" for text in names.values()]
    code = markdown_table([{"key": "`a|b_`"}], [Column("key", "key", markup=True)])
    assert code.endswith("| `a\\|b_` |\n")


def test_json_gives_the_name_back_and_steers_nothing() -> None:
    text = json_text({"kernel": HOSTILE})
    assert json.loads(text)["kernel"] == HOSTILE
    assert not any("\x7f" <= character <= "\x9f" or character < "\n" for character in text)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_csv_keeps_names_in_a_file_and_shows_them_on_a_screen() -> None:
    columns = [Column("kernel", "kernel")]
    name = "a\x1b[2J"
    file, screen = io.StringIO(), Screen()
    emit([{"kernel": name}], columns, "csv", file)
    emit([{"kernel": name}], columns, "csv", screen)
    assert file.getvalue() == "kernel\na\x1b[2J\n"
    assert screen.getvalue() == "kernel\na\\x1b[2J\n"


def test_progress_and_messages_show_it(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    with progress_reporter(stream=stream, width=200) as report:
        report(ProgressEvent("import", HOSTILE, "done", HOSTILE))
    assert stream.getvalue().count(SHOWN) == 2
    warn(HOSTILE)
    complain(HOSTILE)
    assert capsys.readouterr().err == f"warning: {SHOWN}\n{SHOWN}\n"


def test_names_written_from_right_to_left_turn_nothing_beside_them_on_a_page() -> None:
    first, second = "\u05d0\u05d1\u05d2", "\u0639\u0631"
    name = f"{first} {second}<<<4096, 256>>>"
    shown = f"\u2068{first} {second}\u2069<<<4096, 256>>>"
    assert isolated(name) == unbroken(visible(name)) == shown
    assert isolated(shown) == shown
    assert isolated("saxpy<<<4096, 256>>> größer 漢字") == "saxpy<<<4096, 256>>> größer 漢字"
    assert "\u2068" not in visible(name)  # nor in a terminal
