"""Kernels of the ladder compiled for the CPU, with ``tests/unit/kernels_on_host`` in CUDA's place, and their cases."""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ncu_lab.resources import data_dir

HOST = Path(__file__).parent / "unit" / "kernels_on_host"
KERNELS = data_dir("kernels")
STAGES = {
    stage["id"]: stage
    for stage in tomllib.loads((KERNELS / "stages.toml").read_text())["stage"]
    if "entry" in stage and stage.get("min_cc", 75) < 90  # TMA and wgmma have no stand-in
}
VARIANTS = [(s, v) for s in STAGES for v in (("fast", "guarded") if STAGES[s].get("has_guarded") else ("fast",))]

INT_MAX = 2**31 - 1


def build(stage: Mapping[str, Any], variant: str, program: Path, kernels: Path = KERNELS, strict: bool = True) -> Path:
    """Compile a variant of a stage for the CPU; with ``strict`` any warning of the compiler is an error."""
    macros = {
        "KERNEL": f'"{kernels / stage["file"]}"',
        "ENTRY": stage["entry"],
        "ELEMENT": "__half" if stage["dtype"] == "fp16" else "float",
        "AAT": int(stage.get("operation") == "aat"),
        "ROWS_FIRST": int(stage.get("grid", ["n", "m"]) == ["m", "n"]),
        "BLOCK_X": stage["block"][0],
        "BLOCK_Y": stage["block"][1],
        "GUARDED": int(variant == "guarded"),
        "SPLIT": int(stage.get("plan") == "split"),
        **({"SHARED_BYTES": stage["shared_bytes"]} if "shared_bytes" in stage else {}),
        **stage["tile"],
    }
    checks = ["-fsanitize=undefined", "-fno-sanitize-recover=all", "-Wall", "-Wextra", "-Wno-unknown-pragmas"]
    flags = ["-std=c++17", "-O1", "-fno-strict-aliasing", *checks, f"-I{HOST}", "-include", "cuda_on_host.h"]
    defines = [f"-D{name}={value}" for name, value in macros.items()]
    command = ["g++", *flags, *defines, str(HOST / "run_kernel.cpp"), "-o", str(program)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    assert not strict or "warning" not in made.stderr, made.stderr
    return program


def run(program: Path, cases: Sequence[tuple[float, ...]], without_line: int = 0) -> subprocess.CompletedProcess[str]:
    """Run groups of nine numbers (see ``run_kernel.cpp``); the synchronisation of line ``without_line`` is left out."""
    words = [str(without_line), *(str(value) for case in cases for value in case)]
    return subprocess.run([str(program), *words], capture_output=True, text=True, check=False, timeout=60)


def shapes_of(stage: Mapping[str, Any], variant: str) -> list[tuple[int, int, int, int, int]]:
    """``(m, n, k, pad, shift)`` that the variant has to serve."""
    if variant == "fast" and stage.get("has_guarded"):
        m, n, k = stage["multiples"]
        pad = stage.get("align_bytes", 4) // 2  # elements; keeps rows aligned for FP16 and FP32
        far = INT_MAX // 64 * 64  # a leading dimension that makes row * ld pass 2^31
        return [
            (m, n, k, 0, 0),
            (m, n, 0, 0, 0),
            (m, 2 * n, 3 * k, pad, 0),
            (2 * m, n, 2 * k, 2 * pad, 0),
            (m, n, 5 * k, 0, 0),
            (m, n, k, far - max(n, k), 0),
        ]
    m, n, k = stage["tile"]["BM"], stage["tile"]["BN"], stage["tile"].get("BK", 8)
    return [
        (1, 1, 1, 0, 0),
        (1, 1, 0, 0, 0),
        (m + 1, n - 1, 0, 3, 1),
        (35, 79, 19, 0, 0),
        (3, 3, 431, 0, 1),
        (129, 65, 17, 1, 0),
        (m, n, 2 * k, 0, 0),
        (m, n, k, 5, 3),
        (m + 1, n + 1, k + 1, 2, 1),
        (m - 1, 2 * n - 1, 2 * k - 1, 0, 3),
        (1, 300, 2, 0, 0),
        (300, 1, 3, 0, 0),
        (5, 6, 7, INT_MAX - 7, 0),
    ]


def cases_of(stage: Mapping[str, Any], variant: str) -> list[tuple[float, ...]]:
    """Each shape with two scalings, and copies and threads in both orders."""
    cases: list[tuple[float, ...]] = []
    for m, n, k, pad, shift in shapes_of(stage, variant):
        n = m if stage.get("operation") == "aat" else n
        cases.append((m, n, k, pad, shift, 1.0, 0.0, 0, 0))
        cases.append((m, n, k, pad, shift, 1.5, -0.5, 1, 1))
    cases.append((*cases[0][:5], 0.0, 2.0, 0, 1))
    return cases
