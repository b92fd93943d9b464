"""Every kernel of the ladder, run on the CPU: right at every shape, inside its bounds, and no barrier to spare.

``kernels_on_host/`` has the stand-in for CUDA. It runs the real source, so index arithmetic, guards, 64-bit offsets,
alignment and synchronisation are proven without a GPU; what the hardware makes of it is for ``tests/gpu``.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ncu_lab.resources import data_dir

HOST = Path(__file__).parent / "kernels_on_host"
KERNELS = data_dir("kernels")
STAGES = {
    stage["id"]: stage
    for stage in tomllib.loads((KERNELS / "stages.toml").read_text())["stage"]
    if "file" in stage and stage.get("min_cc", 75) < 90  # TMA and wgmma have no stand-in
}
VARIANTS = [(s, v) for s in STAGES for v in (("fast", "guarded") if STAGES[s].get("has_guarded") else ("fast",))]

INT_MAX = 2**31 - 1

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

Builder = Callable[[str, str], Path]


def build(stage: Mapping[str, Any], variant: str, program: Path) -> Path:
    macros = {
        "KERNEL": f'"{KERNELS / stage["file"]}"',
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
    assert "warning" not in made.stderr, made.stderr
    return program


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Compile each variant once, whatever the number of tests that run it."""
    folder = tmp_path_factory.mktemp("kernels")
    return cache(lambda stage_id, variant: build(STAGES[stage_id], variant, folder / f"{stage_id}-{variant}"))


def run(program: Path, cases: Sequence[tuple[float, ...]], without_line: int = 0) -> subprocess.CompletedProcess[str]:
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


@pytest.mark.parametrize(("stage_id", "variant"), VARIANTS)
def test_kernel_is_right_at_every_shape(stage_id: str, variant: str, builder: Builder) -> None:
    ran = run(builder(stage_id, variant), cases_of(STAGES[stage_id], variant))
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


SYNCHRONISATION = re.compile(r"__syncthreads\(\)|__syncwarp\(\)|__pipeline_wait_prior\(")


def synchronisations() -> list[tuple[str, str, int]]:
    """``(stage, variant, line)`` of all that synchronises, in the variant that serves every shape and so runs it."""
    return [
        (stage_id, variant, line)
        for stage_id, variant in VARIANTS
        if variant == "guarded" or not STAGES[stage_id].get("has_guarded")
        for line, text in enumerate((KERNELS / STAGES[stage_id]["file"]).read_text().splitlines(), start=1)
        if SYNCHRONISATION.search(text)
    ]


@pytest.mark.parametrize(("stage_id", "variant", "line"), synchronisations())
def test_result_is_wrong_without_a_barrier(stage_id: str, variant: str, line: int, builder: Builder) -> None:
    ran = run(builder(stage_id, variant), cases_of(STAGES[stage_id], variant), without_line=line)
    assert ran.returncode != 0
    assert "C[" in ran.stdout, ran.stdout[-2000:] + ran.stderr[-2000:]


def test_every_barrier_says_what_it_protects() -> None:
    for stage in STAGES.values():
        for line in (KERNELS / stage["file"]).read_text().splitlines():
            if re.search(r"__sync(threads|warp)\(\)", line):
                assert re.search(r";  // .{20,}", line), f"{stage['file']}: {line.strip()}"
