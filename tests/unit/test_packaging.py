"""What a wheel carries; tests/install_and_use.py, which CI runs, installs and uses one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_it_carries_code_dashboard_and_licence(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    for path in ("ncu_lab/py.typed", "ncu_lab/cli/app.py", "ncu_lab_dash/__init__.py"):
        assert path in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.parametrize(("source", "inside"), [("kernels", "kernels"), ("reports/examples", "examples")])
def test_it_carries_every_data_file_unchanged(wheel: zipfile.ZipFile, source: str, inside: str) -> None:
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("only git knows which files belong to the project, and it or its checkout is not here")
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", source]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [path for path in listed.stdout.split("\0") if path and not path.startswith("kernels/experiments/")]
    assert paths
    for path in paths:
        carried = f"ncu_lab/_data/{inside}/{Path(path).relative_to(source).as_posix()}"
        assert wheel.read(carried) == (ROOT / path).read_bytes(), path


def test_it_carries_nothing_else(wheel: zipfile.ZipFile) -> None:
    assert {name.split("/")[0].partition("-")[0] for name in wheel.namelist()} == {"ncu_lab", "ncu_lab_dash"}
    strays = ("__pycache__", ".cubin", "experiments")
    assert [name for name in wheel.namelist() if any(stray in name for stray in strays)] == []


def test_the_version_is_the_packages_own(wheel: zipfile.ZipFile) -> None:
    from ncu_lab import __version__

    assert Path(wheel.filename or "").name.startswith(f"ncu_lab-{__version__}-")


def test_every_extra_that_set_up_installs_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {"cuda12", "cuda13", "nvcc", "libs", "sass"} <= set(extras)
