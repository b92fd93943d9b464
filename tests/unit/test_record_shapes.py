"""What ``tests/gpu/record_shapes.sh`` would measure; Python and the driver are stood in for, so nothing runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "gpu" / "record_shapes.sh"


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, words in (("python3", '[ "$3" = bench ] && echo "$@"; true'), ("nvidia-smi", "")):
        (folder / name).write_text(f"#!/bin/sh\n{words}\n")
        (folder / name).chmod(0o755)
    return folder


def asked(tools: Path, **variables: str) -> list[list[str]]:
    """Return the arguments of every bench, those of its problem and place left out."""
    clean = {key: value for key, value in os.environ.items() if key not in ("STAGES", "PROCESSES", "SAMPLES", "BUDGET")}
    environment = {**clean, "PATH": f"{tools}:{os.environ['PATH']}", "OUT": str(tools.parent / "out"), **variables}
    done = subprocess.run(["bash", str(SCRIPT)], env=environment, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("-m ncu_lab.cli.app bench")]
    return [line[3 : line.index("-m", 1)] + line[line.index("--processes") :][:2] for line in lines]


def test_a_shape_too_large_for_all_is_asked_for_less(tools: Path) -> None:
    every = ["--stage", "sgemm-hopper", "--stage", "splitk", "--stage", "wgmma", "--stage", "mma-sync"]
    first, large, last = asked(tools, SHAPES="4096 16384 64x64x16384")
    assert first == last == [*every, "--processes", "3"]
    assert large == ["--no-cutlass", "--stage", "sgemm-hopper", "--stage", "wgmma", "--processes", "1"]


def test_what_is_set_holds_for_every_shape(tools: Path) -> None:
    assert asked(tools, SHAPES="16384", STAGES="splitk", PROCESSES="2") == [["--stage", "splitk", "--processes", "2"]]
