"""Where the files that travel with the package are: the kernels and the example runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from ncu_lab.errors import EnvironmentLacksError

Resource = Literal["kernels", "examples"]

_PACKAGE = Path(__file__).resolve().parent
_IN_REPOSITORY: dict[Resource, Path] = {"kernels": Path("kernels"), "examples": Path("reports", "examples")}


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
