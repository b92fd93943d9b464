"""Compiles stages to cubins with nvcc, once per content: the same sources, flags and compiler are never built twice.

A build takes two steps, source to PTX and PTX to cubin, as nvcc itself does. In between, the paths that ``-lineinfo``
records are rewritten to ``kernels/...``: profiles then show the same file names wherever they were made.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ncu_lab.advice import pip_install
from ncu_lab.errors import EnvironmentLacksError, InputError, NcuLabError, UsageError
from ncu_lab.gpu import ptxas, sass
from ncu_lab.gpu.build_cache import make_entry
from ncu_lab.gpu.child import run_child
from ncu_lab.gpu.devices import present_arch
from ncu_lab.gpu.request import second_cubin
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import Stage, StageBuild
from ncu_lab.resources import kernels_folder

DEFAULT_ARCH = "sm_90"

_CACHE_FORMAT = 1
_HEADERS = ("*.cuh", "*.h", "*.hpp")
_UNKNOWN_ARCH = re.compile(r"Unsupported gpu architecture 'compute_(\w+)'")
_PTX_FILE = re.compile(r'^(\s*\.file\s+\d+\s+)"([^"]+)"', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Nvcc:
    """A compiler: its path, and its version as ``13.0.88``."""

    path: Path
    version: str


def find_nvcc() -> Nvcc:
    """Return the first nvcc that is found: PATH, CUDA_HOME, NVIDIA's wheels, /usr/local/cuda.

    Raises:
        EnvironmentLacksError: When there is none or it does not run.
    """
    path = find_tool("nvcc")
    if path is None:
        raise EnvironmentLacksError("nvcc was not found", _nvcc_fix())
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise EnvironmentLacksError(f"{path} cannot be started: {error.strerror or error}", _nvcc_fix()) from error
    match = re.search(r"V(\d+\.\d+\.\d+)", done.stdout)
    if done.returncode or not match:
        raise EnvironmentLacksError(f"{path} does not run: {(done.stderr or done.stdout).strip()[:200]}", _nvcc_fix())
    return Nvcc(path, match[1])


def _nvcc_fix() -> str:
    return f"{pip_install('nvcc')}, or install the CUDA toolkit and put its nvcc first on PATH."


def default_arch() -> str:
    """Return the architecture of the GPU that is present, ``sm_90`` where there is none."""
    return present_arch() or DEFAULT_ARCH


def cache_folder() -> Path:
    """Return the build cache: ``NCU_LAB_CACHE``, else ``ncu-lab`` below the user's cache folder."""
    explicit = os.environ.get("NCU_LAB_CACHE")
    if explicit:
        return Path(explicit)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ncu-lab"


def capability(arch: str) -> int:
    """Return the number of an architecture: 90 for ``sm_90`` and ``sm_90a``.

    Raises:
        UsageError: When it is written otherwise.
    """
    match = re.fullmatch(r"sm_(\d{2,3})[af]?", arch)
    if not match:
        raise UsageError(f'"{arch}" is no GPU architecture', "Write it as sm_90.")
    return int(match[1])


def nvcc_flags(stage: Stage, arch: str, variant: Literal["fast", "guarded"], defines: Sequence[str] = ()) -> list[str]:
    """Return the flags that decide the code of a build, without paths of this machine.

    Raises:
        UsageError: When ``arch`` is no architecture, or too old for the stage.
    """
    number = capability(arch)
    if not stage.runs_on(number):
        wanted = f"runs on {stage.needs} alone" if stage.arch_suffix else f"needs {stage.needs} or newer"
        raise UsageError(f"stage {stage.id} {wanted}, not {arch}")
    target = f"{number}{stage.arch_suffix}"
    return [
        "-std=c++17",
        "-O3",
        "-lineinfo",
        f"-gencode=arch=compute_{target},code=sm_{target}",
        "-Xptxas=-v",
        "-I.",
        *(f"-D{name}={size}" for name, size in stage.tile.items()),
        *([f"-DSHARED_BYTES={stage.shared_bytes}"] if stage.shared_bytes else []),
        *(["-DBF16=1"] if stage.dtype == "bf16" else []),
        f"-DGUARDED={1 if variant == 'guarded' else 0}",
        *(f"-D{define}" for define in defines),
    ]


