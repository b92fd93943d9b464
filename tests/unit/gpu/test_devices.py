from __future__ import annotations

from pathlib import Path

import pytest

from ncu_lab.gpu.devices import driver_version, peak_flop_per_s
from ncu_lab.model import Device

H200 = Device("NVIDIA H200", (9, 0), 132, max_sm_clock_hz=1.98e9)


def test_fp32_peak_counts_lanes_and_fma() -> None:
    # 132 SMs x 128 lanes x 2 x 1.98 GHz
    assert peak_flop_per_s(H200, "fp32") == pytest.approx(66.9e12, rel=1e-3)
    a100 = Device("NVIDIA A100-SXM4-80GB", (8, 0), 108, max_sm_clock_hz=1.41e9)
    assert peak_flop_per_s(a100, "fp32") == pytest.approx(19.5e12, rel=1e-3)


def test_tensor_peaks_by_name_longest_first() -> None:
    assert peak_flop_per_s(H200, "fp16") == 989.4e12
    assert peak_flop_per_s(Device("NVIDIA H100 PCIe"), "bf16") == 756e12
    assert peak_flop_per_s(Device("NVIDIA H100 80GB HBM3"), "tf32") == 494.7e12
    assert peak_flop_per_s(Device("NVIDIA RTX A6000"), "fp16") == 154.8e12


def test_an_unknown_peak_is_missing() -> None:
    assert peak_flop_per_s(Device("Another GPU"), "fp16") is None
    assert peak_flop_per_s(Device("Another GPU", (99, 0), 10, max_sm_clock_hz=1e9), "fp32") is None
    assert peak_flop_per_s(Device("NVIDIA H200", (9, 0)), "fp32") is None


def test_driver_version_from_the_kernel_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    proc = tmp_path / "version"
    proc.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Nov  4 2026\nGCC version: 13.3.0\n"
    )
    assert driver_version(proc) == "580.159.03"
    assert driver_version(tmp_path / "none") is None
