"""What two builds of a stage differ in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from ncu_lab.analyze.build_changes import Compiled, build_changes
from ncu_lab.model import Stage, StageBuild
from ncu_lab.model.gating import Change, Place

STAGE = Stage("2d", "", "", "", "fp32", file="gemm/07_2d.cu", entry="sgemm_2d", block=(256, 1, 1))
BUILD = StageBuild("2d", "fast", "sm_90", Path("x"), 125, 0, 0, 0, 8192, 1, False, 1.0, (), "13.0.88")
PLACE = Place("kernels/gemm/07_2d.cu", 23)


def changes(before: StageBuild, after: StageBuild) -> Mapping[str, Change]:
    return {one.key: one for one in build_changes("2d", Compiled(STAGE, before), Compiled(STAGE, after), PLACE)}


def test_resources_and_blocks() -> None:
    found = changes(BUILD, replace(BUILD, registers=130, spill_store_bytes=16))
    assert (found["build:registers"].a, found["build:registers"].b) == (125.0, 130.0)
    assert (found["build:spill_store_bytes"].a, found["build:spill_store_bytes"].b) == (0.0, 16.0)
    # 65 536 registers: 8 warps of 32 x 128 are two blocks; of 32 x 136 (130 rounded up to units of 8) one.
    assert (found["build:blocks_per_sm"].a, found["build:blocks_per_sm"].b) == (2.0, 1.0)
    assert all(one.kind == "exact" and one.place == PLACE and one.function == "sgemm_2d" for one in found.values())


def test_without_a_disassembler_instructions_are_missing_with_the_reason() -> None:
    found = changes(BUILD, replace(BUILD, sass_mix={"FFMA": 64}))["build:instructions"]
    assert (found.a, found.b, found.why) == (None, 64.0, 'no disassembler: pip install "ncu-lab[sass]"')


def test_instructions_and_their_opcodes() -> None:
    before = replace(BUILD, sass_mix={"FFMA": 64, "LDS": 16, "BAR": 2, "EXIT": 1})
    after = replace(BUILD, sass_mix={"FFMA": 128, "LDS.128": 4, "BAR": 2, "EXIT": 1})
    found = changes(before, after)
    total = found["build:instructions"]
    assert (total.a, total.b, total.detail) == (83.0, 135.0, "FFMA +64, LDS -16, LDS.128 +4")
    assert (found["sass:LDS"].a, found["sass:LDS"].b) == (16.0, 0.0)
    assert (found["sass:LDS.128"].a, found["sass:LDS.128"].b) == (0.0, 4.0)


def test_an_architecture_that_is_not_known_has_no_blocks() -> None:
    strange = replace(BUILD, arch="sm_99")
    found = changes(strange, strange)["build:blocks_per_sm"]
    assert (found.a, found.b, found.why) == (None, None, "what an SM of sm_99 holds is not known")
    assert changes(replace(BUILD, arch="sm_90a"), replace(BUILD, arch="sm_90a"))["build:blocks_per_sm"].a == 2.0
