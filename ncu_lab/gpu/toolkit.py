"""Finds the CUDA toolkit's programs: on PATH, in a toolkit, or in NVIDIA's wheels."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def find_tool(name: str) -> Path | None:
    """Return the path of a toolkit program (nvcc, cuobjdump, nvdisasm), None when it is nowhere.

    Looked for on PATH, then below ``CUDA_HOME`` and ``CUDA_PATH``, in the wheels of this Python environment
    (``nvidia/cu13/bin`` and its like in site-packages), then in ``/usr/local/cuda``.
    """
    for folder in _folders():
        found = shutil.which(name, path=str(folder))
        if found:
            return Path(found)
    return None


def _folders() -> Iterator[Path]:
    yield from (Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry)
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(variable):
            yield Path(os.environ[variable], "bin")
    for site in dict.fromkeys(sysconfig.get_path(kind) for kind in ("platlib", "purelib")):
        yield from sorted(Path(site, "nvidia").glob("*/bin"), reverse=True)
    yield Path("/usr/local/cuda/bin")
