"""Floating-point work by precision: what the instructions of a launch did, and the most the GPU could have done of it.

Work on tensor cores has counters by instruction and type, whose names differ between GPUs; they are found by pattern.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ncu_lab.metrics.catalogue import METRICS
from ncu_lab.metrics.names import DFMA_PER_CYCLE_PEAK, FFMA_PER_CYCLE_PEAK, SM_HZ
from ncu_lab.metrics.quantity import Counter, Lookup

FP32, FP64 = "fp32", "fp64"
_FLOP_OF_FMA = 2.0

_OPS = re.compile(
    r"sm__ops_path_tensor(?:_op_(?P<instruction>[a-z0-9]+))?_src_(?P<type>[a-z]+\d+)"
    r"(?:_dst_(?P<result>[a-z]+\d+))?(?:_sparsity_(?P<sparsity>on|off))?\.sum"
)
_PEAK_PER_SECOND, _PEAK_PER_CYCLE = ".peak_sustained_elapsed.per_second", ".peak_sustained"
_WITHOUT_SPARSITY = FP64
"""The type that has no sparse instructions."""

_USUAL_RESULT = FP32


@dataclass(frozen=True, slots=True)
class Operations:
    """Work of one launch in one precision.

    Attributes:
        precision: ``fp32`` and ``fp64`` for the scalar pipes; ``fp16``, ``bf16``, ``tf32``, ``fp8``, ``int8``,
            ``fp64_tensor`` and so on for tensor cores, with ``_sparse`` behind where sparsity was used.
        tensor: Whether tensor cores did it.
        flop: Operations, a multiply-add counting two; None when not collected.
        flop_per_s: Likewise in a second.
        peak_per_s: The most the GPU makes in a second at the clock of the launch; None when not collected.
        instructions: Of those that tensor cores executed here, SASS name in lower case -> its own peak per second.
    """

    precision: str
    tensor: bool
    flop: float | None
    flop_per_s: float | None
    peak_per_s: float | None
    instructions: Mapping[str, float] = field(default_factory=dict)


def read_operations(values: Mapping[str, float]) -> dict[str, Operations]:
    """Read the work of a launch in every precision whose work or peak the report has: precision -> work.

    - FP32: adds and multiplies + 2 x FMAs of threads; peak ``…ffma….sum.peak_sustained`` x 2 x SM clock, as in Nsight
      Compute's single-precision roofline (132 SMs x 128 lanes x 2 x 1.98 GHz = 66.9 TFLOP/s on an H200).
    - FP64: likewise of ``dadd``, ``dmul``, ``dfma``.
    - Tensor cores: ``sm__ops_path_tensor_op_*`` of the tensor roofline, which count a multiply-add as two. Their peak
      is the highest of the type's dense instructions, at the clock of the launch: 4096 a cycle and SM for HGMMA in
      FP16 on an H200, 989 TFLOP/s at the datasheet's 1.83 GHz and 1070 at 1.98. HMMA (``mma.sync``, WMMA) makes 2731.
      Totals over all instructions of a type have the peak of sparse ones, twice as high: it is not used.

    Before these counters, ncu multiplied instructions of the tensor pipe by 512 whatever their shape: that is not read.

    Args:
        values: Nsight Compute name -> value of one launch.
    """
    scalar = (
        _scalar(FP32, "", FFMA_PER_CYCLE_PEAK, values.get),
        _scalar(FP64, "fp64_", DFMA_PER_CYCLE_PEAK, values.get),
    )
    found = [one for one in scalar if one.flop is not None or one.peak_per_s is not None]
    return {one.precision: one for one in (*found, *_tensor(values))}


def _scalar(precision: str, prefix: str, fma_peak: Counter, lookup: Lookup) -> Operations:
    per_cycle, clock = fma_peak.read(lookup)[0], SM_HZ.read(lookup)[0]
    return Operations(
        precision,
        tensor=False,
        flop=METRICS[f"{prefix}flop"].read(lookup).value,
        flop_per_s=METRICS[f"{prefix}flop_per_s"].read(lookup).value,
        peak_per_s=None if per_cycle is None or clock is None else per_cycle * _FLOP_OF_FMA * clock,
    )


@dataclass(frozen=True, slots=True)
class _Path:
    """One counter of tensor operations."""

    instruction: str | None
    type: str
    result: str | None
    sparse: bool
    ops: float
    ops_per_s: float | None
    peak_per_s: float | None


def _tensor(values: Mapping[str, float]) -> Iterator[Operations]:
    paths = list(_paths(values))
    for kind in dict.fromkeys(path.type for path in paths):
        of_type = [path for path in paths if path.type == kind]
        by_instruction = [path for path in of_type if path.instruction is not None]
        for sparse in (False, True):
            chosen = [path for path in by_instruction or of_type if path.sparse is sparse]
            used = [path for path in chosen if path.ops]
            if chosen and (used or not sparse):
                yield _work(kind, sparse, chosen, used)


def _work(kind: str, sparse: bool, paths: list[_Path], used: list[_Path]) -> Operations:
    # What sums in FP32 cannot reach the rate of what sums in FP16, where that is higher (GeForce).
    results = {path.result for path in used} or {_USUAL_RESULT}
    peaks = [path.peak_per_s for path in paths if path.peak_per_s and (path.result is None or path.result in results)]
    speeds = [path.ops_per_s for path in used]
    name = f"{kind}_tensor" if kind == FP64 else kind
    return Operations(
        f"{name}_sparse" if sparse else name,
        tensor=True,
        flop=sum(path.ops for path in paths),
        flop_per_s=None if None in speeds else sum(speed for speed in speeds if speed is not None),
        peak_per_s=max(peaks, default=None),
        instructions={path.instruction: path.peak_per_s for path in used if path.instruction and path.peak_per_s},
    )


def _paths(values: Mapping[str, float]) -> Iterator[_Path]:
    duration_ns = METRICS["duration_ns"].read(values.get).value
    clock = SM_HZ.read(values.get)[0]
    for name, ops in values.items():
        match = _OPS.fullmatch(name)
        if match is None or math.isnan(ops):
            continue
        per_cycle = values.get(name + _PEAK_PER_CYCLE)
        by_clock = None if per_cycle is None or clock is None else per_cycle * clock
        by_time = ops / duration_ns * 1e9 if duration_ns else None
        mixed = match["instruction"] is None and match["sparsity"] is None and match["type"] != _WITHOUT_SPARSITY
        yield _Path(
            match["instruction"],
            match["type"],
            match["result"],
            match["sparsity"] == "on",
            ops,
            values.get(name + ".per_second", by_time),
            None if mixed else values.get(name + _PEAK_PER_SECOND, by_clock),
        )
