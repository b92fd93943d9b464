"""What history and bisect say where they are asked for what is not there."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded_history import run

pytestmark = pytest.mark.git


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["history", "--rev", "nowhere"], 3, 'git knows no revision "nowhere"', "git log"),
        (["history", "--metric", "shared_store_bank_conflict"], 2, "there is no metric", "mean shared_store_bank_c"),
        (["history", "--stage", "grem"], 3, "no run in", "Did you mean gram? Make some: ncu-lab profile"),
        (["history", "--rev", "begin"], 3, "has no run of a commit of begin", "ncu-lab profile --rev begin"),
        (["bisect", "--good", "begin", "--stage", "gram", "--stored-only"], 3, 'b142d79 "Begin" is needed', "--rev b"),
        (["bisect", "--good", "main", "--bad", "begin", "--stage", "gram", "--stored-only"], 3, "is needed", ""),
        (["bisect", "--good", "main", "--stage", "gram", "--stored-only"], 3, "does not differ", "ncu-lab diff"),
        (["bisect", "--good", "main~2", "--metric", "times", "--stage", "gram"], 2, "there is no metric", "time_ns"),
        (["bisect", "--good", "main~2", "--metric", "pct_of_reference", "--stage", "gram"], 2, "moves with", "time_ns"),
    ],
)  # fmt: skip
def test_bad_input_is_named(repository: Path, arguments: list[str], code: int, message: str, hint: str) -> None:
    done = run(repository, *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert hint in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
