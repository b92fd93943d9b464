"""Where the runs are kept when nobody says."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
        The bundled runs; else ``explicit``; else ``$NCU_LAB_STORE``; else what ``store`` says in the nearest
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


def store_settings(here: Path) -> tuple[Path, Mapping[str, Any]] | None:
    """Return the nearest project file at or above a folder and its table ``store``; None where there is no file.

    The table is empty where the file has none; ``store = "DIR"`` is short for its key ``path``.

    Raises:
        InputError: When the file is broken.
    """
    file = next((folder / PROJECT_FILE for folder in (here, *here.parents) if (folder / PROJECT_FILE).is_file()), None)
    if file is None:
        return None
    try:
        settings = tomllib.loads(file.read_text("utf-8")).get("store", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{file} is not valid TOML: {error}", "Correct it, or give --store.") from error
    if isinstance(settings, str):
        settings = {"path": settings}
    path = settings.get("path", "") if isinstance(settings, dict) else settings
    if not isinstance(path, str):
        raise InputError(f"{file}: store must be a path in quotes, not {path!r}", "Correct it, or give --store.")
    return file, settings


def _of_project(here: Path) -> Path | None:
    found = store_settings(here)
    if found is None or "path" not in found[1]:
        return None
    file, settings = found
    return file.parent / str(settings["path"])


def _of_repository(here: Path) -> Path | None:
    # In a worktree .git is a file.
    return next((folder / FOLDER for folder in (here, *here.parents) if (folder / ".git").exists()), None)
