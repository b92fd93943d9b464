"""Recipes for continuous integration: files that people copy, and what they are told a reviewer sees."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import recipe_outputs
import typer

from ncu_lab.cli.app import app
from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.gpu.compile import find_nvcc
from ncu_lab.gpu.sass import disassembler

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
FILES = ("github-gpu.yml", "github-static.yml", "pre-commit-config.yaml")


def _why_other_numbers() -> str | None:
    try:
        version = find_nvcc().version
    except EnvironmentLacksError:
        return "nvcc is not here"
    if not version.startswith(recipe_outputs.NVCC):
        return f"nvcc {version} gives other numbers"
    return "a disassembler adds numbers" if disassembler() else None


@pytest.mark.git
def test_the_page_shows_what_the_static_gate_says() -> None:
    if why := _why_other_numbers():
        pytest.skip(why)
    page = recipe_outputs.PAGE.read_text("utf-8")
    assert recipe_outputs.with_outputs(page, recipe_outputs.outputs()) == page, "run: python tests/recipe_outputs.py"


def test_the_page_names_every_file() -> None:
    page = (RECIPES / "README.md").read_text("utf-8")
    assert sorted(path.name for path in RECIPES.iterdir() if path.name != "README.md") == sorted(FILES)
    for name in FILES:
        assert f"[{name}]({name})" in page


@pytest.mark.parametrize("name", FILES)
def test_every_command_of_a_recipe_has_options_that_exist(name: str) -> None:
    lines = (RECIPES / name).read_text("utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.lstrip().startswith("#"))
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group
    found = re.findall(r"(?<![\"\[/`\w-])ncu-lab ((?:[a-z]+)(?: (?:\"[^\"\n]*\"|[^\s|>`]+))*)", text)
    assert found
    for line in found:
        command, *words = shlex.split(line, comments=False)
        known = {
            option for parameter in commands[command].params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        used = {word for word in words if word.startswith("--")}
        assert used <= known, line
