"""Every mutant still fits the sources, and those that the CPU can run are caught on it."""

from __future__ import annotations

import ast
import csv
import re
import shutil
import tomllib
from pathlib import Path

import clusters_on_host
import mutants
import pytest
from clusters_on_host import HALF, SINGLE
from host_kernels import STAGES, build, cases_of, run

from ncu_lab.gpu.registry import load_stages

ROOT = Path(__file__).resolve().parents[2]
MUTANTS, REFUSALS = mutants.load()
ON_HOST = [one for one in MUTANTS if "host" in one.caught_by]
FEW_TILES = {source.file: source for source in (HALF, SINGLE)}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.id)
def test_a_mutant_fits_the_sources(mutant: mutants.Mutant, tmp_path: Path) -> None:
    changed = (mutants.apply(mutant, tmp_path) / mutant.file).read_text()
    assert changed != (ROOT / "kernels" / mutant.file).read_text()
    stage = load_stages()[mutant.stage]
    assert mutant.caught_by
    assert set(mutant.caught_by) <= set(mutants.MECHANISMS)
    assert ("expectation" in mutant.caught_by) == bool(mutant.key)
    assert not mutant.key or mutant.key in {one.key for one in stage.expect}
    assert mutant.variant == "fast" or stage.is_complete


def test_a_mutant_that_no_longer_fits_is_told(tmp_path: Path) -> None:
    mutant = mutants.Mutant("gone", "", "2d", "common.cuh", (("not in the file", ""),), ("host",))
    with pytest.raises(ValueError, match=re.escape("mutant gone: 0 places in common.cuh read 'not in the file'")):
        mutants.apply(mutant, tmp_path)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("mutant", ON_HOST, ids=lambda one: one.id)
def test_the_cpu_catches_it(mutant: mutants.Mutant, tmp_path: Path) -> None:
    kernels = mutants.apply(mutant, tmp_path)
    if source := FEW_TILES.get(mutant.file):
        ran = clusters_on_host.run(
            clusters_on_host.build(tmp_path / "mutant", source, kernels=kernels, quick=True), source.cases
        )
    else:
        stage = STAGES[mutant.stage]
        # Not strict: that what it computes is wrong must be seen, not that the compiler happens to warn.
        program = build(stage, mutant.variant, tmp_path / "mutant", kernels, strict=False)
        ran = run(program, cases_of(stage, mutant.variant))
    assert ran.returncode != 0


def test_what_was_seen_on_a_gpu_is_of_these_mutants_and_what_was_not_caught_is_explained() -> None:
    seen = ROOT / "tests" / "data" / "proof"
    rows = list(csv.DictReader((seen / "mutants.csv").read_text(encoding="utf-8").splitlines()))
    stages = {one.id: one.stage for one in MUTANTS}
    assert {row["mutant"]: row["stage"] for row in rows}.items() <= stages.items()
    newest = {row["mutant"]: row["caught"] for row in rows}
    remarks = tomllib.loads((seen / "run.toml").read_text(encoding="utf-8"))["remarks"]
    assert {mutant for mutant, caught in newest.items() if caught != "True"} <= remarks.keys() <= newest.keys()


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda one: one.test.rpartition("::")[2])
def test_the_test_that_proves_a_refusal_is_there(refusal: mutants.Refusal) -> None:
    file, name = refusal.test.split("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
