"""What ``ncu-lab gate`` says in docs/recipes/README.md within the repository of ``history_repo``, made by the product.

``python recipe_outputs.py`` renews it.

It needs git and nvcc 13.0: other versions give other numbers. A disassembler that is there is not used, so that the
page is the same with it and without.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import history_repo
from typer.testing import CliRunner

from ncu_lab.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "recipes" / "README.md"
BLOCK = re.compile(r"(?P<open><!-- gate (?P<name>\w+) -->\n).*?(?P<close><!-- end gate -->)", re.DOTALL)
NVCC = "13.0."
"""The versions of nvcc that the numbers are from."""

STORE = Path(__file__).parent / "data" / "history" / "commits"
_STATIC = ("--static", "--against", "HEAD~1", "--arch", "sm_90", "--stage", "gram")
_COMMANDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "runs": ("unpadded", ("--against", "HEAD~1", "--store", str(STORE), "--format", "github")),
    "table": ("padded", _STATIC),
    "github": ("padded", (*_STATIC, "--format", "github")),
    "broken": ("broken", _STATIC),
}
"""Name of a block -> the commit that is checked out, and the options of the gate."""


def outputs() -> dict[str, str]:
    """Return what every block is to hold."""
    with tempfile.TemporaryDirectory() as work:
        repository = Path(work, "repo")
        commits = history_repo.make(repository)
        plain = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1", "NCU_LAB_CACHE": str(Path(work, "cache"))}
        told = {}
        for name, (commit, options) in _COMMANDS.items():
            subprocess.run(["git", "-C", str(repository), "checkout", "-q", commits[commit]], check=True)
            hidden = mock.patch("ncu_lab.gpu.sass.disassembler", return_value=None)
            with contextlib.chdir(repository), mock.patch.dict(os.environ, plain), hidden:
                done = CliRunner().invoke(app, ["gate", *options], catch_exceptions=False)
            told[name] = done.stdout
    return told


def with_outputs(page: str, told: Mapping[str, str]) -> str:
    """Return the page with every block renewed."""
    return BLOCK.sub(lambda block: f"{block['open']}\n```text\n{told[block['name']]}```\n\n{block['close']}", page)


if __name__ == "__main__":
    PAGE.write_text(with_outputs(PAGE.read_text("utf-8"), outputs()), "utf-8")
