"""What the tests of profile and doctor share: a fake ncu on PATH, and the command line in a process of its own."""

from __future__ import annotations

import io
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

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


def ncu_lab(folder: Path, *arguments: str, **variables: str) -> Done:
    """Run ``ncu-lab`` in ``folder``, in this process: the imports of a new one take longer than all the rest."""
    here, streams = Path.cwd(), (sys.stdout, sys.stderr)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, environment(folder, **variables), clear=True),
        mock.patch("tempfile.tempdir", None),
    ):
        try:
            os.chdir(folder)
            sys.stdout, sys.stderr = out, err
            with mock.patch("sys.argv", ["/somewhere/bin/ncu-lab", *arguments]):
                main()
            code: object = 0
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout, sys.stderr = streams
            os.chdir(here)
            for number, handler in handlers.items():
                signal.signal(number, handler)
    return Done(int(str(code or 0)), *(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]  # BytesIO


def stored_runs(folder: Path) -> list[Path]:
    store = folder / "store"
    return sorted(entry for entry in store.iterdir()) if store.is_dir() else []


def leftovers(folder: Path) -> list[str]:
    """What is still in the temporary folder: nothing, after any end."""
    return sorted(entry.name for entry in (folder / "tmp").iterdir())
