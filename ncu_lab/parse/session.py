"""What a report's session tells of the environment it was made in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ncu_lab.model import Environment

# Names of components in a session, and ncu's defaults for what its command line does not say.
_NCU, _CUDA, _DRIVER = "Nsight Compute Target", "CUDA Version", "Display Driver Version"
_DEFAULTS = {"clock-control": "base", "cache-control": "all"}


def environment_from(versions: Mapping[str, str], command: str) -> Environment:
    """Describe the environment from component versions and the profiler's command line.

    Args:
        versions: Component -> version, as the session spells them.
        command: The command line; empty when it is not known, and then clock and cache control are not either.
    """
    ncu = re.match(r"\d+(?:\.\d+){1,2}", versions.get(_NCU, ""))
    sections = [f"set:{name}" for name in _values(command, "set")] + _values(command, "section")
    return Environment(
        driver=versions.get(_DRIVER),
        cuda=versions.get(_CUDA),
        ncu=ncu.group() if ncu else None,
        clock_control=_control(command, "clock-control"),
        cache_control=_control(command, "cache-control"),
        sections=tuple(sections),
    )


def _control(command: str, option: str) -> str | None:
    if not command:
        return None
    return (_values(command, option) or [_DEFAULTS[option]])[0]


def _values(command: str, option: str) -> list[str]:
    """Return every value given to a long option."""
    return re.findall(rf"(?:^|\s)--{option}[= ]\s*\"?([\w-]+)", command)
