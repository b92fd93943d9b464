"""Measures what the GPU at hand reaches, by kernels made for that alone: DRAM, L2 and shared memory, FP32, mma.sync.

What to launch is planned without a GPU (:func:`plan_peaks`), as values that can be compared; :func:`measure` runs the
plan in the target process. A peak that cannot be measured here is absent, never estimated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from ncu_lab.errors import ProgramError
from ncu_lab.gpu.driver import Driver, DriverError, prepare
from ncu_lab.gpu.kernel_launch import Float, Int, KernelLaunch, Pointer, Scratch
from ncu_lab.gpu.request import TargetRequest
from ncu_lab.gpu.telemetry import Telemetry
from ncu_lab.gpu.timing import Stopwatch
from ncu_lab.model import Device, MeasuredPeak, RoofKind, Stage, TimingSample

BANDWIDTH = Stage(
    id="peaks-bandwidth", title="bandwidths", change="", bottleneck="", dtype="fp32",
    file="peaks/bandwidth.cu", entry="dram_copy", block=(256, 1, 1),
)  # fmt: skip
ARITHMETIC = Stage(
    id="peaks-arithmetic", title="arithmetic", change="", bottleneck="", dtype="fp32",
    file="peaks/arithmetic.cu", entry="fp32_fma", block=(256, 1, 1),
)  # fmt: skip
SOURCES = (BANDWIDTH, ARITHMETIC)
"""What is built for it. These are no stages of the ladder: the registry does not know them."""

SAMPLES = 10
WARMUP_S = 0.1
"""Time that the first kernel runs before it is timed: an idle GPU takes about this long to raise its clocks."""

_ELEMENT_BYTES = 16
_COPY_EACH, _READ_EACH = 4, 8  # elements of a thread of dram_copy and dram_read
_CHUNK_BYTES = 256 * _READ_EACH * _ELEMENT_BYTES
_DRAM_BYTES = 2**30
_MEMORY_SHARE = 8  # of the free memory, at most one part in so many for each of two buffers
_OVER_L2 = 4  # a buffer of fewer L2 sizes would partly be read from L2
_IN_L2 = 4  # a buffer this many times smaller than L2 is held by every part of it

_FMA_PER_ROUND = 16 * 16
_MMA_PER_ROUND = 8 * 8
_FLOP_OF_MMA = 2 * 16 * 8 * 16
_MMA_CC = (8, 0)
_BLOCKS_PER_SM, _WARP = 2, 32
_ROUNDS: Mapping[str, int] = {"l2_read": 256, "shared_read": 1500, "fp32_fma": 2000, "fp16_mma": 1000}
"""Rounds of each kernel that loops: about a millisecond on an H200, and one wave of blocks on any GPU."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One benchmark: what it is called, what is launched, and the bytes or operations of one launch.

    Attributes:
        key: As :class:`ncu_lab.model.MeasuredPeak` has it, like the next three.
        level: The roof it belongs to.
        label: For people.
        kind: Bandwidth or arithmetic.
        source: Which of ``SOURCES`` holds the kernel.
        launch: The kernel; its addresses lie in a workspace.
        work: Bytes or operations.
    """

    key: str
    level: str
    label: str
    kind: RoofKind
    source: Stage
    launch: KernelLaunch
    work: float


def plan_peaks(device: Device, free_bytes: int) -> tuple[list[Shot], int]:
    """Return the benchmarks that a GPU can run, and the bytes of workspace they share.

    Args:
        device: The GPU; its SMs and L2 size must be known.
        free_bytes: Device memory that is free.
    """
    sms, l2_bytes = device.sm_count or 0, device.l2_bytes or 0
    shots: list[Shot] = []
    buffer = min(_DRAM_BYTES, free_bytes // _MEMORY_SHARE) // _CHUNK_BYTES * _CHUNK_BYTES
    if buffer >= max(_OVER_L2 * l2_bytes, _CHUNK_BYTES):
        shots += _dram(buffer)
    held = _power_of_two_below(l2_bytes // _IN_L2)
    if held >= _CHUNK_BYTES and sms:
        buffer = max(buffer, held)
        shots.append(_l2(held, sms))
    if sms:
        shots += _inside(sms, device.compute_capability or (0, 0))
    return shots, 2 * buffer if buffer else _CHUNK_BYTES


def _dram(buffer: int) -> list[Shot]:
    source, target = Pointer(Scratch(0)), Pointer(Scratch(buffer))
    blocks = buffer // (256 * _ELEMENT_BYTES)
    copy = KernelLaunch("dram_copy", (blocks // _COPY_EACH, 1, 1), (256, 1, 1), (source, target))
    read = KernelLaunch("dram_read", (blocks // _READ_EACH, 1, 1), (256, 1, 1), (source, target))
    return [
        Shot("dram_copy", "dram", "DRAM copy", "memory", BANDWIDTH, copy, 2.0 * buffer),
        Shot("dram_read", "dram", "DRAM read", "memory", BANDWIDTH, read, float(buffer)),
    ]


def _l2(held: int, sms: int) -> Shot:
    rounds, threads = _ROUNDS["l2_read"], _BLOCKS_PER_SM * sms * 512
    mask = held // _ELEMENT_BYTES - 1
    arguments = (Pointer(Scratch(0)), Pointer(Scratch(held)), Int(mask), Int(rounds))
    launch = KernelLaunch("l2_read", (_BLOCKS_PER_SM * sms, 1, 1), (512, 1, 1), arguments)
    work = float(threads * rounds * _READ_EACH * _ELEMENT_BYTES)
    return Shot("l2_read", "l2", "L2 read", "memory", BANDWIDTH, launch, work)


def _inside(sms: int, capability: tuple[int, int]) -> list[Shot]:
    """Plan what stays inside the SMs."""
    blocks, sink = _BLOCKS_PER_SM * sms, Pointer(Scratch(0))
    rounds = _ROUNDS["shared_read"]
    shared = KernelLaunch("shared_read", (blocks, 1, 1), (512, 1, 1), (sink, Int(rounds)))
    shared_bytes = float(blocks * 512 * rounds * _READ_EACH * _ELEMENT_BYTES)
    rounds = _ROUNDS["fp32_fma"]
    fma = KernelLaunch("fp32_fma", (blocks, 1, 1), (256, 1, 1), (sink, Float(0.999), Float(0.001), Int(rounds)))
    shots = [
        Shot("shared_read", "shared", "shared-memory read", "memory", BANDWIDTH, shared, shared_bytes),
        Shot("fp32_fma", "fp32", "FP32 FMA", "compute", ARITHMETIC, fma, 2.0 * blocks * 256 * rounds * _FMA_PER_ROUND),
    ]
    if capability >= _MMA_CC:
        rounds = _ROUNDS["fp16_mma"]
        mma = KernelLaunch("fp16_mma", (blocks, 1, 1), (256, 1, 1), (sink, Int(rounds)))
        work = float(blocks * 256 // _WARP * rounds * _MMA_PER_ROUND * _FLOP_OF_MMA)
        shots.append(Shot("fp16_mma", "fp16_hmma", "FP16 mma.sync", "compute", ARITHMETIC, mma, work))
    return shots


def _power_of_two_below(size: int) -> int:
    return 1 << size.bit_length() - 1 if size > 0 else 0


def peak_of(shot: Shot, samples: Iterable[TimingSample]) -> MeasuredPeak:
    """Return what timed samples of a benchmark come to."""
    taken = list(samples)
    clocks = [sample.sm_clock_mhz for sample in taken if sample.sm_clock_mhz is not None]
    return MeasuredPeak(
        shot.key,
        shot.level,
        shot.label,
        shot.kind,
        samples=tuple(shot.work / sample.ns * 1e9 for sample in taken if sample.ns > 0),
        work=shot.work,
        sm_clock_hz=1e6 * median(clocks) if clocks else None,
    )


def measure(request: TargetRequest, device: Device) -> dict[str, Any]:
    """Run all benchmarks in this process; the mode ``peaks`` of the target.

    Args:
        request: Its subjects are the builds of ``SOURCES``.
        device: The GPU.

    Returns:
        ``peaks``: what was measured, as documents that :func:`read_peaks` reads.

    Raises:
        ProgramError: When a cubin is missing or does not load, or a launch fails.
    """
    import cupy

    driver, stream = Driver(), cupy.cuda.Stream(non_blocking=True)
    free_bytes, _ = cupy.cuda.Device().mem_info
    shots, size = plan_peaks(device, free_bytes)
    workspace = cupy.zeros(size, dtype=cupy.uint8)
    cupy.cuda.Device().synchronize()
    watch = Stopwatch(stream, device.l2_bytes or 0, Telemetry(cupy.cuda.Device().pci_bus_id))
    cubins = {subject.stage.id: subject.cubin for subject in request.subjects}
    modules: dict[str, Any] = {}
    found: list[MeasuredPeak] = []
    try:
        for shot in shots:
            name = shot.source.id
            if name not in modules:
                modules[name] = driver.load(Path(cubins.get(name) or ""))
            function = driver.function(modules[name], shot.launch.entry)
            call = prepare(driver, function, shot.launch, stream.ptr, int(workspace.data.ptr))
            _warm_up(watch, call, 0.0 if found else WARMUP_S)
            found.append(peak_of(shot, watch.alone(shot.key, call, SAMPLES)))
    except DriverError as error:
        raise ProgramError(f"a peak of the GPU cannot be measured: {error}") from error
    return {"peaks": [dataclasses.asdict(peak) for peak in found if peak.samples]}


def _warm_up(watch: Stopwatch, call: Callable[[], None], seconds: float) -> None:
    """Call twice at least, and on until the calls took so long."""
    spent = watch.once(call) + watch.once(call)
    while spent < seconds * 1e9:
        spent += watch.once(call)


def read_peaks(result: Mapping[str, Any]) -> tuple[MeasuredPeak, ...]:
    """Return the peaks of a target's result."""
    return tuple(MeasuredPeak(**{**one, "samples": tuple(one["samples"])}) for one in result["peaks"])
