"""Every kernel of the ladder, run on the CPU: right at every shape, inside its bounds, and no barrier to spare.

``kernels_on_host/`` has the stand-in for CUDA. It runs the real source, so index arithmetic, guards, 64-bit offsets,
alignment and synchronisation are proven without a GPU; what the hardware makes of it is for ``tests/gpu``.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from host_kernels import KERNELS, STAGES, VARIANTS, build, cases_of, run

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

Builder = Callable[[str, str], Path]


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """Compile each variant once, whatever the number of tests that run it."""
    folder = tmp_path_factory.mktemp("kernels")
    return cache(lambda stage_id, variant: build(STAGES[stage_id], variant, folder / f"{stage_id}-{variant}"))


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
