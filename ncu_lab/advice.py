"""What to tell the user to type: our commands by the name they were called, and pip where it finds this Python."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from importlib import metadata
from pathlib import Path

PROGRAM_VARIABLE = "NCU_LAB_PROGRAM"
"""Environment variable with the words that start ncu-lab here; ``./lab`` sets it."""

COMMANDS = (
    "stages",
    "build",
    "check",
    "bench",
    "shapes",
    "tune",
    "doctor",
    "import",
    "profile",
    "runs",
    "show",
    "ladder",
    "diff",
    "gate",
    "history",
    "bisect",
    "noise",
    "model",
    "dashboard",
    "export",
    "store",
)
"""Every command, as ``--help`` lists them."""

_CHECKOUT = Path(__file__).resolve().parents[1]
_COMMAND = re.compile(rf"(?<![\w-])ncu-lab(?= (?:{'|'.join(COMMANDS)})\b)")
_EXTRA = re.compile(r"""(?P<package>[\w.-]+)[^;]*;.*\bextra\s*==\s*["'](?P<extra>[\w-]+)["']""")


def program() -> str:
    """Return what starts ncu-lab here: ``ncu-lab``, or ``./lab`` after ``./lab``."""
    return os.environ.get(PROGRAM_VARIABLE) or "ncu-lab"


def as_called(words: str) -> str:
    """Return words in which ``ncu-lab COMMAND`` is what starts that command here: ``./lab COMMAND`` after ``./lab``."""
    return _COMMAND.sub(lambda _: program(), words)


def pip_install(extra: str) -> str:
    """Return the command that installs the packages of an extra of ours (``cuda13``, ``nvcc``, …) beside this Python.

    It names the packages, not ``ncu-lab[extra]``: an index may know nothing, or another project, by our name.
    """
    # An editable installation may be older than pyproject.toml: then the checkout knows the extra.
    return f"{_pip()} install {' '.join(_packages(extra)) or shlex.quote(f'{_CHECKOUT}[{extra}]')}"


def _pip() -> str:
    on_path = shutil.which("pip")
    own = on_path is not None and Path(on_path).parent == Path(sys.executable).parent
    return "pip" if own else f"{sys.executable} -m pip"


def _packages(extra: str) -> list[str]:
    try:
        required = metadata.requires("ncu-lab") or []
    except metadata.PackageNotFoundError:
        return []  # run from a checkout that is not installed
    matches = [match for line in required if (match := _EXTRA.fullmatch(line)) is not None]
    return [match["package"] for match in matches if match["extra"] == extra]
