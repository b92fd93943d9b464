"""A stored baseline: runs in one file, to be kept where no store is."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.model import Run
from ncu_lab.store.directory import Store
from ncu_lab.store.stored_run import META

_MOST_BYTES = 1 << 31
"""What a baseline may unpack to; one run has some megabytes."""


def write_baseline(file: Path, runs: Sequence[Run]) -> None:
    """Write runs, without their raw reports, as a zip of their folders; under a temporary name first.

    Raises:
        EnvironmentLacksError: When the file cannot be written.
    """
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with tempfile.TemporaryDirectory(prefix="ncu-lab-") as work:
            folders = [Store(Path(work)).write(run) for run in runs]
            with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
                for part in sorted(part for folder in folders for part in folder.iterdir()):
                    archive.write(part, f"{part.parent.name}/{part.name}")
        temporary.replace(file)
    except OSError as error:
        raise EnvironmentLacksError(f"{file} cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def unpack_baseline(file: Path, into: Path) -> Path:
    """Unpack a baseline and return the folder of its runs: a store.

    Raises:
        InputError: When there is no such file, or it is no baseline.
    """
    make = "Write one: ncu-lab gate --save-baseline FILE"
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
            folders = {name.partition("/")[0] for name in names}
            if not folders or folders & {"", ".", ".."} or not {f"{folder}/{META}" for folder in folders} <= {*names}:
                raise InputError(f"{file} is no baseline: it holds no run", make)
            if sum(one.file_size for one in archive.infolist()) > _MOST_BYTES:
                raise InputError(f"{file} is no baseline: it unpacks to more than {_MOST_BYTES >> 30} GiB", make)
            archive.extractall(into)
    except FileNotFoundError:
        raise InputError(f"there is no baseline {file}", make) from None
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{file} is no baseline: {error}", make) from error
    return into