def build_stage(
    stage: Stage,
    arch: str = DEFAULT_ARCH,
    variant: Literal["fast", "guarded"] = "fast",
    *,
    kernels_dir: Path | None = None,
    cache_dir: Path | None = None,
    defines: Sequence[str] = (),
    stop: threading.Event | None = None,
) -> StageBuild:
    """Compile one stage, or take it from the cache.

    Args:
        stage: A kernel stage.
        arch: ``sm_90`` and so on; the stage's ``arch_suffix`` is added.
        variant: ``guarded`` compiles with ``-DGUARDED=1``.
        kernels_dir: Folder with the sources; the bundled one by default.
        cache_dir: Build cache; :func:`cache_folder` by default.
        defines: Further macros, ``NAME=VALUE``.
        stop: Set by another thread to end the compiler.

    Raises:
        CancelledError: When ``stop`` was set before the end.
        UsageError: When the stage has no source or no such variant, or the architecture does not fit the stage or
            the compiler.
        InputError: When it does not compile, or ptxas serialised its wgmma.
        EnvironmentLacksError: When nvcc or its host compiler is missing, nvcc is older than the GPU, or the cache is
            not writable.
    """
    if stage.is_reference:  # those of CUTLASS: ncu_lab.gpu.cutlass_build
        raise UsageError(f"stage {stage.id} is a library reference: there is nothing to build")
    if variant == "guarded" and not stage.has_guarded:
        raise UsageError(f"stage {stage.id} has no guarded variant: its fast path fits every shape")
    nvcc = find_nvcc()
    flags = nvcc_flags(stage, arch, variant, defines)
    folder = (kernels_dir or kernels_folder()).resolve()
    entry = _entry(stage, variant, nvcc, flags, folder, cache_dir)
    cached = (entry / "build.json").is_file()
    if not cached:
        compiler = _Compiler(nvcc, stage, stop or threading.Event())
        make_entry(entry, lambda work: _compile(work, stage, compiler, flags, folder))
    try:
        record = json.loads((entry / "build.json").read_text(encoding="utf-8"))
        text = _sass(entry)
        resources = record["resources"]
        return StageBuild(
            stage=stage.id,
            variant=variant,
            arch=f"sm_{capability(arch)}{stage.arch_suffix}",
            cubin=entry / "kernel.cubin",
            cached=cached,
            seconds=record["seconds"],
            flags=tuple(flags),
            nvcc=nvcc.version,
            warnings=tuple(record["warnings"]),
            sass_mix=None if text is None else sass.mix(text),
            sass_hash=None if text is None else sass.digest(text),
            sass=text,
            **{**resources, "shared_bytes": resources["shared_bytes"] + stage.shared_bytes},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"the cached build {entry} is damaged: {error}", "Delete that folder.") from error


def cached_build(stage: Stage, arch: str) -> StageBuild | None:
    """Return the fast build of a stage as it is now, where it is in the cache; None where it is not, or without nvcc.

    Raises:
        UsageError: When the architecture does not fit the stage.
        InputError: When it is damaged.
    """
    flags = nvcc_flags(stage, arch, "fast")
    try:
        nvcc = find_nvcc()
    except EnvironmentLacksError:
        return None  # the compiler's version is a part of what a build is found by
    entry = _entry(stage, "fast", nvcc, flags, kernels_folder().resolve(), None)
    return build_stage(stage, arch) if (entry / "build.json").is_file() else None


def build_key(stage: Stage, arch: str) -> str:
    """Return a digest of all that decides the fast build of a stage: compiler, flags, source, headers.

    Raises:
        UsageError: When the architecture does not fit the stage.
        EnvironmentLacksError: When the compiler is missing.
    """
    return _key(stage, find_nvcc(), nvcc_flags(stage, arch, "fast"), kernels_folder().resolve())


def _entry(stage: Stage, variant: str, nvcc: Nvcc, flags: Sequence[str], folder: Path, cache_dir: Path | None) -> Path:
    """Return the folder in the cache that belongs to a build."""
    key = _key(stage, nvcc, flags, folder)
    return (cache_dir or cache_folder()) / "cubins" / f"{stage.id}-{variant}-{key[:32]}"


