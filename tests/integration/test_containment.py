"""A report on which NVIDIA's reader crashes: the command ends in one clear line, and nothing is left of it."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from crashing import CRASHING, flipped
from lab_command import GOLDEN, command, environment, leftovers, stored_runs

from ncu_lab.cli.containment import foreign_file


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments), cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("position", CRASHING)
@pytest.mark.parametrize("name", ["show", "import"])
def test_a_crash_of_the_reader_is_an_error_of_the_file(name: str, position: int, tmp_path: Path) -> None:
    flipped(tmp_path, position, CRASHING[position])
    done = run(tmp_path, name, "flipped.ncu-rep")
    if done.returncode != 0:  # a later reader may read it
        first, *more = done.stderr.splitlines()
        assert first.startswith("error: flipped.ncu-rep")
        assert (done.returncode, done.stdout, len(more)) == (3, "", 1)
        assert stored_runs(tmp_path) == []
    assert leftovers(tmp_path) == []


def test_what_can_be_read_is_read_as_ever(tmp_path: Path) -> None:
    (tmp_path / "report.ncu-rep").write_bytes(gzip.decompress((GOLDEN / "cupy-nvtx.ncu-rep.gz").read_bytes()))
    done = run(tmp_path, "import", "report.ncu-rep")
    [stored] = stored_runs(tmp_path)
    assert (done.returncode, done.stdout.strip(), leftovers(tmp_path)) == (0, stored.name, [])
    assert "3 launches" in done.stderr
    shown = run(tmp_path, "show", "file:report.ncu-rep", "--launch", "9")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == "error: report.ncu-rep has no launch 9\n  It has launches 0 to 2.\n"


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_who_is_asked_to_end_asks_the_child(number: signal.Signals, exit_code: int, tmp_path: Path) -> None:
    (tmp_path / "slow.csv").write_text("x\n")
    # A child that takes long: an interpreter that is held up where the command would begin.
    script = (
        "import sys, time; from pathlib import Path; from ncu_lab.cli import app\n"
        "app.app = lambda **_: (Path('begun').touch(), time.sleep(60))\n"
        "sys.argv = ['ncu-lab', 'show', 'slow.csv']; app.run()"
    )
    process = subprocess.Popen([command()[0], "-c", script], cwd=tmp_path, env=environment(tmp_path))
    wait_for(tmp_path / "begun")
    process.send_signal(number)
    assert process.wait(30) == exit_code
    assert leftovers(tmp_path) == []


def test_the_child_does_not_outlive_one_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "slow.csv").write_text("x\n")
    script = (
        "import os, sys, time; from pathlib import Path; from ncu_lab.cli import app\n"
        "def slow(**_):\n    try:\n        Path('begun').write_text(str(os.getpid())); time.sleep(60)\n"
        "    finally:\n        Path('cleaned').touch()\n"
        "app.app = slow; sys.argv = ['ncu-lab', 'show', 'slow.csv']; app.run()"
    )
    process = subprocess.Popen([command()[0], "-c", script], cwd=tmp_path, env=environment(tmp_path))
    wait_for(tmp_path / "begun")
    process.kill()
    process.wait(30)
    wait_for(tmp_path / "cleaned")


def wait_for(path: Path) -> None:
    end = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_only_commands_that_read_a_file_are_contained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.csv").touch()
    assert foreign_file(["--debug", "show", "--raw", "a.csv"]) == "a.csv"
    assert foreign_file(["show", "file:a.csv"]) == "a.csv"
    for words in (["profile", "--", "a.csv"], ["show", "@last"], ["show", "."], ["--help"], []):
        assert foreign_file(words) is None
    assert os.listdir() == ["a.csv"]
