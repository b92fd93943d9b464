"""What the tests of profile and doctor share: a fake ncu on PATH, and the command line in a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from process_state import kept

from ncu_lab.cli.app import main

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


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


def exit_code(*arguments: str) -> int:
    """Run ``ncu-lab`` in this process, and set it back: the imports of a new one take longer than all the rest."""
    with kept():
        sys.argv = ["/somewhere/bin/ncu-lab", *arguments]
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def ncu_lab(folder: Path, *arguments: str, **variables: str) -> Done:
    """Run ``ncu-lab`` in this process as if started in ``folder``, with what :func:`environment` gives."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, environment(folder, **variables), clear=True),
        mock.patch("tempfile.tempdir", None),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = exit_code(*arguments)
    return Done(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]  # BytesIO


def stored_runs(folder: Path) -> list[Path]:
    store = folder / "store"
    return sorted(entry for entry in store.iterdir()) if store.is_dir() else []


def leftovers(folder: Path) -> list[str]:
    """What is still in the temporary folder: nothing, after any end."""
    return sorted(entry.name for entry in (folder / "tmp").iterdir())
