"""Figures of GPUs: found by id and by the driver's name, and consistent with what else is known of them."""

from __future__ import annotations

import pytest

from ncu_lab.errors import UsageError
from ncu_lab.gpu.datasheets import datasheet_of, datasheets, find_datasheet
from ncu_lab.model import ARCHITECTURES


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA RTX A6000", "a6000"),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb"),
        ("A100-SXM4-40GB", "a100"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA GH200 480GB", "gh200"),
        ("NVIDIA B200", "b200"),
        ("NVIDIA L4", "l4"),
        ("NVIDIA L40S", "l40s"),
        ("Tesla V100-SXM2-16GB", "v100"),
        ("Tesla T4", "t4"),
        ("NVIDIA GeForce RTX 4090", "rtx4090"),
    ],
)
def test_names_that_drivers_report(name: str, id: str) -> None:
    found = datasheet_of(name)
    assert found is not None
    assert found.id == id
    assert find_datasheet(name) == find_datasheet(id) == find_datasheet(id.upper()) == found


@pytest.mark.parametrize(
    "name", ["NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 3090 Ti", "NVIDIA H200 NVL", "NVIDIA H100", ""]
)
def test_a_variant_is_another_gpu(name: str) -> None:
    assert datasheet_of(name) is None


def test_an_unknown_gpu_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match=r'"h20"\. Did you mean h200\?') as error:
        find_datasheet("h20")
    assert "a6000" in error.value.hint
    with pytest.raises(UsageError, match='"quantum"'):
        find_datasheet("quantum")


@pytest.mark.parametrize(
    ("id", "tflops"),
    [("v100", 15.7), ("a100", 19.5), ("a6000", 38.7), ("h100", 66.9), ("h200", 66.9), ("h100-pcie", 51.2), ("t4", 8.14),
     ("a10", 31.2), ("l4", 30.3), ("l40s", 91.6), ("rtx3090", 35.6), ("rtx4090", 82.6), ("rtx5090", 104.8)],
)  # fmt: skip
def test_fp32_peaks_as_published(id: str, tflops: float) -> None:
    assert datasheets()[id].peak_flop_per_s("fp32") == pytest.approx(tflops * 1e12, rel=5e-3)


def test_hoppers_tensor_figure_belongs_to_a_lower_clock() -> None:
    # an SM finishes 4096 FLOP a clock in FP16, dense: 989.4e12 / (132 x 4096) = 1.83 GHz, under the 1.98 of its boost
    sheet = datasheets()["h200"]
    assert sheet.tensor["fp16"] / (sheet.sm_count * 4096) == pytest.approx(1.83e9, rel=1e-3)
    # the A100's, 2048 a clock, to its boost clock
    a100 = datasheets()["a100"]
    assert a100.tensor["fp16"] / (a100.sm_count * 2048) == pytest.approx(a100.boost_hz, rel=1e-3)


def test_every_row_has_its_source_and_a_known_capability() -> None:
    for sheet in datasheets().values():
        assert sheet.source
        assert sheet.compute_capability in ARCHITECTURES
        assert set(sheet.tensor) <= {"fp16", "bf16", "tf32"}
        assert all(name == name.lower() for name in sheet.drivers)
    names = [name for sheet in datasheets().values() for name in sheet.drivers]
    assert len(names) == len(set(names))
