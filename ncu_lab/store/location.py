"""Where the runs are kept when nobody says."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from ncu_lab.errors import InputError
from ncu_lab.resources import data_dir

VARIABLE = "NCU_LAB_STORE"
PROJECT_FILE = "ncu-lab.toml"
FOLDER = "reports"


def default_store(explicit: Path | None = None, example: bool = False) -> Path:
    """Return the folder of runs.

    Args:
        explicit: What ``--store`` says; it wins over all but ``example``.
        example: Whether the bundled example runs are asked for.

    Returns:
        The bundled runs; else ``explicit``; else ``$NCU_LAB_STORE``; else the key ``store`` of the nearest
        ``ncu-lab.toml`` at or above the current folder (relative to that file); else ``reports/`` at the root of the
        git repository around the current folder; else ``reports/`` in it. The folder need not exist.

    Raises:
        InputError: When the project file is broken.
        EnvironmentLacksError: When the bundled runs are missing.
    """
    if example:
        return data_dir("examples")
    if explicit is not None:
        return explicit
    if variable := os.environ.get(VARIABLE):
        return Path(variable)
    here = Path.cwd()
    return _of_project(here) or _of_repository(here) or here / FOLDER


def is_named() -> bool:
    """Return whether the environment names the folder of runs: one that is not there is then a mistake, not empty."""
    return bool(os.environ.get(VARIABLE))


def _of_project(here: Path) -> Path | None:
    for folder in (here, *here.parents):
        file = folder / PROJECT_FILE
        if not file.is_file():
            continue
        try:
            store = tomllib.loads(file.read_text("utf-8")).get("store")
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{file} is not valid TOML: {error}", "Correct it, or give --store.") from error
        if store is None:
            return None
        if not isinstance(store, str):
            raise InputError(f"{file}: store must be a path in quotes, not {store!r}", "Correct it, or give --store.")
        return folder / store
    return None


def _of_repository(here: Path) -> Path | None:
    # In a worktree .git is a file.
    return next((folder / FOLDER for folder in (here, *here.parents) if (folder / ".git").exists()), None)
