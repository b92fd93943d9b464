"""Compiles the CUTLASS references: a small source of ours and the headers of NVIDIA's wheel become a shared library.

A build is found by our source and flags first, by the versions of CUTLASS and nvcc second. Where the headers or nvcc
are not here, one that was made elsewhere and carried here in the cache serves as well: it needs neither.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ncu_lab.advice import pip_install
from ncu_lab.errors import EnvironmentLacksError, InputError
from ncu_lab.gpu import ptxas
from ncu_lab.gpu.build_cache import make_entry
from ncu_lab.gpu.child import run_child
from ncu_lab.gpu.compile import cache_folder, capability, find_nvcc
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import Stage, StageBuild
from ncu_lab.resources import data_dir

_PACKAGE = "cutlass_library"
_VERSION = re.compile(r"#define CUTLASS_(MAJOR|MINOR|PATCH)\s+(\d+)")
_ENTRY = re.compile(r"Compiling entry function '([^']+)'")


def cutlass_headers() -> Path | None:
    """Return the folder of CUTLASS's headers in this Python environment; None where its wheel is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place, "source", "include")
        if (folder / "cutlass" / "version.h").is_file():
            return folder
    return None


def cutlass_version(headers: Path) -> str:
    """Return the version of CUTLASS that headers are of: ``4.2.0``.

    Raises:
        InputError: When they do not tell.
    """
    file = headers / "cutlass" / "version.h"
    found = dict(_VERSION.findall(file.read_text(encoding="utf-8")))
    if set(found) != {"MAJOR", "MINOR", "PATCH"}:
        raise InputError(f"{file} tells no version of CUTLASS", "Install the wheel anew.")
    return f"{found['MAJOR']}.{found['MINOR']}.{found['PATCH']}"


def library_flags(stage: Stage, arch: str) -> list[str]:
    """Return the flags that decide the code of a library, without paths of this machine."""
    target = f"{capability(arch)}{stage.arch_suffix}"
    return [
        "-std=c++17",
        "-O3",
        # Asserts in device code are calls, around which ptxas serialises wgmma (C7510).
        "-DNDEBUG",
        "-shared",
        "-Xcompiler=-fPIC",
        "--expt-relaxed-constexpr",
        f"-gencode=arch=compute_{target},code=sm_{target}",
        "-Xptxas=-v",
        *(f"-D{name}={size}" for name, size in stage.tile.items()),
    ]


def lacking(stage: Stage, arch: str) -> str | None:
    """Say why a CUTLASS reference cannot be had here; None when it can: it is built, or can be."""
    if not stage.runs_on(capability(arch)):
        return f"it needs {stage.needs}, the GPU here is {arch}"
    if _carried(stage, arch) is not None:
        return None
    if cutlass_headers() is None:
        return f"CUTLASS's headers are not installed ({pip_install('cutlass')})"
    return None if find_tool("nvcc") else "nvcc was not found"


def build_library(stage: Stage, arch: str, *, stop: threading.Event | None = None) -> StageBuild:
    """Compile a CUTLASS reference, which takes half a minute, or take it from the cache.

    Args:
        stage: A reference with a source.
        arch: ``sm_90`` and so on; the stage's ``arch_suffix`` is added.
        stop: Set by another thread to end the compiler.

    Raises:
        CancelledError: When ``stop`` was set before the end.
        EnvironmentLacksError: When it is not built, and headers or compiler are missing or the GPU is another.
        InputError: When it does not compile.
    """
    headers = cutlass_headers()
    if headers is None or find_tool("nvcc") is None:
        carried = _carried(stage, arch)
        if carried is None:
            why = lacking(stage, arch)
            raise EnvironmentLacksError(f"{stage.id} cannot be built: {why}", f"{pip_install('cutlass')} brings them.")
        return _read(carried, stage, arch, cached=True)
    nvcc = find_nvcc()
    version = cutlass_version(headers)
    entry = _folder() / f"{_name(stage, arch)}-{version}-{nvcc.version}"
    cached = (entry / "build.json").is_file()
    if not cached:
        flags, asked_to_stop = library_flags(stage, arch), stop or threading.Event()
        make_entry(entry, lambda work: _compile(work, stage, flags, headers, asked_to_stop))
    return _read(entry, stage, arch, cached=cached)


def _folder() -> Path:
    return cache_folder() / "references"


def _name(stage: Stage, arch: str) -> str:
    """Return what a build is found by whatever made it: our source, our headers, our flags."""
    folder = data_dir("kernels") / Path(stage.file).parent
    digest = hashlib.sha256(json.dumps(library_flags(stage, arch)).encode())
    for path in sorted([data_dir("kernels") / stage.file, *folder.glob("*.cuh")]):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return f"{stage.id}-{digest.hexdigest()[:32]}"


def _carried(stage: Stage, arch: str) -> Path | None:
    """Return the newest build of our source by any CUTLASS and nvcc."""
    found = [path.parent for path in _folder().glob(f"{_name(stage, arch)}-*/build.json")]
    return max(found, key=lambda path: path.name, default=None)


def _compile(work: Path, stage: Stage, flags: Sequence[str], headers: Path, stop: threading.Event) -> dict[str, Any]:
    begin = time.monotonic()
    nvcc = find_nvcc()
    source = data_dir("kernels") / stage.file
    command = [str(nvcc.path), *flags, f"-I{headers}", source.name, "-o", str(work / "library.so")]
    done = run_child(command, source.parent, stop)
    log = done.stdout + done.stderr
    if done.returncode:
        raise InputError(f"{stage.id} does not compile with the headers in {headers}: {ptxas.first_error(log)}")
    names = _ENTRY.findall(log)
    resources = ptxas.parse_resources(log, names[0]) if names else None
    if resources is None:
        raise InputError(f"kernels/{stage.file}: ptxas told of no kernel in it")
    warnings = [line for line in ptxas.parse_warnings(log) if names[0] not in line]
    if any(ptxas.SERIALIZED_WGMMA in line for line in ptxas.parse_warnings(log)):
        raise InputError(f"{stage.id}: ptxas serialised its wgmma", "No figure of such a build would be CUTLASS's.")
    return {
        "seconds": time.monotonic() - begin,
        "nvcc": nvcc.version,
        "cutlass": cutlass_version(headers),
        "warnings": warnings,
        "registers": resources.registers,
        "spill_store_bytes": resources.spill_store_bytes,
        "spill_load_bytes": resources.spill_load_bytes,
        "stack_bytes": resources.stack_bytes,
        "shared_bytes": resources.shared_bytes,
        "barriers": resources.barriers,
    }


def _read(entry: Path, stage: Stage, arch: str, *, cached: bool) -> StageBuild:
    try:
        record = json.loads((entry / "build.json").read_text(encoding="utf-8"))
        version = record.pop("cutlass")
        return StageBuild(
            stage=stage.id,
            variant="library",
            arch=f"sm_{capability(arch)}{stage.arch_suffix}",
            cubin=entry / "library.so",
            cached=cached,
            flags=(*library_flags(stage, arch), f"cutlass {version}"),
            **{**record, "warnings": tuple(record["warnings"])},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"the cached build {entry} is damaged: {error}", "Delete that folder.") from error
