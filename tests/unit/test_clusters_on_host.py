"""The tensor-core kernel for few tiles, run on the CPU: divided in every way, right to the bit, and no wait to spare.

``clusters_on_host/`` has the stand-in for mbarriers, the copy engine, wgmma and what blocks of a cluster send each
other. All of that happens late and in an order of chance, so a wait that is missing is seen; what the hardware makes of
the PTX is for ``tests/gpu``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from clusters_on_host import HALF, KERNELS, build, run, without_ptx

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

DIVISIONS = [
    *((1, 1, 1), (2, 1, 1), (4, 1, 1), (8, 1, 1), (1, 2, 1), (1, 4, 1), (1, 8, 1), (2, 2, 1), (2, 4, 1), (4, 2, 1)),
    *((1, 2, 2), (1, 2, 3), (2, 2, 2), (1, 4, 2)),
]
"""``(share, slices, clusters)``: every kind of cluster of one to eight blocks."""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("kernel") / "right", HALF)


def test_right_where_mutants_are_tried(kernel: Path) -> None:
    ran = run(kernel, HALF.cases)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("division", DIVISIONS, ids=lambda division: "x".join(map(str, division)))
def test_right_at_every_shape_and_division(division: tuple[int, int, int], width: int, kernel: Path) -> None:
    share, slices, clusters = division
    least = slices * clusters  # steps of k
    m, longest = share * 64 - 40, least * (4 if least <= 2 else 1) + 1
    shapes = [(m, 128, 64 * least, 0), (m, 72, 64 * least + 8, 8), (65, 136, 64 * longest - 24, 16)]
    cases = [
        (*shape, *scales, width, *division, (3, 8, 4)[order], order, min(2, clusters))
        for order, (shape, scales) in enumerate(zip(shapes, ((1.0, 0.0), (1.5, -0.5), (2.0, 1.0)), strict=True))
    ]
    ran = run(kernel, cases)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]


@pytest.mark.parametrize(
    ("was", "becomes", "division", "k"),
    [
        # Stages are read before they have landed, and filled before they are read.
        ("barrier_wait(full + slot * 8, parity);", ";", (1, 1, 1), 640),
        ("barrier_wait(empty + slot * 8, parity);", ";", (1, 1, 1), 640),
        # Another block's empty stage is taken for one's own.
        ("slice * share + tid)", "rank)", (2, 1, 1), 640),
        ("barrier_init(empty + i * 8, share);", "barrier_init(empty + i * 8, 1);", (2, 1, 1), 640),
        # Boxes and sums come to blocks whose barriers are not initialised yet.
        ("    cluster_wait();  // what is loaded", "    // what is loaded", (8, 1, 1), 64),
        ("    cluster_wait();  // barriers are", "    // barriers are", (1, 4, 1), 256),
        # Sums are added up before they have come, or in the place of another's.
        ("wait_for_sums(summed);", ";", (1, 4, 1), 640),
        ("first_quad + (quad &", "(quad &", (1, 4, 1), 640),
        ("expect_bytes(summed, TILE_BYTES)", "expect_bytes(summed, TILE_BYTES / 2)", (1, 4, 1), 640),
        # A scale-d that clears sums too often; a descriptor that misses the second chunk of B.
        ("step > 0 || p > 0", "step > 0", (1, 1, 1), 128),
        ("descriptor(base + A_BYTES, STEP * ROW, 1024)", "descriptor(base + A_BYTES, ROW, 1024)", (1, 1, 1), 64),
        # Steps are dropped; the last to come adds up too few, or leaves a counter that is not zero.
        (" + (of_tile < division.longer)", "", (1, 2, 1), 320),
        ("last_to_come(&arrivals", "!last_to_come(&arrivals", (1, 2, 2), 256),
        # A slice is left out of the sum.
        ("if (HALF >= quads)", "if (HALF > quads)", (1, 4, 1), 256),
    ],
)
def test_a_mistake_is_seen(was: str, becomes: str, division: tuple[int, int, int], k: int, tmp_path: Path) -> None:
    def change(text: str) -> str:
        assert text.count(was) == 1
        return text.replace(was, becomes)

    program = build(tmp_path / "wrong", HALF, change)
    cases = [(128, 128, k, 0, 1.0, 0.0, 128, *division, 3, order, 1) for order in range(3)]
    ran = run(program, cases)
    assert ran.returncode != 0
    assert ran.stdout, "it stops with a reason of its own"


def test_only_what_is_in_ptx_is_replaced() -> None:
    header = (KERNELS / "cluster.cuh").read_text()
    left = without_ptx(header)
    assert "asm volatile" not in left
    for name in ("last_to_come", "sum_of_clusters", "add_quad"):
        assert left.count(f" {name}(") == header.count(f" {name}(")
    assert "asm" not in (KERNELS / HALF.file).read_text()
