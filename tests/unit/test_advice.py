"""What users are told to type."""

from __future__ import annotations

import sys
import typing
from importlib import metadata
from pathlib import Path

import pytest
import typer

from ncu_lab import advice
from ncu_lab.cli.app import app


def test_every_command_is_known() -> None:
    root: typing.Any = typer.main.get_command(app)
    assert set(advice.COMMANDS) == set(root.commands)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("Next: ncu-lab show X, or ncu-lab check", "Next: ./lab show X, or ./lab check"),
        ("ncu-lab import: it", "./lab import: it"),
        ("a newer ncu-lab wrote it", "a newer ncu-lab wrote it"),
        ("ncu-lab itself; ncu-lab showing; my-ncu-lab show", "ncu-lab itself; ncu-lab showing; my-ncu-lab show"),
    ],
)
def test_commands_are_spelled_as_they_were_called(words: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(advice.PROGRAM_VARIABLE, raising=False)
    assert advice.as_called(words) == words
    monkeypatch.setenv(advice.PROGRAM_VARIABLE, "./lab")
    assert advice.as_called(words) == expected


def test_packages_are_named_and_the_pip_is_that_of_this_python(monkeypatch: pytest.MonkeyPatch) -> None:
    required = ["numpy>=1", "one>=2; extra == 'cuda13'", 'two[x]==3 ; extra == "cuda13"', "three; extra == 'sass'"]
    monkeypatch.setattr(metadata, "requires", lambda name: required)
    monkeypatch.setattr("shutil.which", lambda name: str(Path(sys.executable).with_name("pip")))
    assert advice.pip_install("cuda13") == "pip install one two"
    monkeypatch.setattr("shutil.which", lambda name: "/elsewhere/pip")
    assert advice.pip_install("sass") == f"{sys.executable} -m pip install three"


def test_an_uninstalled_checkout_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert advice.pip_install("cuda13").endswith(f" install '{Path(advice.__file__).parents[1]}[cuda13]'")
