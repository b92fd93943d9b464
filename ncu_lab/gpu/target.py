"""The process that runs kernels, and that ncu profiles: ``python -m ncu_lab.gpu.target REQUEST.json``.

It reads a request, speaks JSON lines on stdout (progress, or one error), writes the result file and ends with 0 when
all went well. It needs cupy, numpy and the driver, nothing else of what the package depends on.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ncu_lab.errors import NcuLabError, ProgramError, UsageError
from ncu_lab.gpu import criteria
from ncu_lab.gpu.attached import refuse_under_a_profiler
from ncu_lab.gpu.bare import launch_all
from ncu_lab.gpu.devices import current_device
from ncu_lab.gpu.inputs import encode, normal
from ncu_lab.gpu.operands import Operands, place_input, place_result
from ncu_lab.gpu.oracle import Oracle
from ncu_lab.gpu.peaks import measure
from ncu_lab.gpu.references import SEARCHED, fastest
from ncu_lab.gpu.request import NVTX_PREFIX, Mode, Subject, TargetRequest, read, write_json
from ncu_lab.gpu.runner import Runner
from ncu_lab.gpu.telemetry import Telemetry
from ncu_lab.gpu.timing import Stopwatch
from ncu_lab.gpu.verify import as_document, check_bytes, check_subject, on_fast_path, runnable
from ncu_lab.model import DTYPE_BYTES, Device, Dtype, Operation, Problem, TimingSample
from ncu_lab.model.bench_record import ReferenceTrial

PROBE_NAME = "ncu_lab_probe"
_PROBE = f'extern "C" __global__ void {PROBE_NAME}(float* x) {{ x[threadIdx.x] = 1.0f; }}'
_SPARE_BYTES = 512 * 2**20
"""Flush buffer, or in a check the least workspace, and that of cuBLAS, with room for what cupy's pool rounds up."""


def argv(request_path: Path) -> list[str]:
    """Return the command line of the target process: what ncu is given to profile."""
    return [sys.executable, "-P", "-m", "ncu_lab.gpu.target", str(request_path)]


def main() -> int:
    """Run the request named on the command line; returns the exit code."""
    try:
        request = read(Path(sys.argv[1]))
        device = current_device()
        result = _MODES[request.mode](request, device)
        document = {"mode": request.mode, "device": dataclasses.asdict(device), **result}
        write_json(document, Path(request.result))
    except NcuLabError as error:
        _say({"error": type(error).__name__, "message": error.message, "hint": error.hint})
        print(error.message, file=sys.stderr)
        return int(error.exit_code)
    return 0


def _say(document: dict[str, Any]) -> None:
    print(json.dumps(document), flush=True)


def _progress(step: Mode, subject: Subject, detail: str, fraction: float | None = None) -> None:
    _say({"step": step, "subject": subject.stage.id, "state": "update", "detail": detail, "fraction": fraction})


def _done(step: Mode, subject: Subject, data: dict[str, Any], begin: float) -> None:
    """Tell that a subject is finished, with data that the caller puts into words."""
    seconds = time.monotonic() - begin
    _say({"step": step, "subject": subject.stage.id, "state": "done", "seconds": seconds, "data": data})


def _check(request: TargetRequest, device: Device) -> dict[str, Any]:
    runner = Runner(poisons=True)
    oracle = Oracle(lambda: runner.cublas, request.seed)
    documents: list[dict[str, Any]] = []
    for subject in request.subjects:
        begin = time.monotonic()
        stage = subject.stage
        problem = stage.shape(request.problem)
        needed = check_bytes(stage, problem) + runner.workspace_bytes(subject, problem)
        _need(needed, f"checking {stage.id} at {problem.label}", device)
        cases = criteria.cases(
            stage, request.problem, quick=request.quick, shapes=request.shapes, repeat=request.repeat
        )
        cases = runnable(runner, subject, cases)
        if request.fast_only:
            cases = on_fast_path(runner, subject, cases)

        def progress(number: int, case: criteria.Case, subject: Subject = subject, total: int = len(cases)) -> None:
            _progress("check", subject, f"{case.problem.label} {case.name}", number / total)

        found = check_subject(runner, oracle, subject, cases, progress)
        documents += [as_document(case) for case in found]
        _done("check", subject, {"cases": [as_document(case) for case in found]}, begin)
    return {"cases": documents}


