"""The demonstration history as it was recorded on an H200, commit by commit, and ncu-lab asked about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab_command import Done, ncu_lab

from ncu_lab.store import Store

STORE = Path(__file__).parent / "data" / "history" / "commits"
NEIGHBOURS = ["conflict", "padded", "merge", "tile", "fixed", "renamed", "unpadded", "comment"]
"""Commits of the main line that build, in order."""
STEPS = {"padded": "faster", "tile": "slower", "unpadded": "slower"}
"""Commits that changed the kernel -> what they did to its time."""
SENTENCE = "gram is 1.18× slower since fb5c188, because of 22.5 % more shared-memory wavefronts; p = 1e-5"
"""What happened at "unpadded", wherever it is told."""


def run(folder: Path, *arguments: str, columns: int = 100) -> Done:
    """Run ncu-lab in a folder, on the recorded runs."""
    return ncu_lab(folder, *arguments, NCU_LAB_STORE=str(STORE), COLUMNS=str(columns))


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return the JSON of a command that must succeed."""
    done = run(folder, *arguments, "--format", "json")
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def run_of(commit: str, stage: str = "gram") -> str:
    """Return the id of the complete run of a commit."""
    metas = Store(STORE).metas()[0]
    return next(
        one.id for one in metas if one.git.commit == commit and stage in one.stages and one.status == "complete"
    )
