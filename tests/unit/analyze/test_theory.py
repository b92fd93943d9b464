"""The post's figures and the ladder's, each worked out by hand beside it."""

from __future__ import annotations

import math

import pytest

from ncu_lab.analyze.theory import (
    fetch_intensity,
    fetched_bytes,
    flop,
    fma_per_shared_load,
    minimum_bytes,
    predict,
    ridge,
    shape_of_stage,
    shared_bytes_per_s,
    shared_ceiling,
    shared_intensity,
    wavefronts_per_fma,
)
from ncu_lab.gpu.datasheets import datasheets
from ncu_lab.gpu.registry import load_stages
from ncu_lab.model import BlockDemand, Datasheet, Dtype, Problem, Theory

SHEETS = datasheets()
A6000, A100, H200 = SHEETS["a6000"], SHEETS["a100"], SHEETS["h200"]
CUBE = Problem(4096, 4096, 4096)


def stage_theory(
    stage: str, device: Datasheet = A6000, problem: Problem = CUBE, measured: float | None = None
) -> Theory:
    demand = BlockDemand(256, 130, 8192)
    return predict(shape_of_stage(load_stages()[stage], problem, demand, "here"), problem, device, measured)


def test_work_of_the_post() -> None:
    # 2 x 4096^3 = 137.4 GFLOP; 3 x 4096^2 x 4 = 201 MB, and C read as well 268 MB
    assert flop(CUBE) == 2 * 4096**3 == pytest.approx(137.4e9, rel=1e-3)
    assert minimum_bytes(CUBE, "fp32") == 3 * 4 * 4096**2 == pytest.approx(201e6, rel=2e-3)
    assert minimum_bytes(Problem(4096, 4096, 4096, beta=0.5), "fp32") == pytest.approx(268e6, rel=2e-3)


def test_the_beta_term() -> None:
    # a product and a sum for each of 3 x 5 elements, beside 2 x 3 x 5 x 7
    assert flop(Problem(3, 5, 7, beta=2.0)) == 210 + 30
    assert flop(Problem(3, 5, 7)) == 210
    assert flop(Problem(3, 5, 0)) == 0


def test_bytes_of_any_shape_and_type() -> None:
    # A 2 x 3, B 3 x 5, C 2 x 5: (6 + 15) x 2 + 10 x 4; one operand in C = A·Aᵀ
    assert minimum_bytes(Problem(2, 5, 3), "fp16") == 82
    assert minimum_bytes(Problem(2, 2, 3), "fp32", "aat") == 6 * 4 + 4 * 4
    assert minimum_bytes(Problem(2, 5, 0), "fp32") == 40


@pytest.mark.parametrize(("dtype", "c_bytes", "divisor"), [("fp32", 4, 6), ("fp16", 2, 3), ("fp16", 4, 4)])
def test_intensity_of_a_whole_cube(dtype: Dtype, c_bytes: int, divisor: int) -> None:
    # FP32: 2N^3 / 12N^2 = N/6; FP16 throughout: 2N^3 / 6N^2 = N/3; with C in FP32, as here: 2N^3 / 8N^2 = N/4
    assert flop(CUBE) / minimum_bytes(CUBE, dtype, c_bytes=c_bytes) == pytest.approx(4096 / divisor)


@pytest.mark.parametrize(
    ("rows", "columns", "dtype", "expected"),
    [
        (1, 1, "fp32", 0.25),  # no reuse: 2 FLOP for 8 bytes
        (32, 32, "fp32", 8.0),  # T/4
        (64, 64, "fp32", 16.0),
        (128, 128, "fp32", 32.0),  # 128 x 128 / (2 x 256)
        (16, 16, "fp16", 8.0),  # a warp of the stage wmma
        (128, 128, "fp16", 64.0),  # 128 x 128 / 256
        (256, 128, "fp16", 85.33),  # 32768 / 384
    ],
)
def test_intensity_of_a_tile(rows: int, columns: int, dtype: Dtype, expected: float) -> None:
    assert fetch_intensity(rows, columns, dtype) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("rows", "columns", "expected"), [(1, 1, 0.5), (8, 1, 8 / 9), (8, 8, 4.0), (8, 16, 128 / 24)])
