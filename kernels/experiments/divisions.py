"""What each way to divide a problem among blocks of ``wgmma_small`` takes, beside cuBLAS and ``gemm_wgmma``.

    PYTHONPATH=.:dashboards python3 kernels/experiments/divisions.py OUT.csv [--stage wgmma] [--samples 15] MxNxK ...

A row is a kernel and a division: its median (events, L2 flushed before), what the model of
``ncu_lab/gpu/small_output_half.py`` says, and the largest difference to cuBLAS's C over C's largest element.
Divisions whose clusters may not all run at once are tried too: that shows how many do.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import cupy

from ncu_lab.gpu import plans
from ncu_lab.gpu import small_output_half as small
from ncu_lab.gpu.devices import current_device
from ncu_lab.gpu.driver import DriverError, prepare
from ncu_lab.gpu.operands import reset_result
from ncu_lab.gpu.plans import Kernels
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import Subject, TargetRequest, subjects_of
from ncu_lab.gpu.target import _Bench
from ncu_lab.gpu.telemetry import Telemetry
from ncu_lab.gpu.timing import Stopwatch
from ncu_lab.model import Problem
from ncu_lab.workflows.building import build_stages, with_references

WARM = 3
MOST_ROUNDS = 1.2
COLUMNS = (
    *("m", "n", "k", "kernel", "width", "share", "slices", "clusters", "per_sm", "stages"),
    *("us", "model_us", "difference"),
)
CYCLES_PER_US = 1980


def main() -> None:
    """Time every division of every shape, write the table and print the fastest of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("shapes", nargs="+")
    parser.add_argument("--stage", default="wgmma")
    parser.add_argument("--samples", type=int, default=15)
    options = parser.parse_args()
    stages = load_stages()
    ids = sorted(with_references([options.stage], stages, cutlass=False))
    subjects = subjects_of([find_stage(stages, id) for id in ids], build_stages(ids), stages)
    with options.out.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for shape in options.shapes:
            problem = Problem(*(int(size) for size in shape.split("x")))
            rows = list(measured(subjects, options.stage, problem, options.samples))
            table.writerows((problem.m, problem.n, problem.k, *row) for row in rows)
            file.flush()
            print(problem.label, *rows[:2], sep="\n  ")
            print("  ", *sorted(rows[2:], key=lambda row: float(row[7]))[:6], sep="\n  ")


def measured(
    subjects: tuple[Subject, ...], id: str, problem: Problem, samples: int
) -> Iterator[tuple[str | int | float, ...]]:
    """Yield the row of the reference, of the stage's large kernel, and of every division."""
    by_id = {subject.stage.id: subject for subject in subjects}
    subject = by_id[id]
    stage, reference = subject.stage, by_id[str(subject.stage.reference)]
    device = current_device()
    bench = _Bench(TargetRequest("bench", problem, subjects), device)
    runner, operands = bench.runner, bench.operands(subject)
    watch = Stopwatch(runner.stream, device.l2_bytes or 0, Telemetry(cupy.cuda.Device().pci_bus_id))

    def median(call: Callable[[], object]) -> float:
        return round(statistics.median([watch.once(call) for _ in range(WARM + samples)][WARM:]) / 1000, 2)

    def ours(how: Kernels) -> tuple[float, float]:
        [kernel], size = how
        assert subject.cubin is not None
        function, workspace = runner._function(subject.cubin, kernel), runner._workspace_of(size)
        reset_result(operands.c, None)
        us = median(prepare(runner._driver, function, kernel, runner.stream.ptr, workspace))
        return us, float(f"{float(cupy.abs(operands.c.view - right).max() / largest):.1e}")

    us = median(bench.call(reference))
    right = operands.c.view.copy()
    largest = cupy.abs(right).max()
    yield reference.stage.id, *[""] * 6, us, "", ""
    us, difference = ours(plans.clustered(stage, problem, operands.layout, runner.sm_count))
    cycles = small.large_cycles(stage, problem, runner.sm_count)
    yield stage.entry, *[""] * 6, us, round(cycles / CYCLES_PER_US, 2), difference
    for one in divisions(problem, runner.sm_count):
        try:
            us, difference = ours(small.launch(stage, problem, operands.layout, one))
        except DriverError as error:
            print(f"{problem.label} {one}: {error}")
            continue
        cycles = small.small_cycles(problem, one, runner.sm_count)
        shares = (one.width, one.share, one.slices, one.clusters, one.per_sm, one.stages)
        yield small.ENTRIES[one.width], *shares, us, round(cycles / CYCLES_PER_US, 2), difference


def divisions(problem: Problem, sm_count: int) -> list[small.Division]:
    """Return all that the kernel can do, of those that fill hardly more than the places of all SMs."""
    every = itertools.product(small.ENTRIES, small.SIZES, small.SIZES, small.CLUSTERS, small.SHARED_OF_BLOCK)
    return [
        one
        for one in itertools.starmap(small.Division, every)
        if small.is_possible(problem, one) and small.blocks_of(problem, one) <= MOST_ROUNDS * one.per_sm * sm_count
    ]


if __name__ == "__main__":
    main()
