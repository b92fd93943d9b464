import pytest
from builders import golden_counters, summary

from ncu_lab.analyze.roofline import common_roofs, read_roofs, roofline_points, uses_tensor_cores
from ncu_lab.model import Roof


def counters(stage):
    return golden_counters()[stage]["metrics"]


def roofs(stage="2d"):
    return {roof.level: roof.per_second for roof in read_roofs(counters(stage).get)}


def test_roofs_by_hand():
    # Of the golden targeted report, launch 2d: 132 SMs at 1.984151 GHz, L2 at 1.706183 GHz, memory at 3.199046 GHz.
    found = roofs()
    assert found["fp32"] == pytest.approx(132 * 128 * 2 * 1_984_150_999.65, rel=1e-9)  # 67.0 TFLOP/s
    assert found["l1"] == pytest.approx(132 * 128 * 1_984_150_999.65, rel=1e-9)  # 33.5 TB/s
    assert found["l2"] == pytest.approx(6016 * 1_706_183_327.9456925, rel=1e-9)  # 94 slices x 64 byte: 10.3 TB/s
    assert found["dram"] == pytest.approx(1504 * 3_199_046_387.5868754, rel=1e-9)  # 4.81 TB/s


def test_a_roof_without_its_counters_is_absent():
    values = {name: value for name, value in counters("2d").items() if not name.startswith("dram__")}
    assert [roof.level for roof in read_roofs(values.get)] == ["l1", "l2", "fp32"]
    assert read_roofs({}.get) == ()


def test_points_stand_under_the_lower_roof():
    points = {point.level: point for point in roofline_points(summary("2d"), read_roofs(counters("2d").get))}
    assert list(points) == ["l1", "l2", "dram"]
    # Under the L1 roof the share is the pipe's own utilisation; at 171 FLOP/byte DRAM is no limit, FP32 is.
    assert points["l1"].share_of_roof == pytest.approx(0.25039293, rel=1e-4)
    assert points["dram"].intensity == pytest.approx(170.66, rel=1e-3)
    assert points["dram"].share_of_roof == pytest.approx(10.863e12 / roofs()["fp32"], rel=1e-3)


def test_every_fp32_stage_is_below_its_roofs():
    for stage in golden_counters():
        for point in roofline_points(summary(stage), read_roofs(counters(stage).get)):
            assert 0 < point.share_of_roof < 1


@pytest.mark.parametrize("stage", ["wmma", "cublas-tf32"])
def test_tensor_work_has_no_fp32_point(stage):
    assert uses_tensor_cores(summary(stage))
    assert roofline_points(summary(stage), read_roofs(counters(stage).get)) == ()


def test_a_level_that_was_not_counted_has_no_point():
    without = summary("2d", without=("intensity_l2",))
    assert [p.level for p in roofline_points(without, read_roofs(counters("2d").get))] == ["l1", "dram"]
    assert roofline_points(summary("2d", without=("flop_per_s",)), read_roofs(counters("2d").get)) == ()


def test_common_roofs_are_medians():
    one, two, three = ((Roof("l1", "L1", peak),) for peak in (1.0, 5.0, 3.0))
    assert common_roofs([one, two, three, ()]) == (Roof("l1", "L1", 3.0),)