def _key(stage: Stage, nvcc: Nvcc, flags: Sequence[str], folder: Path) -> str:
    """Hash all that decides a build: compiler, flags, the source and every header of the project, names included."""
    second = [stage.second_file, stage.second_level] if stage.second_file else []
    digest = hashlib.sha256(json.dumps([_CACHE_FORMAT, nvcc.version, stage.entry, *second, *flags]).encode())
    headers = {path for pattern in _HEADERS for path in folder.rglob(pattern)}
    sources = [folder / name for name in (stage.file, stage.second_file) if name]
    for path in [*sources, *sorted(headers)]:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
        digest.update(f"\0{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _compile(work: Path, stage: Stage, compiler: _Compiler, flags: Sequence[str], folder: Path) -> dict[str, Any]:
    begin = time.monotonic()
    log = compiler.cubin(stage.file, work / "kernel.cubin", flags, folder)
    resources = ptxas.parse_resources(log, stage.entry)
    if resources is None:
        raise InputError(f"kernels/{stage.file}: no entry function {stage.entry} in it", 'Declare it extern "C".')
    if stage.second_file and "-DGUARDED=0" in flags:
        second = [*flags, f"-Xptxas=-O{stage.second_level}"]
        log += compiler.cubin(stage.second_file, Path(second_cubin(str(work / "kernel.cubin"))), second, folder)
    warnings = ptxas.parse_warnings(log)
    for warning in warnings:
        if ptxas.SERIALIZED_WGMMA in warning:
            raise InputError(f"stage {stage.id}: ptxas serialised its wgmma: {warning}")
    return {
        "seconds": time.monotonic() - begin,
        "resources": dataclasses.asdict(resources),
        "warnings": warnings,
    }


@dataclass(frozen=True, slots=True)
class _Compiler:
    """nvcc at work on one stage, until ``stop`` is set."""

    nvcc: Nvcc
    stage: Stage
    stop: threading.Event

    def cubin(self, source: str, output: Path, flags: Sequence[str], folder: Path) -> str:
        """Compile a source in ``folder`` to ``output``, by PTX of its name; return what was said."""
        ptx = output.with_suffix(".ptx")
        log = self.run([*flags, "-ptx", source], ptx, folder)
        ptx.write_text(neutral_paths(ptx.read_text(encoding="utf-8"), folder), encoding="utf-8")
        step = [flag for flag in flags if not flag.startswith(("-D", "-I", "-std"))]
        # Named relative to the work folder, so that no path of this machine reaches the cubin.
        return log + self.run([*step, "-cubin", ptx.name], Path(output.name), output.parent)

    def run(self, arguments: Sequence[str], output: Path, folder: Path) -> str:
        """Run one step in ``folder``, which makes ``output``; return what it says."""
        try:
            done = run_child([str(self.nvcc.path), *arguments, "-o", str(output)], folder, self.stop)
        except OSError as error:
            raise EnvironmentLacksError(
                f"{self.nvcc.path} cannot be started: {error.strerror or error}", _nvcc_fix()
            ) from error
        log = done.stdout + done.stderr
        if done.returncode:
            raise self._failure(log)
        if not (folder / output).is_file():
            raise EnvironmentLacksError(
                f"{self.nvcc.path} ended well but wrote no {output.name}: it is no working nvcc", _nvcc_fix()
            )
        return log

    def _failure(self, log: str) -> NcuLabError:
        if "host compiler" in log:
            return EnvironmentLacksError(
                f"nvcc {self.nvcc.version} finds no host compiler it can use", "Install g++ (apt install g++)."
            )
        message = ptxas.first_error(log)
        if unknown := _UNKNOWN_ARCH.search(message):
            return _unknown_to_nvcc(f"sm_{unknown[1]}", self.nvcc)
        place = f"kernels/{message}" if message.startswith(self.stage.file) else message
        return InputError(f"stage {self.stage.id} does not compile: {place}")


def _unknown_to_nvcc(arch: str, nvcc: Nvcc) -> NcuLabError:
    """Return the error of an architecture that the compiler cannot build for: the request's, or the machine's."""
    words = f"nvcc {nvcc.version} cannot build for {arch}"
    if arch.rstrip("af") == present_arch():
        return EnvironmentLacksError(f"{words}, the GPU that is here", _nvcc_fix())
    return UsageError(words, "nvcc --list-gpu-code lists what it builds for.")


def neutral_paths(ptx: str, folder: Path) -> str:
    """Rewrite the source paths of PTX: sources to ``kernels/...``, the toolkit's headers to ``cuda/include/...``."""

    def neutral(match: re.Match[str]) -> str:
        path = os.path.normpath(match[2])
        try:
            path = f"kernels/{Path(path).relative_to(folder).as_posix()}"
        except ValueError:
            path = f"cuda/include/{path.rpartition('/include/')[2].lstrip('/')}"
        return f'{match[1]}"{path}"'

    return _PTX_FILE.sub(neutral, ptx)


def _sass(entry: Path) -> str | None:
    """Return the normalised SASS of a cached build, made when a disassembler is first there; None without one."""
    path = entry / "kernel.sass"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    tool = sass.disassembler()
    if tool is None:
        return None
    first = entry / "kernel.cubin"
    second = Path(second_cubin(str(first)))
    text = "".join(sass.disassemble(cubin, tool) for cubin in (first, second) if cubin.is_file())
    temporary = path.with_name(f"kernel.sass.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
    return text
