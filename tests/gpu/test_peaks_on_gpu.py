"""The microbenchmarks on a real GPU: near its datasheet, below what its counters allow, and quick."""

from __future__ import annotations

import time

import pytest

from ncu_lab.gpu.datasheets import datasheet_of
from ncu_lab.gpu.devices import current_device, peak_flop_per_s
from ncu_lab.workflows.measuring import measure_peaks

pytestmark = pytest.mark.gpu


def test_peaks_are_near_those_of_the_datasheet() -> None:
    peaks, notices = measure_peaks()
    assert notices == ()
    found = {peak.key: peak for peak in peaks}
    for key, peak in found.items():
        best, worst = max(peak.samples), min(peak.samples)
        print(f"{key:<12} {best:.4g} {peak.unit}  ({worst:.4g} to {best:.4g}, n = {len(peak.samples)})")
    device = current_device()
    sheet = datasheet_of(device.name)
    assert {"dram_copy", "dram_read", "l2_read", "shared_read", "fp32_fma"} <= set(found)
    if sheet is not None:
        assert 0.7 < found["dram_copy"].per_second / sheet.dram_bytes_per_s < 1.0
        assert 0.7 < found["dram_read"].per_second / sheet.dram_bytes_per_s < 1.0
    peak = peak_flop_per_s(device, "fp32")
    assert peak is None or 0.8 < found["fp32_fma"].per_second / peak < 1.0
    assert found["l2_read"].per_second > found["dram_read"].per_second
    if device.sm_count and device.max_sm_clock_hz:
        banks = device.sm_count * 128 * device.max_sm_clock_hz
        assert 0.8 < found["shared_read"].per_second / banks < 1.0


def test_it_takes_under_two_seconds_beside_the_start_of_its_process() -> None:
    measure_peaks()  # builds
    begin = time.monotonic()
    measure_peaks()
    assert time.monotonic() - begin < 8.0  # with the start of Python and cupy
