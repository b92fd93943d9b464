"""Where the files that travel with the package are: the kernels and the example runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ncu_lab.errors import EnvironmentLacksError

Resource = Literal["kernels", "examples"]

_PACKAGE = Path(__file__).resolve().parent
_IN_REPOSITORY: dict[Resource, Path] = {"kernels": Path("kernels"), "examples": Path("reports", "examples")}
_kernels_in_use: list[Path] = []
"""Folders of kernels in the place of the bundled one; the last counts."""


def is_bundled(folder: Path) -> bool:
    """Return whether a folder of runs is that of the bundled ones, here or in another checkout: nothing is changed."""
    real = folder.resolve()
    return real.parts[-2:] == _IN_REPOSITORY["examples"].parts or real.is_relative_to(_PACKAGE / "_data")


def data_dir(name: Resource) -> Path:
    """Return the folder of a bundled resource: inside an installed wheel, else in the repository.

    Raises:
        EnvironmentLacksError: When neither holds it, which means a broken installation.
    """
    candidates = (_PACKAGE / "_data" / name, _PACKAGE.parent / _IN_REPOSITORY[name])
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    raise EnvironmentLacksError(
        f"the {name} that ship with ncu-lab are missing from {_PACKAGE}",
        "Install ncu-lab again, from where it came.",
    )


def kernels_folder() -> Path:
    """Return the folder of the stages and their registry: the bundled one, unless :func:`using_kernels` says another.

    Raises:
        EnvironmentLacksError: When the bundled one is missing.
    """
    return _kernels_in_use[-1] if _kernels_in_use else data_dir("kernels")


@contextmanager
def using_kernels(folder: Path) -> Iterator[None]:
    """Let another folder take the place of the bundled kernels until the block ends, in all threads of this process.

    This is how the kernels of another commit are built, checked, timed and profiled. What belongs to the tool itself,
    as the kernels that measure the GPU, still comes from :func:`data_dir`.
    """
    _kernels_in_use.append(folder)
    try:
        yield
    finally:
        _kernels_in_use.pop()
