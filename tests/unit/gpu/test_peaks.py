"""The microbenchmarks as planned, their arithmetic, and that they compile; what they measure needs a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.errors import EnvironmentLacksError, ProgramError
from ncu_lab.gpu.compile import build_stage
from ncu_lab.gpu.kernel_launch import Int, Pointer, Scratch
from ncu_lab.gpu.peaks import ARITHMETIC, BANDWIDTH, SOURCES, peak_of, plan_peaks, read_peaks
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import Device, ProgressEvent, TimingSample
from ncu_lab.render.roofs import peak_documents, peak_words
from ncu_lab.workflows import measuring

GIB = 2**30
H200 = Device("NVIDIA H200", (9, 0), 132, l2_bytes=60 * 2**20)
T4 = Device("Tesla T4", (7, 5), 40, l2_bytes=4 * 2**20)

needs_nvcc = pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")


def planned(device: Device, free_bytes: int = 100 * GIB) -> dict[str, tuple[float, tuple[int, int, int]]]:
    return {shot.key: (shot.work, shot.launch.grid) for shot in plan_peaks(device, free_bytes)[0]}


def sample(ns: float, clock: float | None = 1980.0) -> TimingSample:
    return TimingSample(0, 0, 0, "dram_copy", "alone", ns, clock, None, None)


def test_an_h200_in_full() -> None:
    found = planned(H200)
    # Two buffers of 1 GiB; a block copies 256 x 4 x 16 bytes, reads 256 x 8 x 16.
    assert found["dram_copy"] == (2.0 * GIB, (GIB // 16384, 1, 1))
    assert found["dram_read"] == (1.0 * GIB, (GIB // 32768, 1, 1))
    # 2 x 132 blocks of 512 threads, 256 rounds of eight 16-byte loads.
    assert found["l2_read"] == (264 * 512 * 256 * 8 * 16, (264, 1, 1))
    assert found["shared_read"] == (264 * 512 * 1500 * 8 * 16, (264, 1, 1))
    # 2 x 132 blocks of 256 threads, 2000 rounds of 16 chains x 16 FMAs, two operations each: 6.9e10.
    assert found["fp32_fma"] == (2 * 264 * 256 * 2000 * 256, (264, 1, 1))
    # 8 warps a block, 1000 rounds of 64 products of 16 x 8 x 16: 5.5e11.
    assert found["fp16_mma"] == (264 * 8 * 1000 * 64 * 4096, (264, 1, 1))


def test_each_is_about_a_millisecond_at_the_datasheets_peaks() -> None:
    rates = {
        "dram_copy": 4.8e12, "dram_read": 4.8e12, "l2_read": 10.2e12, "shared_read": 33.4e12, "fp32_fma": 66.9e12,
        "fp16_mma": 989e12 * 2 / 3,
    }  # fmt: skip
    times = {key: work / rates[key] for key, (work, _) in planned(H200).items()}
    assert set(times) == set(rates)
    assert all(1e-4 < time < 2e-3 for time in times.values()), times
    # Ten samples and two for warming up: no more than a small part of a second.
    assert 12 * sum(times.values()) < 0.1


def test_the_buffer_of_l2_fits_it_and_is_a_power_of_two() -> None:
    (shot,) = (shot for shot in plan_peaks(H200, 100 * GIB)[0] if shot.key == "l2_read")
    mask = shot.launch.arguments[2]
    assert isinstance(mask, Int)
    assert (mask.value + 1) * 16 == 8 * 2**20  # the largest power of two up to 60 / 4 MiB


def test_addresses_stay_inside_the_workspace() -> None:
    for device, free in ((H200, 100 * GIB), (H200, GIB), (T4, 15 * GIB), (T4, 64 * 2**20)):
        shots, size = plan_peaks(device, free)
        assert size <= max(free // 4, 2**20 * 2)
        for shot in shots:
            reach = {"dram_copy": shot.work / 2, "dram_read": shot.work}.get(shot.key, 16.0)
            for argument in shot.launch.arguments:
                if isinstance(argument, Pointer) and isinstance(argument.address, Scratch):
                    end = argument.address.offset + (reach if argument.address.offset == 0 else 4)
                    assert end <= size, (shot.key, free)


def test_mma_needs_ampere() -> None:
    assert "fp16_mma" not in planned(T4)
    assert {"dram_copy", "l2_read", "shared_read", "fp32_fma"} <= set(planned(T4))


def test_what_cannot_be_measured_is_left_out() -> None:
    # A buffer of an eighth of 1 GiB is 128 MiB, under four times 60 MiB of L2: it would be read from there.
    assert "dram_copy" not in planned(H200, GIB)
    assert "l2_read" in planned(H200, GIB)
    assert planned(Device("unknown"), 0) == {}
    assert list(planned(Device("unknown"), 100 * GIB)) == ["dram_copy", "dram_read"]


def test_a_peak_is_the_best_sample() -> None:
    (shot,) = (shot for shot in plan_peaks(H200, 100 * GIB)[0] if shot.key == "dram_copy")
    peak = peak_of(shot, [sample(520_000.0), sample(500_000.0, 1905.0), sample(510_000.0)])
    assert peak.per_second == pytest.approx(2 * GIB / 500e-6)  # 4.29 TB/s
    assert len(peak.samples) == 3
    assert (peak.level, peak.unit, peak.sm_clock_hz) == ("dram", "byte/s", 1.98e9)
    assert peak_of(shot, [sample(1.0, None)]).sm_clock_hz is None
    assert peak_of(shot, []).samples == ()
    assert peak_words([peak]).replace("\u2009", " ") == "DRAM 4.29 TB/s"
    assert peak_documents([peak], ())["measured"][0]["samples"] == list(peak.samples)


def test_a_result_is_read_back() -> None:
    document = {"peaks": [{"key": "fp32_fma", "level": "fp32", "label": "FP32 FMA", "kind": "compute",
                           "samples": [6.1e13, 6.2e13], "work": 6.9e10, "sm_clock_hz": None}]}  # fmt: skip
    (peak,) = read_peaks(document)
    assert peak.per_second == 6.2e13
    assert peak.samples == (6.1e13, 6.2e13)


def test_they_are_no_stages_of_the_ladder() -> None:
    assert not {source.id for source in SOURCES} & set(load_stages())


@needs_nvcc
@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_120"])
def test_they_compile_without_spills(arch: str, tmp_path: Path) -> None:
    for source in (BANDWIDTH, ARITHMETIC):
        build = build_stage(source, arch, cache_dir=tmp_path)
        assert build.spill_store_bytes == build.spill_load_bytes == 0
        assert build.warnings == ()
        assert build.cubin.is_file()


@pytest.mark.parametrize("error", [EnvironmentLacksError("no nvcc"), ProgramError("the target process crashed")])
def test_what_goes_wrong_stops_nothing(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(measuring, "build_stage", fail)
    events: list[ProgressEvent] = []
    peaks, (notice,) = measuring.measure_peaks(events.append)
    assert peaks == ()
    assert notice.code == "peaks_not_measured"
    assert str(error.args[0]) in notice.message
    assert [event.state for event in events] == ["start", "failed"]
