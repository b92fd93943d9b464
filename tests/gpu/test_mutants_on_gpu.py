"""Every mutant is caught on the GPU by one of the mechanisms that it names; minutes, most of them compiling."""

from __future__ import annotations

import sys
from pathlib import Path

import mutants
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import prove_mutants

from ncu_lab.gpu.devices import gpu_problem, present_arch

pytestmark = [pytest.mark.gpu, pytest.mark.slow, pytest.mark.skipif(gpu_problem() is not None, reason="needs a GPU")]

ON_GPU = [one for one in mutants.load()[0] if set(one.caught_by) != {"host"}]


@pytest.mark.parametrize("mutant", ON_GPU, ids=lambda one: one.id)
def test_it_is_caught(mutant: mutants.Mutant, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if present_arch() != "sm_90":
        pytest.skip("the mutants are of the ladder as it runs on sm_90")
    monkeypatch.setenv("NCU_LAB_CACHE", str(tmp_path))
    assert any(evidence for _, evidence in prove_mutants.prove(mutant))
