"""Installs the package the way a user does and uses it from an empty folder; CI runs this, pytest does not collect it.

Builds the sdist and from it the wheel, installs the wheel into a fresh environment (from the package index, so this
needs a network), and there, away from the checkout, lists the stages, shows a golden report and serves the dashboard;
then the same with the editable installation that runs this script.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "tests" / "data" / "golden" / "ladder-full.ncu-rep.gz"
STARTUP_S = 60.0


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command and return what it printed; ends the script when it fails."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(folder: Path) -> Path:
    """Build the sdist, and the wheel from it; return the wheel."""
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel with what it needs into a fresh environment; return its ncu-lab."""
    venv.create(folder, with_pip=True)
    run(folder / "bin" / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return folder / "bin" / "ncu-lab"


@contextlib.contextmanager
def dashboard(ncu_lab: Path, cwd: Path) -> Iterator[str]:
    """Serve the example runs; yields the address that the command prints, and stops it with Ctrl-C."""
    command = [ncu_lab, "dashboard", "--example"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(
        command, cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    overdue = threading.Timer(STARTUP_S, server.kill)
    overdue.start()
    try:
        printed = ""
        for line in server.stdout or ():
            printed += line
            if address := re.search(r"http://\S+", line):
                break
        else:
            sys.exit(f"the dashboard printed no address:\n{printed}")
        yield address[0]
        server.send_signal(signal.SIGINT)
        rest, _ = server.communicate(timeout=10)
        if server.returncode != 0 or "Traceback" in rest:
            sys.exit(f"the dashboard did not end cleanly on Ctrl-C: exit code {server.returncode}\n{rest}")
    finally:
        overdue.cancel()
        server.kill()
        server.wait()


def use(ncu_lab: Path, empty: Path) -> None:
    """Do in an empty folder what a new user does first."""
    report = empty / "ladder.ncu-rep"
    report.write_bytes(gzip.decompress(REPORT.read_bytes()))
    for words, expected in (("stages", "naive"), (f"show {report.name}", "sgemm")):
        print(f"  ncu-lab {words}", flush=True)
        if expected not in run(ncu_lab, *words.split(), cwd=empty):
            sys.exit(f"ncu-lab {words} did not print {expected!r}")
    print("  ncu-lab dashboard --example", flush=True)
    with dashboard(ncu_lab, empty) as address, urllib.request.urlopen(address, timeout=30) as answer:
        if answer.status != 200:
            sys.exit(f"{address} answered {answer.status}")


def main() -> None:
    """Use both installations, each from a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = build(folder)
        print(f"{wheel.name}, {wheel.stat().st_size / 1e6:.1f} MB, in a fresh environment:", flush=True)
        installed = install(wheel, folder / "venv")
        for number, ncu_lab in enumerate((installed, Path(sys.executable).parent / "ncu-lab")):
            if number == 1:
                print("editable installation:", flush=True)
            empty = folder / f"empty-{number}"
            empty.mkdir()
            use(ncu_lab, empty)
        shutil.rmtree(folder / "venv")


if __name__ == "__main__":
    main()