def test_fma_for_each_shared_load(rows: int, columns: int, expected: float) -> None:
    assert fma_per_shared_load(rows, columns) == pytest.approx(expected)


def test_ridges_of_the_post() -> None:
    # A6000: 38.7 TFLOP/s over 768 GB/s; A100: 19.5 over 1555; A6000 tensor cores: 154.8 over 768
    assert ridge(A6000.peak_flop_per_s("fp32") or 0, A6000.dram_bytes_per_s) == pytest.approx(50.4, abs=0.05)
    assert ridge(A100.peak_flop_per_s("fp32") or 0, A100.dram_bytes_per_s) == pytest.approx(12.5, abs=0.05)
    assert ridge(A6000.peak_flop_per_s("fp16") or 0, A6000.dram_bytes_per_s) == pytest.approx(202, abs=0.5)


def test_shared_memory_ceilings_of_the_post() -> None:
    clocks = A6000.sm_count * A6000.boost_hz
    peak = A6000.peak_flop_per_s("fp32") or 0
    # smem: 2 wavefronts an FMA of a warp: 64 / 2 = 32 FLOP a clock and SM, 12.5 % of 256; 84 x 1.8 GHz: 4.84 TFLOP/s
    assert shared_ceiling(A6000, 2.0) / clocks == 32
    assert shared_ceiling(A6000, 2.0) / peak == pytest.approx(0.125)
    assert shared_ceiling(A6000, 2.0) == pytest.approx(4.84e12, rel=1e-3)
    # 1d: 9 loads for 8 FMA: 64 x 8/9 = 56.9, 22 %, 8.6 TFLOP/s
    assert shared_ceiling(A6000, 9 / 8) / clocks == pytest.approx(56.9, abs=0.05)
    assert shared_ceiling(A6000, 9 / 8) / peak == pytest.approx(0.222, abs=1e-3)
    assert shared_ceiling(A6000, 9 / 8) == pytest.approx(8.6e12, rel=1e-3)
    # 2d: 1/4: 256, the peak itself
    assert shared_ceiling(A6000, 0.25) == pytest.approx(peak)


def test_the_shared_memory_roofline() -> None:
    # 128 B x 132 x 1.98 GHz = 33.5 TB/s; its ridge 256 / 128 = 2; two wavefronts an FMA: 64 FLOP over 256 bytes
    assert shared_bytes_per_s(H200) == pytest.approx(33.45e12, rel=1e-3)
    assert ridge(H200.peak_flop_per_s("fp32") or 0, shared_bytes_per_s(H200)) == pytest.approx(2.0)
    assert shared_intensity(2.0) == 0.25
    for wavefronts in (0.25, 0.62, 2.0):
        speed = shared_intensity(wavefronts) * shared_bytes_per_s(H200)
        assert shared_ceiling(H200, wavefronts) == pytest.approx(speed)


def test_measured_wavefronts_lift_or_lower_the_ceiling() -> None:
    # H200, smem: 1.5 wavefronts as measured, 42.7 FLOP a clock and SM: 16.7 % of peak instead of 12.5
    theory = stage_theory("smem", H200, measured=1.5)
    measured, scalar = theory.ceiling("shared_measured"), theory.ceiling("shared_scalar")
    assert measured is not None
    assert scalar is not None
    assert measured.flop_per_s / (H200.peak_flop_per_s("fp32") or 0) == pytest.approx(1 / 6)
    assert theory.binding is measured
    assert stage_theory("smem", H200).binding.key == "shared_scalar"
    assert not scalar.hard


