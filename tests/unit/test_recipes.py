"""Recipes for continuous integration: files that people copy, and what they are told a reviewer sees."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import history_repo
import pytest
import recipe_outputs
import typer

from ncu_lab.cli.app import app
from ncu_lab.errors import EnvironmentLacksError
from ncu_lab.gpu.compile import find_nvcc

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
FILES = ("github-gpu.yml", "github-static.yml", "pre-commit-config.yaml")


def _why_other_numbers() -> str | None:
    try:
        version = find_nvcc().version
    except EnvironmentLacksError:
        return "nvcc is not here"
    return None if version.startswith(recipe_outputs.NVCC) else f"nvcc {version} gives other numbers"


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


@pytest.mark.parametrize("name", ["github-gpu.yml", "github-static.yml"])
def test_github_takes_a_workflow(name: str) -> None:
    pytest.importorskip("check_jsonschema", reason="GitHub's schema of workflows comes with check-jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*command, str(RECIPES / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def _steps(name: str) -> list[dict[str, Any]]:
    yaml = pytest.importorskip("ruamel.yaml", reason="a reader of YAML comes with check-jsonschema").YAML(typ="safe")
    (job,) = yaml.load((RECIPES / name).read_text("utf-8"))["jobs"].values()
    steps: list[dict[str, Any]] = job["steps"]
    return steps


@pytest.mark.git
def test_the_shell_steps_of_the_static_recipe_run_in_a_fresh_clone(tmp_path: Path) -> None:
    if _why_other_numbers() == "nvcc is not here":
        pytest.skip("nvcc is not here")
    steps = [step for step in _steps("github-static.yml") if "run" in step and "pip install" not in step["run"]]
    assert [step["name"] for step in steps] == ["Annotate the kernels that fail", "Summary and test report"]
    whole, clone, summary = tmp_path / "whole", tmp_path / "clone", tmp_path / "summary.md"
    commits = history_repo.make(whole)
    for command in (
        ["git", "-C", str(whole), "branch", "-f", "-q", "base", commits["conflict"]],
        ["git", "clone", "-q", str(whole), str(clone)],
        ["git", "-C", str(clone), "checkout", "-q", commits["padded"]],
    ):
        subprocess.run(command, check=True)
    said: list[subprocess.CompletedProcess[str]] = []
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    wanted = {"GITHUB_BASE_REF": "base", "GITHUB_STEP_SUMMARY": str(summary), "NCU_LAB_CACHE": str(tmp_path / "cache")}
    for step in steps:
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        environment = {**os.environ, "PATH": path, **wanted}
        said.append(subprocess.run(shell, cwd=clone, capture_output=True, text=True, env=environment))
    assert said[0].returncode == 1
    assert "::error file=kernels/gram.cu,line=" in said[0].stdout
    assert said[1].returncode == 0, said[1].stderr
    assert summary.read_text("utf-8").startswith("### ✗ Failed: ")
    assert "<testsuites" in (clone / "gate.xml").read_text("utf-8")