class _Bench:
    """Operands shared by all timed or profiled subjects: random inputs, C poisoned with NaN unless beta reads it."""

    def __init__(self, request: TargetRequest, device: Device) -> None:
        self.request = request
        self.runner = Runner()
        workspaces = [self.runner.workspace_bytes(one, self.problem(one)) for one in request.subjects]
        needed = _operand_bytes(request) + max(workspaces, default=0)
        _need(needed, f"{request.problem.label} with these stages", device)
        self._made: dict[tuple[Dtype, Operation], Operands] = {}
        self._chosen: dict[str, Callable[[], object]] = {}

    def problem(self, subject: Subject) -> Problem:
        return subject.stage.shape(self.request.problem)

    def operands(self, subject: Subject) -> Operands:
        stage = subject.stage
        stored: Dtype = "fp32" if stage.dtype == "tf32" else stage.dtype
        key = (stored, stage.operation)
        if key not in self._made:
            problem, seed = self.problem(subject), self.request.seed
            a = place_input(encode(normal(problem.m, problem.k, seed), stored))
            b = a if stage.operation == "aat" else place_input(encode(normal(problem.k, problem.n, seed + 1), stored))
            initial = normal(problem.m, problem.n, seed + 2) if problem.beta else None
            self._made[key] = Operands(a, b, place_result(problem.m, problem.n, initial))
        return self._made[key]

    def call(self, subject: Subject) -> Callable[[], object]:
        problem, layout = self.problem(subject), self.operands(subject).layout
        return self._chosen.get(subject.stage.id) or (lambda: self.runner.launch(subject, problem, layout))

    def choose_reference(self, watch: Stopwatch, subject: Subject) -> list[ReferenceTrial]:
        """Let the fastest way of the library stand for a reference from now on; return what each way gave."""
        layout = self.operands(subject).layout
        self._chosen[subject.stage.id], trials = fastest(self.runner, watch, subject, self.problem(subject), layout)
        return trials

    def how(self, subject: Subject) -> dict[str, Any]:
        plan = self.runner.plan(subject, self.problem(subject), self.operands(subject).layout)
        return {
            "subject": subject.stage.id,
            "problem": dataclasses.asdict(self.problem(subject)),
            "variant": plan.variant,
            "reason": plan.reason,
            "workspace_bytes": plan.workspace_bytes,
            "kernels": [
                {"entry": kernel.entry, "role": kernel.role, "grid": kernel.grid, "block": kernel.block}
                for kernel in plan.kernels
            ],
        }

    def reference(self, subject: Subject) -> dict[str, Any]:
        """Prove a reference's precision by the names of its kernels; where they cannot be told, say why."""
        try:
            layout = self.operands(subject).layout
            names = self.runner.reference_kernels(subject, self.problem(subject), layout)
        except ProgramError as error:
            return {"verified": False, "kernels": [], "why": error.message, "cublas": self.runner.cublas.version}
        return {"verified": True, "kernels": list(names), "why": "", "cublas": self.runner.cublas.version}


def _bench(request: TargetRequest, device: Device) -> dict[str, Any]:
    refuse_under_a_profiler()
    import cupy

    bench = _Bench(request, device)
    by_id = {subject.stage.id: subject for subject in request.subjects}
    references = {id: bench.reference(subject) for id, subject in by_id.items() if subject.stage.is_reference}
    watch = Stopwatch(bench.runner.stream, device.l2_bytes or 0, Telemetry(cupy.cuda.Device().pci_bus_id))
    trials: list[ReferenceTrial] = []
    for subject in request.subjects:
        if request.fastest_reference and subject.stage.library_math == SEARCHED:
            _progress("bench", subject, "trying every way of the library")
            trials += bench.choose_reference(watch, subject)
    samples: list[TimingSample] = []
    # References first: their samples alone then stand beside each stage's own.
    for subject in sorted(request.subjects, key=lambda subject: not subject.stage.is_reference):
        begin, first = time.monotonic(), len(samples)
        id, call = subject.stage.id, bench.call(subject)
        other = by_id.get(subject.stage.reference or "")
        if other is not None:
            _progress("bench", subject, f"interleaved with {other.stage.id}", 0.1)
            pair = (call, bench.call(other))
            watch.warm_up(pair, request.warmup)
            samples += watch.interleaved((id, other.stage.id), pair, request.samples)
        _progress("bench", subject, "alone", 0.6)
        watch.warm_up((call,), request.warmup)
        samples += watch.alone(id, call, request.samples)
        _done("bench", subject, {"samples": [dataclasses.asdict(sample) for sample in samples[first:]]}, begin)
    return {
        "samples": [dataclasses.asdict(sample) for sample in samples],
        "launches": [bench.how(subject) for subject in request.subjects],
        "references": references,
        "trials": [dataclasses.asdict(trial) for trial in trials],
    }