def test_wavefronts_from_counters() -> None:
    # 3e6 wavefronts of 128 bytes, 2e6 FMAs of a warp are 64e6 of threads
    counters = {
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 3e6,
        **{f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum": 0.0 for op in ("fadd", "fmul")},
        "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 64e6,
    }
    assert wavefronts_per_fma(counters.get) == pytest.approx(1.5)
    assert wavefronts_per_fma({}.get) is None
    assert wavefronts_per_fma({**counters, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum": 0.0}.get) is None


@pytest.mark.parametrize(
    ("stage", "fetch", "intensity", "loads"),
    [
        ("naive", (1, 1), 0.25, None),
        ("coalesced", (1, 1), 0.25, None),
        ("smem", (32, 32), 8.0, 0.5),
        ("1d", (64, 64), 16.0, 8 / 9),
        ("2d", (128, 128), 32.0, 4.0),
        ("warptiled", (128, 128), 32.0, 4.0),
        ("wmma", (16, 16), 8.0, None),
        ("wgmma", (256, 256), 128.0, None),  # two blocks share a tile of B
    ],
)
def test_shapes_of_the_ladder(stage: str, fetch: tuple[int, int], intensity: float, loads: float | None) -> None:
    theory = stage_theory(stage, H200)
    assert theory.shape.fetch == fetch
    assert theory.global_intensity == pytest.approx(intensity)
    assert theory.fma_per_shared_load == (loads if loads is None else pytest.approx(loads))


def test_fetched_bytes_of_whole_and_of_cut_tiles() -> None:
    # 32 x 32 tiles, each (128 + 128) x 4096 x 4 B: 4.29 GB; 137.4 GFLOP over it is the tile's intensity
    theory = stage_theory("2d")
    assert theory.global_bytes == 32 * 32 * 256 * 4096 * 4
    assert theory.flop / theory.global_bytes == pytest.approx(theory.global_intensity)
    # 129 rows take two tiles of them
    cut = Problem(129, 128, 8)
    assert fetched_bytes(stage_theory("2d", problem=cut).shape, cut) == 2 * 256 * 8 * 4


def test_bounds_of_time() -> None:
    # 137.4 GFLOP / 38.7 TFLOP/s = 3.55 ms; 201 MB / 768 GB/s = 262 µs
    theory = stage_theory("2d")
    assert theory.compute_ns == pytest.approx(3.55e6, rel=1e-3)
    assert theory.dram_ns == pytest.approx(262e3, rel=1e-3)
    assert theory.lower_bound_ns == theory.compute_ns
    # one row of C: 2 x 4096^2 FLOP for 67 MB: memory is what it waits for
    row = stage_theory("2d", problem=Problem(1, 4096, 4096))
    assert row.lower_bound_ns == row.dram_ns
    assert row.binding.key == "dram"


def test_what_binds() -> None:
    assert stage_theory("naive").binding.key == "dram_uncached"
    assert stage_theory("smem").binding.key == "shared_scalar"
    assert stage_theory("2d").binding.key == "peak"  # 24.6 TFLOP/s uncached do not count: tiles are staged


def test_waves_and_occupancy() -> None:
    # one block of 130 registers an SM: 1024 blocks on 84 SMs
    theory = stage_theory("2d")
    assert theory.occupancy is not None
    assert theory.occupancy.blocks == 1
    assert theory.waves == pytest.approx(1024 / 84)
    assert stage_theory("wgmma", H200).waves is None  # its grid is its own


def test_what_is_not_known_is_missing() -> None:
    shape = shape_of_stage(load_stages()["2d"], CUBE, None, "build it")
    theory = predict(shape, CUBE, A6000)
    assert (theory.occupancy, theory.next_block, theory.waves) == (None, None, None)
    # no tensor figure of an RTX 3090 was found
    unknown = stage_theory("wmma", SHEETS["rtx3090"])
    assert unknown.compute_ns is None
    assert unknown.ceiling("peak") is None
    assert unknown.lower_bound_ns == unknown.dram_ns
    assert all(one.ridge is None for one in unknown.ceilings)


def test_a_product_of_nothing() -> None:
    theory = stage_theory("2d", problem=Problem(128, 128, 0))
    assert (theory.flop, theory.intensity, theory.compute_ns) == (0, 0, 0)
    assert math.isfinite(theory.lower_bound_ns)


def test_a_block_that_fits_no_sm() -> None:
    shape = shape_of_stage(load_stages()["2d"], CUBE, BlockDemand(1024, 128), "given")
    theory = predict(shape, CUBE, A6000)
    assert theory.occupancy is not None
    assert theory.occupancy.blocks == 0
    assert theory.waves is None
