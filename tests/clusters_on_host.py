"""Kernels for few tiles compiled for the CPU: the project's sources, but for what they say in PTX."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncu_lab.resources import data_dir

HOST = Path(__file__).parent / "unit" / "clusters_on_host"
CPU = Path(__file__).parent / "unit" / "kernels_on_host"
KERNELS = data_dir("kernels")


@dataclass(frozen=True)
class Source:
    """What is compiled and run.

    Attributes:
        file: With the kernels, below ``kernels/``.
        runner: The program in ``clusters_on_host`` that runs them; says what the numbers of a case are.
        cases: In which every wait counts: what mutants are tried with.
    """

    file: str
    runner: str
    cases: tuple[tuple[float, ...], ...]


HALF = Source(
    "gemm/small_output_half.cu",
    "run_clusters.cpp",
    tuple((128, 128, 640, 0, 1.0, 0.0, 128, 1, 1, 1, 3, order, 1) for order in range(3)),
)
SINGLE = Source(
    "small_output.cuh",
    "run_small_output.cpp",
    tuple(
        (1, 64, 64, 64 * blocks * slices, 0, 1.0, 0.0, blocks, slices, 1, order)
        for order in range(3)
        for blocks, slices in ((2, 1), (1, 3), (2, 2))
    ),
)
HEADERS = ("cluster.cuh", "common.cuh", "half.cuh", "hopper.cuh", "shared_address.cuh", "wgmma.cuh")

_FUNCTION = re.compile(
    r"^__device__ __forceinline__ [^\n;]*(?:\n[^\n;{}]*)*?\{(?:[^\n]*\}\n|\n(?:(?!\}).*\n)*\}\n)", re.M
)
_STATIC = re.compile(r"__shared__ (\w+) (\w+)\[\w+\];")
_DYNAMIC = re.compile(r"extern __shared__ __align__\(1024\) unsigned char (\w+)\[\];")


def without_ptx(text: str) -> str:
    """Leave out the functions with inline assembly, which ``cluster_on_host.h`` has, as shared memory."""
    text = _FUNCTION.sub(lambda match: "" if "asm volatile" in match[0] else match[0], text)
    text = _DYNAMIC.sub(r"unsigned char* \1 = host::shared_memory();", text)
    return _STATIC.sub(r"\1* \2 = reinterpret_cast<\1*>(host::shared_memory());", text)


def build(
    folder: Path,
    source: Source,
    change: Callable[[str], str] = lambda text: text,
    *,
    kernels: Path = KERNELS,
    quick: bool = False,
) -> Path:
    """Compile kernels, their source as ``change`` makes it; ``quick`` to build, slow to run and with fewer checks."""
    (folder / "gemm").mkdir(parents=True)
    for name in HEADERS:
        (folder / name).write_text(without_ptx((kernels / name).read_text()))
    (folder / source.file).write_text(change(without_ptx((kernels / source.file).read_text())))
    program = folder / "run"
    checks = ["-O0"] if quick else ["-O2", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    flags = ["-std=c++17", "-fno-strict-aliasing", *checks, "-Wall", "-Wextra"]
    flags += ["-Wno-unknown-pragmas", f"-I{HOST}", f"-I{CPU}", "-include", "cluster_on_host.h"]
    defines = [f'-DKERNEL="{folder / source.file}"', "-DBM=128", "-DBN=256", "-DGUARDED=0"]
    command = ["g++", *flags, *defines, str(HOST / source.runner), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "warning" not in made.stderr, made.stderr
    return program


def run(program: Path, cases: Sequence[tuple[float, ...]]) -> subprocess.CompletedProcess[str]:
    """Run groups of numbers; the program says what they are."""
    words = [str(value) for case in cases for value in case]
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False, timeout=120)
