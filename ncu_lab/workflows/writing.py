"""Files that a user asked for, written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from ncu_lab.errors import EnvironmentLacksError, InputError, UsageError


def check_writable(files: list[Path], *, force: bool) -> None:
    """Refuse, before anything is read or drawn, what could not be written anyway.

    Args:
        files: What is to be written; their folder is there.
        force: Whether files that are there may be replaced.

    Raises:
        UsageError: When one is there and may not be replaced, or is a folder.
        InputError: When the folder is not there.
    """
    for file in files:
        if file.is_dir():
            raise UsageError(f"{file} is a folder", "Name a file: -o FILE.")
        if not force and os.path.lexists(file):
            raise UsageError(f"{file} exists", "--force replaces it.")
        if not file.parent.is_dir():
            what = "is no folder" if os.path.lexists(file.parent) else "does not exist"
            raise InputError(f"the folder {file.parent} {what}", "Make it first, or name another place with -o.")


def write_files(files: Mapping[Path, bytes], *, force: bool) -> None:
    """Write files beside their places and rename them into these, the last after all are written.

    Raises:
        UsageError: As :func:`check_writable`.
        InputError: Likewise.
        EnvironmentLacksError: When one cannot be written: no permission, no space.
    """
    check_writable(list(files), force=force)
    temporary = {file: file.with_name(f".{file.name}.writing-{secrets.token_hex(4)}") for file in files}
    try:
        for file, content in files.items():
            temporary[file].write_bytes(content)
        for file, written in temporary.items():
            os.replace(written, file)
    except OSError as error:
        raise EnvironmentLacksError(
            f"{(error.filename and Path(error.filename).parent) or next(iter(files)).parent} cannot be written: "
            f"{error.strerror or error}",
            "Make room or allow writing there, or name another place with -o.",
        ) from error
    finally:
        for left in temporary.values():
            with contextlib.suppress(OSError):  # renamed, or never made
                left.unlink()


def make_folder(folder: Path) -> None:
    """Make a folder for files, where it is not there.

    Raises:
        UsageError: When there is a file in its place.
        InputError: When the folder it is to be in is not there.
        EnvironmentLacksError: When it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError as error:
        raise UsageError(f"{folder} is a file, not a folder", "Name a folder: -o DIR.") from error
    except FileNotFoundError as error:
        raise InputError(
            f"the folder {folder.parent} does not exist", "Make it first, or name another place with -o."
        ) from error
    except OSError as error:
        raise EnvironmentLacksError(
            f"{folder} cannot be made: {error.strerror}", "Allow writing there, or name another place with -o."
        ) from error
