"""The whole ladder compiles for every architecture that a stage says it supports; half a minute on two cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.workflows.building import build_stages, kernel_ids

STAGES = load_stages()

pytestmark = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")

HOPPER_ALONE = {"sgemm-hopper", "wgmma", "wgmma-fp16"}


@pytest.mark.parametrize(
    ("arch", "absent"),
    [
        ("sm_75", HOPPER_ALONE | {"double-buffered", "warptiled", "splitk", "wmma-tiled", "mma-sync"}),
        ("sm_80", HOPPER_ALONE),
        ("sm_90", set()),
        ("sm_120", HOPPER_ALONE),
    ],
)
def test_every_stage_compiles_for_what_it_supports(
    arch: str, absent: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    ids = kernel_ids(arch)
    assert set(ids) == {stage.id for stage in STAGES.values() if not stage.is_reference} - absent
    builds = build_stages(ids, arch)
    # Each has a fast path, and a guarded one where the fast path is choosy: its own or its fallback's.
    assert [(build.stage, build.variant) for build in builds] == [
        (id, variant) for id in ids for variant in ("fast", "guarded") if variant == "fast" or STAGES[id].is_complete
    ]
    for build in builds:
        suffix = STAGES[build.stage].arch_suffix if build.variant == "fast" else ""
        assert build.arch == arch + suffix
        assert (build.stage, build.warnings, build.spill_store_bytes) == (build.stage, (), 0)


@pytest.mark.parametrize("id", [stage.id for stage in STAGES.values() if stage.shared_bytes])
def test_shared_memory_fits_the_smallest_gpu_that_a_stage_supports(id: str) -> None:
    # CUDA C++ Programming Guide, technical specifications per compute capability: a block has at most 227 KiB on 9.0,
    # and on those of 8.0 and later that have least (8.6, 8.9, 12.0) 99 KiB.
    stage = STAGES[id]
    assert stage.shared_bytes <= (227 if stage.min_cc == 90 else 99) * 1024
