"""Mutants under the compiler: all but those that it is to refuse compile, and what a build tells catches some."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import mutants
import pytest

from ncu_lab.errors import InputError
from ncu_lab.gpu.compile import build_stage
from ncu_lab.gpu.registry import load_stages
from ncu_lab.gpu.toolkit import find_tool
from ncu_lab.model import StageBuild

pytestmark = [pytest.mark.slow, pytest.mark.skipif(find_tool("nvcc") is None, reason="nvcc is not here")]

MUTANTS = [one for one in mutants.load()[0] if one.file.endswith((".cu", ".cuh"))]
REFUSED = [one for one in MUTANTS if "build" in one.caught_by]


def build(mutant: mutants.Mutant, folder: Path) -> StageBuild:
    stage = load_stages()[mutant.stage]
    arch = f"sm_{max(stage.min_cc, 90)}"
    variant: Literal["fast", "guarded"] = "guarded" if mutant.variant == "guarded" else "fast"
    return build_stage(stage, arch, variant, kernels_dir=mutants.apply(mutant, folder), cache_dir=folder / "cache")


@pytest.mark.parametrize("mutant", [one for one in MUTANTS if one not in REFUSED], ids=lambda one: one.id)
def test_a_mutant_compiles(mutant: mutants.Mutant, tmp_path: Path) -> None:
    made = build(mutant, tmp_path)
    # An expectation of the build itself is missed here already, without a GPU.
    if mutant.key == "build:spill_store_bytes":
        assert made.spill_store_bytes > 0
    if mutant.key.startswith("sass:") and made.sass_mix is not None:
        [expected] = [one for one in load_stages()[mutant.stage].expect if one.key == mutant.key]
        assert expected.low is not None
        assert made.sass_mix.get(mutant.key.removeprefix("sass:"), 0) < expected.low
    assert not any("serialized" in warning for warning in made.warnings)


@pytest.mark.parametrize("mutant", REFUSED, ids=lambda one: one.id)
def test_the_build_refuses_it(mutant: mutants.Mutant, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"static assertion failed|serialised its wgmma"):
        build(mutant, tmp_path)
