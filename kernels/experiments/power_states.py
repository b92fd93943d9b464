"""How long a series must run before its own load governs the clock: one subject after the other, every call timed.

    PYTHONPATH=.:dashboards python3 kernels/experiments/power_states.py OUT.csv [--size 4096] [--seconds 2] STAGE ...

Each stage takes turns with its reference, for `--seconds` each; the GPU then rests, and all begins again. A row
is one call: subject, part (which turn), seconds since the part began, its ns (events, L2 flushed before), NVML's clock,
power and temperature. The first part of each round begins on a GPU that has rested: what `bench` did to the reference.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path

import cupy

from ncu_lab.gpu.devices import current_device
from ncu_lab.gpu.registry import find_stage, load_stages
from ncu_lab.gpu.request import TargetRequest, subjects_of
from ncu_lab.gpu.target import _Bench
from ncu_lab.gpu.telemetry import Telemetry
from ncu_lab.gpu.timing import Stopwatch
from ncu_lab.model import Problem
from ncu_lab.workflows.building import build_stages, with_references

REST_S = 1.5


def main() -> None:
    """Take the series and write each call as it was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("stages", nargs="+")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    stages = load_stages()
    ids = sorted(with_references(options.stages, stages, cutlass=False))
    problem = Problem(options.size, options.size, options.size)
    subjects = subjects_of([find_stage(stages, id) for id in ids], build_stages(ids), stages)
    bench = _Bench(TargetRequest("bench", problem, subjects), current_device())
    watch = Stopwatch(bench.runner.stream, current_device().l2_bytes or 0, telemetry())
    by_id = {subject.stage.id: subject for subject in subjects}
    with options.out.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("stage", "subject", "part", "seconds", "ns", "clock_mhz", "power_w", "temperature_c"))
        for id in options.stages:
            reference = by_id[id].stage.reference
            assert reference is not None, f"{id} has no reference"
            time.sleep(REST_S)
            for part, name in enumerate((reference, id, reference, id)):
                call, begin = bench.call(by_id[name]), time.monotonic()
                while (at := time.monotonic() - begin) < options.seconds:
                    one = watch.sample(name, "alone", call)
                    state = (one.sm_clock_mhz, one.power_w, one.temperature_c)
                    rows.writerow((id, name, part, f"{at:.4f}", f"{one.ns:.0f}", *state))


def telemetry() -> Telemetry:
    """NVML of the GPU in use."""
    return Telemetry(cupy.cuda.Device().pci_bus_id)


if __name__ == "__main__":
    main()
