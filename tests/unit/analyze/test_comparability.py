"""What a difference between two runs forbids to compare, and what it does not."""

from dataclasses import replace

import pytest
from builders import STAGES
from golden_runs import golden_run

from ncu_lab.analyze.comparability import compare_fingerprints, fingerprint
from ncu_lab.model import Device, Environment
from ncu_lab.model.comparison import QUANTITY_CLASSES, Fingerprint

KNOWN = Fingerprint(
    "run", "NVIDIA H200", (9, 0), 132, "aa", "580.1", "13.0", "2025.3.1", "13.0.88", ("-arch=sm_90",), ("-O3",),
    "none", "all", ("Occupancy",), "2048³", schema=1, status="complete",
)  # fmt: skip


def forbidden(**changes):
    found = compare_fingerprints(KNOWN, replace(KNOWN, **changes))
    return {one for one in QUANTITY_CLASSES if found.against(one)}


ALL = set(QUANTITY_CLASSES)


@pytest.mark.parametrize(
    ("changes", "classes"),
    [
        ({}, set()),
        ({"device": "NVIDIA H100"}, ALL - {"static"}),
        ({"sm_count": 114}, ALL - {"static"}),
        ({"problem": "4096³"}, ALL - {"static"}),
        ({"compute_capability": (10, 0)}, ALL),
        ({"arch": ("-arch=sm_80",)}, ALL),
        ({"flags": ("-O0",)}, ALL),
        ({"driver": "590.1"}, {"time", "profiled_time"}),
        ({"ncu": "2026.1"}, {"profiled_time", "noisy", "exact"}),
        ({"clock_control": "base"}, {"profiled_time", "noisy"}),
        ({"cache_control": "none"}, {"profiled_time", "noisy"}),
        ({"cuda": "12.8", "nvcc": "12.8", "sections": ("LaunchStats",), "unit": "bb", "dirty": True}, set()),
        ({"schema": 0, "status": "partial", "ncu_lab": "0.1"}, set()),
    ],
)
def test_what_differs_forbids_what_depends_on_it(changes, classes):
    assert forbidden(**changes) == classes


def test_what_is_not_known_is_told_and_forbids_nothing():
    found = compare_fingerprints(KNOWN, replace(KNOWN, driver=None, device=None, cuda=None))
    assert found.is_comparable
    assert found.unknown == ("GPU", "driver")
    assert found.differences == ()


def test_types_of_data_are_those_of_the_stages():
    a = replace(KNOWN, dtypes=(("2d", "fp32"), ("wmma", "fp16")))
    assert compare_fingerprints(a, a, stage_a="2d", stage_b="2d").is_comparable
    found = compare_fingerprints(a, a, stage_a="2d", stage_b="wmma")
    assert [(one.code, one.a, one.b) for one in found.reasons] == [("other_dtype", "fp32", "fp16")]
    assert found.against("static") is None


def test_another_gpu_of_the_model_is_told_and_noted():
    found = compare_fingerprints(KNOWN, replace(KNOWN, unit="bb"))
    assert (found.is_comparable, found.other_unit) == (True, True)
    assert [one.code for one in found.differences] == ["other_unit"]
    assert not compare_fingerprints(KNOWN, replace(KNOWN, device="NVIDIA H100", unit="bb")).other_unit


def test_force_compares_and_keeps_the_reasons():
    found = compare_fingerprints(KNOWN, replace(KNOWN, driver="590.1"), force=True)
    assert (found.is_comparable, found.against("time")) == (False, None)
    assert found.reasons[0].words == "another driver (580.1 and 590.1)"


def test_of_two_sets_what_only_one_has_is_told():
    found = compare_fingerprints(KNOWN, replace(KNOWN, flags=("-O3", "-G")))
    assert (found.reasons[0].a, found.reasons[0].b) == ("none more", "-G")
    found = compare_fingerprints(KNOWN, replace(KNOWN, compute_capability=(8, 0)))
    assert found.reasons[0].words == "another compute capability (9.0 and 8.0)"


def test_swapping_mirrors_it():
    other = replace(KNOWN, driver="590.1", flags=("-O0",), unit="bb", dirty=True)
    there, back = compare_fingerprints(KNOWN, other), compare_fingerprints(other, KNOWN)
    assert [(one.code, one.a, one.b) for one in there.differences] == [
        (one.code, one.b, one.a) for one in back.differences
    ]


def test_the_fingerprint_of_a_run():
    flags = ("-O3", "-gencode=arch=compute_90,code=sm_90", "-I.", "-DBM=64")
    run = golden_run(
        ["2d"],
        device=Device("NVIDIA H200", (9, 0), 132, uuid_hash="aa"),
        environment=Environment(driver="580.1", nvcc_flags=flags, sections=("b", "a")),
        samples={"2d": [1.0, 2.0], "cublas-fp32": [1.0]},
    )
    found = fingerprint(run, STAGES)
    assert (found.device, found.unit, found.driver, found.problem) == ("NVIDIA H200", "aa", "580.1", "1024³")
    assert found.arch == ("-gencode=arch=compute_90,code=sm_90",)
    assert found.flags == ("-O3",)  # a tile that is defined is the kernel's own
    assert (found.sections, found.dtypes) == (("a", "b"), (("2d", "fp32"),))
    assert dict(found.samples) == {"2d": 2, "cublas-fp32": 1}
    assert fingerprint(golden_run([], device=None, problem=None, environment=Environment())).arch is None
