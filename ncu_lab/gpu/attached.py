"""Whether a profiler or sanitizer watches this process: times taken under one are its own, not the kernel's."""

from __future__ import annotations

import re
from pathlib import Path

from ncu_lab.errors import UsageError

_MAPS = Path("/proc/self/maps")
# What ncu, nsys and compute-sanitizer load into the programs that they start.
_INJECTED = re.compile(
    r"/(lib(?:cuda-injection|InterceptorInjectionTarget|TreeLauncher\w+|ToolsInjection\w*|sanitizer-collection)\.so)"
)


def attached_tool(maps: str) -> str | None:
    """Return the library of a profiler or sanitizer among a process's mappings (``/proc/PID/maps``); None without."""
    found = _INJECTED.search(maps)
    return found[1] if found else None


def refuse_under_a_profiler() -> None:
    """Refuse to time anything here where a profiler or sanitizer is attached.

    Raises:
        UsageError: Names the library that gives it away.
    """
    try:
        maps = _MAPS.read_text(errors="replace")
    except OSError:
        return  # no Linux: nothing says that one is there
    tool = attached_tool(maps)
    if tool is not None:
        raise UsageError(
            f"a profiler or sanitizer is attached to this process ({tool}): it would time itself",
            "Time without it; ncu-lab profile times stages before it profiles them.",
        )
