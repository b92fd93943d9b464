"""The process that runs kernels, and that ncu profiles: ``python -m ncu_lab.gpu.target REQUEST.json``.

It reads a request, speaks JSON lines on stdout (progress, or one error), writes the result file and ends with 0 when
all went well. It needs cupy, numpy and the driver, nothing else of what the package depends on.
"""

from __future__ import annotations

import sys
from pathlib import Path


def argv(request_path: Path) -> list[str]:
    """Return the command line of the target process: what ncu is given to profile."""
    return [sys.executable, "-m", "ncu_lab.gpu.target", str(request_path)]
