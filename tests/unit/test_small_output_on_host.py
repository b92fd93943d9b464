"""The FP32 kernels for few tiles, run on the CPU: K divided in every way, right to the bit, and no wait to spare.

See ``test_clusters_on_host.py``: boxes and what blocks send each other arrive late and in an order of chance.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from clusters_on_host import KERNELS, SINGLE, build, run

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

SCALES = ((1.0, 0.0), (1.5, -0.5), (2.0, 1.0))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("kernel") / "right", SINGLE)


def test_right_where_mutants_are_tried(kernels: Path) -> None:
    ran = run(kernels, SINGLE.cases)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


def test_whole_tiles_are_right_at_every_depth(kernels: Path) -> None:
    # Fewer stages than are held at once, as many, and enough that every warp has had its turn at refilling.
    depths = (1, 32, 33, 96, 128, 130, 160, 320)
    cases = [
        (0, m, n, k, pad, *SCALES[order % 3], 1, 1, 1, order)
        for order, k in enumerate(depths)
        for m, n, pad in ((64, 64, 0), (65, 68, 4))
    ]
    ran = run(kernels, cases)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


@pytest.mark.parametrize("blocks", [1, 2, 4, 8])
@pytest.mark.parametrize("slices", [1, 3])
def test_split_tiles_are_right_at_every_division(blocks: int, slices: int, kernels: Path) -> None:
    cases = []
    for order, steps in enumerate((1, 2) if blocks * slices > 4 else (1, 2, 6)):
        stages = blocks * slices * steps
        m, n, pad = ((64, 64, 0), (3, 4, 8), (20, 72, 4))[order]
        # All blocks have as many stages of 64 k; the last has one less, or none, or part of one.
        for k in {64 * stages, 64 * max(1, stages - 1), 64 * (stages - steps) + 4}:
            cases.append((1, m, n, k, pad, *SCALES[order], blocks, slices, steps, order))
    ran = run(kernels, cases)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


@pytest.mark.parametrize(
    ("was", "becomes", "split", "blocks"),
    [
        # Fragments are read before their stage has landed.
        ("  barrier_wait(full, 0);", "  ;", 0, 1),
        ("      if (pass == 1) barrier_wait(", "      if (pass == 2) barrier_wait(", 0, 1),
        # Warps take too few turns at refilling; the stage behind the last is never completed.
        ("step % Size::WARPS == warp && step >= LAG", "step % Size::WARPS == 0 && warp == 0 && step >= LAG", 0, 1),
        ("    if (steps < DEPTH) arrive(full + steps * 8);", "    ;", 1, 1),
        # A handful of address mistakes: the swizzle, the group's k, the next stage's fragments.
        ("group % 2 * (GROUP_K / 4) ^ swizzle", "group % 2 * (GROUP_K / 4)", 0, 1),
        ("group * GROUP_K * TILE", "group % 2 * GROUP_K * TILE", 1, 1),
        ("    a_at = a_next;", "    a_at = a_lane;", 0, 1),
        # Sums overwrite a stage that others still read, or are added up before they are there.
        ("  __syncthreads();  // all threads are done with the last stage before sums overwrite it", "", 0, 1),
        ("  __syncthreads();  // all groups' sums are there before any thread adds them up", "", 0, 1),
        ("  wait_for_sums(counted);", "  ;", 1, 2),
        ("expect_bytes(shared_address(&s.counted), sizeof(s.received))", "arrive(shared_address(&s.counted))", 1, 2),
        ("s.received + rank * share", "s.received + share", 1, 4),
    ],
)
def test_a_mistake_is_seen(was: str, becomes: str, split: int, blocks: int, tmp_path: Path) -> None:
    def change(text: str) -> str:
        assert text.count(was) == 1
        return text.replace(was, becomes)

    program = build(tmp_path / "wrong", SINGLE, change, quick=True)
    k = blocks * (64 if split else 32)
    cases = [(split, 64, 64, steps * k, 0, 1.0, 0.0, blocks, 1, steps, order) for order in range(4) for steps in (1, 9)]
    ran = run(program, cases)
    assert ran.returncode != 0
    assert ran.stdout, "it stops with a reason of its own"


def test_no_kernel_says_anything_in_ptx_itself() -> None:
    assert "asm" not in (KERNELS / SINGLE.file).read_text()
