"""Entries of the build cache: a folder each, made whole under another name and renamed into place."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ncu_lab.errors import EnvironmentLacksError

RECORD = "build.json"


def make_entry(entry: Path, fill: Callable[[Path], Mapping[str, Any]]) -> None:
    """Make an entry; another process may win, with the same content.

    Args:
        entry: Its folder.
        fill: Compiles into the folder it is given, and returns the record of it, which is written beside as
            ``build.json``.

    Raises:
        EnvironmentLacksError: When the cache cannot be written.
    """
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".building-", dir=entry.parent))
    except OSError as error:
        raise EnvironmentLacksError(
            f"the build cache {entry.parent} cannot be written: {error.strerror or error}",
            "Set NCU_LAB_CACHE to a folder that can.",
        ) from error
    try:
        (work / RECORD).write_text(json.dumps(fill(work), indent=1), encoding="utf-8")
        try:
            work.rename(entry)
        except OSError:
            if not (entry / RECORD).is_file():
                raise  # no other process was faster
    finally:
        shutil.rmtree(work, ignore_errors=True)