def _contest(request: TargetRequest, device: Device) -> dict[str, Any]:
    refuse_under_a_profiler()
    import cupy

    bench = _Bench(request, device)
    watch = Stopwatch(bench.runner.stream, device.l2_bytes or 0, Telemetry(cupy.cuda.Device().pci_bus_id))
    calls = {subject.stage.id: bench.call(subject) for subject in request.subjects}
    first = request.subjects[0]
    _progress("contest", first, "warm-up", 0.0)
    watch.warm_up(tuple(calls.values()), 1)
    samples: list[TimingSample] = []
    for turn, taken in enumerate(watch.in_turns(calls, request.samples), start=1):
        samples += taken
        _progress("contest", first, f"turn {turn} of {request.samples}", turn / request.samples)
    return {"samples": [dataclasses.asdict(sample) for sample in samples]}


def _profile(request: TargetRequest, device: Device) -> dict[str, Any]:
    bench = _Bench(request, device)
    launches: list[dict[str, Any]] = []
    for number, subject in enumerate(request.subjects):
        begin = time.monotonic()
        call = bench.call(subject)
        _progress("profile", subject, "warm-up", number / len(request.subjects))
        for _ in range(max(1, request.warmup)):
            call()
        bench.runner.stream.synchronize()
        with _bracket(NVTX_PREFIX + subject.stage.id):
            for _ in range(request.launches):
                call()
            bench.runner.stream.synchronize()
        launches.append(bench.how(subject))
        _done("profile", subject, {"variant": launches[-1]["variant"]}, begin)
    return {"launches": launches}


@contextlib.contextmanager
def _bracket(name: str) -> Iterator[None]:
    """Let ncu see what happens inside: an NVTX range, and the profiler on (for ``--profile-from-start off``)."""
    from cupy.cuda import nvtx, profiler

    nvtx.RangePush(name)
    profiler.start()
    try:
        yield
    finally:
        profiler.stop()
        nvtx.RangePop()


def _probe(_: TargetRequest, device: Device) -> dict[str, Any]:
    import cupy

    kernel = cupy.RawKernel(_PROBE, PROBE_NAME)
    values = cupy.zeros(32, dtype=cupy.float32)
    kernel((1,), (32,), (values,))
    with _bracket(f"{NVTX_PREFIX}probe"):
        kernel((1,), (32,), (values,))
        cupy.cuda.Device().synchronize()
    return {"kernel": PROBE_NAME, "ok": float(values.sum()) == 32.0}


_MODES: dict[Mode, Callable[[TargetRequest, Device], dict[str, Any]]] = {
    "check": _check,
    "launch": launch_all,
    "bench": _bench,
    "contest": _contest,
    "profile": _profile,
    "probe": _probe,
    "peaks": measure,
}


def _operand_bytes(request: TargetRequest) -> int:
    """Device memory of the operands of all subjects; those of one type and operation share theirs."""
    total = 0
    for dtype, operation in {(subject.stage.dtype, subject.stage.operation) for subject in request.subjects}:
        shape = request.problem
        inputs = shape.m * shape.k + (0 if operation == "aat" else shape.k * shape.n)
        outputs = shape.m * (shape.m if operation == "aat" else shape.n)
        total += inputs * DTYPE_BYTES[dtype] + outputs * 4
    return total


def _need(needed: int, what: str, device: Device) -> None:
    """Refuse what does not fit, before anything is allocated.

    Raises:
        UsageError: Says how much is needed and how much is free.
    """
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    free, total = cupy.cuda.Device().mem_info
    held = cupy.get_default_memory_pool().used_bytes()
    if needed + _SPARE_BYTES > free + held:
        raise UsageError(
            f"{what} needs {(needed + _SPARE_BYTES) / 2**30:.1f} GiB of GPU memory; {device.name} has "
            f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB free",
            "Choose a smaller size.",
        )


if __name__ == "__main__":
    sys.exit(main())
