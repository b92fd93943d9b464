"""``ncu-lab noise``, end to end but for the GPU: what runs on it is stood in for, ncu and its report are recordings."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from fake_machine import DEVICE, REPORT, Machine
from lab_command import Done, leftovers, ncu_lab

from ncu_lab.gpu.devices import gpu_problem
from ncu_lab.model import GitState, Problem, TimingSample
from ncu_lab.store import Store
from ncu_lab.store.noise_files import read_noise
from ncu_lab.workflows import profiling
from ncu_lab.workflows.benching import Bench


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose processes are each a little slower than the one before."""
    machine = Machine(monkeypatch)
    number = iter(range(100))

    def time_stages(ids: list[str], problem: Problem, samples: int, report: object, processes: int = 1) -> Bench:
        process = next(number)
        taken = tuple(
            TimingSample(0, one, one, "2d", "alone", 57_000.0 + 10.0 * process + one % 3, None, None, None)
            for one in range(samples)
        )
        return Bench(taken, {}, problem, DEVICE)

    monkeypatch.setattr(profiling, "time_stages", time_stages)
    return machine


def noise(folder: Path, *options: str) -> Done:
    return ncu_lab(folder, "noise", *options, FAKE_NCU_REPORT=str(REPORT), FAKE_NCU_SAYS="ladder-full")


@pytest.mark.slow
def test_the_same_build_in_three_processes(tmp_path: Path, machine: Machine) -> None:
    kept = tmp_path / "kept"
    options = ("--stage", "2d", "--size", "512", "--processes", "3", "--format", "json")
    done = noise(tmp_path, *options, "--keep-runs", str(kept))
    assert done.returncode == 0, done.stderr
    assert machine.done.count("check 2d") == 3
    document = json.loads(done.stdout)
    assert document["record"]["device"] == "NVIDIA H200"
    assert (document["record"]["processes"], document["record"]["units"]) == (3, 1)
    assert (document["record"]["kernels"], document["record"]["problem"]) == (["2d"], "512³")
    rows = {row["key"]: row for row in document["quantities"]}
    # Means of 57 000, 010, 020 ns: their deviation is 0.0175 %; 2 over its 10 % quantile of chi-squared is 2 / 0.211.
    assert rows["time_ns"]["source"] == "measured"
    assert rows["time_ns"]["processes_pct"] == pytest.approx(0.0175 * (2 / 0.211) ** 0.5, rel=0.05)
    assert rows["registers_per_thread"]["launches_pct"] == 0.0
    # What verdicts allow at least is shown: conflicts vary by arbitration, however few there are.
    conflicts = rows["shared_store_bank_conflicts"]
    assert (conflicts["source"], conflicts["absolute"]) == ("measured", 4000)
    [record], notices = read_noise(tmp_path / "store")
    assert notices == []
    assert record.quantities["time_ns"].processes == pytest.approx(rows["time_ns"]["processes_pct"] / 100.0)
    assert Store(tmp_path / "store").metas() == ([], []), "the runs are kept only where asked for"
    assert leftovers(tmp_path) == []

    assert len(Store(kept).metas()[0]) == 3
    again = noise(tmp_path, "--from", str(kept))
    assert again.returncode == 0, again.stderr
    assert "NVIDIA H200 · 3 processes on 1 GPU · 2d" in again.stdout
    assert [one.quantities for one in read_noise(tmp_path / "store")[0]] == [record.quantities] * 2
    assert "measured" in noise(tmp_path).stdout

    store = Store(kept)
    run = store.read(store.metas()[0][0].id)
    other = replace(run.meta, id="20261130T000000-2d-4f2c9ab-0001", git=GitState(commit="4f2c9ab" * 5 + "4f2c9"))
    store.write(replace(run, meta=other))
    refused = noise(tmp_path, "--from", str(kept))
    assert refused.returncode == 3
    assert "are of other kernels" in refused.stderr


def test_mistakes(tmp_path: Path, machine: Machine) -> None:
    few = noise(tmp_path, "--stage", "2d", "--processes", "2")
    assert (few.returncode, "--processes 2 is too small" in few.stderr) == (2, True)
    assert machine.done == [], "found out before anything is built"
    both = noise(tmp_path, "--stage", "2d", "--from", str(tmp_path))
    assert (both.returncode, "--from does not go with stages" in both.stderr) == (2, True)
    empty = noise(tmp_path, "--from", str(tmp_path))
    assert (empty.returncode, "holds 0 complete runs" in empty.stderr) == (3, True)
    missing = noise(tmp_path, "--store", "nope")
    assert (missing.returncode, missing.stdout) == (3, "")
    assert "the store nope does not exist" in missing.stderr


@pytest.mark.skipif(gpu_problem() is None, reason="there is a GPU here")
def test_without_a_gpu_it_is_said(tmp_path: Path) -> None:
    done = noise(tmp_path, "--stage", "2d", "--processes", "3")
    assert done.returncode == 4
    shown = noise(tmp_path)
    assert shown.returncode == 0
    assert "these are the defaults" in shown.stderr
