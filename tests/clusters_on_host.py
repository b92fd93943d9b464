"""``wgmma_small`` compiled for the CPU: the project's sources, but for what they say in PTX."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from ncu_lab.resources import data_dir

HOST = Path(__file__).parent / "unit" / "clusters_on_host"
CPU = Path(__file__).parent / "unit" / "kernels_on_host"
KERNELS = data_dir("kernels")
SOURCE = "gemm/small_output_half.cu"
HEADERS = ("cluster.cuh", "common.cuh", "half.cuh", "hopper.cuh", "shared_address.cuh", "wgmma.cuh")

_FUNCTION = re.compile(
    r"^__device__ __forceinline__ [^\n;]*(?:\n[^\n;{}]*)*?\{(?:[^\n]*\}\n|\n(?:(?!\}).*\n)*\}\n)", re.M
)
_DYNAMIC = re.compile(r"extern __shared__ __align__\(1024\) unsigned char (\w+)\[\];")


def without_ptx(text: str) -> str:
    """Leave out the functions with inline assembly, which ``cluster_on_host.h`` has, as dynamic shared memory."""
    text = _FUNCTION.sub(lambda match: "" if "asm volatile" in match[0] else match[0], text)
    return _DYNAMIC.sub(r"unsigned char* \1 = host::shared_memory();", text)


def build(folder: Path, change: Callable[[str], str] = lambda text: text) -> Path:
    """Compile the kernel, its source as ``change`` makes it."""
    (folder / "gemm").mkdir(parents=True)
    for name in HEADERS:
        (folder / name).write_text(without_ptx((KERNELS / name).read_text()))
    (folder / SOURCE).write_text(change(without_ptx((KERNELS / SOURCE).read_text())))
    program = folder / "run"
    flags = ["-std=c++17", "-O2", "-fno-strict-aliasing", "-fsanitize=undefined", "-fno-sanitize-recover=all", "-Wall"]
    flags += ["-Wextra", "-Wno-unknown-pragmas", f"-I{HOST}", f"-I{CPU}", "-include", "cluster_on_host.h"]
    defines = [f'-DKERNEL="{folder / SOURCE}"', "-DBM=128", "-DBN=256", "-DGUARDED=0"]
    command = ["g++", *flags, *defines, str(HOST / "run_clusters.cpp"), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert "warning" not in made.stderr, made.stderr
    return program


def run(program: Path, cases: Sequence[tuple[float, ...]]) -> subprocess.CompletedProcess[str]:
    """Run groups of twelve numbers; see ``run_clusters.cpp``."""
    words = [str(value) for case in cases for value in case]
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False, timeout=120)
