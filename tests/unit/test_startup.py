"""``ncu-lab --help`` must stay quick: no heavy library may be imported for it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"pandas", "numpy", "pyarrow", "plotly", "dash", "flask", "cupy", "ncu_report", "rich"}

PROBE = """
import json, sys
from ncu_lab.cli import app
sys.argv[1:] = {arguments!r}
try:
    app.main()
except SystemExit as end:
    code = end.code
print("\\n" + json.dumps({{"code": code or 0, "modules": sorted({{name.partition(".")[0] for name in sys.modules}})}}))
"""


def run_cli(*arguments: str) -> tuple[str, int, set[str]]:
    """Run the command line in a fresh interpreter: what it printed, its exit code, the packages it imported."""
    probe = PROBE.format(arguments=list(arguments))
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    printed, _, record = done.stdout.rstrip().rpartition("\n")
    read = json.loads(record)
    return printed, read["code"], set(read["modules"])


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_and_version_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    printed, code, modules = run_cli(*arguments)
    assert code == 0
    assert "ncu-lab" in printed
    assert modules & HEAVY == set()


def test_version_needs_no_command() -> None:
    from ncu_lab import __version__

    printed, code, _ = run_cli("--version")
    assert (printed.strip(), code) == (f"ncu-lab {__version__}", 0)


def test_no_command_shows_help_and_counts_as_wrong_usage() -> None:
    done = subprocess.run([sys.executable, "-m", "ncu_lab.cli.app"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Usage:" in done.stdout + done.stderr
