"""Where the registers and the measured wavefronts of a modelled stage come from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from golden_runs import golden_run

from ncu_lab.gpu.compile import build_stage, cached_build
from ncu_lab.gpu.datasheets import datasheets
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import Device, Problem, StageBuild, Theory
from ncu_lab.store import Store
from ncu_lab.workflows.modelling import GivenTile, model_device, model_stage, model_tile, modelled_stages

CUBE = Problem(1024, 1024, 1024)
H200, A6000 = datasheets()["h200"], datasheets()["a6000"]
BUILD = StageBuild("2d", "fast", "sm_90", Path("kernel.cubin"), 130, 0, 0, 0, 8192, 1, False, 1.0, (), "13.0.88")

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "reports"


def write(store: Path, day: int, *builds: StageBuild, stages: tuple[str, ...] = ("2d",)) -> str:
    run_id = f"202611{day:02}T000000-2d-4f2c9ab-00{day:02}"
    run = golden_run(stages, run_id=run_id, created=f"2026-11-{day:02}T00:00:00+00:00")
    Store(store).write(replace(run, builds=builds))
    return run_id


def registers(theory: Theory) -> int | None:
    return theory.shape.demand and theory.shape.demand.registers


def test_the_newest_stored_build_of_the_architecture(store: Path) -> None:
    write(store, 1, replace(BUILD, registers=100))
    newest = write(store, 2, replace(BUILD, variant="guarded", registers=200), BUILD)
    write(store, 3, replace(BUILD, arch="sm_86", registers=64))
    theory = model_stage("2d", CUBE, H200, store)
    assert registers(theory) == 130
    assert theory.shape.demand_from == f"sm_90 build of run {newest}"
    assert theory.occupancy is not None
    assert theory.occupancy.blocks == 1
    assert registers(model_stage("2d", CUBE, A6000, store)) == 64


def test_a_corrupt_run_is_passed_over(store: Path) -> None:
    write(store, 1, BUILD)
    broken = write(store, 2, replace(BUILD, registers=99))
    (store / broken / "build.json").write_text("{}")
    assert registers(model_stage("2d", CUBE, H200, store)) == 130


def test_without_a_build_nothing_is_made_up(store: Path) -> None:
    theory = model_stage("2d", CUBE, H200, store)
    assert (theory.shape.demand, theory.occupancy) == (None, None)
    assert theory.shape.demand_from == "ncu-lab build --stage 2d --arch sm_90"


@needs_nvcc
def test_a_build_of_the_cache(store: Path) -> None:
    stage = load_stages()["naive"]
    assert cached_build(stage, "sm_86") is None
    made = build_stage(stage, "sm_86")
    theory = model_stage("naive", CUBE, A6000, store)
    assert registers(theory) == made.registers
    assert theory.shape.demand_from == "sm_86 build in the cache"


def test_wavefronts_of_the_newest_run_on_such_a_gpu(store: Path) -> None:
    write(store, 1, stages=("smem", "naive"))
    measured = model_stage("smem", CUBE, H200, store)
    # the golden ladder: 1.5 wavefronts of loads an FMA, and those of stores
    assert measured.wavefronts_per_fma == pytest.approx(1.57, abs=0.01)
    assert measured.binding.key == "shared_measured"
    assert model_stage("smem", CUBE, A6000, store).wavefronts_per_fma is None
    assert model_stage("naive", CUBE, H200, store).wavefronts_per_fma is None


def test_a_transposed_product_is_square(store: Path) -> None:
    theory = model_stage("smem-padded", Problem(256, 128, 64), H200, store)
    assert (theory.problem.m, theory.problem.n) == (256, 256)
    assert theory.minimum_bytes == 4 * (256 * 64 + 256 * 256)  # one operand


def test_the_gpu_of_the_newest_run_that_has_a_datasheet(store: Path) -> None:
    write(store, 1, BUILD)
    mine = Device("GPU of my own")
    newer = "20261102T000000-2d-4f2c9ab-0002"
    other = golden_run(["2d"], run_id=newer, created="2026-11-02T00:00:00+00:00", device=mine)
    Store(store).write(other)
    assert model_device(None, store) == H200
    assert model_device("NVIDIA RTX A6000", store) == A6000


def test_stages_that_a_gpu_can_run() -> None:
    able, unable = modelled_stages(A6000)
    assert "warptiled" in able
    assert "wgmma" in unable
    assert modelled_stages(H200)[1] == []
    assert "cublas-fp32" not in able + unable


def test_barriers_of_a_tile_limit_too() -> None:
    given = GivenTile({"BM": 64, "BN": 64, "BK": 8, "TM": 8, "TN": 8}, registers=32, barriers=16)
    theory = model_tile(given, CUBE, A6000)
    assert theory.occupancy is not None
    assert theory.occupancy.limited_by == ("barriers",)
    assert theory.next_block is not None
    assert theory.next_block.prevented_by == ("barriers",)
