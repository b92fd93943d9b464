"""Makes the runs that record_examples.sh packed the bundled ones, and says what is left to do by hand.

    python tests/gpu/take_examples.py RUNS_TAR

Old runs and searches go, bench/ and README.md stay; what is generated from them is renewed. It needs no GPU, but an
installed ncu-lab, nvcc and a Chromium, as docs/generate.py does. What a person wrote is not touched.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.model import LadderRow
from ncu_lab.workflows.climbing import ladder

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "reports" / "examples"
PARTS = {"*-ladder-*": 2, "*-cupy-three-launches-*": 1, "tuning/*.json": 2}
"""What a recording holds, and how many of each."""

SIZES = (1024, 4096)
MOVED = 0.02
"""Times that differ by a larger share are listed."""

BY_HAND = """
By hand:
1. tests/data/verdicts.toml: reasons get the new figures of what is listed above; what is launched no more goes; what is
   new gets its label from its counters. Then: PYTHONPATH=tests python -m verdict_tables --write
2. docs/expectations.md: "Missed, and why" tells of all that are missed now and of none that is met, with the new run's
   figures. Expectations stay as they are.
3. docs/, README.md: sentences that quote figures of the old runs. git diff of the blocks beside them shows what moved.
4. Tests that assert figures of the bundled runs: python -m pytest -m "not gpu".
5. reports/examples/README.md: the date, the machine, what is in it."""


def check(new: Path) -> None:
    """Refuse a recording that lacks a part, or is damaged.

    Raises:
        InputError: When it does.
    """
    for pattern, count in PARTS.items():
        if (found := len(list(new.glob(pattern)))) != count:
            raise InputError(f"{found} of {pattern}, not {count}", "tests/gpu/record_examples.sh makes all of them.")
    subprocess.run([sys.executable, "-m", "ncu_lab.cli.app", "store", "check", "--store", new], check=True)


def rows_of(store: Path, size: int) -> Mapping[str, LadderRow]:
    """Return the rows of a store's ladder by stage, references included."""
    found = ladder(store, size=size)
    return {row.stage.id: row for row in (*found.rows, *found.references)}


def moved(before: Mapping[str, LadderRow], after: Mapping[str, LadderRow]) -> list[str]:
    """Say of which stages the time moved, or the bound, and which are new or gone."""
    lines = [f"{stage}: gone" for stage in before if stage not in after]
    for stage, row in after.items():
        bound = row.verdict.bound if row.verdict else "no verdict"
        old = before.get(stage)
        if old is None or old.median_ns is None or row.median_ns is None:
            lines.append(f"{stage}: new, {bound}")
            continue
        old_bound, change = old.verdict.bound if old.verdict else "no verdict", row.median_ns / old.median_ns - 1
        if abs(change) > MOVED or bound != old_bound:
            lines.append(f"{stage}: {old.median_ns / 1e3:.1f} -> {row.median_ns / 1e3:.1f} us ({change:+.1%}), {bound}")
            lines[-1] += f", was {old_bound}" if bound != old_bound else ""
    return lines


def replace(new: Path) -> None:
    """Put the runs and searches of a recording in the place of the bundled ones."""
    for old in (*EXAMPLES.glob("2*-*-*"), EXAMPLES / "tuning"):
        if old.is_dir():
            shutil.rmtree(old)
    for path in (*new.glob("2*-*-*"), new / "tuning"):
        path.rename(EXAMPLES / path.name)


def main(taken: Path) -> None:
    """Take a recording."""
    with tempfile.TemporaryDirectory(prefix=".taking-", dir=EXAMPLES) as folder:
        new = Path(folder)
        with tarfile.open(taken) as packed:
            packed.extractall(new, filter="data")
        check(new)
        changes = {size: moved(rows_of(EXAMPLES, size), rows_of(new, size)) for size in SIZES}
        replace(new)
    subprocess.run([sys.executable, "docs/generate.py"], cwd=ROOT, check=True)
    tables = [sys.executable, "-m", "verdict_tables", "--write"]
    subprocess.run(tables, cwd=ROOT, env={**os.environ, "PYTHONPATH": "tests"}, check=False)  # it says what it lacks
    for size, lines in changes.items():
        print(f"\nMoved at {size}:", *(lines or ["nothing"]), sep="\n  ")
    print(BY_HAND)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except InputError as error:
        sys.exit(f"error: {error}\n  {error.hint}")
