"""What the tests of profile and doctor share: a fake ncu on PATH, and the command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
FAKES = TESTS / "fakes"
DATA = TESTS / "data" / "ncu"
GOLDEN = TESTS / "data" / "golden"
THREE_LAUNCHES = GOLDEN / "cupy-nvtx.ncu-rep.gz"


def environment(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a command that finds the fake ncu and keeps its runs and temporary files in ``folder``."""
    (folder / "tmp").mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NCU_LAB", "FAKE_NCU"))}
    return {
        **kept,
        "PATH": f"{FAKES}{os.pathsep}{os.environ['PATH']}",
        "NCU_LAB_STORE": str(folder / "store"),
        "TMPDIR": str(folder / "tmp"),
        "COLUMNS": "100",
        **variables,
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ncu_lab.cli.app", *arguments]


def ncu_lab(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run ``ncu-lab`` in ``folder``."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(folder, **variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def stored_runs(folder: Path) -> list[Path]:
    store = folder / "store"
    return sorted(entry for entry in store.iterdir()) if store.is_dir() else []


def leftovers(folder: Path) -> list[str]:
    """What is still in the temporary folder: nothing, after any end."""
    return sorted(entry.name for entry in (folder / "tmp").iterdir())
