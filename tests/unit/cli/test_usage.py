"""What is refused before a command begins: two lines in our words, exit code 2."""

from __future__ import annotations

import pytest
from lab_command import exit_code

from ncu_lab.advice import PROGRAM_VARIABLE


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert exit_code(*arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    lines = told.err.splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  ")
    return lines


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (["check", "--stage", "2d", "--size", "abc"], '--size cannot be "abc"', "--size N: M = N = K."),
        (["check", "--all", "--size=abc"], '--size cannot be "abc"', "--size N: M = N = K."),
        (["bench", "--all", "-mx"], '-m cannot be "x"', "-m N: Rows of A and C"),
        (["profile", "--clock-control", "max"], '--clock-control cannot be "max"', "lock them to base."),
        (["stages", "--format", "xml"], '--format cannot be "xml"', "How to print the data."),
        (["dashboard", "--port", "0"], '--port cannot be "0"', "--port N: Default: 8050"),
        (["show", "--launch", "x\x1b[2J"], '--launch cannot be "x\\x1b[2J"', "--launch N: Only this launch"),
        (["import"], "is missing", "FILE"),
        (["check", "--seize", "1"], "no such option: --seize", "ncu-lab check --help lists what there is."),
        (["chekc"], "no such command 'chekc'", "ncu-lab --help lists what there is."),
        (["show", "a", "b"], "unexpected extra argument", "ncu-lab show --help lists what there is."),
        (["check", "--size"], "'--size' requires an argument", "--help lists what there is."),
        (["ladder", "--size", "0"], "--size 0 is too small", "The size must be at least 1."),
        (["check", "--all", "--size", "0"], "--size 0 is too small", "The size must be at least 1."),
        (
            ["build", "--stage", "cublas-fp32"],
            "cublas-fp32 is a library reference",
            "ncu-lab bench --stage cublas-fp32",
        ),
    ],
)
def test_two_lines_name_the_value_and_what_is_possible(
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
    hint: str,
) -> None:
    lines = refused(capsys, *arguments)
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert hint in lines[1]


def test_an_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("NCU_LAB_DEBUG", "perhaps")
    assert refused(capsys, "stages")[0] == 'error: NCU_LAB_DEBUG cannot be "perhaps"'


def test_hints_name_the_program_as_it_was_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(PROGRAM_VARIABLE, "./lab")
    assert refused(capsys, "check", "--no")[1] == "  ./lab check --help lists what there is."
    assert "(./lab stages)" in refused(capsys, "check")[1]
